"""What an agent decided, where it says so: "I'll use X because Y", "X fails, so I'm using Y".

A decision picks one of several ways: by a word of choice, against another way, for a cause, by leaving
something out, or by calling one way the better. What is listed under "Key decisions" counts, too. What the
agent is merely about to do ("I'll run the tests"), a question, a proposal and what is in code do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from workbench.records.iterations import DecisionEntry
from workbench.text.expressions import read_expressions, read_words

_FORMS: Final = read_expressions(__package__, "decisions.toml")
# Words of which one is in whatever each form finds: most sentences hold none.
_SIGNS: Final = read_words(__package__, "decisions.toml")

MAX_SENTENCE: Final = 600  # characters
_SHORTEST = 12
_LEAST_WORDS = 5
_LEAST_REASON = 4  # characters


def find_decisions(texts: Iterable[str]) -> Iterator[DecisionEntry]:
    """Yield the decisions in an agent's own words, each once, in their order; lengths are not bounded."""
    seen: set[str] = set()
    for text in texts:
        for sentence, following in pairwise((*sentences(text), "")):
            if is_decision(sentence) and (key := _key(sentence)) not in seen:
                seen.add(key)
                yield with_reason(sentence, following)
        for item in decision_items(text):
            keys = {_key(item), *map(_key, sentences(item))}
            if seen.isdisjoint(keys):
                seen |= keys
                yield with_reason(item)


def _key(sentence: str) -> str:
    return re.sub(r"\W+", " ", sentence).casefold().strip()


def sentences(text: str, shortest: int = _SHORTEST) -> Iterator[str]:
    """Yield the sentences of a text in Markdown, without its code blocks, bullets and emphasis.

    Those of fewer than `shortest` characters are left out.
    """
    text = text.replace("\u2019", "'")
    if "```" in text or "~~~" in text:
        text = _FORMS["fence"].sub("\n", text)
    for line in _FORMS["sentence"].findall(text):
        if line.lstrip().startswith("|") or len(line) > 20_000:
            continue
        line = _FORMS["bullet"].sub("", line)
        if "*" in line or "__" in line:
            line = _FORMS["marks"].sub("", line)
        line = line.strip()
        for sentence in _FORMS["split"].split(line):
            if shortest <= len(sentence) <= MAX_SENTENCE:
                yield sentence.strip()


def is_decision(sentence: str) -> bool:
    """Whether a sentence says that one of several ways was chosen."""
    folded = sentence.casefold()
    return (
        any(
            any(sign in folded for sign in signs) and _FORMS[form].search(sentence)
            for form, signs in _SIGNS.items()
        )
        and len(folded.split()) >= _LEAST_WORDS
        and not _FORMS["not"].search(sentence)
    )


def with_reason(sentence: str, following: str = "") -> DecisionEntry:
    """Split a decision from its reason, where it or the sentence that follows gives one."""
    led = _FORMS["led"].match(sentence)
    if led is not None:
        decided = sentence[led.start("what" if led["what"] else "then") :]
        return DecisionEntry(decided.rstrip(" .;:"), (led["why"] or led["since"]).strip())
    whole = sentence.rstrip(" .;:")
    reason = _FORMS["reason"].search(sentence, _SHORTEST)
    if reason is not None:
        bare = reason[1].casefold().startswith(("because", "since", "due", "\u2013", "\u2014"))
        why = sentence[reason.end() if bare else reason.start(1) :].strip().rstrip(".;:)")
        decided = sentence[: reason.start()]
        if decided.count("(") > decided.count(")"):
            decided = decided[: decided.rindex("(")]
        decided = decided.rstrip(" ,;:\u2013\u2014-")
        # "`config.py` \u2014 it now uses X instead of Y" decides after the dash.
        is_label = (
            reason[1] in "\u2013\u2014" and len(decided.split()) < _LEAST_WORDS and is_decision(sentence)
        )
        if len(decided) >= _SHORTEST and len(why) >= _LEAST_REASON and not is_label:
            return DecisionEntry(decided, why)
    if _FORMS["further"].match(following) and not is_decision(following):
        return DecisionEntry(whole, following.rstrip(" .;:"))
    return DecisionEntry(whole)


def decision_items(text: str) -> Iterator[str]:
    """Yield the items of lists under a heading that calls them decisions."""
    inside = False
    for line in text.split("\n") if "ecision" in text or "hoice" in text else ():
        if _FORMS["heading"].match(line):
            inside = True
        elif inside and (item := _FORMS["item"].match(line)) is not None:
            if _SHORTEST <= len(item[1]) <= MAX_SENTENCE:
                yield item[1].replace("**", "").strip()
        elif inside and line.strip() and not line[:1].isspace():
            inside = False
