"""The state of the project: what git is in the middle of, a series of commits, conflicts, broken files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from workbench.plan.render import STATE, BriefLine
from workbench.project.languages import language_of
from workbench.sessions.history import History
from workbench.text.sanitize import shorten, visible_line
from workbench.text.terms import scope_of

LEAST_SERIES: Final = 3
_MOST_SERIES: Final = 20
_PAUSE: Final = 6 * 3600  # seconds between two commits of a series
_HEAD: Final = 60


def list_state(
    history: History,
    heads: Sequence[str],
    shown: Mapping[str, bytes],
    changed: Mapping[str, bytes] | None = None,
    operation: str = "",
) -> list[BriefLine]:
    """Return what is unusual now about the project and the files shown.

    shown, changed: {path: content}, of the files shown and of those with uncommitted changes. operation: what
    git is in the middle of, such as "a merge", '' for nothing.
    """
    changed = changed or {}
    lines = [BriefLine(STATE, operation, f"{operation} is in progress")] if operation else []
    lines += _find_conflicts({**shown, **changed} if operation else shown)
    lines += _find_broken({path: data for path, data in changed.items() if path in shown})
    return [*lines, *_find_series(history, heads, [*shown])]


def _find_broken(edited: Mapping[str, bytes]) -> Iterable[BriefLine]:
    """Yield edited files that do not parse, with the line of the first error."""
    for path, data in edited.items():
        from workbench.project.symbols import first_error  # parsers, for files that were just edited

        line = first_error(language_of(path), data) if b"\n<<<<<<< " not in data else 0
        if line:
            yield BriefLine(STATE, path, f"{visible_line(path)} does not parse: line {line}")


def _find_conflicts(shown: Mapping[str, bytes]) -> Iterable[BriefLine]:
    for path, data in shown.items():
        begin = 0 if data.startswith(b"<<<<<<< ") else data.find(b"\n<<<<<<< ") + 1
        if (begin or data.startswith(b"<<<<<<< ")) and data.find(b"\n>>>>>>> ", begin) >= 0:
            line = data.count(b"\n", 0, begin) + 1
            yield BriefLine(STATE, path, f"{visible_line(path)} has an open conflict in line {line}")


def _find_series(history: History, heads: Sequence[str], shown: Sequence[str]) -> Iterable[BriefLine]:
    """Yield the series that the last commits are, where some of them touch a file shown."""
    scope = scope_of(heads[0]) if heads else ""
    times = history.times.tolist()
    count = 0
    for task, head in enumerate(heads[:_MOST_SERIES]):
        if not scope or scope_of(head) != scope or (task and times[task - 1] - times[task] > _PAUSE):
            break
        count += 1
    rows = [history.paths.index(path) for path in shown if path in history.paths]
    touching = {int(task) for task in history.tasks[np.isin(history.files, rows)] if task < count}
    if count >= LEAST_SERIES and touching:
        newest = f"the newest “{shorten(heads[0], _HEAD)}”"
        what = f"the last {count} commits are a series on {visible_line(scope)}, {newest}"
        yield BriefLine(STATE, scope, f"{what}; {len(touching)} of them touch files shown")
