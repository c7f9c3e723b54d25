"""The records of a replay are plain values that survive JSON."""

from __future__ import annotations

import json

import pytest

from workbench.records.replay import (
    Gap,
    ReplayRun,
    SystemRow,
    SystemScore,
    TaskRow,
    row_from_json,
    row_to_json,
    run_from_json,
    run_to_json,
)

HYBRID = SystemRow(
    ranking=("a.py", "odd-\udcff.py"),
    measures={"ndcg_at_10": 0.5, "context_tokens": 900.0},
    packed={"a.py": "snippets"},
    tokens=900,
    contributions={"a.py": {"affinity": 0.25}},
    missed={"b.py": "ranked 14th"},
    reasons={"a.py": ("contains “x” (in 2 files)", "a first estimate")},
)
ROW = TaskRow(
    "c1", "c1", "commit", "fix it", "aa", "bb", 7, "bugfix", ("a.py", "b.py"), {"hybrid": HYBRID}, ("c.py",)
)
SCORE = SystemScore(
    "hybrid",
    1,
    0.1,
    0.5,
    0.5,
    1.0,
    0.5,
    intervals={"mrr": (0.0, 1.0)},
    gaps={"mrr": Gap(0.5, 0.0, 1.0, 0.04)},
)
RUN = ReplayRun("r1", "2026-01-01T00:00:00Z", "p", "1", {"budget": 4000}, (SCORE,), (ROW,), ("a note",))


def test_a_run_is_the_same_after_json() -> None:
    """A run comes back from JSON as it was, names that are no UTF-8 included."""
    assert run_from_json(json.loads(json.dumps(run_to_json(RUN)))) == RUN


def test_a_row_is_the_same_after_json() -> None:
    """A row comes back from JSON as it was."""
    assert row_from_json(json.loads(json.dumps(row_to_json(ROW)))) == ROW


def test_the_rows_of_a_run_are_its_tasks_in_json() -> None:
    """JSON calls the rows tasks, and every score has the names of the measures."""
    found = run_to_json(RUN)
    assert [task["id"] for task in found["tasks"]] == ["c1"]
    assert {"system", "precision_at_10", "recall_at_10", "mrr", "ndcg_at_10"} <= found["systems"][0].keys()


def test_a_run_of_another_format_is_refused() -> None:
    """A run of a format that is not known says so instead of being misread."""
    with pytest.raises(ValueError, match="format 99"):
        run_from_json({**run_to_json(RUN), "format": 99})


def test_what_is_no_row_is_refused() -> None:
    """A row that lacks a field says which."""
    with pytest.raises(ValueError, match="session"):
        row_from_json({"id": "x"})
