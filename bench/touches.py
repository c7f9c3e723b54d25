"""Which lines of a file past tasks changed, in the numbering of the file as it is now.

A commit numbers lines as they were right after it. Following each range through the hunks of the later
commits of the same file brings it up to date; of lines that were rewritten since, what
replaced them counts. Chunk weights are learned beside these features; plans do without them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.patches import CommitPatch
from workbench.plan.snippets import FileText
from workbench.records.worktree import Hunk

TOUCH_FEATURES: Mapping[str, str] = {
    "touched": "how lately the file's past changes touched it, summed",
    "touched_alike": "likeness of the most similar past task that changed it",
    "touched_lately": "how lately in the project's history it was changed",
}
MAX_EDITS = 12  # older changes of a file say little, and their lines have moved too often

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What one past task did to one file. `task` is its number, 0 for the latest of the project.

    `hunks` are in line order, as `git diff --unified=0` gives them.
    """

    task: int
    hunks: tuple[Hunk, ...]
    created: bool = False


@dataclass(frozen=True, slots=True)
class Touch:
    """Lines that a past task changed, as line ranges of the file as it is now.

    `age` counts the changes of this file since, 0 for the latest; `task` the tasks of the whole project;
    `likeness` in [0, 1] says how alike that task and the present one are.
    """

    spans: tuple[Span, ...]
    age: int
    task: int
    likeness: float = 0.0


def collect_edits(
    patches: Iterable[CommitPatch], numbers: Mapping[str, int] | None = None
) -> dict[str, tuple[FileEdit, ...]]:
    """Return the latest edits of each file, newest first, under the name the file has now.

    patches: newest first. numbers: the task number of each commit; other commits still move lines and count
    as the task after the one before them. Without numbers every commit is a task.
    """
    edits: dict[str, list[FileEdit]] = {}
    today: dict[str, str] = {}
    task = -1
    for patch in patches:
        task = task + 1 if numbers is None else numbers.get(patch.sha, max(task, 0))
        for file in patch.files:
            path = today.get(file.path, file.path)
            if file.old_path:
                today[file.old_path] = path
            held = edits.setdefault(path, [])
            if len(held) < MAX_EDITS:
                held.append(FileEdit(task, file.hunks, file.created))
    return {path: tuple(found) for path, found in edits.items()}


def find_touches(edits: Sequence[FileEdit], likeness: Sequence[float] = ()) -> tuple[Touch, ...]:
    """Return the touches of one file from its edits, newest first in both.

    likeness: of each past task to the present one, in [0, 1], by task number; tasks beyond its end are not
    alike. Looks at the latest `MAX_EDITS` edits; the one that created the file ends the search, for it
    touches nothing in particular.
    """
    recent: list[FileEdit] = []
    for edit in edits[:MAX_EDITS]:
        if edit.created:
            break
        recent.append(edit)
    spans: list[list[Span]] = [[] for _ in recent]
    for age in range(len(recent) - 1, -1, -1):
        hunks = recent[age].hunks
        for older in range(age + 1, len(recent)):
            spans[older] = move_spans(spans[older], hunks)
        spans[age] = [new_lines(hunk) for hunk in hunks]
    return tuple(
        Touch(
            tuple(spans[age]),
            age,
            edit.task,
            float(likeness[edit.task]) if edit.task < len(likeness) else 0.0,
        )
        for age, edit in enumerate(recent)
    )


def new_lines(hunk: Hunk) -> Span:
    """Return the lines a hunk left behind; for a pure removal the lines on both sides of the gap."""
    start, count = hunk.new_start, hunk.new_lines
    return (start, start + count - 1) if count else (max(1, start), start + 1)


def move_spans(spans: Sequence[Span], hunks: Sequence[Hunk]) -> list[Span]:
    """Carry line ranges over one edit, from the numbering before it to the one after it.

    A range whose lines were all removed without replacement is gone.
    """
    moved = []
    for start, end in spans:
        first, last = _move(start, hunks, last=False), _move(end, hunks, last=True)
        if first <= last:
            moved.append((first, last))
    return moved


def _move(line: int, hunks: Sequence[Hunk], *, last: bool) -> int:
    """Return where a line is after the hunks; a removed line gives the edge of what replaced it."""
    shift = 0
    for hunk in hunks:
        first = hunk.old_start if hunk.old_lines else hunk.old_start + 1
        if line < first:
            break
        if line < first + hunk.old_lines:
            if hunk.new_lines == 0:
                return hunk.new_start if last else hunk.new_start + 1
            return hunk.new_start + hunk.new_lines - 1 if last else hunk.new_start
        shift += hunk.new_lines - hunk.old_lines
    return line + shift


def add_touches(file: FileText, rows: Sequence[dict[str, float]], touches: Sequence[Touch]) -> None:
    """Add how lately, and by how similar tasks, the lines of each chunk were changed."""
    starts = [chunk.start for chunk in file.chunks]
    for touch in touches:
        hit: set[int] = set()
        for start, end in touch.spans:
            if rows and start <= len(file.lines):
                first = max(0, bisect_right(starts, start) - 1)
                hit.update(range(first, max(first + 1, bisect_right(starts, end))))
        for index in sorted(hit):
            row = rows[index]
            row["touched"] = row.get("touched", 0.0) + 1.0 / (1.0 + touch.age)
            row["touched_lately"] = max(row.get("touched_lately", 0.0), 1.0 / (1.0 + touch.task / 10.0))
            if touch.likeness:
                row["touched_alike"] = max(row.get("touched_alike", 0.0), touch.likeness)
