"""Which lines of a file past tasks changed, in the numbering of the file as it is now.

A commit numbers lines as they were right after it. Following each range through the hunks of the later
commits of the same file brings it up to date; of lines that were rewritten since, what
replaced them counts. Uncommitted lines above a range move it by as many. `similar_tasks` names the tasks that
speak for a file: those that a plan means by "changed in similar past tasks".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from workbench.plan import cuts
from workbench.plan.cuts import FileCut
from workbench.plan.signals import task_weights
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent
from workbench.records.worktree import Hunk
from workbench.sessions.edits import Edits, FileEdit
from workbench.sessions.history import History
from workbench.sessions.past import Past
from workbench.text.postings import inverse_document_frequency

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LineTouch:
    """Lines that a past task changed, as line ranges of the file as it is now.

    `age` counts the changes of this file since, 0 for the latest; `task` the tasks of the whole project;
    `likeness` in [0, 1] says how alike that task and the present one are.
    """

    spans: tuple[Span, ...]
    age: int
    task: int
    likeness: float = 0.0


ChunkTouches = Mapping[int, Mapping[str, float]]
"""{chunk: {feature: value}} of the chunks that past commits changed, as `places.PlacedFile` has it."""


def task_touches(edits: Edits, history: History, intent: Intent) -> Callable[[str, FileCut], ChunkTouches]:
    """Return what says which chunks of a file past tasks changed."""
    likeness = task_weights(history, dict(intent.terms))[0].tolist()
    tasks = task_numbers(history.times.tolist())

    def touches_of(path: str, cut: FileCut) -> ChunkTouches:
        moved = edits.moved.get(path)
        if moved is None:
            moved = edits.moved[path] = line_spans(edits.of(path))
        return chunk_touches(cut, _touches(moved, tasks, likeness))

    return touches_of


def task_numbers(times: Sequence[int]) -> dict[int, int]:
    """Return the number of the past task that began at each second, of several the newest's."""
    return {at: number for number, at in reversed([*enumerate(times)])}


def find_touches(
    edits: Sequence[FileEdit], tasks: Mapping[int, int], likeness: Sequence[float] = ()
) -> tuple[LineTouch, ...]:
    """Return the touches of one file from its edits, newest first in both.

    tasks: the number of the past task of each second, 0 for the latest; an edit of none of them
    counts as one of the task of the edit before. likeness: of each past task to the present one, in [0, 1].
    The edit that created the file ends the search, for it touches nothing in particular.
    """
    return _touches(line_spans(edits), tasks, likeness)


def line_spans(edits: Sequence[FileEdit]) -> tuple[tuple[int, tuple[Span, ...]], ...]:
    """Return the time of each edit of a file that touches lines, and where those lines are now."""
    recent: list[FileEdit] = []
    for edit in edits:
        if edit.whole:
            break
        recent.append(edit)
    spans: list[list[Span]] = [[] for _ in recent]
    for age in range(len(recent) - 1, -1, -1):
        hunks = recent[age].hunks
        for older in range(age + 1, len(recent)):
            spans[older] = move_spans(spans[older], hunks)
        spans[age] = [new_lines(hunk) for hunk in hunks]
    return tuple((edit.at, tuple(spans[age])) for age, edit in enumerate(recent))


def _touches(
    moved: Sequence[tuple[int, tuple[Span, ...]]], tasks: Mapping[int, int], likeness: Sequence[float]
) -> tuple[LineTouch, ...]:
    found, last = [], 0
    for age, (at, spans) in enumerate(moved):
        last = tasks.get(at, last)
        alike = float(likeness[last]) if at in tasks and last < len(likeness) else 0.0
        found.append(LineTouch(spans, age, last, alike))
    return tuple(found)


def new_lines(hunk: Hunk) -> Span:
    """Return the lines a hunk left behind; for a pure removal the lines on both sides of the gap."""
    start, count = hunk.new_start, hunk.new_lines
    return (start, start + count - 1) if count else (max(1, start), start + 1)


def move_spans(spans: Sequence[Span], hunks: Sequence[Hunk]) -> list[Span]:
    """Carry line ranges over one edit, from the numbering before it to the one after it.

    A range whose lines were all removed without replacement is gone.
    """
    moved = []
    top = hunks[0].old_start if hunks else 0
    for start, end in spans:
        if end < top:
            moved.append((start, end))
            continue
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


def chunk_touches(cut: FileCut, touches: Sequence[LineTouch]) -> dict[int, dict[str, float]]:
    """Return how lately, how often and by how similar tasks the lines of each chunk were changed."""
    starts = cut.table[:, cuts.START].tolist()
    found: dict[int, dict[str, float]] = {}
    for touch in touches:
        hit: set[int] = set()
        for start, end in touch.spans:
            if starts and start <= cut.lines:
                first = max(0, bisect_right(starts, start) - 1)
                hit.update(range(first, max(first + 1, bisect_right(starts, end))))
        for index in sorted(hit):
            row = found.setdefault(index, {})
            row["touched"] = row.get("touched", 0.0) + 1.0 / (1.0 + touch.age)
            row["touched_lately"] = max(row.get("touched_lately", 0.0), 1.0 / (1.0 + touch.task / 10.0))
            if touch.likeness:
                row["touched_alike"] = max(row.get("touched_alike", 0.0), touch.likeness)
                row["touched_often"] = row.get("touched_often", 0.0) + touch.likeness
    return found


@dataclass(frozen=True, slots=True)
class SimilarTask:
    """A past task that touched a file: its first line, when it was in seconds, its similarity in [0, 1]."""

    head: str
    at: int
    similarity: float


def similar_tasks(past: Past, terms: Mapping[str, float], path: str, limit: int) -> tuple[SimilarTask, ...]:
    """Return the past tasks that touched a file and have words of a task, the most similar first.

    Words of the task that no past one has count against all. A file that was renamed has its tasks under its
    present name.
    """
    history = past.history
    if path not in history.paths:
        return ()
    touching = history.tasks[history.files == history.paths.index(path)].tolist()
    held = {term: len(history.messages.posting(term)[0]) for term in terms}
    said = {term: inverse_document_frequency(held[term], history.size) * terms[term] for term in terms}
    heard = sum(said[term] for term in terms if held[term]) / max(sum(said.values()), 1e-9)
    similarity = np.minimum(task_weights(history, terms)[0], 1.0) * heard  # words said twice are above 1
    found = sorted((-float(similarity[task]), task) for task in set(touching) if similarity[task] > 0)
    return tuple(
        SimilarTask(past.heads[task], int(history.times[task]), -score) for score, task in found[:limit]
    )
