"""Which commits readers are given as tasks, who gets which brief, and checkouts that know no later commit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Final

from bench.packs import changed_places
from bench.reworded import message_tasks, reworded_tasks
from bench.timeline import Timeline
from store import git_process
from store.git_diff import diff_hunks
from workbench.errors import ProcessError, ProjectError, UsageError
from workbench.project.admission import refusal
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.replay.tasks import ReplayTask

WIDE: Final = 4  # changed files, from which on a task counts as wide; half of the tasks are
EACH: Final = 4  # tasks of a repository: two wide and two narrow ones
BUDGET: Final = 4000
NONE: Final = "none"
ARMS: Final[Mapping[str, Sequence[str]]] = {NONE: (), "brief": (), "compact": ("--detail", "compact")}
"""What a reader has of a task besides the repository: nothing, or what `workbench plan` says with options."""
_TASKS: Final = "tasks.jsonl"


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """A commit as a task. modified: files that it modifies; files: how many it touches.

    turn: the number of the arm in which reader 0 has it.
    """

    id: str
    repository: str
    commit: str
    revision: str
    text: str
    modified: tuple[str, ...]
    files: int
    turn: int
    budget: int = BUDGET

    def arm_of(self, reader: int) -> str:
        """Return the arm of a reader: as many readers as there are arms have each task once in each."""
        return [*ARMS][(self.turn + reader) % len(ARMS)]

    @property
    def wide(self) -> bool:
        """Whether it touches many files."""
        return self.files >= WIDE


def choose_tasks(
    timeline: Timeline, each: int = EACH, *, wording: str = "reworded", budget: int = BUDGET, turn: int = 0
) -> list[ReadingTask]:
    """Return tasks of a repository, half of them wide, the first with an arm, each next with the next.

    They follow from the ids of the commits alone: their digests give the order.
    """
    of = reworded_tasks if wording == "reworded" else message_tasks
    counts = {
        commit.sha: sum(refusal(change.path) is None for change in commit.files)
        for commit in timeline.commits
    }
    ordered = sorted(of(timeline), key=lambda task: hashlib.sha256(task.commit.encode()).hexdigest())
    chosen: list[ReadingTask] = []
    for is_wide in (True, False):
        fitting = [task for task in ordered if (counts[task.commit] >= WIDE) == is_wide]
        fitting = [task for task in fitting if _changes_source(timeline, task)]
        whole = (task for task in fitting if _is_whole(timeline, task.revision))
        for task in islice(whole, (each + is_wide) // 2):
            chosen.append(
                ReadingTask(
                    id=f"{timeline.name.split('+')[-1]}-{task.commit[:8]}",
                    repository=timeline.name,
                    commit=task.commit,
                    revision=task.revision,
                    text=task.text,
                    modified=tuple(path for path in task.modified if refusal(path) is None),
                    files=counts[task.commit],
                    turn=turn + len(chosen),
                    budget=budget,
                )
            )
    return chosen


def _changes_source(timeline: Timeline, task: ReplayTask) -> bool:
    hunks = diff_hunks(timeline.repository, task.revision, task.commit)
    return bool(
        changed_places({path: hunks.get(path, ()) for path in task.modified if refusal(path) is None})
    )


def _is_whole(timeline: Timeline, revision: str) -> bool:
    """Return whether a clone holds every file of a revision; partial ones may not."""
    asked = ["rev-list", "--objects", "--missing=print", f"{revision}^{{tree}}"]
    return b"\n?" not in b"\n" + git_process.run(timeline.repository.root, asked)


def check_out(repository: Path, task: ReadingTask, checkout: Path) -> None:
    """Make a repository that holds a task's revision and its ancestors alone; one that is there stays.

    Raises ProjectError where the task's commit can be reached.
    """
    if checkout.exists():
        return
    part = checkout.with_name("part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    git_process.run(part, ["init", "-q", "-b", "main"])
    _copy_history(repository, task.revision, part)
    git_process.run(part, ["update-ref", "refs/heads/main", task.revision])
    git_process.run(part, ["checkout", "-q", "-f", "main"])
    if git_process.ask(part, ["cat-file", "-t", task.commit]):
        raise ProjectError(
            f"the commit of {task.id} can be reached in {part}",
            hint="Remove the folder and prepare it again.",
        )
    part.rename(checkout)


def _copy_history(repository: Path, revision: str, checkout: Path) -> None:
    """Copy a revision's objects through a pack; a large history takes minutes."""
    environment = git_process.environment()
    reads = git_process.command(
        repository, ["pack-objects", "--revs", "--stdout", "-q", "--missing=allow-any"]
    )
    writes = git_process.command(checkout, ["index-pack", "--stdin"])
    with (
        subprocess.Popen(reads, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as reading,
        subprocess.Popen(writes, stdin=reading.stdout, stdout=subprocess.DEVNULL, env=environment) as writing,
    ):
        assert reading.stdin is not None
        assert reading.stdout is not None
        reading.stdout.close()
        reading.stdin.write(f"{revision}\n".encode())
        reading.stdin.close()
    if reading.returncode or writing.returncode:
        raise ProjectError(
            f"the history of {revision[:10]} could not be copied from {repository}",
            hint=f"Check the clone with: git -C {repository} fsck",
        )


def write_tasks(folder: Path, tasks: Sequence[ReadingTask]) -> None:
    """Write the tasks beside those of other repositories that are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {task.repository for task in tasks}
    others = read_tasks(folder) if (folder / _TASKS).exists() else []
    kept = [task for task in others if task.repository not in names]
    lines = "".join(json.dumps(asdict(task), sort_keys=True) + "\n" for task in [*kept, *tasks])
    (folder / _TASKS).write_text(lines, encoding="utf-8")


def read_tasks(folder: Path) -> list[ReadingTask]:
    """Return the tasks that were prepared. Raises UsageError."""
    try:
        lines = (folder / _TASKS).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(
            f"{folder} holds no tasks", hint="Run `python -m bench.agents prepare` first."
        ) from error
    return [decode_json(line, ReadingTask) for line in lines]


def task_in(place: Path) -> ReadingTask:
    """Return the task of a folder that `prepare` made. Raises UsageError."""
    for task in read_tasks(place.resolve().parent):
        if task.id == place.resolve().name:
            return task
    raise UsageError(f"{place} is no folder of a task", hint="Name one of those that `prepare` printed.")


def run_workbench(place: Path, what: str, *arguments: str) -> str:
    """Run the workbench on a task's checkout, with a home of its own, and return its output."""
    root = Path(__file__).parents[2]
    environment: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items() if not name.startswith("CLAUDE_")},
        "WORKBENCH_HOME": str(place.resolve() / "home"),
        "PYTHONPATH": str(root),
    }
    project = str(place.resolve() / "checkout")
    command = [sys.executable, "-m", "workbench", what, "-q", "--project", project, *arguments]
    child = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=root)
    if child.returncode:
        raise ProcessError(
            f"workbench {what} failed: {child.stderr.strip()[-400:]}",
            hint="Run it by hand in the task's checkout.",
        )
    return child.stdout
