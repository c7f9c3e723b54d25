"""What is compared at matching rules, and by which measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.rules_cases import Case
from store.lexical import build_index
from workbench.replay.metrics import auroc
from workbench.rules.matching.calibration import MatchModel
from workbench.rules.matching.relevance import Mode, relevance_of, similarities

Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
System = Callable[[Case], Float64]
THRESHOLD: Final = 0.5
ROUNDS: Final = 2000
HYBRID: Final = "workbench, hybrid"


def best_cosine(case: Case) -> Float64:
    """Vector search [adr2, options A and D]: the best cosine of a rule's text and examples."""
    vectors = case.index.vectors
    if vectors is None:
        raise ValueError("the rules have no vectors")
    return np.stack([similarities(vectors, vector)[0] for vector in case.vectors]).astype(np.float64)


def bm25(case: Case) -> Float64:
    """BM25 over each rule's text and examples."""
    index = build_index(["\n".join((rule.condition_text, rule.rule, *rule.examples)) for rule in case.rules])
    return np.stack([index.scores(text) for text in case.messages]).astype(np.float64)


def literal(case: Case) -> Float64:
    """The specification's 0.7 · cosine + 0.3 · BM25 / its maximum [adr2, option B]."""
    words = bm25(case)
    normal: Float64 = words / np.maximum(words.max(axis=1, keepdims=True), 1e-9)
    return 0.7 * best_cosine(case) + 0.3 * normal


def ours(mode: Mode, model: MatchModel | None = None) -> System:
    """The program's own calibrated relevance."""

    def scores(case: Case) -> Float64:
        index = case.index
        return np.stack(
            [
                relevance_of(index.words, text, index.vectors, vector, mode=mode, model=model).relevance
                for text, vector in zip(case.messages, case.vectors, strict=True)
            ]
        )

    return scores


SYSTEMS: Final[dict[str, System]] = {
    "vector only (best cosine)": best_cosine,
    "BM25 only": bm25,
    "0.7 cosine + 0.3 BM25/max": literal,
    "workbench, meaning only": ours("dense"),
    "workbench, words only": ours("sparse"),
    HYBRID: ours("hybrid"),
}
SINGLE: Final = ("vector only (best cosine)", "BM25 only")
CALIBRATED: Final = ("workbench, meaning only", "workbench, words only", HYBRID)


def first(case: Case, scores: Float64, k: int) -> Float64:
    """Return whether a right rule is among the first k of messages that have one; ties count their middle."""
    inside = case.inside
    right = np.where(case.right, scores, -np.inf).max(axis=1, keepdims=True)
    rank = (scores > right).sum(axis=1) + ((scores == right).sum(axis=1) - 1) / 2
    return np.asarray(rank[inside] < k - 0.5, np.float64)


def answers(case: Case, scores: Float64, threshold: float) -> NDArray[np.int64]:
    """Return (right, wrong, missed) answers int64 [messages, 3], where the best rule answers or none does."""
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    given = scores[rows, best] >= threshold
    right = given & case.right[rows, best]
    return np.stack([right, given & ~right, case.inside & ~right], axis=1).astype(np.int64)


def aurocs(case: Case, all_scores: Sequence[Float64]) -> tuple[list[float], Float64]:
    """Return how well each system's best score separates known messages from others; its samples."""
    best = [scores.max(axis=1) for scores in all_scores]
    known, unknown = np.flatnonzero(case.inside), np.flatnonzero(~case.inside)
    random = np.random.default_rng(7)
    samples = np.empty((len(best), ROUNDS))
    for round_ in range(ROUNDS):
        some, others = random.choice(known, len(known)), random.choice(unknown, len(unknown))
        samples[:, round_] = [auroc(one[some], one[others]) for one in best]
    return [auroc(one[known], one[unknown]) for one in best], samples


def part(case: Case, rows: Bool, scores: dict[str, Float64]) -> tuple[Case, dict[str, Float64]]:
    at = np.flatnonzero(rows)
    messages = tuple(case.messages[row] for row in at.tolist())
    kept = Case(case.rules, case.index, messages, case.vectors[at], case.right[at])
    return kept, {name: score[at] for name, score in scores.items()}


def f1(counts: NDArray[np.int64]) -> float:
    """Return the micro F1 of (right, wrong, missed) answers, summed over messages."""
    right, wrong, missed = counts.sum(axis=0).tolist()
    return float(2 * right / max(2 * right + wrong + missed, 1))
