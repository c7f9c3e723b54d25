"""Plots fit the terminal, are plain without colour, and are not drawn where there is nothing to see."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.replay.made import made_run
from workbench.replay.run_report import LEAST_COLUMNS, counterpart, periods, plot_run

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_systems_are_bars_and_age_is_a_line() -> None:
    """Each system has a bar with its figure, the longer the better; both lines are named."""
    run = made_run(60)
    text = plot_run(run, 80, color=False)
    lines = text.splitlines()
    hybrid, baseline = (
        next(system for system in run.systems if system.system == name) for name in ("hybrid", "baseline")
    )
    assert lines[0] == f"Recall@10: hybrid {hybrid.recall_at_10:.3f}, baseline {baseline.recall_at_10:.3f}"
    assert [score.system for score in run.systems] == [line.split()[0] for line in lines[1:4]]
    assert [f"{score.recall_at_10:.3f}" for score in run.systems] == [line.split()[1] for line in lines[1:4]]
    bars = [line.count("█") for line in lines[1:4]]
    assert sorted(bars) == bars
    assert bars[0] < bars[2]
    assert re.search(
        r"hybrid ranks better than baseline in \d of 8 periods\nnDCG@10: o baseline, x hybrid\n", text
    )
    assert re.search(r"^0\.2┤", text, re.MULTILINE)
    assert re.search(r"\b\d\d-\d\d\b.*\b01-\d\d$", lines[-1])


@given(st.integers(0, 200), st.booleans())
def test_no_line_is_wider_than_the_terminal(columns: int, color: bool) -> None:
    """Whatever the width, each line fits in it; too narrow a terminal gets no plot."""
    text = plot_run(made_run(30), columns, color=color)
    assert (columns < LEAST_COLUMNS) == (not text)
    assert all(len(line) <= columns for line in ESCAPE.sub("", text).splitlines())


def test_without_colour_there_is_no_escape() -> None:
    """A plain plot holds no control character; a coloured one says the same."""
    plain, colored = (plot_run(made_run(30), 80, color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert "\x1b" in colored
    assert [line.rstrip() for line in ESCAPE.sub("", colored).splitlines()] == plain.splitlines()


def test_a_long_past_is_told_in_months() -> None:
    """Where periods lie months apart the axis says months, also where clocks went wrong."""
    assert "2024-" in plot_run(made_run(400), 80, color=False)
    run = made_run(20)
    wild = tuple(replace(row, at=(number - 10) * 10**17) for number, row in enumerate(run.rows))
    assert "9999-12" in plot_run(replace(run, rows=wild), 80, color=False)


def test_nothing_is_drawn_of_nothing() -> None:
    """A run without tasks has no plot; a few tasks, or one system, have bars and no line."""
    run = made_run(4)
    assert plot_run(replace(run, rows=(), systems=()), 80, color=False) == ""
    assert "ranks better" not in plot_run(run, 80, color=False)
    assert "ranks better" not in plot_run(made_run(60, systems=("hybrid",)), 80, color=False)


def test_figures_of_nought_are_drawn() -> None:
    """Systems that find nothing have bars of no length."""
    run = made_run(30)
    none = tuple(replace(score, recall_at_10=0.0, ndcg_at_10=0.0) for score in run.systems)
    text = plot_run(replace(run, systems=none, rows=()), 80, color=False)
    assert "hybrid   0.000" in text
    assert "█" not in text


def test_periods_hold_every_task_once() -> None:
    """Periods are of equal size, oldest first, and weigh to the mean of all."""
    run = made_run(40)
    found = periods(run, ("baseline", "hybrid"))
    assert len(found) == 8
    assert sorted(at for at, _ in found) == [at for at, _ in found]
    mean = sum(row.systems["hybrid"].measures["ndcg_at_10"] for row in run.rows) / 40
    assert abs(mean - sum(means[1] for _, means in found) / 8) < 1e-9


def test_odd_names_are_shown_not_sent() -> None:
    """The name of a system cannot drive the terminal."""
    run = made_run(30)
    scores = tuple(replace(score, system=f"\x1b[31m{score.system}\n") for score in run.systems)
    assert "\x1b" not in plot_run(replace(run, systems=scores, rows=()), 80, color=False)


def test_who_stands_beside_the_baseline() -> None:
    """Hybrid if it was run, else a hybrid with a model, else the last; none beside a baseline alone."""
    assert counterpart(made_run(3)) == "hybrid"
    assert counterpart(made_run(3, systems=("baseline", "hybrid-past", "hybrid+m1", "bm25"))) == "hybrid+m1"
    assert counterpart(made_run(3, systems=("baseline", "bm25"))) == "bm25"
    assert counterpart(made_run(3, systems=("baseline",))) == ""
