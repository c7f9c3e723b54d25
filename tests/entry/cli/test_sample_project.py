"""What `make run` shows of the sample project, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_data.build import build
from tests.deep import searches, times
from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits


@pytest.fixture(autouse=True)
def _in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the sample project, made anew."""
    monkeypatch.chdir(build(tmp_path)[0])


def test_all_of_its_transcripts_are_understood(run: Run) -> None:
    """Each prompt becomes a task, each session is this project's, each line is understood."""
    report = run("import", "sessions", "../sessions", "--json").json()
    assert report["understood"]["share_of_lines"] == report["understood"]["share_of_events"] == 1
    assert report["other_projects"] == {}
    assert report["tasks"]["new"] >= 40
    assert report["outcomes"]["success"] >= 35
    assert report["outcomes"]["success"] < sum(report["outcomes"].values())


def test_its_rules_repeat_and_contradict_each_other(run: Run) -> None:
    """The files of four agents say some things twice, and one thing both ways."""
    kinds = [found["kind"] for found in run("rules", "conflicts", "list", "--json").json()["conflicts"]]
    assert kinds.count("contradictory") == 1
    assert kinds.count("exact") >= 3


def test_its_sessions_teach(run: Run) -> None:
    """Commands, causes and corrections are learned, two contradict each other; every screen has something."""
    run("rules", "list")
    told = run("memory", "ingest", "../sessions", "--json").json()
    assert (told["learned"] >= 6, told["confirmed"] >= 3) == (True, True)
    assert told["added"] > sum(told["untaught"].values()) > 0
    items = run("memory", "queue", "--json").json()["items"]
    assert {item["learning"]["kind"] for item in items} == {"command", "correction", "error"}
    assert {"conflict", "promote", "suggested-rule"} <= {item["why"] for item in items}
    assert len(run("memory", "conflicts", "--json").json()["conflicts"]) == 1
    said = run("memory", "corrections", "--json").json()["corrections"]
    assert {one["status"] for one in said} == {"suggested", "contradicts", "once"}
    assert max(len({telling["session_id"] for telling in one["said"]}) for one in said) == 2
    run("rules", "conflicts", "resolve", "--kind", "subsumed", "--suggested")
    drift = run("rules", "drift", "--json").json()["drift"]
    assert [found["file"] for found in drift] == [".cursor/rules/python.mdc", "CLAUDE.md"]


@searches
def test_its_past_can_be_replayed(run: Run) -> None:
    """Commits and prompts become tasks, and the ranking finds more of what was edited than the baseline."""
    run("import", "sessions", "../sessions")
    count = str(times(16, 40))
    options = (
        "--no-packs",
        "--tasks",
        count,
        "--workers",
        "1",
        "--systems",
        "baseline,bm25,hybrid",
        "--json",
    )
    ran = run("--replay", *options)
    assert ran.code == exits.OK
    means = {one["system"]: one["ndcg_at_10"] for one in ran.json()["systems"]}
    assert means["baseline"] < means["bm25"] < 1
    assert means["baseline"] < means["hybrid"] < 1
