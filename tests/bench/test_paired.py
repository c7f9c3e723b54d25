"""Figures of two versions are paired by the lines they are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.paired import main, series, table


def test_figures_are_paired_by_their_lines() -> None:
    """The same line with other figures is one series; what only one version prints is left out."""
    before = series(["plan 10.0 ms, 3 files\nold 1", "plan 30.0 ms, 3 files\nold 1", "plan 20.0 ms, 3 files"])
    after = series(["plan 5.0 ms, 3 files\nnew 7"])
    assert [line.split() for line in table(before, after)[1:]] == [
        ["20", "5", "0.250", "plan", "#", "ms,", "#", "files", "[1]"],
        ["3", "3", "1.000", "plan", "#", "ms,", "#", "files", "[2]"],
    ]


def test_equal_lines_are_told_apart_by_their_order() -> None:
    """Rows of a table that begin alike are series of their own; thousands and minus signs are read."""
    found = series(["| 1,000 |\n| -2.5 |", "| 3,000 |\n| -3.5 |"])
    assert [list(values) for values in found.values()] == [[1000, 3000], [-2.5, -3.5]]


def test_both_checkouts_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each runs its own module, in turns."""
    for name, figure in (("old", 4), ("new", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "probe.py").write_text(
            f"import sys; print('took', {figure}, sys.argv[1])\n", "utf-8"
        )
    places = ["--before", str(tmp_path / "old"), "--after", str(tmp_path / "new")]
    assert main([*places, "--rounds", "2", "probe", "--fast"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "4",
        "3",
        "0.750",
        "took",
        "#",
        "--fast",
        "[1]",
    ]
