"""What a system's answers to the messages of a benchmark are worth, at a threshold and without one.

A message that no rule is about is answered rightly by returning nothing. Micro figures count every returned
rule, so what is returned for such a message costs precision; the macro figure gives each message an F1 of its
own, 1 for abstaining rightly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.replay.datasets import Message, Split
from workbench.replay.metrics import Counts, auroc, f1, ndcg, recall, reciprocal_rank

Ranked = tuple[tuple[str, float], ...]
"""(rule id, relevance in [0, 1]) of the rules a system finds for a message, best first."""

THRESHOLDS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Thresholds that are reported."""

CANDIDATES: Final = tuple(round(0.01 * step, 2) for step in range(5, 96))
"""Thresholds that are chosen among: fine, so that no system loses by where the reported ones lie."""


@dataclass(frozen=True, slots=True)
class MessageAnswer:
    """A message and the rules a system ranked for it, best first."""

    message: Message
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Figures of answers cut off below a threshold.

    Precision, recall and F1 are micro averages; `macro_f1` is the mean over messages; `mrr` is the mean
    reciprocal rank over messages that expect a rule, 0 where none of theirs was returned; `abstained` is the
    share of messages expecting none for which nothing was returned.
    """

    threshold: float
    precision: float
    recall: float
    f1: float
    macro_f1: float
    mrr: float
    abstained: float


@dataclass(frozen=True, slots=True)
class RankingFigures:
    """Figures of whole rankings over the messages that expect a rule.

    `auroc` is the chance that the best score of such a message is above that of one that expects none.
    """

    recall_at_1: float
    recall_at_5: float
    ndcg_at_10: float
    mrr: float
    auroc: float


def answers_in(answers: Sequence[MessageAnswer], split: Split) -> list[MessageAnswer]:
    """Return the answers to the messages of one split."""
    return [answer for answer in answers if answer.message.split is split]


def count_answers(answers: Sequence[MessageAnswer], threshold: float) -> NDArray[np.int64]:
    """Return int [n, 3]: true positives, false positives and false negatives of each message."""
    found = np.zeros((len(answers), 3), np.int64)
    for row, answer in enumerate(answers):
        returned = _rules_above(answer, threshold)
        right = len(set(returned).intersection(answer.message.expected))
        found[row] = right, len(returned) - right, len(answer.message.expected) - right
    return found


def message_f1(found: NDArray[Any]) -> NDArray[np.float64]:
    """Return float [n], the F1 of each message from its counts [n, 3]."""
    return f1(found[:, 0], found[:, 1], found[:, 2])


def measure_at(answers: Sequence[MessageAnswer], threshold: float) -> AtThreshold:
    """Return the figures of answers at a threshold; a mean over no message is 0."""
    found = count_answers(answers, threshold)
    total = Counts(*map(int, found.sum(axis=0)))
    ranks = [
        reciprocal_rank([rule in answer.message.expected for rule in _rules_above(answer, threshold)])
        for answer in answers
        if answer.message.expected
    ]
    silent = [not _rules_above(answer, threshold) for answer in answers if not answer.message.expected]
    return AtThreshold(
        threshold,
        total.precision,
        total.recall,
        total.f1,
        _mean(message_f1(found).tolist()),
        _mean(ranks),
        _mean(silent),
    )


def best_figures(figures: Sequence[AtThreshold]) -> AtThreshold:
    """Return the figures with the highest micro F1; of equal ones those of the highest threshold."""
    return max(figures, key=lambda one: (one.f1, one.threshold))


def choose_threshold(answers: Sequence[MessageAnswer], candidates: Sequence[float] = CANDIDATES) -> float:
    """Return the threshold with the highest micro F1 on these answers."""
    return best_figures([measure_at(answers, threshold) for threshold in candidates]).threshold


def ranking_figures(answers: Sequence[MessageAnswer]) -> RankingFigures:
    """Return the figures that need no threshold."""
    hits = [
        ([rule in answer.message.expected for rule, _ in answer.ranked], len(answer.message.expected))
        for answer in answers
        if answer.message.expected
    ]
    tops: dict[bool, list[float]] = {True: [], False: []}
    for answer in answers:
        tops[bool(answer.message.expected)].append(answer.ranked[0][1] if answer.ranked else 0.0)
    return RankingFigures(
        _mean([recall(found, relevant, 1) for found, relevant in hits]),
        _mean([recall(found, relevant, 5) for found, relevant in hits]),
        _mean([ndcg(found, relevant, 10) for found, relevant in hits]),
        _mean([reciprocal_rank(found) for found, _ in hits]),
        auroc(tops[True], tops[False]),
    )


def by_kind(answers: Sequence[MessageAnswer], threshold: float) -> dict[str, tuple[int, float]]:
    """Return {kind: (messages, macro F1)} in the order in which kinds first occur."""
    values: dict[str, list[float]] = {}
    for answer, value in zip(answers, message_f1(count_answers(answers, threshold)).tolist(), strict=True):
        values.setdefault(answer.message.kind, []).append(value)
    return {kind: (len(value), _mean(value)) for kind, value in values.items()}


def _rules_above(answer: MessageAnswer, threshold: float) -> list[str]:
    return [rule for rule, score in answer.ranked if score >= threshold]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
