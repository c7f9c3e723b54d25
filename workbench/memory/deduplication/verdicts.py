"""Whether two short texts say the same, contradict each other, or neither, with the reasons.

For learnings before they are stored, and for `workbench dedup`. A contradiction is looked for first: "not
allowed" is never a repetition of "allowed". Rules about tools, numbers and places come from
`workbench.text.contrast`; denials and antonyms between sentences of any kind are weighed by two small
logistic models over the alignment of the two texts, whose largest terms are the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from workbench.memory.deduplication.features import (
    Overlay,
    conflict_features,
    duplicate_features,
    obstacle,
    overlay,
)
from workbench.memory.deduplication.weights import (
    ANTONYM,
    BIAS,
    CONTRAST,
    DENIAL,
    MEANING,
    REPETITION,
    REPETITION_BY_MEANING,
)
from workbench.records.conflicts import Evidence
from workbench.text.clauses import MAX_CHARS
from workbench.text.contrast import PLACING, Contrast, contrast
from workbench.text.duplicates import jaccard, normal_text, without_marks
from workbench.text.scope import Scoped, scoped
from workbench.text.statements import Statement, statements
from workbench.text.terms import count_terms
from workbench.text.words import LIGHT

CONFLICT_FROM: Final = 0.5
DUPLICATE_FROM: Final = 0.5

DOUBT: Final = 0.35
"""A chance of a contradiction from which two texts are not merged, either."""

LONG_JACCARD: Final = 0.9
"""Share of words that texts too long to be aligned must have in common."""

_SURE: Final = frozenset({"choice", "alternative", "number", "path", "order"})
"""Contrasts that no denial or antonym is part of: right by themselves between instructions."""

_SHOWN: Final = 3


class Verdict(StrEnum):
    """What two texts are to each other."""

    UNIQUE = "unique"  # each says something of its own
    DUPLICATE = "duplicate"  # the same thing twice
    CONFLICT = "conflict"  # both cannot hold


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict; `score` in [0, 1] says how sure it is, `evidence` why."""

    verdict: Verdict
    score: float
    evidence: tuple[Evidence, ...]


def judge(left: str, right: str, similarity: float | None = None) -> Judgement:
    """Return what two texts are to each other; the order makes no difference.

    `similarity` is the cosine of their embeddings, if it is known. It helps to tell repetitions;
    contradictions are found without it.
    """
    left, right = sorted((left, right))
    if _equal(left, right):
        same = Evidence("text", 1.0, "equal but for case, marks and white space")
        return Judgement(Verdict.DUPLICATE, 1.0, (same,))
    first, second = left[:MAX_CHARS], right[:MAX_CHARS]
    mine, theirs = words_of(first), words_of(second)
    found = overlay(mine, theirs)
    opposed = strongest_contrast(first, second)
    doubt, reasons = conflict_chance(found, opposed)
    if doubt >= CONFLICT_FROM:
        return Judgement(Verdict.CONFLICT, round(doubt, 3), reasons)
    if doubt >= DOUBT:
        return Judgement(Verdict.UNIQUE, round(1 - doubt, 3), reasons)
    whole = mine.whole and theirs.whole and max(len(left), len(right)) <= MAX_CHARS
    if whole and _restated(first, second):
        same = Evidence("statement", 0.95, "the same statement once light words and reasons are left out")
        return Judgement(Verdict.DUPLICATE, 0.95, (same,))
    against = obstacle(found, mine, theirs)
    if not against and not whole:
        against = _too_long(left, right)
    if against:
        return Judgement(Verdict.UNIQUE, round(1 - doubt, 3), (Evidence("difference", 1.0, against),))
    chance, terms = duplicate_chance(found, similarity)
    if chance >= DUPLICATE_FROM:
        return Judgement(Verdict.DUPLICATE, round(chance, 3), terms)
    return Judgement(Verdict.UNIQUE, round(1 - max(chance, doubt), 3), terms)


@lru_cache(maxsize=65_536)
def words_of(text: str) -> Scoped:
    """Return the words of a text, marks left out."""
    return scoped(without_marks(text))


def _equal(left: str, right: str) -> bool:
    """Whether two texts have one normal form; texts of nothing but marks are equal only letter by letter."""
    if max(len(left), len(right)) > MAX_CHARS:  # too large to be kept
        form = normal_text.__wrapped__(left)
        return bool(form) and form == normal_text.__wrapped__(right)
    form = normal_text(left)
    return form == normal_text(right) and (bool(form) or left == right)


