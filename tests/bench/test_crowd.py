"""Eight real processes read and edit at once: no acknowledged edit is lost, answers hold together."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.crowd import crowd
from tests.deep import searches, times


@searches
def test_processes_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every edit that was acknowledged is listed, each process sees its own at once, no row comes twice."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)

    processes = times(2, 4)
    report = crowd(root, processes=processes, rules=50, rounds=6)

    assert (report.edits, report.reads) == (6 * processes, 6 * processes)
    assert (report.lost, report.faults) == ((), ())
