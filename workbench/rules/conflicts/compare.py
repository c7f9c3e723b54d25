"""Two rules compared: do they contradict each other, repeat each other, or neither?

Contradictions are looked for first, so that "not allowed" is never taken for a repetition of "allowed".
Repetition means that no term is left which only one side has, light words and reasons apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from workbench.comparison.contrast import Contrast, share_statement, strongest_contrast
from workbench.comparison.similarity import jaccard
from workbench.comparison.statements import Statement
from workbench.comparison.tokens import LIGHT, statement_terms
from workbench.records.conflicts import ConflictKind, Evidence
from workbench.rules.conflicts.readings import Reading

LEAST_TERMS: Final = 2
"""A rule with fewer terms repeats nothing but an equal one: "Use TypeScript" is part of too much."""

NEAR_JACCARD: Final = 0.8
NEAR_COSINE: Final = 0.93
"""Where terms differ on both sides, both must be reached for a repetition."""

SUBSUMED_SHARE: Final = 0.5
"""Share of the longer statement that the shorter one must make up."""

_SPACE = re.compile(r"\s+")
_AFTER = re.compile(r"(\W*)([\w.-]*)")
_CLOSING = frozenset(",;:.()[]—–")
_DIRECTED = re.compile(r"^(.*)\b(to|into|from|by|than)\b(.*)")


@dataclass(frozen=True, slots=True)
class Finding:
    """The kind of a conflict, how sure it is, and the tests that say so.

    `wider` is True if the left says all the right says and more, False the other way round, None otherwise.
    """

    kind: ConflictKind
    score: float
    evidence: tuple[Evidence, ...]
    why: str
    wider: bool | None = None


def compare(left: Reading, right: Reading, cosine: float | None = None) -> Finding | None:
    """Return the conflict between two rules, or None. `cosine` is that of their vectors, if there are any."""
    if left.normal == right.normal:
        same = Evidence("text", 1.0, "equal but for case, marks and white space")
        return Finding(ConflictKind.EXACT, 1.0, (same,), "Both have the same text.")
    opposed = strongest_contrast(left.claims, right.claims)
    if opposed is not None and not share_statement(left.statements, right.statements):
        return _contradiction(left, right, opposed, cosine)
    return _repetition(left, right, cosine)


def _contradiction(left: Reading, right: Reading, found: Contrast, cosine: float | None) -> Finding:
    terms = (frozenset(term.removeprefix("!") for term in one.profile) for one in (left, right))
    likeness = _likeness(jaccard(*terms), cosine)  # what one denies and the other demands is in both
    evidence = (Evidence(found.test, round(found.score, 3), found.detail), *likeness)
    return Finding(
        ConflictKind.CONTRADICTORY,
        round(found.score, 3),
        evidence,
        f"Both cannot be followed: {found.detail}.",
    )


def _likeness(words: float, cosine: float | None) -> list[Evidence]:
    found = [Evidence("words", round(words, 3), "share of terms that both have")]
    if cosine is not None:
        found.append(Evidence("meaning", round(max(cosine, 0.0), 3), "cosine of the embeddings"))
    return found


def _repetition(left: Reading, right: Reading, cosine: float | None) -> Finding | None:
    if min(len(left.profile), len(right.profile)) < LEAST_TERMS or _is_turned(left, right):
        return None
    if not left.whole or not right.whole:
        return None
    evidence = tuple(_likeness(jaccard(left.profile, right.profile), cosine))
    only_left, only_right = left.profile - right.profile, right.profile - left.profile
    if not only_left and not only_right:
        score = 0.95 if cosine is None else round(0.5 + 0.5 * max(cosine, 0.0), 3)
        return Finding(ConflictKind.NEAR, score, evidence, "Both say the same in other words.")
    if only_left and only_right:
        return _alike(left, right, cosine, evidence)
    short, long = (left, right) if only_right else (right, left)
    if not _is_contained(short, long):
        return None
    score = round(0.5 + 0.5 * len(short.profile) / len(long.profile), 3)
    side = "left" if long is left else "right"
    why = f"The {side} rule says all that the other one says, and more."
    return Finding(ConflictKind.SUBSUMED, score, evidence, why, wider=long is left)


def _alike(
    left: Reading, right: Reading, cosine: float | None, evidence: tuple[Evidence, ...]
) -> Finding | None:
    """Repetitions with own words on both sides: only if meaning and words agree almost wholly."""
    value = jaccard(left.profile, right.profile)
    if (
        cosine is None
        or cosine < NEAR_COSINE
        or value < NEAR_JACCARD
        or _fixed_terms(left) != _fixed_terms(right)
    ):
        return None
    return Finding(
        ConflictKind.NEAR,
        round((value + cosine) / 2, 3),
        evidence,
        "Both say nearly the same in other words.",
    )


def _fixed_terms(reading: Reading) -> frozenset[str]:
    """Return the terms in which repetitions may not differ: denials, conditions, values, names in code."""
    return frozenset(term for term in reading.profile if term[0] in "!?^-#/" or not term.isalpha())


def _is_contained(short: Reading, long: Reading) -> bool:
    """Whether each statement of the shorter rule is made, in one place and to a good part, by the longer."""
    if any(_turns(mine, theirs) for mine in short.statements for theirs in long.statements):
        return False
    return all(any(_within(mine, theirs) for theirs in long.statements) for mine in short.statements)


def _turns(mine: Statement, theirs: Statement) -> bool:
    """Whether the longer rule allows in part what the shorter one rules out, or the reverse."""
    return bool(mine.terms) and mine.negated != theirs.negated and mine.subject <= theirs.subject


def _within(mine: Statement, theirs: Statement) -> bool:
    if (
        mine.negated != theirs.negated
        or mine.rejected != theirs.rejected
        or mine.exception != theirs.exception
    ):
        return False
    if not mine.condition <= theirs.condition or not mine.choices <= theirs.choices:
        return False
    if not mine.subject <= theirs.subject | theirs.label or mine.label - theirs.label - theirs.subject:
        return False
    size = len(theirs.terms) + len(theirs.choices)
    if len(mine.terms) + len(mine.choices) < SUBSUMED_SHARE * size:
        return False
    places = [theirs.terms.index(term) for term in mine.terms if term in theirs.terms]
    if not places:
        return True
    dense = places == sorted(places) and places[-1] - places[0] < len(places) + 1
    led = all(term in LIGHT or term in mine.label for term in theirs.terms[: places[0]])
    return dense and led and _ends(theirs, theirs.terms[places[-1]])


def _ends(statement: Statement, term: str) -> bool:
    """Whether a term is the last word of its phrase: "validation" is in "form validation", not in "validation
    rules"."""
    word, text = dict(statement.words)[term], statement.text.lower()
    start = text.find(word)
    while start >= 0:
        if not _inside_word(text, start - 1) and not _inside_word(text, start + len(word)):
            match = _AFTER.match(text, start + len(word))
            if match is None or not match[2] or set(match[1]) & _CLOSING:
                return True
            return not statement_terms(match[2])
        start = text.find(word, start + 1)
    return True


def _inside_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] in "_-")


def _is_turned(left: Reading, right: Reading) -> bool:
    """Whether words change sides around a word of direction ("from strings to bytes")."""
    mine, theirs = _DIRECTED.match(left.normal), _DIRECTED.match(right.normal)
    if not mine or not theirs or mine[2] != theirs[2]:
        return False
    heads, tails = (
        (set(mine[1].split()), set(theirs[1].split())),
        (set(mine[3].split()), set(theirs[3].split())),
    )
    return bool((heads[0] - heads[1]) & (tails[1] - tails[0])) and bool(
        (heads[1] - heads[0]) & (tails[0] - tails[1])
    )


def differing_words(left: Reading, right: Reading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that only the left and only the right rule has, as they read, in order."""
    mine, theirs = _words(left.normal), _words(right.normal)
    return (
        tuple(word for word in mine if word not in theirs),
        tuple(word for word in theirs if word not in mine),
    )


def _words(text: str) -> dict[str, None]:
    return dict.fromkeys(word for raw in _SPACE.split(text) if (word := raw.strip(".,;:!?()[]\"'")))
