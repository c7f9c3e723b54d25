"""Watching a project: batches of changed files, without what no index holds.

A batch is a hint to look, not a promise: whoever consumes it asks `freshness.check` for the truth.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.project.admission import refusal
from workbench.project.scan import Lister, list_names

_HEAD_FILES = frozenset({".git/HEAD", ".git/logs/HEAD"})


@dataclass(frozen=True, slots=True)
class Batch:
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
) -> Iterator[Batch]:
    """Yield batches until `stop` is set or Ctrl-C is pressed; both end the iteration.

    Changes closer together than `debounce_ms` come as one batch. Ignored, vendored and generated files,
    `.git` and `.workbench` never appear. `watching` is called once, when changes from then on are seen.
    """
    from watchfiles import Change, watch

    top = os.path.realpath(root)

    def wanted(_: Change, path: str) -> bool:
        relative = _relative(top, path)
        return relative in _HEAD_FILES or (relative != "" and refusal(relative) is None)

    source = watch(
        top,
        watch_filter=wanted,
        debounce=debounce_ms,
        stop_event=stop,
        rust_timeout=500,
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    announced = watching is None
    for changes in source:
        if not announced and watching is not None:
            announced = True
            watching()
        names = {_relative(top, path) for _, path in changes}
        batch = Batch(_of_project(root, lister, names - _HEAD_FILES), bool(names & _HEAD_FILES))
        if batch.paths or batch.head_moved:
            yield batch


def _of_project(root: Path, lister: Lister | None, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are listed or gone; a directory stands for itself only where it is gone."""
    wanted = sorted(names)
    if not wanted:
        return ()
    gone = [path for path in wanted if not os.path.lexists(root / path)]
    there = [path for path in wanted if os.path.lexists(root / path) and not os.path.isdir(root / path)]
    listing, _, _ = list_names(root, lister, there) if there else (None, (), True)
    listed = listing.paths if listing is not None else ()
    return tuple(sorted({*gone, *listed}))


def _relative(top: str, path: str) -> str:
    """Return a path relative to the project with posix separators; empty for the project itself."""
    relative = os.path.relpath(path, top).replace(os.sep, "/")
    return "" if relative == "." else relative
