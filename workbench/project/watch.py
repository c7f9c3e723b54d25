"""Watching a project: batches of changed files, without what no index holds.

A batch is a hint to look, not a promise: whoever consumes it asks `freshness.check` for the truth.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import ProjectError
from workbench.project.admission import refusal
from workbench.project.scan import Lister, list_names

if TYPE_CHECKING:
    from watchfiles.main import FileChange

_WAKE_MS = 200  # how long a stop may go unnoticed
_HEAD_FILES = frozenset({".git/HEAD", ".git/logs/HEAD"})


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """What changed since the last batch: project paths, sorted, and whether HEAD may have moved."""

    paths: tuple[str, ...]
    head_moved: bool


def watch_project(
    root: Path,
    lister: Lister | None = None,
    *,
    stop: threading.Event | None = None,
    debounce_ms: int = 400,
    watching: Callable[[], None] | None = None,
) -> Iterator[ChangeBatch]:
    """Yield batches until `stop` is set or Ctrl-C is pressed; both end the iteration.

    A batch ends when nothing changed for `debounce_ms`, at the latest after eight times that. Ignored,
    vendored and generated files, `.git` and `.workbench` never appear. `watching` is called once, when
    changes from then on are seen. Raises ProjectError if the system refuses to watch.
    """
    from watchfiles import Change, watch

    top = os.path.realpath(root)

    def wanted(_: Change, path: str) -> bool:
        relative = _relative(top, path)
        return relative in _HEAD_FILES or (relative != "" and refusal(relative) is None)

    source = watch(
        top,
        watch_filter=wanted,
        debounce=8 * debounce_ms,
        step=debounce_ms,
        stop_event=stop,
        rust_timeout=_WAKE_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
        ignore_permission_denied=True,
    )
    announced = watching is None
    while (changes := _next_changes(source, root)) is not None:
        if not announced and watching is not None:
            announced = True
            watching()
        names = {_relative(top, path) for _, path in changes}
        appeared = {_relative(top, path) for change, path in changes if change is Change.added}
        paths = _of_project(root, lister, names - _HEAD_FILES, appeared)
        batch = ChangeBatch(paths, bool(names & _HEAD_FILES))
        if batch.paths or batch.head_moved:
            yield batch


def _next_changes(source: Iterator[set[FileChange]], root: Path) -> set[FileChange] | None:
    """Return the next changes (none after a while without), or None at the end or on Ctrl-C."""
    try:
        return next(source, None)
    except KeyboardInterrupt:
        return None
    except (OSError, RuntimeError) as error:  # the native part reports its own failures as RuntimeError
        raise ProjectError(
            f"{root} cannot be watched: {error}",
            hint="Raise fs.inotify.max_user_watches, or set WATCHFILES_FORCE_POLLING=1.",
        ) from error


def _of_project(
    root: Path, lister: Lister | None, names: Iterable[str], appeared: Container[str]
) -> tuple[str, ...]:
    """Return the names that are listed or gone.

    A directory that appeared means every file in it: they may be older than the watch on it.
    """
    gone: list[str] = []
    ask: list[str] = []
    for path in names:
        place = root / path
        if not os.path.lexists(place):
            gone.append(path)
        elif path in appeared or not place.is_dir():
            ask.append(path)
    listed = list_names(root, lister, sorted(ask))[0].paths if ask else ()
    admitted = (path for path in listed if refusal(path) is None)
    return tuple(sorted({*gone, *admitted}))


def _relative(top: str, path: str) -> str:
    """Return a path relative to the project with posix separators; empty for the project itself."""
    relative = os.path.relpath(path, top).replace(os.sep, "/")
    return "" if relative == "." else relative
