"""Relevance of rules to a message by their words alone, calibrated to [0, 1], with nothing heavy imported.

This is what a cold plan has before any embedding: the share of the message's information that a rule's words
account for, and of the rule's that the message accounts for. It answers for itself, without a corpus-wide
maximum, so a message that no rule is about gives low scores everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.text.terms import count_terms

_CONDITION = 0.5  # what a word of the condition weighs against one of the instruction
_SATURATION = 0.3  # share of the message's information that makes a relevance of 0.5


@dataclass(frozen=True, slots=True)
class RuleWords:
    """The terms of rules: postings {term: [(position, weight)]}, each term's idf and each rule's norm."""

    count: int
    postings: Mapping[str, tuple[tuple[int, float], ...]]
    idf: Mapping[str, float]
    norms: tuple[float, ...]


def index_words(rules: Sequence[Rule]) -> RuleWords:
    """Return the terms of rules; a term weighs its best place, the instruction more than the condition."""
    postings: dict[str, list[tuple[int, float]]] = {}
    per_rule: list[dict[str, float]] = []
    for position, rule in enumerate(rules):
        weights = dict.fromkeys(count_terms(rule.condition_text), _CONDITION)
        weights.update(dict.fromkeys(count_terms(rule.action_text or rule.rule), 1.0))
        for example in rule.examples:
            weights.update(dict.fromkeys(count_terms(example), 1.0))
        per_rule.append(weights)
        for term, weight in weights.items():
            postings.setdefault(term, []).append((position, weight))
    count = len(rules)
    idf = {
        term: math.log1p((count - len(found) + 0.5) / (len(found) + 0.5)) for term, found in postings.items()
    }
    norms = tuple(
        math.sqrt(sum((weight * idf[term]) ** 2 for term, weight in weights.items())) for weights in per_rule
    )
    return RuleWords(count, {term: tuple(found) for term, found in postings.items()}, idf, norms)


def lexical_relevance(words: RuleWords, text: str) -> NDArray[np.float32]:
    """Return float32 [n], the relevance of each rule to a message in [0, 1], 0 where no word is shared.

    Words that no rule has count against every rule: the message is about something else.
    """
    scores = np.zeros(words.count, dtype=np.float64)
    query = count_terms(text)
    unseen = math.log1p(words.count + 0.5) * 0.5
    norm = 0.0
    for term, times in query.items():
        idf = words.idf.get(term, unseen)
        weight = (1 + math.log(times)) * idf
        norm += weight * weight
        for position, value in words.postings.get(term, ()):
            scores[position] += weight * value * idf
    if norm:
        lengths = np.array(words.norms)
        scores = np.divide(scores, lengths * math.sqrt(norm), out=np.zeros_like(scores), where=lengths > 0)
    return (scores / (scores + _SATURATION)).astype(np.float32)
