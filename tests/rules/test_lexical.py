"""Shared words count by what they tell apart; the index survives being kept as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Rule
from workbench.rules.matching.lexical import (
    index_words,
    lexical_relevance,
    shared_information,
    shared_words,
    update_words,
    words_arrays,
    words_from,
)

Make = Callable[..., Rule]

WORDS = st.sampled_from(["token", "refresh", "migration", "E-1042", "hide_cursor", "the", "tests", "ü", ""])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
RULES = st.lists(
    st.builds(
        Rule,
        id=st.uuids().map(str),
        name=TEXTS,
        rule=TEXTS,
        condition_text=TEXTS,
        examples=st.lists(TEXTS, max_size=3).map(tuple),
    ),
    max_size=12,
)


def test_rare_words_tell_more(rule: Make) -> None:
    """A word few rules have is worth more than one many have; a word none has is worth nothing."""
    rules = [rule(str(n), f"Use tests for part{n}.") for n in range(20)]
    words = index_words(rules)
    assert shared_information(words, "part7")[7] > shared_information(words, "tests")[7] > 0
    assert not shared_information(words, "pancakes").any()


def test_exact_names_stand_out(rule: Make) -> None:
    """An identifier or number that one rule has finds it among many of the same kind."""
    rules = [rule(str(n), f"Orders like ORD-{4000 + n} call handle_case_{n} first.") for n in range(50)]
    words = index_words(rules)
    assert int(lexical_relevance(words, "what about ORD-4021?").argmax()) == 21
    found = lexical_relevance(words, "handle_case_33 fails")
    assert int(found.argmax()) == 33
    assert found[33] > 0.2 > np.delete(found, 33).max()


def test_what_all_rules_share_is_no_evidence(rule: Make) -> None:
    """Words that are in every rule leave them at nothing."""
    words = index_words([rule(str(n), f"Write tests for module{n}.") for n in range(30)])
    assert lexical_relevance(words, "write tests for it").max() < 0.01


def test_examples_count_by_how_many_have_a_word(rule: Make) -> None:
    """A word of three examples is stronger evidence than of one, but not three times."""
    pad = [rule(str(n), f"Other thing number{n}.") for n in range(10)]
    once = rule("once", "a", examples=("merge branch", "push it", "pull it"))
    often = rule("often", "b", examples=("merge branch", "merge it", "merge now"))
    *_, few, many = shared_information(index_words([*pad, once, often]), "merge")
    assert few < many < 3 * few


def test_shared_words_are_named(rule: Make) -> None:
    """The explanation names the words in the message's order, each once."""
    one = rule("a", "Refresh the token in hide_cursor.", examples=("401 after login",))
    assert shared_words(one, "token token 401 hide_cursor paint") == ("token", "401", "hide_cursor")


@given(RULES, TEXTS)
def test_evidence_is_a_share(rules: list[Rule], text: str) -> None:
    """Whatever the rules and the message: one value a rule, in [0, 1], no NaN."""
    found = lexical_relevance(index_words(rules), text)
    assert found.shape == (len(rules),)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


@given(RULES, TEXTS, st.randoms(use_true_random=False))
def test_order_of_rules_does_not_matter(rules: list[Rule], text: str, random: object) -> None:
    """Each rule's evidence is the same wherever it stands."""
    order = list(range(len(rules)))
    random.shuffle(order)  # type: ignore[attr-defined]
    first = lexical_relevance(index_words(rules), text)
    second = lexical_relevance(index_words([rules[at] for at in order]), text)
    assert np.allclose(first[order], second, atol=1e-6)


@given(RULES, TEXTS, st.integers(1, 4))
def test_copies_make_no_rule_less_telling(rules: list[Rule], text: str, times: int) -> None:
    """What the files of several agents repeat is matched as if one of them had it."""
    copies = [replace(one, id=f"{one.id}-{time}") for time in range(times) for one in rules]
    alone, repeated = (
        lexical_relevance(index_words(rules), text),
        lexical_relevance(index_words(copies), text),
    )
    assert np.allclose(np.tile(alone, times), repeated, atol=1e-5)


def test_rules_that_say_nothing_are_no_copies(rule: Make) -> None:
    """Where examples are all that rules have, each rule is one."""
    rules = [rule(str(n), "", name=f"intent{n}", examples=(f"message{n}",)) for n in range(9)]
    assert index_words(rules).shares.tolist() == [1.0] * 9
    assert index_words([*rules, replace(rules[0], id="again")]).shares.sum() == 9


def test_the_order_of_words_makes_no_other_rule(rule: Make) -> None:
    """Four files that say one thing under their own titles are one rule; one of them alone finds it, too."""
    others = [rule(str(n), f"Other thing number{n}.") for n in range(10)]
    said = (
        "Never use floats for money; amounts are cents.",
        "Amounts are cents: never use floats for money!",
    )
    copies = [rule(f"c{n}", said[n % 2], name=f"Title of file{n}") for n in range(4)]
    one, four = (
        lexical_relevance(index_words([*others, *copies[:count]]), "floats money")[10] for count in (1, 4)
    )
    assert four > 0.9 * one > 0.2


@given(RULES)
def test_arrays_bring_the_index_back(rules: list[Rule]) -> None:
    """An index kept as arrays is the same again."""
    words = index_words(rules)
    again = words_from(words_arrays(words))
    assert words == again
    assert words != replace(again, texts=again.texts + 1)


def test_damaged_arrays_are_refused(rule: Make) -> None:
    """Arrays that do not fit together are an error, never a wrong match."""
    arrays = words_arrays(index_words([rule("a", "Use tabs."), rule("b", "Use spaces.")]))
    for name, value in (
        ("rules.starts", arrays["rules.starts"][:-1]),
        ("rules.docs", arrays["rules.docs"][:-1]),
        ("rules.docs", np.full(len(arrays["rules.docs"]), 9, np.int32)),
        ("rules.starts", arrays["rules.starts"][::-1]),
        ("weights", arrays["weights"][:-1]),
        ("said", arrays["said"][:-1]),
        ("texts", np.asarray(0)),
    ):
        with pytest.raises(ValueError, match=r"rules' words|rules do not add up"):
            words_from({**arrays, name: value})
    with pytest.raises(KeyError):
        words_from({})


SAID = st.lists(st.sampled_from(("use tabs", "run tests", "log", "", "tests use tabs")), max_size=3)


@given(st.dictionaries(st.sampled_from("abcdef"), SAID), st.dictionaries(st.sampled_from("abcdef"), SAID))
def test_words_are_updated_as_if_they_were_read_anew(
    before: dict[str, list[str]], after: dict[str, list[str]]
) -> None:
    """Rules that come, go and change leave the same index as reading all of them."""

    def rules(texts: dict[str, list[str]]) -> list[Rule]:
        found = ((name, texts[name]) for name in sorted(texts))
        return [Rule(id=name, name="", rule=" ".join(said), examples=tuple(said)) for name, said in found]

    old, new = rules(before), rules(after)
    assert index_words(new) == update_words(index_words(old), old, new)
