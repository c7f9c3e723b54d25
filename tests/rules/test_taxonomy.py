"""Tags: what is valid, what is pointed out, what is refused, and what was probably meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.records.rules import Activation, Authority, Category, Level, Rule
from workbench.rules.taxonomy import (
    PREDEFINED,
    VOCABULARY,
    TagUse,
    choose,
    extra_problem,
    tag_uses,
    tags_of,
    taxonomy,
    validate_tags,
)

MakeRule = Callable[..., Rule]


@pytest.mark.parametrize(
    "tag", [f"{category}:{value}" for category, values in PREDEFINED.items() for value in values]
)
def test_every_predefined_tag_is_valid(tag: str) -> None:
    """The specification's own tags have no problem."""
    report = validate_tags([tag])
    assert (tag,) == report.valid
    assert report.problems == ()


def test_every_tag_the_importer_gives_is_valid() -> None:
    """All words of the importer's vocabulary, and all priorities, give tags without a problem."""
    words = " ".join(word for kind in VOCABULARY.values() for text in kind.values() for word in text.split())
    tags = {tag for priority in range(101) for tag in tags_of(words, priority=priority)}
    assert {f"{kind}:{value}" for kind, values in VOCABULARY.items() for value in values} <= tags
    assert {"priority:critical", "priority:important", "priority:optional"} <= tags
    assert validate_tags(sorted(tags)).problems == ()


@pytest.mark.parametrize(
    ("tag", "suggestion"),
    [
        ("laguage:python", "language:python"),
        ("laguage:pyhton", "language:python"),
        ("lang:python", "language:python"),
        ("Language:Python", "language:python"),
        ("tools:git", "tool:git"),
        ("framework:pytest", "tool:pytest"),
        ("colour:blue", "custom:blue"),
        ("python", "language:python"),
        ("pyhton", "language:python"),
        ("test", "workflow:test"),
        ("our house", "custom:our-house"),
        ("priority:high", "priority:important"),
        ("priority:critcal", "priority:critical"),
        ("priority:purple", ""),
        ("language:Rust", "language:rust"),
        ("tool:my tool", "tool:my-tool"),
        ("tool:", ""),
        (":python", "language:python"),
        ("", ""),
        ("custom:", ""),
        ("custom:\x1b[2J", ""),
        ("tool:" + "x" * 80, ("tool:" + "x" * 80)[:64]),
    ],
)
def test_a_refused_tag_comes_with_what_was_meant(tag: str, suggestion: str) -> None:
    """Unknown categories, missing ones, closed values and odd characters are refused with a suggestion."""
    report = validate_tags([tag])
    assert report.valid == ()
    assert [(tag, suggestion, True)] == [(one.tag, one.suggestion, one.refused) for one in report.problems]
    assert report.problems[0].message


@pytest.mark.parametrize(
    ("tag", "suggestion"),
    [
        ("language:pyhton", "language:python"),
        ("language:golang", "language:go"),
        ("language:c++", "language:cpp"),
        ("tool:dokcer", "tool:docker"),
        ("workflow:refactr", "workflow:refactor"),
        ("domain:docs", "domain:documentation"),
    ],
)
def test_a_near_miss_is_pointed_out_and_stays(tag: str, suggestion: str) -> None:
    """A value that looks like a misspelling is valid, with a warning that names the known one."""
    report = validate_tags([tag])
    assert (tag,) == report.valid
    assert [(suggestion, False)] == [(problem.suggestion, problem.refused) for problem in report.problems]
    assert report.refused == ()


@pytest.mark.parametrize(
    "tag",
    ["language:kotlin", "language:zig", "tool:pdm", "tool:npx", "tool:our-linter", "custom:Größe 42: ja"],
)
def test_other_values_and_custom_tags_are_free(tag: str) -> None:
    """Values beyond the lists and anything under `custom:` have no problem."""
    assert validate_tags([tag]).problems == ()


def test_the_users_own_tags_are_known() -> None:
    """A tag of the settings is valid, opens its category, and is suggested for a misspelling."""
    extra = ("team:payments", "tool:frobnicate")
    assert validate_tags(["team:payments", "team:search", "tool:frobnicate"], extra).problems == ()
    report = validate_tags(["teem:payments", "tool:frobnciate"], extra)
    assert [problem.suggestion for problem in report.problems] == ["team:payments", "tool:frobnicate"]


@pytest.mark.parametrize("tag", ["priority:urgent", "custom:x", "nothing", "Team:x", "team:", "team:a b"])
def test_an_odd_tag_in_the_settings_makes_nothing_known(tag: str) -> None:
    """What is no `category:value`, or would open a closed list, is left out, with the reason."""
    assert extra_problem(tag)
    assert taxonomy() == taxonomy((tag,))


def test_tags_are_told_once_in_their_order() -> None:
    """Doubles are dropped, order stays."""
    assert validate_tags(["tool:git", "language:rust", "tool:git"]).valid == ("tool:git", "language:rust")


def test_use_is_counted_by_rule(rule: MakeRule) -> None:
    """The most used tag comes first, a tag counts once a rule, and unknown ones carry their problem."""
    rules = [
        rule("rule-1", tags=("tool:git", "tool:git", "laguage:python")),
        rule("rule-2", tags=("tool:git", "domain:backend")),
    ]
    uses = tag_uses(rules)
    assert [(use.tag, use.rules) for use in uses] == [
        ("tool:git", 2),
        ("domain:backend", 1),
        ("laguage:python", 1),
    ]
    assert TagUse("tool:git", 2, None) == uses[0]
    assert uses[2].problem is not None
    assert uses[2].problem.suggestion == "language:python"


@pytest.mark.parametrize(
    ("kind", "text", "expected", "hint"),
    [
        (Category, "prefrence", "category is one of preference, behavior, agent", "Did you mean preference?"),
        (Category, "behaviour", "category is one of", "Did you mean behavior?"),
        (Authority, "absolut", "authority is one of absolute, default", "Did you mean absolute?"),
        (Level, "senario", "level is one of global, scenario, step", "Did you mean scenario?"),
        (Activation, "alway", "activation is one of", "Did you mean always?"),
        (Level, "zzz", "level is one of", ""),
    ],
)
def test_a_wrong_value_of_a_field_is_refused_with_what_was_meant(
    kind: type[Level], text: str, expected: str, hint: str
) -> None:
    """Category, authority, level and activation name their values and the nearest one."""
    with pytest.raises(UsageError, match=expected) as caught:
        choose(kind, text)
    assert hint == caught.value.hint


def test_a_right_value_is_read_in_any_case() -> None:
    """Case and blanks around a value do not count."""
    assert Authority.ABSOLUTE is choose(Authority, " Absolute ")


@given(st.lists(st.one_of(st.text(max_size=20), st.from_regex(r"[a-z]{0,9}:[a-z]{0,9}", fullmatch=True))))
def test_suggestions_are_themselves_valid(tags: list[str]) -> None:
    """Whatever is given, every suggestion passes without a problem of its own."""
    report = validate_tags(tags)
    assert set(report.valid) | {problem.tag for problem in report.refused} == set(tags)
    meant = [problem.suggestion for problem in report.problems if problem.suggestion]
    assert validate_tags(meant).refused == ()
