"""Runs of several repositories become one table, which says where another system is ahead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.replays import main, table, verdicts
from tests.replay.made import made_run
from workbench.records.replay import ReplayRun, run_to_json


def with_ndcg(run: ReplayRun, **values: float) -> ReplayRun:
    """Return a run whose systems have these nDCG@10."""
    scores = (replace(score, ndcg_at_10=values.get(score.system, score.ndcg_at_10)) for score in run.systems)
    return replace(run, systems=tuple(scores))


def test_each_repository_is_a_line() -> None:
    """Every system has its column, ours its gap to the baseline."""
    lines = table({"one": made_run(), "two": made_run()}).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| one", "| two"]
    assert "hybrid − baseline" in lines[0]


def test_who_is_ahead_of_ours_is_named() -> None:
    """A repository where bm25 ranks better is told, and none where it does not."""
    behind = with_ndcg(made_run(), baseline=0.1, bm25=0.9, hybrid=0.5)
    ahead = with_ndcg(made_run(), baseline=0.1, bm25=0.2, hybrid=0.5)
    assert "odd: bm25 0.900 > 0.500" in verdicts({"odd": behind, "even": ahead})
    assert verdicts({"even": ahead}).endswith("Above hybrid in nDCG@10: nowhere.")


def test_runs_are_read_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What --json wrote is what is told."""
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(run_to_json(made_run())), encoding="utf-8")
    main([str(path)])
    assert "| shop | " in capsys.readouterr().out
