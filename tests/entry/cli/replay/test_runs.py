"""`workbench runs`, and what `--replay` makes of a run: gates, a report, rows, plots, a kept copy."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.replay.made import made_run
from workbench.entry.cli import exits
from workbench.entry.cli.replay import report as run_output
from workbench.entry.services import gates as gate_evidence
from workbench.entry.services.runs import keep_run, runs_root
from workbench.errors import StoreError
from workbench.records.replay import ReplayRun, run_from_json, run_to_json
from workbench.replay.gates import GateEvidence

REPLAY = ("--replay", "--workers", "1", "--systems", "baseline,hybrid")


@pytest.fixture
def kept(project: Any) -> list[ReplayRun]:
    """Two kept runs of the project, the worse one last."""
    root = runs_root(project.root)
    found = []
    for number, run in enumerate((made_run(30), made_run(30, seed=9, systems=("baseline", "hybrid")))):
        found.append(keep_run(root, run))
        path = root / "runs" / f"{found[-1].id}.jsonl.gz"
        os.utime(path, (number + 1, number + 1))
    return found


@pytest.fixture
def sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the local state be sound without looking."""
    evidence = GateEvidence((), 3, (), "none", 2, 2, (20.0,))
    monkeypatch.setattr(gate_evidence, "gather", lambda *given: evidence)


def test_a_replay_is_kept_and_shown_again(run: Any, project: Any) -> None:
    """What a replay printed is what `runs show` prints, under an id that a list has."""
    first = run(*REPLAY)
    assert first.code == exits.OK
    shown = run("runs", "show")
    assert (shown.code, shown.out) == (exits.OK, first.out)
    (listed,) = run("runs", "list", "--json").json()["runs"]
    assert (listed["project"], listed["tasks"], listed["complete"]) == ("work", 1, True)
    document = run("runs", "show", listed["id"][:6], "--json").json()
    assert document["id"] == listed["id"]
    assert [score["system"] for score in document["systems"]] == ["baseline", "hybrid"]
    assert "gates" not in document
    assert listed["id"] in run("runs", "list").out
    assert run("runs", "--json").json() == run("runs", "list", "--json").json()
    assert run("runs").out == run("runs", "list").out


