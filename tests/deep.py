"""Searches, which are as good as they are long: a fixed small sample in `make test`, all in `make deep`.

A test that uses `sample` or `times` has the mark `searches`; those that draw examples get it by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

DEEP: Final = bool(os.environ.get("DEEP"))
searches: Final = pytest.mark.searches

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


def only_deep(test: F) -> F:
    """Run a test in `make deep` alone: it takes seconds, and what it holds seldom breaks."""
    marked: F = searches(pytest.mark.skipif(not DEEP, reason="takes seconds: `make deep`")(test))
    return marked


def times(few: int, many: int) -> int:
    """Return how often to try something: few times, or many where searches are whole."""
    return many if DEEP else few


def sample(cases: Sequence[T], count: int, first: int = 0) -> Sequence[T]:
    """Return so many cases at even distances, or all where searches are whole.

    Samples with other values of `first` share no case as long as together they are not more than all.
    """
    if DEEP or count >= len(cases):
        return cases
    step = len(cases) // count
    return cases[first % step :: step][:count]
