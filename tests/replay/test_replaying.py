"""Replays of a past: the same rows however they were come by, and nothing lost on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.config import Config, ModelsConfig, RerankConfig
from workbench.entry.project import open_project
from workbench.entry.services import replay as replaying
from workbench.entry.services import replay_engine
from workbench.entry.services.past_project import ReplayOptions, open_past
from workbench.entry.services.replay import ReplayOutcome, explain_task, replay_past, score_replay
from workbench.errors import UsageError
from workbench.plan.planner import rank
from workbench.plan.reasons import reasons_of
from workbench.records.replay import TaskRow
from workbench.replay import engine
from workbench.replay.engine import replay_tasks
from workbench.replay.row_log import RowLog, log_ends, new_measures, row_keys
from workbench.replay.systems import parse_systems
from workbench.replay.task_rows import NOTHING, failed_row
from workbench.replay.tasks import ReplayTask, TaskSource

SYSTEMS = parse_systems(["baseline", "hybrid"])
TIMINGS = ("latency_ms", "cache_hit_ratio")


@pytest.fixture
def past(work: Any) -> Any:
    """A project with ten commits that modify a file each."""
    for number in range(5):
        work.write(f"src/part{number}.py", f"def part{number}():\n    return {number}\n")
    work.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    work.commit("Begin")
    for number in range(10):
        work.write(f"src/part{number % 5}.py", f"def part{number % 5}():\n    return {number + 50}\n")
        work.commit(f"Change what part{number % 5} returns")
    return work


def replayed(
    root: Path, *, packs: int = 100, fresh: bool = False, workers: int = 1, tasks: int = 100
) -> ReplayOutcome:
    """Replay the past of a project without an embedding model."""
    config = Config()
    return replay_past(
        open_past(root),
        config,
        ReplayOptions(TaskSource.ALL, tasks, SYSTEMS, 1000, packs, fresh),
        workers=workers,
    )


def timeless(rows: tuple[TaskRow, ...]) -> list[Any]:
    """Return rows without what differs between runs."""
    found = []
    for row in rows:
        for name, system in row.systems.items():
            measures = {key: value for key, value in system.measures.items() if key not in TIMINGS}
            found.append((row.id, row.truth, row.at, name, replace(system, measures=measures)))
    return found


def test_rows_hold_what_reports_need(past: Any) -> None:
    """A row has the truth, a ranking, a pack that fits and what features added, of every system."""
    found = replayed(past.root)
    assert len(found.replayed.rows) == 10
    row = found.replayed.rows[0]
    hybrid = row.systems["hybrid"]
    assert (row.head, row.truth, row.source) == ("Change what part4 returns", ("src/part4.py",), "commit")
    assert row.revision != row.commit == row.session
    assert hybrid.ranking[0] == "src/part4.py"
    assert hybrid.measures["packed_recall"] == hybrid.measures["first_pass_success"] == 1.0
    assert hybrid.measures["line_coverage"] == 1.0
    assert hybrid.tokens is not None
    assert 0 < hybrid.tokens <= 1000
    assert hybrid.contributions["src/part4.py"]
    assert not row.systems["baseline"].contributions


def test_reasons_are_those_of_the_plan_that_was_made_then(past: Any, tmp_path: Path) -> None:
    """What a replay records of a file, a plan on the tree and the past of that time says of it."""
    row = replayed(past.root, packs=0, tasks=1).replayed.rows[0]
    then = tmp_path / "then"
    for arguments in (["clone", "-q", past.root, then], ["-C", then, "checkout", "-q", row.revision]):
        subprocess.run(["git", *map(str, arguments)], check=True)
    project = open_project(then, Config(), dict(os.environ))
    ranking = rank(project.workspace, project.planner, row.head)
    reasons = reasons_of(ranking)
    said = row.systems["hybrid"].reasons
    assert said == {file.path: reasons.of(file) for file in ranking.files if file.path in said}
    assert said["src/part4.py"]
    run = score_replay(open_past(past.root), replayed(past.root))
    told = explain_task(past.root, Config(), run, row.id, "hybrid")
    assert {file.path: file.reasons for file in told.files if file.path in said} == said


def test_several_processes_give_what_one_gives(past: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows do not depend on how many processes there are, nor on the size of their batches."""
    alone = replayed(past.root)
    monkeypatch.setattr(engine, "BATCH", 2)
    together = replayed(past.root, fresh=True, workers=2)
    assert timeless(together.replayed.rows) == timeless(alone.replayed.rows)


