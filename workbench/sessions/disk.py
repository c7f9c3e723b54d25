"""What an episode changed on disk, whether or not anybody saw the edits [img 11.2].

At its start what differs from the last commit is noted; at its end what differs then, and what was committed
since the start, is compared with that. A file that was dirty before and is as it was then is not the
episode's, and neither is a commit that is older than the episode and only came with a pull or a checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from workbench.ports import Entry
from workbench.project.admission import refusal
from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind, Commit, Episode, EventType, FileChange
from workbench.records.worktree import ABSENT, DiskState
from workbench.sessions.episodes_fold import DISK, MALFORMED, names

MOST_FILES: Final = 200
"""A work tree with more changed files is not noted, and more at an episode's end are not recorded."""

Stamp = Callable[[str], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class WorkDisk:
    """The work tree of a project: its state now, commits after one that was its head, a file's stamp.

    `look` returns None where there is nothing to compare with. Both raise: GitError.
    """

    look: Callable[[], DiskState | None]
    commits: Callable[[str | None], Iterable[Commit]]
    stamp: Stamp


def changes_since(before: DiskState, disk: WorkDisk, since: int) -> tuple[FileChange, ...]:
    """Return what differs on disk from a state, by path; nothing where more files do than a task edits.

    `since` is the time of that state, in seconds since the epoch. Raises: GitError.
    """
    now = disk.look()
    if now is None:
        return ()
    committed = _first_changes(before, now, disk, since)
    found = []
    for path in sorted({*before.files, *now.files, *committed}):
        if refusal(path) is not None:
            continue
        stamp = now.files[path] if path in now.files else disk.stamp(path)
        was: tuple[int, int] | None
        if path in before.files:
            was = before.files[path]
        else:
            added = committed[path] is ChangeKind.ADDED if path in committed else path in now.new
            was = ABSENT if added else None
        if stamp != was:
            found.append(FileChange(path, _kind(was, stamp)))
    return tuple(found) if len(found) <= MOST_FILES else ()


def _kind(was: tuple[int, int] | None, stamp: tuple[int, int]) -> ChangeKind:
    if stamp == ABSENT:
        return ChangeKind.REMOVED
    return ChangeKind.ADDED if was == ABSENT else ChangeKind.MODIFIED


def _first_changes(before: DiskState, now: DiskState, disk: WorkDisk, since: int) -> Mapping[str, ChangeKind]:
    """Return what the first commit of each file did to it, of those made since a time."""
    found: dict[str, ChangeKind] = {}
    if now.head == before.head:
        return found
    for commit in disk.commits(before.head):
        if commit.at >= since:
            for change in commit.files:
                found.setdefault(change.path, change.kind)
                if change.old_path:
                    found.setdefault(change.old_path, ChangeKind.REMOVED)
    return found


def disk_body(state: DiskState, excluded: Callable[[str], bool]) -> dict[str, Any]:
    """Return what the journal keeps of a state."""
    files = {path: list(stamp) for path, stamp in state.files.items() if not excluded(path)}
    return {"head": state.head, "files": files}


def disk_noted(entries: Iterable[Entry], session: str) -> DiskState | None:
    """Return the state that was noted as a session began, None where none is that can be read."""
    for entry in entries:
        if entry.kind == DISK and names(entry, session):
            with suppress(*MALFORMED):
                head, files = entry.body["head"], entry.body["files"]
                stamps = {str(path): (int(size), int(at)) for path, (size, at) in files.items()}
                return DiskState(None if head is None else str(head), stamps)
    return None


def delta_body(episode: Episode, change: FileChange) -> dict[str, Any]:
    """Return the journal body of what changed on disk under an episode that has ended."""
    return {
        "session_id": episode.session_id,
        "event_type": EventType.DELTA.value,
        "timestamp": episode.ended_at,
        "symbol": None,
        "payload": {"kind": change.kind.value},
        "issue_refs": list(episode.issue_refs),
        "commit_sha": episode.commit_sha or None,
        "file_path": change.path,
    }