def strongest_contrast(left: str, right: str) -> Contrast | None:
    """Return the strongest contrast between the statements of two texts, unless they share a statement."""
    mine, theirs = statements(left), statements(right)
    found = [result for a in mine for b in theirs if (result := contrast(a, b)) is not None]
    if not found or any(_key(a) == _key(b) for a in mine for b in theirs):
        return None
    return max(found, key=lambda item: item.score)


def conflict_chance(found: Overlay, opposed: Contrast | None) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two texts contradict each other, in [0, 1], and why; 0 if nothing in them opposes."""
    stated = () if opposed is None else (Evidence(opposed.test, round(opposed.score, 3), opposed.detail),)
    chance, terms = 0.0, tuple[Evidence, ...]()
    if found.denials or found.antonyms:
        weights = DENIAL if found.denials else ANTONYM
        features = {**conflict_features(found), CONTRAST: float(opposed is not None)}
        chance = _sigmoid(weights, features)
        terms = (_words(found, chance), *_terms(weights, features))
    if opposed is not None and opposed.test in _SURE:
        chance = max(chance, opposed.score)
    return chance, (*stated, *terms)


def duplicate_chance(found: Overlay, similarity: float | None) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two texts repeat each other, in [0, 1], and what speaks for and against it most."""
    features = duplicate_features(found)
    if similarity is None:
        weights = REPETITION
    else:
        weights, features = REPETITION_BY_MEANING, {**features, MEANING: min(max(similarity, 0.0), 1.0)}
    return _sigmoid(weights, features), _terms(weights, features)


def _sigmoid(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    total = weights[BIAS] + sum(weights[name] * value for name, value in features.items())
    return 1 / (1 + math.exp(-max(min(total, 30.0), -30.0)))


def _terms(weights: Mapping[str, float], features: Mapping[str, float]) -> tuple[Evidence, ...]:
    """Return the features that move a sum most, as evidence: the value, and how far it moves the sum."""
    moved = {name: weights[name] * value for name, value in features.items()}
    largest = sorted((name for name in moved if moved[name]), key=lambda name: (-abs(moved[name]), name))
    return tuple(
        Evidence(name, round(min(max(features[name], 0.0), 1.0), 3), f"{moved[name]:+.2f} to the log-odds")
        for name in largest[:_SHOWN]
    )


def _words(found: Overlay, chance: float) -> Evidence:
    """Return the words in which two texts collide."""
    a = found.alignment
    denied = [a.left[p.left].text for p in found.denials]
    pairs = [" against ".join(sorted((a.left[p.left].text, a.right[p.right].text))) for p in found.antonyms]
    parts = [f"denied on one side only: {' '.join(sorted(denied))}"] if denied else []
    return Evidence("opposed", round(chance, 3), "; ".join([*parts, *sorted(pairs)]))


def _restated(left: str, right: str) -> bool:
    """Whether both make one statement, and the same but for light words, placing verbs and reasons."""
    mine, theirs = statements(left), statements(right)
    if len(mine) != 1 or len(theirs) != 1:
        return False
    return _gist(mine[0]) == _gist(theirs[0]) and words_of(left).limits == words_of(right).limits


def _gist(statement: Statement) -> tuple[object, ...]:
    """Return all that two statements must agree in to be the same once light words are left out."""
    light = LIGHT | PLACING
    return (statement.subject - light, statement.label - light, *_rest(statement))


def _key(statement: Statement) -> tuple[object, ...]:
    return (statement.subject, statement.label, *_rest(statement))


def _rest(statement: Statement) -> tuple[object, ...]:
    ordered = {"before", "after"} & set(statement.terms)
    return (
        statement.terms if ordered else (),
        statement.negated,
        statement.choices,
        statement.paths,
        statement.condition,
        statement.exception,
        frozenset(statement.rejected),
        tuple((item.unit, item.value, item.bound) for item in statement.quantities),
    )


def _too_long(left: str, right: str) -> str:
    """Return why texts that are too long to be aligned are no repetitions; '' if they may be."""
    if jaccard(frozenset(count_terms(left)), frozenset(count_terms(right))) >= LONG_JACCARD:
        return ""
    return "too long to compare word by word, and not the same words"
