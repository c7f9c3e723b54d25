"""Whether two short texts say the same, contradict each other, or neither, with the reasons.

For learnings before they are stored, and for `workbench dedup`. A contradiction is looked for first: "not
allowed" is never a repetition of "allowed". Instructions contradict each other by their statements
(`workbench.comparison.contrast`), as rules do. Denials and antonyms between other sentences are weighed by
two small logistic models over the alignment of the two texts, whose largest terms are the evidence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from workbench.comparison.alignment import (
    Alignment,
    align,
    both_deny,
    enough_in_common,
    is_elsewhere,
    is_taken_back,
    lone_denial,
    other_numbers,
    states_opposite,
)
from workbench.comparison.contrast import Contrast, same_gist, share_statement, strongest_contrast
from workbench.comparison.features import (
    SHORT,
    antonym_features,
    denial_features,
    duplicate_features,
    obstacle,
    swaps_sides,
)
from workbench.comparison.negation import ScopedText, read_scope, sentences
from workbench.comparison.similarity import jaccard, normal_text, plain
from workbench.comparison.statements import claims, statements
from workbench.comparison.tokens import MAX_CHARS, code_blocks
from workbench.places import data_file
from workbench.records.conflicts import Evidence
from workbench.records.dataclass import dataclass
from workbench.text.instructions import judge as is_instruction
from workbench.text.terms import count_terms

CONFLICT_FROM: Final = 0.48
DUPLICATE_FROM: Final = 0.42

DUPLICATE_BRIEF_FROM: Final = 0.58
"""Among instructions and short texts one word makes a difference, and merging two loses one."""

DOUBT: Final = 0.35
"""A chance of a contradiction from which two texts are not merged, either."""

LONG_JACCARD: Final = 0.9
"""Share of words that texts too long to be aligned must have in common."""

_SURE: Final = frozenset({"choice", "alternative", "number", "path", "order"})
"""Contrasts that no denial or antonym is part of: right by themselves, whatever else the texts say."""

_SHOWN: Final = 3


class TextVerdict(StrEnum):
    """What two texts are to each other."""

    UNIQUE = "unique"  # each says something of its own
    DUPLICATE = "duplicate"  # the same thing twice
    CONFLICT = "conflict"  # both cannot hold


@dataclass(frozen=True, slots=True)
class TextJudgement:
    """A verdict with its certainty, `score` in [0, 1], and the evidence for it."""

    verdict: TextVerdict
    score: float
    evidence: tuple[Evidence, ...]


def judge(left: str, right: str, similarity: float | None = None) -> TextJudgement:
    """Return what two texts are to each other; the order makes no difference.

    `similarity` is the cosine of their embeddings, if it is known. It helps to find repetitions;
    contradictions are found without it.
    """
    left, right = sorted((left, right))
    if _equal(left, right):
        same = Evidence("text", 1.0, "equal but for case, marks and white space")
        return TextJudgement(TextVerdict.DUPLICATE, 1.0, (same,))
    first, second = left[:MAX_CHARS], right[:MAX_CHARS]
    mine, theirs = words_of(first), words_of(second)
    found = align(mine, theirs)
    doubt, reasons = opposition(first, second)
    both = instructs(first) and instructs(second)
    if doubt >= CONFLICT_FROM:
        return TextJudgement(TextVerdict.CONFLICT, round(doubt, 3), reasons)
    if doubt >= DOUBT:
        return TextJudgement(TextVerdict.UNIQUE, round(1 - doubt, 3), reasons)
    whole = mine.whole and theirs.whole and max(len(left), len(right)) <= MAX_CHARS
    apart = lone_denial(found) or is_elsewhere(found) or swaps_sides(found, mine, theirs, instruct=both)
    if whole and both and not apart and _is_restated(first, second):
        same = Evidence("statement", 0.95, "the same statement once light words and reasons are left out")
        return TextJudgement(TextVerdict.DUPLICATE, 0.95, (same,))
    against = obstacle(found, mine, theirs, instruct=both)
    if not against and both:
        against = _other_names(first, second)
    if not against and not whole:
        against = _too_long(left, right)
    if against:
        return TextJudgement(TextVerdict.UNIQUE, round(1 - doubt, 3), (Evidence("difference", 1.0, against),))
    chance, terms = duplicate_chance(found, similarity)
    brief = both or max(found.left_mass, found.right_mass) <= SHORT
    if chance >= (DUPLICATE_BRIEF_FROM if brief else DUPLICATE_FROM):
        return TextJudgement(TextVerdict.DUPLICATE, round(chance, 3), terms)
    return TextJudgement(TextVerdict.UNIQUE, round(1 - max(chance, doubt), 3), terms)


def words_of(text: str) -> ScopedText:
    """Return the words of a text, marks left out."""
    return read_scope(plain(text))


def _equal(left: str, right: str) -> bool:
    """Whether two texts have one normal form; texts of nothing but marks are equal only letter by letter."""
    if max(len(left), len(right)) > MAX_CHARS:  # too large to be kept
        form = normal_text.__wrapped__(left)
        return bool(form) and form == normal_text.__wrapped__(right)
    form = normal_text(left)
    return form == normal_text(right) and (bool(form) or left == right)


def opposition(left: str, right: str) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two texts contradict each other, in [0, 1], and why.

    Instructions are compared by what they demand, as rules are; other sentences are laid over each other.
    """
    both = instructs(left) and instructs(right)
    stated = stated_contrast(left, right, both=both)
    if both:
        return (0.0, ()) if stated is None else (stated.score, (_contrast_evidence(stated),))
    found = [conflict_chance(pair, stated) for pair in opposed_sentences(left, right)]
    if stated is not None and stated.test in _SURE:
        found.append((stated.score, (_contrast_evidence(stated),)))
    return max(found, key=lambda item: item[0], default=(0.0, ()))


