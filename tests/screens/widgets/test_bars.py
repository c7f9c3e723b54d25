"""Bars of features: lengths, signs and order, and nothing in a name that is obeyed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.bars import Contribution, FeatureBars, bar, bar_lines, order_rows
from tests.screens.widgets.staging import HOSTILE, Stage, seen


@given(value=st.floats(), scale=st.floats(), width=st.integers(-2, 40))
def test_a_bar_fills_its_cells(value: float, scale: float, width: int) -> None:
    """Whatever the numbers are, a bar has exactly its width."""
    assert max(width, 0) == len(bar(value, scale, width))


def test_bars_grow_in_eighths_to_the_right_and_in_halves_to_the_left() -> None:
    """A bar ends where its share of the scale ends, as far as there are blocks for it."""
    assert bar(0.55, 1.25, 4) == "█▊  "
    assert bar(-0.375, 1.0, 4) == "  ▐█"
    assert bar(7.0, 1.0, 4) == "████"
    assert bar(1e-9, 1.0, 4) == "▏   "
    assert bar(0.0, 1.0, 4) == "    "
    assert bar(math.nan, 1.0, 4) == "    "


@given(st.lists(st.floats(-100, 100), max_size=6))
def test_rows_come_largest_first(values: list[float]) -> None:
    """Order is by magnitude, equal ones by name; given order is kept if asked for."""
    rows = [Contribution(f"f{place}", value) for place, value in enumerate(values)]
    found = order_rows(rows, "magnitude")
    assert sorted(found, key=lambda row: (-abs(row.value), row.name)) == found
    assert rows == order_rows(rows, "given")


def test_lines_tell_name_bar_and_number() -> None:
    """Less than zero is left of the axis and has its sign; the total comes last."""
    rows = [Contribution("recency", 0.5), Contribution("token cost", -0.25)]
    lines = [line.plain for line in bar_lines(rows, 42, total=0.25)]
    assert "recency             │██████████    +0.500".split() == lines[0].split()
    assert lines[1].index("█") < lines[0].index("│") == lines[1].index("│") < lines[0].index("█")
    assert lines[1].endswith("-0.250")
    assert lines[2].startswith("total")
    assert lines[2].endswith("+0.250")


@pytest.mark.parametrize("width", [0, 1, 10, 20, 60, 200])
def test_lines_have_room(width: int) -> None:
    """From twenty cells on no line is wider than it may be; below nothing breaks."""
    rows = [Contribution("a" * 50, 1.0), Contribution("b", math.inf), Contribution("c", -1e300)]
    widest = max(line.cell_length for line in bar_lines(rows, width, total=math.nan))
    assert width < 20 or widest <= width


@pytest.mark.parametrize("text", HOSTILE)
async def test_names_are_literal(text: str) -> None:
    """No name is read as markup or obeyed by the terminal."""
    app = Stage(lambda: FeatureBars([Contribution(text, 1.0, note=text)], total=1.0))
    async with app.run_test(size=(60, 20)):
        assert "+1.000" in seen(app)


async def test_other_rows_take_their_room() -> None:
    """An empty widget says so; rows that come later are all shown."""
    app = Stage(lambda: FeatureBars(empty="Nothing yet."))
    async with app.run_test(size=(60, 20)) as pilot:
        assert "Nothing yet." in seen(app)
        app.screen.query_one(FeatureBars).show([Contribution(f"f{n}", n) for n in range(5)], total=10.0)
        await pilot.pause()
        assert sum("+" in line for line in seen(app).splitlines()) == 6
