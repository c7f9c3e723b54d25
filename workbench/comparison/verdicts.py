"""Whether two short texts say the same, contradict each other, or neither, with the reasons.

For learnings before they are stored, and for `workbench dedup`. A contradiction is looked for first: "not
allowed" is never a repetition of "allowed". Rules about tools, numbers and places come from
`workbench.comparison.contrast`; denials and antonyms between sentences of any kind are weighed by two small
logistic models over the alignment of the two texts, whose largest terms are the evidence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Final

from workbench.comparison.clauses import MAX_CHARS
from workbench.comparison.contrast import PLACING, Contrast, contrast
from workbench.comparison.duplicates import jaccard, normal_text, without_marks
from workbench.comparison.features import (
    SHORT,
    Overlay,
    conflict_features,
    duplicate_features,
    elsewhere,
    lone_denial,
    obstacle,
    overlay,
    turned_around,
)
from workbench.comparison.guards import (
    both_denied,
    enough_in_common,
    only_steps,
    other_numbers,
    said_positively,
    taken_back,
)
from workbench.comparison.scope import Scoped, scoped, sentences
from workbench.comparison.statements import Statement, statements
from workbench.comparison.words import LIGHT
from workbench.records.conflicts import Evidence
from workbench.text.instructions import judge as is_instruction
from workbench.text.terms import count_terms

CONFLICT_FROM: Final = 0.48
CONFLICT_INSTRUCTIONS_FROM: Final = 0.56
"""A contradiction among instructions is put before a person: few false alarms."""
DUPLICATE_FROM: Final = 0.42

DUPLICATE_BRIEF_FROM: Final = 0.58
"""Among instructions and short texts one word makes a difference, and merging two loses one."""

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

    `similarity` is the cosine of their embeddings, if it is known. It helps to find repetitions;
    contradictions are found without it.
    """
    left, right = sorted((left, right))
    if _equal(left, right):
        same = Evidence("text", 1.0, "equal but for case, marks and white space")
        return Judgement(Verdict.DUPLICATE, 1.0, (same,))
    first, second = left[:MAX_CHARS], right[:MAX_CHARS]
    mine, theirs = words_of(first), words_of(second)
    found = overlay(mine, theirs)
    doubt, reasons = opposition(first, second)
    both = instructs(first) and instructs(second)
    if doubt >= (CONFLICT_INSTRUCTIONS_FROM if both else CONFLICT_FROM):
        return Judgement(Verdict.CONFLICT, round(doubt, 3), reasons)
    if doubt >= DOUBT:
        return Judgement(Verdict.UNIQUE, round(1 - doubt, 3), reasons)
    whole = mine.whole and theirs.whole and max(len(left), len(right)) <= MAX_CHARS
    apart = lone_denial(found) or elsewhere(found) or turned_around(found, mine, theirs, instruct=both)
    if whole and both and not apart and _restated(first, second):
        same = Evidence("statement", 0.95, "the same statement once light words and reasons are left out")
        return Judgement(Verdict.DUPLICATE, 0.95, (same,))
    against = obstacle(found, mine, theirs, instruct=both)
    if not against and both:
        against = _other_names(first, second)
    if not against and not whole:
        against = _too_long(left, right)
    if against:
        return Judgement(Verdict.UNIQUE, round(1 - doubt, 3), (Evidence("difference", 1.0, against),))
    chance, terms = duplicate_chance(found, similarity)
    brief = both or max(found.left_mass, found.right_mass) <= SHORT
    if chance >= (DUPLICATE_BRIEF_FROM if brief else DUPLICATE_FROM):
        return Judgement(Verdict.DUPLICATE, round(chance, 3), terms)
    return Judgement(Verdict.UNIQUE, round(1 - max(chance, doubt), 3), terms)


@lru_cache(maxsize=65_536)
def plain(text: str) -> str:
    """Return a text without marks."""
    return without_marks(text)


def words_of(text: str) -> Scoped:
    """Return the words of a text, marks left out."""
    return scoped(plain(text))


def _equal(left: str, right: str) -> bool:
    """Whether two texts have one normal form; texts of nothing but marks are equal only letter by letter."""
    if max(len(left), len(right)) > MAX_CHARS:  # too large to be kept
        form = normal_text.__wrapped__(left)
        return bool(form) and form == normal_text.__wrapped__(right)
    form = normal_text(left)
    return form == normal_text(right) and (bool(form) or left == right)


def strongest_contrast(left: str, right: str) -> Contrast | None:
    """Return the strongest contrast between the statements of two texts, unless they share a statement."""
    mine, theirs = statements(plain(left)), statements(plain(right))
    found = [result for a in mine for b in theirs if (result := contrast(a, b)) is not None]
    if not found or any(_key(a) == _key(b) for a in mine for b in theirs):
        return None
    return max(found, key=lambda item: item.score)


