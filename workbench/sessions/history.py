"""History as memory: past tasks and the files they touched, as arrays that a plan can weigh in milliseconds.

Commit 0 is the newest. Renames are followed, so that a file keeps what was learned under its old names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.arrays import open_arrays, write_arrays
from workbench.project.postings import Postings, build_postings, pack_postings, unpack_postings
from workbench.records.episodes import FileChange, Outcome
from workbench.sessions.feedback import Trust, pair_trust

MAX_FILES_PER_TASK = 60  # sweeping changes (reformatting, licence years) teach nothing about tasks

FILE = "history.arrays"
_ARRAYS = ("times", "sizes", "fixes", "tasks", "files", "edits", "trust")


@dataclass(frozen=True, slots=True)
class PastTask:
    """One finished task: when, what it said (terms), what it touched and which issues it named.

    `verdict` is what somebody said of its outcome, None if nobody did.
    """

    at: int
    terms: dict[str, int]
    changes: tuple[FileChange, ...]
    issue_refs: tuple[str, ...] = ()
    fix: bool = False
    verdict: Outcome | None = None


@dataclass(frozen=True, slots=True)
class History:
    """n past tasks, newest first, over p paths and e (task, file) pairs.

    times: int64 [n] seconds; sizes: int32 [n] files touched; fixes: bool [n]; messages: postings over tasks
    tasks, files: int32 [e] pair ends; edits: float32 [e] lines changed; trust: float32 [e], what a
    pair counts by what is known of the task's outcome (1: as much as any); issues: reference → task numbers
    """

    paths: tuple[str, ...]
    times: NDArray[np.int64]
    sizes: NDArray[np.int32]
    fixes: NDArray[np.bool_]
    messages: Postings
    tasks: NDArray[np.int32]
    files: NDArray[np.int32]
    edits: NDArray[np.float32]
    trust: NDArray[np.float32]
    issues: dict[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """Number of past tasks."""
        return len(self.times)


def build_history(past: Iterable[PastTask], trust: Trust | None = None) -> History:
    """Build the arrays from past tasks, newest first. `trust` says how far verdicts count."""
    numbers: dict[str, int] = {}
    alias: dict[str, str] = {}
    times: list[int] = []
    sizes: list[int] = []
    fixes: list[bool] = []
    verdicts: list[Outcome | None] = []
    messages: list[dict[str, int]] = []
    tasks: list[int] = []
    files: list[int] = []
    edits: list[float] = []
    issues: dict[str, list[int]] = {}
    for task in past:
        number = len(times)
        times.append(task.at)
        sizes.append(len(task.changes))
        fixes.append(task.fix)
        verdicts.append(task.verdict)
        messages.append(task.terms)
        for reference in task.issue_refs:
            issues.setdefault(reference, []).append(number)
        today = [alias.get(change.path, change.path) for change in task.changes]
        if len(task.changes) <= MAX_FILES_PER_TASK:
            for change, current in zip(task.changes, today, strict=True):
                tasks.append(number)
                files.append(numbers.setdefault(current, len(numbers)))
                edits.append(change.added + change.removed)
        _rename_back(alias, task.changes, today)
    moments = np.asarray(times, dtype=np.int64)
    pairs = (np.asarray(tasks, dtype=np.int32), np.asarray(files, dtype=np.int32))
    return History(
        paths=tuple(numbers),
        times=moments,
        sizes=np.asarray(sizes, dtype=np.int32),
        fixes=np.asarray(fixes, dtype=np.bool_),
        messages=build_postings(messages),
        tasks=pairs[0],
        files=pairs[1],
        edits=np.asarray(edits, dtype=np.float32),
        trust=pair_trust(verdicts, messages, moments, *pairs, trust or Trust()),
        issues={reference: tuple(found) for reference, found in issues.items()},
    )


def _rename_back(alias: dict[str, str], changes: Sequence[FileChange], today: Sequence[str]) -> None:
    """Let `alias` give today's names for the time before a task; its renames happened at once."""
    renames = [(change, name) for change, name in zip(changes, today, strict=True) if change.old_path]
    for change, _ in renames:
        alias.pop(change.path, None)  # who bore the new name earlier was another file
    for change, name in renames:
        alias[change.old_path] = name


def save_history(history: History, directory: Path) -> None:
    """Write a history into a directory; `load_history` opens it memory-mapped."""
    document = {
        "paths": [path.encode("utf-8", "surrogateescape") for path in history.paths],
        "issues": history.issues,
    }
    arrays: dict[str, NDArray[Any] | bytes] = {name: getattr(history, name) for name in _ARRAYS}
    arrays |= pack_postings(history.messages, "messages")
    arrays["document"] = msgspec.msgpack.encode(document)
    write_arrays(directory / FILE, arrays)


def load_history(directory: Path) -> History:
    """Open what `save_history` wrote.

    Raises: OSError, ValueError, KeyError or MsgspecError if it is damaged.
    """
    arrays = open_arrays(directory / FILE)
    document = msgspec.msgpack.decode(arrays["document"].data)
    return History(
        paths=tuple(path.decode("utf-8", "surrogateescape") for path in document["paths"]),
        messages=unpack_postings(arrays, "messages"),
        issues={reference: tuple(found) for reference, found in document["issues"].items()},
        **{name: arrays[name] for name in _ARRAYS},
    )


def path_numbers(history: History, positions: Mapping[str, int]) -> NDArray[np.int64]:
    """Map the history's paths to positions in a project index; -1 for paths that are gone."""
    return np.fromiter(
        (positions.get(path, -1) for path in history.paths), dtype=np.int64, count=len(history.paths)
    )


def empty_history() -> History:
    """Return a history without tasks, for projects without a past."""
    return build_history(())
