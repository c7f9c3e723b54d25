"""What changes in a project: layer L6, the change digest since a revision, newest first, and a watch.

Uncommitted work comes first, since that is what a person is in the middle of; then files by the time of their
last commit. A file that was renamed keeps the commits it had under its old name.

A watch gives batches of changed files, without what no index holds. A batch is a hint to look, not a promise:
whoever consumes it asks `freshness.check` for the truth.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import ProjectError
from workbench.project.admission import refusal
from workbench.project.scan import Lister, list_names
from workbench.records.answers.project import Delta, DeltaCommit, DeltaFile
from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind, Commit, FileChange
from workbench.records.worktree import Hunk, WorkChanges

if TYPE_CHECKING:
    from watchfiles.main import FileChange as RawChange


@dataclass(slots=True)
class _Tally:
    commits: int = 0
    last_at: int = 0


def digest(
    changes: WorkChanges,
    hunks: Mapping[str, tuple[Hunk, ...]] | None = None,
    *,
    max_files: int | None = None,
    max_commits: int | None = None,
) -> Delta:
    """Return the digest of changes. `hunks` are per current path, from the revision to the disk."""
    tallies = _tallies(changes.commits)
    work = (*changes.uncommitted, *changes.untracked)
    merged = _merge(changes.committed, work)
    touched = {change.path: change for change in work}
    files = []
    for change in merged.values():
        before = touched[change.path].old_path if change.path in touched else ""
        tally = tallies.get(before or change.path) or _Tally()
        files.append(
            DeltaFile(
                change.path,
                change.kind,
                change.added,
                change.removed,
                change.old_path,
                tally.commits,
                tally.last_at,
                change.path in touched,
                (hunks or {}).get(change.path, ()),
            )
        )
    files.sort(key=lambda file: (not file.uncommitted, -file.last_at, file.path))
    commits = [DeltaCommit(one.sha, one.at, one.subject, len(one.files)) for one in reversed(changes.commits)]
    return Delta(
        since=changes.base,
        head=changes.head,
        commits=tuple(commits[:max_commits]),
        files=tuple(files[:max_files]),
        total_commits=len(commits),
        total_files=len(files),
        total_added=sum(file.added for file in files),
        total_removed=sum(file.removed for file in files),
        unreadable=changes.unreadable,
    )


def admit_changes(changes: WorkChanges, admits: Callable[[str], bool]) -> WorkChanges:
    """Return changes without the paths that a filter does not admit."""

    def admitted(files: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
        return tuple(file for file in files if admits(file.path))

    return replace(
        changes,
        commits=tuple(replace(commit, files=admitted(commit.files)) for commit in changes.commits),
        committed=admitted(changes.committed),
        uncommitted=admitted(changes.uncommitted),
        untracked=admitted(changes.untracked),
    )


def _tallies(commits: Sequence[Commit]) -> dict[str, _Tally]:
    """Return how often and when each path was last committed; commits are oldest first."""
    tallies: dict[str, _Tally] = {}
    for commit in commits:
        for change in commit.files:
            tally = tallies.pop(change.old_path, None) if change.old_path else None
            tally = tally or tallies.get(change.path) or _Tally()
            tallies[change.path] = tally
            tally.commits += 1
            tally.last_at = max(tally.last_at, commit.at)
    return tallies


def _merge(committed: Sequence[FileChange], uncommitted: Sequence[FileChange]) -> dict[str, FileChange]:
    """Return one change per path; line counts add up, a later rename carries the earlier change with it."""
    merged = {change.path: change for change in committed}
    for change in uncommitted:
        earlier = merged.pop(change.old_path or change.path, None)
        if earlier is None:
            merged[change.path] = change
            continue
        kind = _kind(earlier.kind, change.kind)
        if kind is None:
            continue  # added and removed again: nothing differs
        merged[change.path] = FileChange(
            change.path,
            kind,
            earlier.added + change.added,
            earlier.removed + change.removed,
            earlier.old_path or change.old_path,
        )
    return merged


def _kind(earlier: ChangeKind, later: ChangeKind) -> ChangeKind | None:
    if earlier is ChangeKind.ADDED:
        return None if later is ChangeKind.REMOVED else ChangeKind.ADDED
    if earlier is ChangeKind.REMOVED:
        return ChangeKind.REMOVED if later is ChangeKind.REMOVED else ChangeKind.MODIFIED
    return later


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


def _next_changes(source: Iterator[set[RawChange]], root: Path) -> set[RawChange] | None:
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
