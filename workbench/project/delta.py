"""Layer L6, the change digest: what happened to the project since a revision, newest first.

Uncommitted work comes first, since that is what a person is in the middle of; then files by the time of their
last commit. A file that was renamed keeps the commits it had under its old name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.records.episodes import ChangeKind, Commit, FileChange
from workbench.records.worktree import Hunk, WorkChanges


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file that differs from the revision.

    `added` and `removed` count lines over committed and uncommitted work. `commits` is how many commits
    touched it, `last_at` the time of the last one (0 without). `hunks` are in lines of the revision and
    of the disk.
    """

    path: str
    kind: ChangeKind
    added: int
    removed: int
    old_path: str
    commits: int
    last_at: int
    uncommitted: bool
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """A commit of the digest; `files` counts the paths it touched."""

    sha: str
    at: int
    subject: str
    files: int


@dataclass(frozen=True, slots=True)
class Delta:
    """The digest: commits newest first, files most recent first. Totals count what limits cut off, too."""

    since: str
    head: str | None
    commits: tuple[DeltaCommit, ...]
    files: tuple[DeltaFile, ...]
    total_commits: int
    total_files: int
    total_added: int
    total_removed: int


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
    untracked = tuple(FileChange(path, ChangeKind.ADDED) for path in changes.untracked)
    merged = _merge(changes.committed, (*changes.uncommitted, *untracked))
    touched = {change.path: change for change in (*changes.uncommitted, *untracked)}
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
