"""Fit the weights of deduplication: `python -m bench.dedup_fit DATA --sick FILE --mrpc FILE` writes them.

Their file is `workbench/comparison/data/weights.json`.

Four logistic regressions with an L2 penalty, solved by Newton's method: denials and antonyms (on SICK's
training split, the fit half of the inference pairs and of the hand-written ones), repetitions with and
without the cosine of embeddings (on MRPC's training split and the same others). Deterministic.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.conflicts import embedder
from bench.dedup_data import (
    CONFLICT,
    DUPLICATE,
    INFERENCE,
    ROOT,
    RULES,
    UNDECIDED,
    Labelled,
    inference,
    mrpc,
    sick,
    written,
)
from workbench.comparison.alignment import Alignment, align
from workbench.comparison.features import antonym_features, denial_features, duplicate_features, obstacle
from workbench.comparison.verdicts import (
    instructs,
    opposed_sentences,
    stated_contrast,
    words_of,
)

Values = NDArray[np.float64]

HAND_WEIGHT, INFERENCE_WEIGHT, SICK_WEIGHT = 6.0, 3.5, 0.3
PENALTY = 5.0
"""Of the squared weights for a contradiction, more than for a repetition: many features, few pairs."""

UNALIKE = 4.2
"""Relatedness below which a neutral pair of SICK is surely no paraphrase."""

TARGET = ROOT / "workbench" / "comparison" / "data" / "weights.json"


def main() -> None:
    """Fit all four models and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with pairs/negation_nli.jsonl")
    parser.add_argument("--sick", type=Path, required=True, help="SICK's training split")
    parser.add_argument("--mrpc", type=Path, required=True, help="MRPC's training split")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="where vectors are kept")
    options = parser.parse_args()
    hand = [pair for pair in (*written(), *written(RULES)) if not pair.held and pair.gold != UNDECIDED]
    natural = [
        pair for pair in inference(options.data / INFERENCE) if not pair.held and pair.gold != UNDECIDED
    ]
    scenes, news = sick(options.sick), mrpc(options.mrpc)
    embed = embedder(options.cache)
    models = {
        "denial": conflicts(scenes, natural, hand, denial_features, INFERENCE_WEIGHT),
        "antonym": conflicts(scenes, natural, hand, antonym_features, 1.0),
        "repetition": repetitions(news, scenes, hand, None),
        "repetition by meaning": repetitions(news, scenes, hand, embed),
    }
    TARGET.write_text(json.dumps(models, indent=1) + "\n", encoding="utf-8")


def conflicts(
    scenes: Sequence[Labelled],
    natural: Sequence[Labelled],
    hand: Sequence[Labelled],
    features: Callable[[Alignment], dict[str, float]],
    natural_weight: float,
) -> dict[str, float]:
    """Return the weights by feature for pairs with one kind of opposition; instructions need no model."""
    rows, gold, weights = [], [], []
    for pairs, weight in ((scenes, 1.0), (natural, natural_weight), (hand, HAND_WEIGHT)):
        for pair in pairs:
            if instructs(pair.left) and instructs(pair.right):
                continue
            contrast = stated_contrast(pair.left, pair.right, both=False) is not None
            for sentence in opposed_sentences(pair.left, pair.right):
                if bool(sentence.denials) is (features is denial_features):
                    rows.append({**features(sentence), "contrast": float(contrast)})
                    gold.append(pair.gold == CONFLICT)
                    weights.append(weight)
    return fitted(rows, gold, weights, PENALTY)


def repetitions(
    news: Sequence[Labelled],
    scenes: Sequence[Labelled],
    hand: Sequence[Labelled],
    embed: Callable[[Sequence[str]], Values] | None,
) -> dict[str, float]:
    """Return the weights by feature for pairs that nothing rules out as repetitions."""
    decided = [
        pair
        for pair in scenes
        if pair.gold in (DUPLICATE, CONFLICT) or (pair.gold != UNDECIDED and pair.grade < UNALIKE)
    ]
    rows, gold, weights, kept = [], [], [], []
    for pairs, weight in ((news, 1.0), (decided, SICK_WEIGHT), (hand, HAND_WEIGHT)):
        for pair in pairs:
            mine, theirs = words_of(pair.left), words_of(pair.right)
            found = align(mine, theirs)
            both = instructs(pair.left) and instructs(pair.right)
            if not obstacle(found, mine, theirs, instruct=both):
                rows.append(duplicate_features(found))
                gold.append(pair.gold == DUPLICATE)
                weights.append(weight)
                kept.append(pair)
    if embed is not None:
        left, right = (np.asarray(embed([getattr(p, side) for p in kept])) for side in ("left", "right"))
        for row, cosine in zip(rows, (left * right).sum(axis=1), strict=True):
            row["meaning"] = max(float(cosine), 0.0)
    return fitted(rows, gold, weights)


def fitted(
    rows: Sequence[dict[str, float]], gold: Iterable[bool], weights: Iterable[float], strength: float = 1.0
) -> dict[str, float]:
    """Return the weights {feature: log-odds a unit} of an L2-penalised logistic regression, with the bias."""
    x = np.array([[*row.values(), 1.0] for row in rows])
    y, w = np.array(list(gold), float), np.array(list(weights))
    penalty = strength * np.eye(x.shape[1])
    penalty[-1, -1] = 1e-6
    beta = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        step = np.linalg.solve(
            (x * (w * p * (1 - p))[:, None]).T @ x + penalty, x.T @ (w * (p - y)) + penalty @ beta
        )
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    return {name: round(float(value), 3) for name, value in zip([*rows[0], "bias"], beta, strict=True)}


if __name__ == "__main__":
    main()