def test_a_second_replay_computes_nothing(past: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are reused for the same settings, and only for those."""
    first = replayed(past.root)
    monkeypatch.setattr(replaying, "replay_one", _never)
    second = replayed(past.root)
    assert second.replayed.rows == first.replayed.rows
    assert second.replayed.reused == 10
    with pytest.raises(RuntimeError, match="computed"):
        replayed(past.root, packs=0)


def test_a_task_weighed_again_ranks_as_it_did_and_knows_no_future(past: Any) -> None:
    """Whatever was committed since, every system ranks a task as the replay did, with all contributions."""
    found = replayed(past.root, packs=0)
    past.write("src/part4.py", "def part4():\n    return 'part4 part4'\n")
    past.write("src/new_part4.py", "def part4():\n    return 'part4 part4'\n")
    past.commit("Change what part4 returns")
    run = score_replay(open_past(past.root), found)
    for row in run.rows[:4]:
        for system in ("baseline", "hybrid"):
            told = explain_task(past.root, Config(), run, row.commit[:10], system)
            assert told.same
            assert told.system == system
        by_path = {file.path: file.contributions for file in told.files}
        for path, kept in row.systems["hybrid"].contributions.items():
            assert kept == {name: value for name, value in by_path[path].items() if name in kept}
    with pytest.raises(UsageError, match="did not do this task"):
        explain_task(past.root, Config(), run, run.rows[0].id, "vector")


def test_what_a_running_replay_adds_to_its_log_is_read_as_it_comes(past: Any) -> None:
    """Only whole rows that are new count; where the logs end is where the next look begins."""
    found = replayed(past.root, tasks=6)
    logs = open_past(past.root).state / "replay" / "rows"
    ends, rows = new_measures(logs, {})
    assert [sorted(row) for row in rows] == [["baseline", "hybrid"]] * 6
    assert ends == log_ends(logs)
    assert new_measures(logs, ends) == (ends, [])
    (path,) = logs.iterdir()
    with path.open("ab") as file:
        file.write(b'{"key": "torn')
    assert new_measures(logs, ends) == (ends, [])
    best = [row.systems["hybrid"].measures["ndcg_at_10"] for row in found.replayed.rows]
    assert sorted(best) == sorted(row["hybrid"] for row in rows)
    assert new_measures(logs / "none", {}) == ({}, [])


def _never(spec: Any, task: ReplayTask) -> TaskRow:
    raise RuntimeError("computed")


def test_ctrl_c_keeps_what_is_done(past: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the finished rows come back, and the next replay goes on from them."""
    whole = replayed(past.root, fresh=True)
    real, left = replay_engine.replay_one, [5]

    def impatient(spec: Any, task: ReplayTask) -> TaskRow:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(spec, task)

    monkeypatch.setattr(engine, "BATCH", 2)
    monkeypatch.setattr(replaying, "replay_one", impatient)
    cut = replayed(past.root, fresh=True)
    assert not cut.replayed.complete
    assert len(cut.replayed.rows) == 4
    assert not score_replay(open_past(past.root), cut).complete
    monkeypatch.setattr(replaying, "replay_one", real)
    rest = replayed(past.root)
    assert (rest.replayed.reused, rest.replayed.complete) == (4, True)
    assert timeless(rest.replayed.rows) == timeless(whole.replayed.rows)


def _deadly(task: ReplayTask) -> TaskRow:
    if task.id == "t3":
        os._exit(9)
    return failed_row(task, "")


def _tasks(count: int) -> list[ReplayTask]:
    return [
        ReplayTask(f"t{number}", f"t{number}", "commit", "do", "r", "c", 1, ("a.py",))
        for number in range(count)
    ]


def test_a_worker_that_dies_costs_one_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that ends its process has a row that says so, which is tried again the next time."""
    monkeypatch.setattr(engine, "BATCH", 2)
    tasks, log = _tasks(6), RowLog(tmp_path, {})
    found = replay_tasks(_deadly, tasks, row_keys(tasks, []), log, workers=2)
    assert [row.id for row in found.rows if row.fault] == ["t3"]
    assert len(found.rows) == 6
    assert sorted(row.id for row in log.read().values()) == ["t0", "t1", "t2", "t4", "t5"]


def test_a_log_survives_a_torn_line(tmp_path: Path) -> None:
    """A line cut off by a kill is left out, and what is written after it is whole."""
    log = RowLog(tmp_path, {"a": 1})
    rows = [failed_row(task, "") for task in _tasks(3)]
    log.append([("k0", rows[0]), ("k1", rows[1])])
    log.path.write_bytes(log.path.read_bytes()[:-20])
    log.append([("k2", rows[2])])
    assert log.read() == {"k0": rows[0], "k2": rows[2]}


def test_logs_of_other_settings_are_bounded(tmp_path: Path) -> None:
    """Only the latest logs of other settings stay, and always one's own."""
    for number in range(9):
        log = RowLog(tmp_path, {"number": number})
        log.append([("k", failed_row(_tasks(1)[0], ""))])
        log.tidy(keep=2)
    assert len(list(tmp_path.iterdir())) == 3
    assert log.path.exists()


def test_renames_and_pictures(past: Any) -> None:
    """A renamed file is looked for under its old name; what holds no text is no task."""
    past.git("mv", "src/part0.py", "src/moved.py")
    past.write("src/moved.py", (past.root / "src/moved.py").read_text() + "\n")
    past.commit("Move part0")
    past.write("logo.png", b"\x89PNG\r\n\x1a\n\0\1")
    past.commit("Another logo")
    rows = replayed(past.root).replayed.rows
    moved = next(row for row in rows if row.head == "Move part0")
    assert moved.truth == ("src/part0.py",)
    assert moved.systems["hybrid"].measures["line_coverage"] > 0
    assert "Another logo" not in [row.head for row in rows]


def test_the_newest_tasks_come_first(past: Any) -> None:
    """A limit keeps the newest tasks."""
    rows = replayed(past.root, tasks=2).replayed.rows
    assert [row.head for row in rows] == ["Change what part4 returns", "Change what part3 returns"]


def test_a_shallow_clone_is_replayed_to_its_edge(past: Any, make_work: Callable[[str], Any]) -> None:
    """Where the past was cut off the tasks end; nothing fails."""
    copy = past.root.parent / "shallow"
    past.git("clone", "-q", "--depth", "4", f"file://{past.root}", str(copy))
    rows = replayed(copy).replayed.rows
    assert len(rows) == 3
    assert not any(row.fault for row in rows)


def test_what_git_could_not_tell_is_asked_again(tmp_path: Path) -> None:
    """A row with a fault that may pass is not kept; one of a task that cannot be measured is."""
    faults = {"t0": "", "t1": "git stopped", "t2": NOTHING}
    tasks, log = _tasks(3), RowLog(tmp_path, {})
    found = replay_tasks(
        lambda task: failed_row(task, faults[task.id]), tasks, row_keys(tasks, []), log, workers=1
    )
    assert [row.fault for row in found.rows] == list(faults.values())
    assert sorted(row.id for row in log.read().values()) == ["t0", "t2"]


def test_a_second_stage_is_replayed_as_plans_ask_it(past: Any, ollama: Any) -> None:
    """`full` orders the first files by a model's ratings, in other rows than without; it fails to hybrid."""
    systems = parse_systems(["hybrid", "full"])
    wanted = ReplayOptions(TaskSource.ALL, 2, systems, 1000, 2)

    def replay(config: Config) -> ReplayOutcome:
        return replay_past(open_past(past.root), config, wanted, workers=1)

    without = replay(Config())
    assert list(without.replayed.rows[0].systems) == ["hybrid"]
    assert "full was left out: it needs a second stage (models.llm, rerank.cross_encoder)" in without.notes
    ollama.answers = [json.dumps({f"f{number}": 10 if number < 4 else 0 for number in range(1, 6)})]
    config = Config(models=ModelsConfig(llm="tiny", llm_url=ollama.url), rerank=RerankConfig(weight=6.0))
    found = replay(config)
    assert found.replayed.reused == 0
    for row in found.replayed.rows:
        assert row.systems["full"].ranking != row.systems["hybrid"].ranking
    ollama.answers = ["no"]
    shutil.rmtree(past.root / ".workbench" / "answers")
    for row in replay(replace(config, rerank=RerankConfig(top=7))).replayed.rows:
        assert row.systems["full"].ranking == row.systems["hybrid"].ranking
