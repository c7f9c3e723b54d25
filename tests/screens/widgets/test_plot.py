"""Plots: what is drawn is what was given, gaps stay gaps, and no value breaks the axes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screens.widgets.plot import (
    OWN,
    Chart,
    Plot,
    Series,
    glyphs,
    legend,
    plot_lines,
    runs,
    styles,
    thin_points,
)
from tests.deep import times
from tests.screens.widgets.staging import HOSTILE, Stage, seen

POINTS = st.lists(st.tuples(st.floats(), st.floats()), max_size=12)


@settings(max_examples=times(20, 60), deadline=None)
@given(points=POINTS, kind=st.sampled_from(["line", "bar", "scatter"]), times=st.booleans())
def test_any_numbers_can_be_plotted(points: list[tuple[float, float]], kind: str, times: bool) -> None:
    """Numbers of any size, and none, give a plot of the right size or nothing."""
    series = Series("a", [x for x, _ in points], [y for _, y in points], kind)  # type: ignore[arg-type]
    lines = plot_lines(Chart(series=(series,), times=times), 40, 10).splitlines()
    assert len(lines) in (0, 10)
    assert all(len(line) <= 40 for line in lines)
    assert bool(lines) == bool(runs(series.x, series.y))


def test_gaps_interrupt_a_line() -> None:
    """A value that is no finite number ends one run and begins another."""
    x = [1.0, 2.0, 3.0, 4.0, 5.0]
    y = [1.0, 2.0, math.nan, math.inf, 3.0]
    assert runs(x, y) == [[(1.0, 1.0), (2.0, 2.0)], [(5.0, 3.0)]]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=400), st.integers(4, 40))
def test_thinning_keeps_the_extremes(values: list[float], most: int) -> None:
    """Fewer points have the same least and largest value and the same ends, in order."""
    points = [(float(place), value) for place, value in enumerate(values)]
    found = thin_points(points, most)
    assert len(found) <= max(most, 4)
    assert sorted(found) == found
    assert points[0] == found[0]
    assert points[-1] == found[-1]
    assert (min(values), max(values)) == (min(y for _, y in found), max(y for _, y in found))


def test_series_differ_by_glyph() -> None:
    """Each series has a glyph of its own; one that was given is not given to another."""
    series = [Series("a", [], []), Series("b", [], [], glyph="●"), Series("c", [], [], "bar")]
    assert glyphs(series) == ["○", "●", "█"]


def test_the_products_own_has_one_glyph_and_colour() -> None:
    """Wherever it is among others it is a full circle in its colour, and drawn over them."""
    other, own = Series("a", [1, 2], [1, 2]), Series("b", [1, 2], [1, 2], own=True)
    for series in ((other, own), (own, other)):
        at = series.index(own)
        assert (glyphs(series)[at], styles(series)[at]) == ("●", OWN)
        assert styles(series)[1 - at] != OWN
        drawn = plot_lines(Chart(series=series), 40, 10)
        assert "●" in drawn
        assert "○" not in drawn  # both are in the same places


@pytest.mark.parametrize("width", [38, 78, 118])
def test_legends_fit(width: int) -> None:
    """Every series is in the legend, in two lines at most; long names lose their middles."""
    names = [f"hybrid+files-v{number}-lexical-and-more" for number in range(6)]
    lines = legend(Chart(series=tuple(Series(name, [], []) for name in names), y_label="ms"), width)
    assert len(lines) <= 2
    assert all(line.cell_length <= width for line in lines)
    assert all(glyph in "".join(line.plain for line in lines) for glyph in "○▲■◆×△")


async def test_a_plot_follows_its_size_and_its_series() -> None:
    """Title, unit and legend are shown, y begins at zero; without room it says so."""
    app = Stage(
        lambda: Plot(
            Chart(
                "Plans take 1 ms",
                (Series("p50", [1, 2, 3], [1, 2, 1], own=True), Series("p95", [1, 2, 3], [3, 4, 3])),
                x_label="calls",
                y_label="ms",
            )
        )
    )
    async with app.run_test(size=(60, 20)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        text = seen(app)
        assert text.splitlines()[:2] == ["Plans take 1 ms", "ms  ● p50  ○ p95"]
        assert "\n0┤" in text
        assert "calls" in text
        assert "●" in text.split("p95")[1]
        await pilot.resize_terminal(20, 8)
        assert "no room" in seen(app)
        await pilot.resize_terminal(60, 20)
        app.screen.query_one(Plot).show(Chart("hits"))
        await pilot.pause()
        assert "hits" in seen(app)
        assert "Nothing to plot yet." in seen(app)


@pytest.mark.parametrize("text", HOSTILE)
async def test_names_are_literal(text: str) -> None:
    """Titles, labels and names are shown, not obeyed."""
    series = (Series(text, [1, 2], [1, 2]), Series("b", [1, 2], [2, 1]))
    app = Stage(lambda: Plot(Chart(text, series, text, text)))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "└" in seen(app)


async def test_the_library_is_loaded_beside_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is there the title is shown; then the plot is drawn by itself."""
    monkeypatch.setattr("screens.widgets.plot.plotext_is_loaded", lambda: False)
    app = Stage(lambda: Plot(Chart("hits", (Series("a", [1, 2], [1, 2]),))))
    async with app.run_test(size=(80, 24)) as pilot:
        assert "hits" in seen(app)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "└" in seen(app)