def stated_contrast(left: str, right: str, *, both: bool) -> Contrast | None:
    """Return the strongest contrast between the statements of two texts, unless they share a statement.

    Of two instructions, `both`, only what demands something is contradicted.
    """
    mine, theirs = statements(plain(left)), statements(plain(right))
    found = strongest_contrast(claims(mine), claims(theirs)) if both else strongest_contrast(mine, theirs)
    return None if found is None or share_statement(mine, theirs) else found


@lru_cache(maxsize=65_536)
def instructs(text: str) -> bool:
    """Whether a text instructs somebody to do something."""
    return is_instruction(text).instruction


def opposed_sentences(left: str, right: str) -> list[Alignment]:
    """Return the pairs of sentences, laid over each other, in which something is opposed."""
    mine, theirs = sentences(left)[:_SENTENCES] or [left], sentences(right)[:_SENTENCES] or [right]
    alone = len(mine) == len(theirs) == 1
    found = []
    for a in mine:
        for b in theirs:
            first, second = words_of(a), words_of(b)
            if not alone and len(_known_terms(first) & _known_terms(second)) < _SHARED:
                continue
            pair = align(first, second)
            if (pair.denials or pair.antonyms) and enough_in_common(pair) and not is_taken_back(pair):
                found.append(pair)
    return [pair for pair in found if not any(test(pair) for test in _COMPATIBLE)]


_COMPATIBLE: Final = (both_deny, states_opposite, other_numbers)
"""What makes two statements go together in which something is opposed."""


_SENTENCES: Final = 8
_SHARED: Final = 2


def _known_terms(words: ScopedText) -> set[str]:
    return {word.term for word in words.words if word.kind != "place"}


@lru_cache(maxsize=1)
def _weights() -> dict[str, dict[str, float]]:
    """Return log-odds by model and feature, as `python -m bench.dedup_fit` wrote them."""
    found: dict[str, dict[str, float]] = json.loads(
        data_file(__package__, "weights.json").read_text(encoding="utf-8")
    )
    return found


def conflict_chance(found: Alignment, opposed: Contrast | None) -> tuple[float, tuple[Evidence, ...]]:
    """Return how likely two sentences in which something is opposed contradict each other, and why."""
    kind, features = (
        ("denial", denial_features(found)) if found.denials else ("antonym", antonym_features(found))
    )
    weights = _weights()[kind]
    features = {**features, "contrast": float(opposed is not None)}
    chance = _sigmoid(weights, features)
    stated = () if opposed is None else (_contrast_evidence(opposed),)
    return chance, (*stated, _words(found, chance), *_terms(weights, features))


def _contrast_evidence(opposed: Contrast) -> Evidence:
    return Evidence(opposed.test, round(opposed.score, 3), opposed.detail)


def duplicate_chance(found: Alignment, similarity: float | None) -> tuple[float, tuple[Evidence, ...]]:
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


def _words(found: Alignment, chance: float) -> Evidence:
    denied = [found.left[pair.left].text for pair in found.denials]
    pairs = [" against ".join(sorted(word.text for word in found.words(pair))) for pair in found.antonyms]
    parts = [f"denied on one side only: {' '.join(sorted(denied))}"] if denied else []
    return Evidence("opposed", round(chance, 3), "; ".join([*parts, *sorted(pairs)]))


def _is_restated(left: str, right: str) -> bool:
    """Whether both make one statement, and the same but for light words, placing verbs and reasons."""
    mine, theirs = statements(plain(left)), statements(plain(right))
    if code_blocks(left) != code_blocks(right):
        return False
    if len(mine) != 1 or len(theirs) != 1:
        return False
    return same_gist(mine[0], theirs[0]) and words_of(left).limits == words_of(right).limits


def _other_names(left: str, right: str) -> str:
    """Return which proper names differ between two instructions; '' if only one names something."""
    mine, theirs = set(_PROPER.findall(left)), set(_PROPER.findall(right))
    if mine <= theirs or theirs <= mine:
        return ""
    return f"other names: {', '.join(sorted(mine - theirs))} and {', '.join(sorted(theirs - mine))}"


_PROPER: Final = re.compile(r"(?<=[a-z,)`] )[A-Z]\w*[a-z]\w*")


def _too_long(left: str, right: str) -> str:
    """Return why texts that are too long to be aligned are no repetitions; '' if they may be."""
    if jaccard(frozenset(count_terms(left)), frozenset(count_terms(right))) >= LONG_JACCARD:
        return ""
    return "too long to compare word by word, and not the same words"
