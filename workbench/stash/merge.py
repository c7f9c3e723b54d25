"""Segments merged back into a context as one text: in the order of their times, each once, framed [rag §3].

What two segments hold is in the text once. Of a file that was read at two times the later reading is merged;
two readings of different parts of it both are. Decisions that contradict each other both stay, with a note
at the earlier one: which of them holds is for the reader to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.citation import are_parts, cite, file_of, is_part_of, quote, shared_lines
from workbench.text.sanitize import CLOSING, OPENING, QUOTED, visible_line

OTHER_PART: Final = 0.2
"""The share of lines that two readings of a file have in common below which they are of different parts."""

_DECISIONS: Final = 20  # of which every pair is compared
_LINE: Final = re.compile(r"#(\d+)$")


@dataclass(frozen=True, slots=True)
class MergedContext:
    """A finished text and its tokens, the segments in it in order, and (id, reason) of those that are not.

    `conflicts` are pairs of ids that contradict each other, the earlier one first.
    """

    text: str
    tokens: int
    segments: tuple[ContextSegment, ...]
    left_out: tuple[tuple[str, str], ...]
    conflicts: tuple[tuple[str, str], ...] = ()


def merge_segments(
    segments: Sequence[ContextSegment],
    now: float,
    count: Callable[[str], int],
    *,
    beside: Mapping[str, str] | None = None,
) -> MergedContext:
    """Merge segments into one text; `beside` says by id why a segment is there that nobody named.

    `now` is in seconds since the epoch.
    """
    ordered = sorted({segment.id: segment for segment in segments}.values(), key=time_order)
    kept, left_out = _without_repetitions(ordered)
    conflicts = tuple(_contradictions(kept))
    notes = dict(beside or {})
    for earlier, later in conflicts:
        notes[earlier] = ", ".join(filter(None, (notes.get(earlier), f"contradicts the later {later}")))
    blocks = [_block(one, now, notes.get(one.id, "")) for one in kept]
    text = "\n".join((OPENING, QUOTED, *blocks, CLOSING)) + "\n" if kept else ""
    return MergedContext(text, count(text), tuple(kept), tuple(left_out), conflicts)


def time_order(segment: ContextSegment) -> tuple[str, str, int, int, str]:
    """Return what segments are ordered by: when they came to be, then their places in a transcript."""
    where = segment.metadata.get("place", segment.source)
    match = _LINE.search(where)
    place, line = (where[: match.start()], int(match[1])) if match else (where, 0)
    part = segment.metadata.get("part", "").partition("/")[0]
    return segment.timestamp, place, line, int(part) if part.isdecimal() else 0, segment.id


def _without_repetitions(
    ordered: Sequence[ContextSegment],
) -> tuple[list[ContextSegment], list[tuple[str, str]]]:
    """Return segments, the earliest first, without those that a later one repeats or replaces."""
    kept: list[ContextSegment] = []
    left_out: list[tuple[str, str]] = []
    for one in reversed(ordered):
        reason = next(filter(None, (_replaced_by(one, later) for later in kept)), "")
        if reason:
            left_out.append((one.id, reason))
        else:
            kept.append(one)
    return kept[::-1], left_out[::-1]


def _replaced_by(one: ContextSegment, later: ContextSegment) -> str:
    """Return why a segment is not merged beside a later one, or ''."""
    if one.digest and one.digest == later.digest:
        return f"the same text as {later.id}"
    path = file_of(one)
    if path and path == file_of(later):
        if is_part_of(one.text, later.text):
            return f"{later.id} holds it, too"
        both = {one.type, later.type} == {SegmentType.FILE_CONTENT} and not are_parts(one, later)
        if both and shared_lines(one.text, later.text) >= OTHER_PART:
            return f"{visible_line(path)} was read again later: {later.id}"
    return f"the same words as {later.id}" if one.text.split() == later.text.split() else ""


def _contradictions(kept: Sequence[ContextSegment]) -> list[tuple[str, str]]:
    """Return the pairs of decisions of which both cannot hold."""
    decisions = [one for one in kept if one.type is SegmentType.DECISION][-_DECISIONS:]
    if len(decisions) < 2:
        return []
    from workbench.comparison.verdicts import TextVerdict, judge  # which few merges need

    return [
        (earlier.id, later.id)
        for earlier, later in combinations(decisions, 2)
        if judge(earlier.text, later.text).verdict is TextVerdict.CONFLICT
    ]


def _block(one: ContextSegment, now: float, note: str) -> str:
    """Return a segment under its label; every line of its text is indented, so that none is a label."""
    label = f"[{visible_line(one.id)}: {cite(one, now)}{f'; {visible_line(note)}' if note else ''}]"
    lines = quote(one.text).split("\n")
    return "\n".join((label, *(f"  {line}" if line.strip() else "" for line in lines)))