def test_a_run_that_cannot_be_kept_is_shown(run: Any, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk costs the copy, not the answer."""

    def full(*given: Any, **named: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr("workbench.entry.services.runs.put_run", full)
    ran = run(*REPLAY)
    assert ran.code == exits.OK
    assert "Means over tasks" in ran.out
    assert "this run is not kept: the disk is full" in ran.err


def test_gates_name_the_one_that_fails(run: Any, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --gate the table has all six, the exit code is 4, and stderr names what failed."""
    monkeypatch.setattr(gate_evidence, "stress", partial(gate_evidence.stress, agents=2, rounds=2))
    gather, gathered = gate_evidence.gather, list[GateEvidence]()

    def gather_once(*given: Any) -> GateEvidence:
        if not gathered:
            gathered.append(gather(*given))
        return gathered[0]

    monkeypatch.setattr(gate_evidence, "gather", gather_once)
    monkeypatch.setenv("WORKBENCH_GATES_P95_MS", "600000")
    ran = run(*REPLAY, "--gate")
    assert ran.code == exits.GATE == 4
    table = ran.out.partition("gate ")[2].splitlines()[1:7]
    assert [line.split()[:2] for line in table] == [
        ["G1", "freshness"],
        ["G2", "latency"],
        ["G3", "precision"],
        ["G4", "tokens"],
        ["G5", "corruption"],
        ["G6", "fallback"],
    ]
    assert [line.split()[-1] for line in table if line[:2] in ("G1", "G2", "G5", "G6")] == ["pass"] * 4
    assert "error: gate G3 (precision) failed" in ran.err
    gates = run(*REPLAY, "--gate", "--json").json()["gates"]
    assert next(gate["id"] for gate in gates if gate["state"] != "pass") == "G3"


def test_a_share_of_the_budget_bounds_packs(run: Any, project: Any) -> None:
    """A system of less budget ranks alike and packs less."""
    systems = ("--systems", "hybrid,hybrid@0.1", "--budget", "1000")
    (task,) = run("--replay", "--workers", "1", *systems, "--json").json()["tasks"]
    whole, lean = task["systems"].values()
    assert lean["ranking"] == whole["ranking"]
    assert lean["tokens"] <= 100
    assert lean["tokens"] <= whole["tokens"] <= 1000


@pytest.mark.usefixtures("sound", "kept")
def test_settings_decide_what_gates_demand(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that passes fails when more is demanded, or when a worse system stands in its place."""
    assert run("runs", "show", "last~1", "--gate").code == exits.OK
    monkeypatch.setenv("WORKBENCH_GATES_PRECISION", "9.5")
    ran = run("runs", "show", "last~1", "--gate")
    assert ran.code == exits.GATE
    assert "gate G3 (precision) failed" in ran.err
    monkeypatch.delenv("WORKBENCH_GATES_PRECISION")
    monkeypatch.setenv("WORKBENCH_GATES_SYSTEM", "hybrid-lexical")
    ran = run("runs", "show", "last~1", "--gate")
    assert ran.code == exits.GATE
    assert "hybrid-lexical was not run" in ran.err
    monkeypatch.setenv("WORKBENCH_GATES_ALLOW_MISSING", "true")
    assert run("runs", "show", "last~1", "--gate").code == exits.OK


@pytest.mark.usefixtures("sound")
def test_a_reference_that_ranked_better_fails_the_gate(
    run: Any, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G7 compares with the run the settings name: a system without a feature fails by what it lost."""
    made = made_run(60, systems=("baseline", "hybrid"))
    worse = run_from_json(json.loads(json.dumps(run_to_json(made)).replace('"hybrid"', '"hybrid-lexical"')))
    rows = tuple(
        replace(row, systems={**row.systems, "hybrid-lexical": row.systems["baseline"]}) for row in worse.rows
    )
    root = runs_root(project.root)
    ids = [keep_run(root, one).id for one in (made, replace(worse, rows=rows))]
    monkeypatch.setenv("WORKBENCH_GATES_REFERENCE", ids[0])
    same = run("runs", "show", ids[0], "--gate")
    assert same.code == exits.OK
    assert f"no worse than {ids[0]}" in same.out
    monkeypatch.setenv("WORKBENCH_GATES_SYSTEM", "hybrid-lexical")
    lost = run("runs", "show", ids[1], "--gate")
    assert lost.code == exits.GATE
    assert "gate G7 (regression) failed: -0." in lost.err
    monkeypatch.setenv("WORKBENCH_GATES_REFERENCE", "abcdef01")
    unknown = run("runs", "show", ids[1], "--gate")
    assert unknown.code == exits.GATE
    assert "gate G7 (regression) could not be evaluated" in unknown.err


@pytest.mark.usefixtures("kept")
def test_files_are_written_where_asked(run: Any, tmp_path: Path) -> None:
    """A report and rows are files; what could not be written is refused before anything is done."""
    report, rows = tmp_path / "r.html", tmp_path / "r.parquet"
    ran = run("runs", "show", "last", "--report", str(report), "--rows", str(rows))
    assert ran.code == exits.OK
    assert report.read_bytes().startswith(b"<!doctype html>")
    with duckdb.connect(":memory:") as connection:
        assert connection.read_parquet(str(rows)).fetchall()
    assert f"report written to {report}" in ran.err
    for option in ("--report", "--rows"):
        for place, said in ((tmp_path / "no" / "r", "is not a directory"), (tmp_path, "is a directory")):
            refused = run("--replay", option, str(place))
            assert (refused.code, refused.out) == (exits.USAGE, "")
            assert said in refused.err


def test_two_runs_are_compared(run: Any, kept: list[ReplayRun], tmp_path: Path) -> None:
    """Without names the last two are; a file of JSON is as good as a kept run; JSON has every task."""
    ran = run("runs", "compare")
    assert ran.code == exits.OK
    assert f"{kept[1].id} against {kept[0].id}: 30 tasks in both" in ran.out
    assert "bm25" not in ran.out.partition("measure")[2]
    file = tmp_path / "main.json"
    file.write_text(json.dumps(run_to_json(kept[0])))
    found = run("runs", "compare", str(file), "last", "--measure", "recall_at_10", "--json").json()
    assert (found["system"], found["measure"], found["common"]) == ("hybrid", "recall_at_10", 30)
    assert {change["system"] for change in found["changes"]} == {"baseline", "hybrid"}
    assert {change["verdict"] for change in found["changes"]} <= {"better", "worse", "no difference shown"}
    same = run("runs", "compare", "last", "last", "--gate")
    assert same.code == exits.OK
    assert "No task got worse" in same.out


def test_a_shown_loss_can_fail(run: Any, project: Any) -> None:
    """With --gate a comparison that shows a loss exits with 4 and says by how much."""
    root = runs_root(project.root)
    good, bad = made_run(60, systems=("hybrid",)), made_run(60, systems=("baseline",))
    renamed = json.loads(json.dumps(run_to_json(bad)).replace('"baseline"', '"hybrid"'))
    ids = [keep_run(root, one).id for one in (good, run_from_json(renamed))]
    ran = run("runs", "compare", *ids, "--gate")
    assert ran.code == exits.GATE
    assert "hybrid is worse by -0." in ran.err
    assert run("runs", "compare", *reversed(ids), "--gate").code == exits.OK


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "zzzz"), "no run is called 'zzzz'"),
        (("show", "last~7"), "2 runs are kept"),
        (("compare", "last~1", "last", "--system", "bm25"), "bm25 was not run in both"),
        (("compare", "last~1", "last", "--measure", "beauty"), "beauty"),
        (("show", "nowhere.json"), "nowhere.json"),
    ],
)
def test_what_cannot_be_shown_is_said(run: Any, arguments: tuple[str, ...], said: str) -> None:
    """Names that mean nothing are refused with the reason and nothing on stdout."""
    ran = run("runs", *arguments)
    assert ran.code in (exits.USAGE, exits.ERROR)
    assert ran.out == ""
    assert said in ran.err


