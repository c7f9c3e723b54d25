"""Glyphs and words of learnings: how they stand, why they wait, where they are from, how old they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from workbench.memory.learnings.confidence import stale_days
from workbench.memory.learnings.reviewing import STALE_DAYS, Why
from workbench.records.learnings import FeatureLearning, LearningSource, LearningState

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "unreviewed": ("?", "bold $text-warning"),
    "reviewed": ("✓", "$text-success"),
    LearningState.REJECTED: ("✗", "$text-error"),
    LearningState.RETIRED: ("–", "$text-muted"),
    LearningState.PRUNED: ("✂", "$text-muted"),
    LearningState.MERGED: ("⋃", "$text-muted"),
    LearningState.SUPERSEDED: ("»", "$text-muted"),
    LearningState.PROMOTED: ("★", "$text-accent"),
}
"""The glyph and style of each state, in the order they are sorted."""

_WHYS: Final[Mapping[str, tuple[str, str]]] = {
    "conflict": ("≠", "bold $text-error"),
    "contradicted": ("↯", "bold $text-error"),
    "duplicate": ("≈", "$text-warning"),
    "suggested-rule": ("☆", "bold $text-accent"),
    "promote": ("★", "$text-accent"),
    "unreviewed": ("?", "$text-warning"),
    "stale": ("◷", "$text-muted"),
}
WHYS: Final = {why: _WHYS.get(why.value, ("•", "$text-warning")) for why in Why}
"""The glyph and style of each reason to wait, the most urgent first."""

SOURCES: Final[Mapping[LearningSource, str]] = {
    LearningSource.AUTO: "auto",
    LearningSource.AGENT: "agent",
    LearningSource.HUMAN: "human",
    LearningSource.OPUS_REVIEWED: "model",
}
"""Who wrote it down; `model` is the stronger model that reviewed it."""


def state_of(learning: FeatureLearning) -> str:
    """Return how a learning stands in a word: reviewed or not while it is live, else what became of it."""
    if learning.live:
        return "reviewed" if learning.reviewed else "unreviewed"
    return learning.state.value


def age(learning: FeatureLearning, now: float) -> int:
    """Return how many whole days ago it was learned."""
    return stale_days(replace(learning, last_hit="", reviewed_at=""), now)


def days(count: int) -> str:
    """Return a number of days in few characters: `today`, `12d`, `3y`."""
    if count < 1:
        return "today"
    return f"{count}d" if count < 1000 else f"{count // 365}y"


def is_stale(learning: FeatureLearning, now: float) -> bool:
    """Whether nothing was heard of it for long."""
    return stale_days(learning, now) >= STALE_DAYS
