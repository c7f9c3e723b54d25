"""The timeline: every time is in one cell, heights follow counts, the mark is where the time is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.timeline import TimelineBar, blocks, density, ends, label_line, regroup
from tests.screens.widgets.staging import Stage, seen

TIMES = st.lists(st.floats(-1e11, 1e11), max_size=30)


@given(times=TIMES, width=st.integers(1, 40))
def test_every_time_is_in_one_cell(times: list[float], width: int) -> None:
    """Counts add up, the first cell and the last one hold the ends."""
    counts = density(times, width)
    assert (len(counts), sum(counts)) == (width, len(times))
    assert not times or counts[0] > 0
    assert len(set(times)) < 2 or counts[-1] > 0
    assert [block != " " for block in blocks(counts)] == [count > 0 for count in counts]


def test_the_fullest_cell_is_the_highest() -> None:
    """Heights are shares of the most; a single one among many is still seen."""
    assert blocks([0, 1, 50, 100]) == " ▁▄█"
    assert blocks([]) == ""


@pytest.mark.parametrize("width", [1, 10, 60, 200])
async def test_the_selected_time_is_marked(width: int) -> None:
    """The mark stands below its cell; no mark without a selection; no times say so."""
    times = [0.0, 50.0, 100.0, math.nan]
    app = Stage(lambda: TimelineBar(times, selected=100.0))
    async with app.run_test(size=(width, 5)) as pilot:
        lines = seen(app).splitlines()
        assert lines[1].index("▲") == width - 1 == lines[0].rindex("█" if width > 1 else lines[0])
        assert ("█ 1 time in " in lines[1]) == (width > 40)
        timeline = app.screen.query_one(TimelineBar)
        timeline.select(None)
        await pilot.pause()
        assert "▲" not in seen(app)
        timeline.show([])
        await pilot.pause()
        assert seen(app).startswith("N")


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=50), width=st.integers(1, 60))
def test_counts_are_gathered_in_order(counts: list[int], width: int) -> None:
    """None is lost, and the first stays the first."""
    wide = regroup(counts, width)
    assert (len(wide), sum(wide)) == (width, sum(counts))
    assert not counts[0] or wide[0] > 0


@given(width=st.integers(14, 90), mark=st.none() | st.integers(0, 89))
def test_the_mark_covers_no_label(width: int, mark: int | None) -> None:
    """Both ends are whole wherever it is, and the scale is whole or left out."""
    mark = None if mark is None else mark % width
    scale = "█ 3 sessions in 2 h"
    line = label_line(("06-12", scale, "07-15"), width, mark)
    assert (len(line), line[mark or 0] == " " or mark is None) == (width, True)
    assert line.split("  ")[0].strip().startswith("06-12")
    assert line.strip().endswith("07-15")
    assert ("█" in line) == (scale in line)
    assert scale in line or width < 70


async def test_times_counted_elsewhere_are_shown_as_times_are() -> None:
    """Many fine cells look as the times they were made of."""
    times = [0.0, 100.0, 5_000.0, 10_000.0]
    app = Stage(lambda: TimelineBar(times))
    async with app.run_test(size=(40, 4)) as pilot:
        await pilot.pause()
        before = seen(app)
        app.query_one(TimelineBar).show_counts(density(times, 4_000), ends(times))
        await pilot.pause()
        assert before == seen(app)
