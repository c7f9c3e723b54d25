"""The hand mixture: five signals with weights chosen by hand, which learned rankings are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HAND_MIXTURE: Final[Mapping[str, float]] = {
    "bm25_body": 0.35,
    "bm25_path": 0.2,
    "affinity": 0.3,
    "recency_50": 0.2,
    "frequency": 0.1,
}
"""Weights of signals that are shares of the best file's."""


def mixture_parts(features: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal of a ranked file gives in the hand mixture, without zeros."""
    return {name: weight * features[name] for name, weight in HAND_MIXTURE.items() if features.get(name)}
