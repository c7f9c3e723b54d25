"""The files of the project that an iteration touched, relative to its root; others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from workbench.records.episodes import ChangeKind
from workbench.records.iterations import FileAction, FileTouched, ToolUseEvent, unsafe_path
from workbench.sessions.importers.touches import absolute, touches
from workbench.sessions.importers.transcripts import ToolUse

OUTSIDE = "paths outside of the project"
_STATE = ".workbench/"
_GIT = ".git/"


def relative(path: str, roots: Sequence[str], cwd: str = "") -> str:
    """Return a path relative to the root it is in, empty where it is in none or cannot be a file's.

    `roots` are absolute, the deepest that holds the path counts; a relative path is one from `cwd`.
    """
    if not path or "\0" in path or path.startswith("~"):
        return ""
    whole = absolute(path, cwd)
    if not _is_absolute(whole):
        return "" if unsafe_path(whole) else whole
    for root in sorted(roots, key=lambda root: (-len(root), root)):
        base = root.replace("\\", "/").rstrip("/")
        if base and whole.startswith(f"{base}/"):
            inner = whole[len(base) + 1 :]
            return "" if unsafe_path(inner) else inner
    return ""


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or (len(path) > 1 and path[1] == ":")


def files_touched(
    uses: Iterable[ToolUseEvent], cwd: str, roots: Sequence[str], dropped: Counter[str]
) -> tuple[FileTouched, ...]:
    """Return each file once with what was done to it in the end, in the order of the first touch.

    A file that was made and deleted again is left out. `dropped` counts the paths outside of all roots.
    """
    actions: dict[str, FileAction] = {}
    made: set[str] = set()
    outside: set[str] = set()
    for use in uses:
        if use.failed or use.rejected:
            continue
        call = ToolUse(use.id, use.name, use.input, "", "", cwd, "")
        for touch in touches(call):
            moves = ((touch.old_path, FileAction.DELETED),) if touch.old_path else ()
            action = _action(touch.kind, created=use.created or bool(touch.old_path))
            for path, done in (*moves, (touch.path, action)):
                inner = relative(path, roots, cwd)
                if not inner:
                    outside.add(path)
                elif not inner.startswith((_STATE, _GIT)):
                    _note(actions, made, inner, done)
    if outside:
        dropped[OUTSIDE] += len(outside)
    return tuple(FileTouched(path, action) for path, action in actions.items())


def _action(kind: ChangeKind | None, *, created: bool) -> FileAction:
    if kind is None:
        return FileAction.READ
    if kind is ChangeKind.REMOVED:
        return FileAction.DELETED
    return FileAction.CREATED if created or kind is ChangeKind.ADDED else FileAction.MODIFIED


def _note(actions: dict[str, FileAction], made: set[str], path: str, done: FileAction) -> None:
    before = actions.get(path)
    if done is FileAction.CREATED and before is not FileAction.DELETED and before is None:
        made.add(path)
    if done is FileAction.DELETED and path in made:
        made.discard(path)
        del actions[path]
    elif done is FileAction.READ and before is not None:
        return
    elif done is FileAction.MODIFIED and path in made:
        actions[path] = FileAction.CREATED
    else:
        actions[path] = done