def opposition(left: str, right: str) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely a sentence of one text contradicts one of the other, in [0, 1], and why."""
    contrast_found = strongest_contrast(left, right)
    both = instructs(left) and instructs(right)
    found = [conflict_chance(pair, contrast_found, instruct=both) for pair in opposed_sentences(left, right)]
    if contrast_found is not None and contrast_found.test in _SURE:
        found.append((contrast_found.score, (_stated(contrast_found),)))
    return max(found, key=lambda item: item[0], default=(0.0, ()))


@lru_cache(maxsize=65_536)
def instructs(text: str) -> bool:
    """Whether a text instructs somebody to do something."""
    return is_instruction(text).instruction


def opposed_sentences(left: str, right: str) -> list[Overlay]:
    """Return the pairs of sentences, laid over each other, in which something is opposed."""
    mine, theirs = sentences(left)[:_SENTENCES] or [left], sentences(right)[:_SENTENCES] or [right]
    alone = len(mine) == len(theirs) == 1
    found = []
    for a in mine:
        for b in theirs:
            first, second = words_of(a), words_of(b)
            if not alone and len(_known(first) & _known(second)) < _SHARED:
                continue
            pair = overlay(first, second)
            if (pair.denials or pair.antonyms) and enough_in_common(pair) and not taken_back(pair):
                found.append(pair)
    if instructs(left) and instructs(right):
        return [pair for pair in found if not only_steps(pair)]
    return [pair for pair in found if not any(test(pair) for test in _COMPATIBLE)]


_COMPATIBLE: Final = (both_denied, said_positively, other_numbers)
"""What makes two statements go together in which something is opposed."""


_SENTENCES: Final = 8
_SHARED: Final = 2


def _known(words: Scoped) -> set[str]:
    return {word.term for word in words.words if word.kind != "place"}


@lru_cache(maxsize=1)
def _weights() -> dict[str, dict[str, float]]:
    """Return log-odds by model and feature, as `python -m bench.dedup_fit` wrote them."""
    found: dict[str, dict[str, float]] = json.loads(
        (files(__package__) / "data" / "weights.json").read_text(encoding="utf-8")
    )
    return found


def conflict_chance(
    found: Overlay, opposed: Contrast | None, *, instruct: bool
) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two sentences in which something is opposed contradict each other, and why."""
    weights = _weights()["denial" if found.denials else "antonym"]
    features = {**conflict_features(found, instruct=instruct), "contrast": float(opposed is not None)}
    chance = _sigmoid(weights, features)
    stated = () if opposed is None else (_stated(opposed),)
    return chance, (*stated, _words(found, chance), *_terms(weights, features))


def _stated(opposed: Contrast) -> Evidence:
    return Evidence(opposed.test, round(opposed.score, 3), opposed.detail)


def duplicate_chance(found: Overlay, similarity: float | None) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two texts repeat each other, in [0, 1], and what speaks for and against it most."""
    features = duplicate_features(found)
    if similarity is None:
        weights = _weights()["repetition"]
    else:
        weights = _weights()["repetition by meaning"]
        features = {**features, "meaning": min(max(similarity, 0.0), 1.0)}
    return _sigmoid(weights, features), _terms(weights, features)


def _sigmoid(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    total = weights["bias"] + sum(weights[name] * value for name, value in features.items())
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
    mine, theirs = statements(plain(left)), statements(plain(right))
    if _blocks(left) != _blocks(right):
        return False
    if len(mine) != 1 or len(theirs) != 1:
        return False
    return _gist(mine[0]) == _gist(theirs[0]) and words_of(left).limits == words_of(right).limits


def _blocks(text: str) -> list[str]:
    return [" ".join(block.split()) for block in _FENCED.findall(text)]


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


def _other_names(left: str, right: str) -> str:
    """Return which proper names differ between two instructions; '' if only one names something."""
    mine, theirs = set(_PROPER.findall(left)), set(_PROPER.findall(right))
    if mine <= theirs or theirs <= mine:
        return ""
    return f"other names: {', '.join(sorted(mine - theirs))} and {', '.join(sorted(theirs - mine))}"


_PROPER: Final = re.compile(r"(?<=[a-z,)`] )[A-Z]\w*[a-z]\w*")
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def _too_long(left: str, right: str) -> str:
    """Return why texts that are too long to be aligned are no repetitions; '' if they may be."""
    if jaccard(frozenset(count_terms(left)), frozenset(count_terms(right))) >= LONG_JACCARD:
        return ""
    return "too long to compare word by word, and not the same words"
