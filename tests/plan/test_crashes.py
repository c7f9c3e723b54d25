"""Killed at any moment, interrupted or out of disk: the next run works, and nothing acknowledged is lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import workbench
from store.journal import verify
from store.journal_files import list_streams
from tests.conftest import Work, make_repository
from tests.deep import sample, searches, times
from tests.processes import LONG, outputs_of, running
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.plan.workspace import Workspace

AT_ONCE = times(2, 4)
ROOT = Path(workbench.__file__).resolve().parents[1]
FILES, COMMITS = 180, 340

_SYNC = """
import os, resource, sys
sys.dont_write_bytecode = True  # with little room Python would keep the part of a module that fits
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
from dataclasses import replace
from pathlib import Path
from workbench.config import Config
from workbench.entry.project import open_workspace

if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
workspace = open_workspace(Path(sys.argv[1]), Config(), dict(os.environ)).workspace
workspace.limits = replace(workspace.limits, workers=2)
synced = workspace.sync(progress=lambda stage, done, total: print(stage, done, flush=True))
print("done", synced.cache, *synced.notes, flush=True)
"""


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A repository large enough that files and commits are read by workers, with rules."""
    work = make_repository(tmp_path_factory.mktemp("made") / "work")
    for number in range(FILES):
        work.write(f"area_{number % 7}/module_{number}.py", f"import os\n\ndef name_{number}(): ...\n")
    work.write("CLAUDE.md", "- Never log tokens.\n")
    work.commit("Everything")
    stream = []
    for number in range(COMMITS):
        message = f"Change number {number} (#{number})\n"
        stream.append(
            f"commit refs/heads/main\ncommitter T <t@example.org> {1_700_000_100 + number} +0000\n"
            f"data {len(message)}\n{message}"
            + ("from refs/heads/main^0\n" if not number else "")
            + f"M 100644 inline area_0/module_0.py\ndata {len(str(number)) + 5}\nx = {number}\n\n"
        )
    work.git("fast-import", "--quiet", given="".join(stream).encode())
    work.git("reset", "-q", "--hard")
    return work


@pytest.fixture
def project(_made: Work, tmp_path: Path) -> Work:
    """A copy of that repository, never indexed."""
    return _made.copy(tmp_path / "work")


def start(root: Path, file_limit: int = 0) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start a process that brings the project in step and says how far it is."""
    command = [sys.executable, "-c", _SYNC, str(root), str(file_limit)]
    return running(command, env={**os.environ, "PYTHONPATH": str(ROOT)})


def opened(root: Path) -> Workspace:
    """Open a project as a new process does, and bring it in step."""
    workspace = open_workspace(root, Config(), dict(os.environ)).workspace
    workspace.sync()
    return workspace


def complete(root: Path) -> Workspace:
    """Check that a project is whole: all files, all commits once, rules, no damage but a torn line."""
    workspace = opened(root)
    assert len(workspace.index.positions) == FILES + 1
    assert workspace.history.size == COMMITS + 1
    assert len(set(workspace.task_heads)) == COMMITS + 1
    assert [rule.rule for rule in workspace.rulebook.rules] == ["Never log tokens."]
    assert opened(root).history.size == COMMITS + 1
    return workspace


def lines(root: Path) -> list[str]:
    path = root / ".workbench/journal/sessions.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


@searches
@pytest.mark.parametrize(
    ("after", "ending"), sample([(9, signal.SIGINT), (1, signal.SIGKILL), (16, signal.SIGKILL)], 1)
)
def test_killed_while_indexing_or_importing(project: Any, after: int, ending: signal.Signals) -> None:
    """After kill -9 or Ctrl-C at any stage the lines in the journal stay, and the next run completes them."""
    with start(project.root) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(ending)
        _, errors = process.communicate(timeout=LONG)
    assert process.returncode != 0 or after > 12
    assert errors.count("Traceback") <= (ending == signal.SIGINT)
    kept = lines(project.root)
    complete(project.root)
    assert lines(project.root)[: len(kept)] == kept
    assert not list((project.root / ".workbench/index").glob(".*"))


def test_killed_again_and_again(project: Any) -> None:
    """Run after run killed a little later, journals only grow by whole entries until a run completes."""
    kept: list[str] = []
    for after in range(0, 20, 4):
        with start(project.root) as process:
            assert process.stdout is not None
            for _ in range(after):
                if process.stdout.readline().startswith("done"):
                    break
            process.kill()
            process.communicate(timeout=LONG)
        now = lines(project.root)
        assert now[: len(kept)] == kept
        assert all(json.loads(line)["kind"] for line in now)
        kept = now
    complete(project.root)
    sessions = [json.loads(line)["body"]["session_id"] for line in lines(project.root)]
    assert len(sessions) == len(set(sessions)) == COMMITS + 1


@searches
@pytest.mark.parametrize("limit", sample([60_000, 4_000, 140_000], 1))
def test_no_room_for_files(project: Any, limit: int) -> None:
    """With files limited in size the run says what it could not keep, and the next one completes it."""
    with start(project.root, limit) as process:
        printed, errors = process.communicate(timeout=LONG)
    assert "Traceback" not in errors
    assert process.returncode == 0, errors
    last = printed.splitlines()[-1]
    assert "done miss" in last
    assert os.strerror(errno.EFBIG) in last or "fitted" in last
    assert all(found.line == 0 for found in verify(project.root / ".workbench"))
    complete(project.root)


_EDIT = """
import os, sys
from pathlib import Path
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.plan.pipeline import plan
from workbench.records.plan import PlanRequest

root, own = Path(sys.argv[1]), int(sys.argv[2])
found = open_project(root, Config(), dict(os.environ))
for turn in range(4):
    target = root / f"area_{own % 7}/module_{own}.py"
    target.write_text(f"def edited_{own}_{turn}(): ...\\n", encoding="utf-8")
    (root / f"new_{own}_{turn}.py").write_text("import os\\n", encoding="utf-8")
    if turn:
        (root / f"new_{own}_{turn - 1}.py").unlink()
    result = plan(found.workspace, found.planner, PlanRequest(str(root), f"edited_{own}_{turn}"))
    index = found.workspace.index
    assert index.frequency("name", f"=edited{own}{turn}") == 1, turn
    assert not turn or index.frequency("name", f"=edited{own}{turn - 1}") == 0, turn
    assert f"new_{own}_{turn}.py" in index.positions
    assert f"new_{own}_{turn - 1}.py" not in index.positions
    assert result.ranked
print("done")
"""


@searches
def test_processes_plan_and_edit_at_once(project: Any) -> None:
    """Each process sees its own edits at once, whatever the others write; together they leave one index."""
    environment = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    commands = [[sys.executable, "-c", _EDIT, str(project.root), str(own)] for own in range(1, AT_ONCE + 1)]
    assert outputs_of(*[(command, environment) for command in commands]) == ["done\n"] * AT_ONCE
    workspace = opened(project.root)
    expected = {f"new_{own}_3.py" for own in range(1, AT_ONCE + 1)}
    assert {path for path in workspace.index.positions if path.startswith("new_")} == expected
    for own in range(1, AT_ONCE + 1):
        assert workspace.index.frequency("name", f"=edited{own}3") == 1
    assert workspace.history.size == COMMITS + 1
    assert verify(project.root / ".workbench") == []
    assert set(list_streams(project.root / ".workbench")) >= {"rules", "sessions"}
