"""Rows that were replayed before: a log by what decided them, so that a replay resumes where it stopped.

A row is reused for the same task at the same revision with the same past, systems and settings, as computed
by the same engine. What cannot be read of a log is computed again.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from workbench.beneath import open_private
from workbench.records.replay import TaskRow, row_from_json, row_to_json
from workbench.records.rules import Rule
from workbench.replay.tasks import PastSession, ReplayTask

LOGS: Final = 6  # logs of other settings that are kept
_SUFFIX = ".jsonl"


class RowLog:
    """The rows of one project under one set of settings; one process writes at a time."""

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        self.path = directory / f"{_digest(settings)[:24]}{_SUFFIX}"

    def read(self) -> dict[str, TaskRow]:
        """Return the rows by key; damaged lines are left out, the last line of a key counts."""
        found: dict[str, TaskRow] = {}
        if self.path.is_file():
            for line in self.path.read_bytes().split(b"\n"):
                try:
                    document = json.loads(line)
                    found[str(document["key"])] = row_from_json(document["row"])
                except (ValueError, KeyError, TypeError):
                    continue  # torn by a kill, or of a format of before
        return found

    def append(self, rows: Sequence[tuple[str, TaskRow]]) -> None:
        """Add rows with their keys by a single write. Raises: OSError."""
        lines = (json.dumps({"key": key, "row": row_to_json(row)}) for key, row in rows)
        with open_private(self.path, "ab") as handle:
            if handle.tell() and not _ends_line(self.path):
                handle.write(b"\n")
            handle.write("".join(f"{line}\n" for line in lines).encode("ascii"))

    def tidy(self, *, keep: int = LOGS) -> None:
        """Remove the logs of other settings but the latest."""
        if self.path.parent.is_dir():
            others = [path for path in self.path.parent.glob(f"*{_SUFFIX}") if path != self.path]
            others.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
            for path in others[keep:]:
                path.unlink(missing_ok=True)


def new_measures(
    directory: Path, before: Mapping[str, int], measure: str = "ndcg_at_10"
) -> tuple[dict[str, int], list[dict[str, float]]]:
    """Return what a replay that is running has added to its log since `before`, and where the logs end now.

    `before` and what is returned map names of logs to their bytes; a log that is not in `before` is new. Each
    row that was added whole is {system: value}; rows of tasks that could not be replayed are left out.
    """
    ends, rows = dict(before), []
    for path in sorted(directory.glob(f"*{_SUFFIX}")):
        start = before.get(path.name, 0)
        with path.open("rb") as handle:
            handle.seek(start)
            data = handle.read()
        whole = data[: data.rfind(b"\n") + 1]
        ends[path.name] = start + len(whole)
        rows += [found for line in whole.splitlines() if (found := _values(line, measure))]
    return ends, rows


def log_ends(directory: Path) -> dict[str, int]:
    """Return the bytes of each log there is, by name."""
    return {path.name: path.stat().st_size for path in sorted(directory.glob(f"*{_SUFFIX}"))}


def _values(line: bytes, measure: str) -> dict[str, float]:
    try:
        row = row_from_json(json.loads(line)["row"])
    except (ValueError, KeyError, TypeError):
        return {}  # the blank line that seals a torn one, or one of before
    return {name: did.measures[measure] for name, did in row.systems.items() if measure in did.measures}


def row_keys(
    tasks: Sequence[ReplayTask],
    sessions: Sequence[PastSession],
    rules: Callable[[int], Sequence[Rule]] = lambda moment: (),
) -> list[str]:
    """Return the key of each task's row: it changes with all of the past that is not in commits.

    `rules` gives the rules in force at a second.
    """
    ordered = sorted(sessions, key=lambda one: (one.ended, one.id))
    ends, digests, rolling = [one.ended for one in ordered], [""], hashlib.sha256()
    for one in ordered:
        rolling.update(
            repr((one.id, one.ended, one.commit, one.text, one.changes, one.reads)).encode("utf-8", "replace")
        )
        digests.append(rolling.hexdigest())
    keys = []
    digests_of_rules: dict[int, str] = {}
    for task in tasks:
        force = rules(task.at)
        if id(force) not in digests_of_rules:
            digests_of_rules[id(force)] = hashlib.sha256(repr(force).encode("utf-8", "replace")).hexdigest()
        before = digests[bisect_right(ends, task.at)]
        start = (task.id, task.revision, task.at, task.commit, task.text, task.packed)
        keys.append(_digest([*start, task.modified, task.names, before, digests_of_rules[id(force)]]))
    return keys


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()


def _ends_line(path: Path) -> bool:
    with path.open("rb") as handle:
        handle.seek(-1, 2)
        return handle.read(1) == b"\n"
