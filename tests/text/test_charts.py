"""Ticks of charts: round, from zero, and no more than there is room for."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text.charts import number_text, round_ticks, time_text, time_ticks


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (13.0, 61.0, 5, [0, 20, 40, 60, 80]),
        (0.12, 0.97, 6, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (230.9, 235.8, 4, [0, 100, 200, 300]),
        (-3.0, 4.0, 5, [-4, -2, 0, 2, 4]),
        (0.0, 0.0, 3, [0, 0.5, 1]),
        (4_000.0, 4_000.0, 3, [0, 2_000, 4_000]),
    ],
)
def test_numbers_have_round_ticks_from_zero(low: float, high: float, most: int, ticks: list[float]) -> None:
    """Multiples of 1, 2 or 5 that begin at zero and reach around all values."""
    assert round_ticks(low, high, most) == ticks


@given(st.floats(-1e15, 1e15), st.floats(-1e15, 1e15), st.integers(3, 12))
def test_ticks_cover_any_numbers(one: float, other: float, most: int) -> None:
    """Zero is one of them, none is there twice, and there are at most so many."""
    ticks = round_ticks(min(one, other), max(one, other), most)
    assert 2 <= len(ticks) <= most
    assert sorted(set(ticks)) == ticks
    assert 0 in ticks
    slack = (ticks[-1] - ticks[0]) * 1e-5 + 1e-9
    assert ticks[0] <= min(one, other) + slack
    assert ticks[-1] >= max(one, other) - slack


@pytest.mark.parametrize(
    ("start", "end", "labels"),
    [
        ("2026-01-05 10:00:13", "2026-01-05 10:01:02", ["10:00:15", "10:00:30", "10:00:45", "10:01:00"]),
        ("2026-01-05 10:07", "2026-01-05 12:50", ["11:00", "12:00"]),
        ("2026-01-05 15:00", "2026-01-06 15:00", ["18:00", "01-06", "06:00", "12:00"]),
        ("2026-01-05 10:00", "2026-02-03 10:00", ["01-18", "02-01"]),
        ("2024-11-20", "2026-01-03", ["2025-01", "2025-07", "2026-01"]),
        ("2026-01-05 10:00:13", "2026-01-05 10:00:13", ["10:00:13"]),
    ],
)
def test_times_have_round_ticks(start: str, end: str, labels: list[str]) -> None:
    """Whole quarters of minutes, hours, days or months of the local clock; midnight is its day."""
    low, high = (datetime.fromisoformat(at).timestamp() for at in (start, end))
    places, found = time_ticks(low, high, 5)
    assert found == labels
    assert all(low <= place <= high for place in places)


@given(st.floats(-1e15, 1e15), st.floats(-1e15, 1e15))
def test_any_times_have_few_ticks(one: float, other: float) -> None:
    """Clocks that went wrong do not break the axis."""
    places, labels = time_ticks(min(one, other), max(one, other), 5)
    assert 1 <= len(places) == len(labels) <= 7
    assert time_text(one, abs(other - one))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.25, "0.25"), (1234.5, "1234"), (25_000.0, "25k"), (3.2e6, "3.2M"), (1e-6, "1.0e-06")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    """Axes show sizes, not digits."""
    assert text == number_text(value)
