"""What an agent decided, in the sentences in which it says so: "I'll use X because Y", "chose X over Y".

A decision picks one of several ways. What the agent is merely about to do ("I'll run the tests"), a question,
a proposal and what is in code do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from workbench.records.iterations import DecisionEntry
from workbench.text.expressions import read_expressions

_FORMS: Final = read_expressions(__package__, "decisions.toml")


MAX_SENTENCE: Final = 600  # characters
_SHORTEST = 12


# Each pattern with words of which one is in whatever it finds: most sentences hold none.
_PATTERNS = (
    (("because", "since", "so that", "to avoid", "as it"), _FORMS["because"]),
    (("instead", "rather", "in favo"), _FORMS["instead"]),
    (
        ("decid", "decision", "chose", "choos", "opt", "settled", "picked", "with", "switch", "keep using"),
        _FORMS["chosen"],
    ),
)


def find_decisions(texts: Iterable[str]) -> Iterator[DecisionEntry]:
    """Yield the decisions in an agent's own words, each once, in their order; lengths are not bounded."""
    seen: set[str] = set()
    for text in texts:
        for sentence in sentences(text):
            if not is_decision(sentence):
                continue
            key = re.sub(r"\W+", " ", sentence).casefold().strip()
            if key not in seen:
                seen.add(key)
                yield with_reason(sentence)


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
    for signs, pattern in _PATTERNS:
        if any(sign in folded for sign in signs) and pattern.search(sentence):
            return not _FORMS["not"].search(sentence)
    return False


def with_reason(sentence: str) -> DecisionEntry:
    """Split a decision from its reason, where it gives one in the same sentence."""
    reason = _FORMS["reason"].search(sentence, _SHORTEST)
    if reason is None:
        return DecisionEntry(sentence.rstrip(" .;:"))
    because = reason[1].casefold().startswith(("because", "since", "due"))
    why = sentence[reason.end() if because else reason.start(1) :].strip().rstrip(".;:)")
    decided = sentence[: reason.start()].rstrip(" ,;:(–—-")
    if len(decided) < _SHORTEST or len(why) < 4:
        return DecisionEntry(sentence.rstrip(" .;:"))
    return DecisionEntry(decided, why)