def test_nothing_is_kept_yet(run: Any, project: Any) -> None:
    """A list of no runs is empty and says what makes one; nothing is made on disk by asking."""
    ran = run("runs", "list")
    assert (ran.code, ran.out) == (exits.OK, "")
    assert "`workbench --replay` makes one" in ran.err
    assert run("runs", "list", "--json").json() == {"runs": []}
    assert "no run is kept yet" in run("runs", "show").err


def test_a_damaged_run_does_not_hide_the_others(run: Any, project: Any, kept: list[ReplayRun]) -> None:
    """A file that cannot be read is listed as such, and showing it says why."""
    path = runs_root(project.root) / "runs" / f"{kept[0].id}.jsonl.gz"
    path.write_bytes(b"junk")
    ran = run("runs", "list")
    assert ran.code == exits.OK
    assert "cannot be read" in ran.out
    assert kept[1].id in ran.out
    shown = run("runs", "show", kept[0].id)
    assert (shown.code, shown.out) == (exits.ERROR, "")
    assert "cannot be read" in shown.err


@pytest.mark.usefixtures("kept")
def test_plots_are_for_terminals(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe and a narrow terminal have no plot, and what draws is not imported; a wide one has."""
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "plotext", None)
        ran = run("runs", "show")
        assert ("█" in ran.out, "no plots" in ran.err) == (False, False)
    monkeypatch.setattr(run_output, "terminal_columns", lambda: 80)
    plain = run("runs", "show").out
    assert "nDCG@10: hybrid 0.698, baseline 0.307\nbaseline 0.307 █" in plain
    assert "█" in plain
    assert "\x1b" not in plain
    monkeypatch.setattr(run_output, "terminal_columns", lambda: 40)
    assert "█" not in run("runs", "show").out


@pytest.mark.usefixtures("kept")
def test_plots_that_cannot_be_drawn_cost_nothing_else(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library does not load, the figures are printed without plots."""
    monkeypatch.setattr(run_output, "terminal_columns", lambda: 80)
    monkeypatch.setitem(sys.modules, "plotext", None)
    ran = run("runs", "show")
    assert ran.code == exits.OK
    assert "Means over tasks" in ran.out
    assert "no plots: " in ran.err
