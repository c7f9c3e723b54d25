"""Which of the segments that were found for a task enter its pack, how much of each, and why not the rest.

Relevance gates: where nothing is about the task, nothing is shown. What the pack shows anyway is not
repeated: a file that is as it was, a learning that says the same. A file that changed since is not shown as
it was, unless somebody pins it, and then it says so. Long segments are shown in part, around what matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from workbench.records.segments import ContextSegment, FoundSegment, SegmentType
from workbench.stash.citation import SAME, are_parts, cite, file_of, held_share, is_part_of, quote, word_runs
from workbench.stash.segmenttype import SHORT
from workbench.text.sanitize import visible_line

PINNED: Final = "pinned by you"
LARGEST: Final = 0.5
"""The share of what segments may take that a single one may, so that there are two at least."""

LEAST_SIMILARITY: Final = 0.5
"""As likely relevant as not."""

EVIDENCE: Final = {"dense": 0.73, "lexical": 0.8}
"""What similarity and the part of it that is the segment's own (its meaning, or without a model its words)
come to together (`python -m bench.stash gate`)."""

_SMALL: Final = 150  # tokens that one may take, whatever its share
_LEAST_TOKENS: Final = 30
"""Tokens below which an excerpt says too little to be shown."""

_LONGEST: Final = 100_000
"""Characters of a long segment among which an excerpt is looked for where no passage is known."""

_LONGEST_TOKEN: Final = 16  # characters of a token on the average, at most: no need to count what is longer
_WORD: Final = re.compile(r"\w{3,}")
_CUT: Final = "…"
_CHARACTERS: Final = 3  # of a line too long to be shown whole, for each token


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSurroundings:
    """What a selection goes by besides the segments.

    `now` is in seconds since the epoch, `budget` the tokens of the whole pack and `tokens` what all segments
    together may take of it. `evidence` is the part of similarity that counts twice: dense, or lexical where
    there is no model. `read(path)` returns a file as it is now, None where the project has none. `known` are
    texts by id that the pack holds anyway.
    """

    now: float
    budget: int
    tokens: int
    evidence: str
    task: str
    count: Callable[[str], int]
    read: Callable[[str], str | None]
    known: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSegment:
    """A segment for a pack: its text as it is shown there, who says so and why; `part` if it is not whole."""

    found: FoundSegment
    text: str
    origin: str
    why: str
    tokens: int
    part: bool = False


@dataclass(frozen=True, slots=True)
class SegmentSelection:
    """The segments for a pack in the order of their claims, and (id, reason) of those left out."""

    chosen: tuple[ChosenSegment, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def select_segments(
    found: Sequence[FoundSegment], around: PackSurroundings, *, pinned: Collection[str] = ()
) -> SegmentSelection:
    """Select of the segments found, best first; pinned ones come first and enter whatever they are."""
    chosen: list[ChosenSegment] = []
    left_out: list[tuple[str, str]] = []
    held = {identifier: word_runs(text) for identifier, text in around.known.items()}
    files: list[ContextSegment] = []
    left = around.tokens
    largest = max(int(around.tokens * LARGEST), min(around.tokens, _SMALL))
    for one in sorted(found, key=lambda one: one.segment.id not in pinned):
        identifier, wanted = one.segment.id, one.segment.id in pinned
        now = _file_now(one, around)
        reason = "" if wanted else _refusal(one, around, now)
        runs = frozenset() if reason else word_runs(one.segment.text)
        reason = reason or ("" if wanted else _repetition(one, runs, held, files))
        most = around.budget // 2 if wanted else min(left, largest)
        candidate = None if reason else _present(one, around, now, most)
        if candidate is None:
            full = f"the {around.tokens:,} tokens that segments may take are used up"
            left_out.append((identifier, reason or full))
            continue
        left -= candidate.tokens
        held[identifier] = runs
        if one.segment.type is SegmentType.FILE_CONTENT:
            files.append(one.segment)
        chosen.append(replace(candidate, why=PINNED) if wanted else candidate)
    return SegmentSelection(tuple(chosen), tuple(left_out))


def is_about(one: FoundSegment, evidence: str) -> bool:
    """Whether a segment is about the task it was found for, by itself: `evidence` is what counts twice."""
    about = one.similarity - one.parts.get("feedback", 0.0)  # having been shown is no reason to be left out
    return about >= LEAST_SIMILARITY and about + one.parts.get(evidence, 1.0) >= EVIDENCE[evidence]


def _refusal(one: FoundSegment, around: PackSurroundings, now: str | None) -> str:
    """Return why a segment is not in a pack whatever else is in it, or ''."""
    if not is_about(one, around.evidence):
        return f"it is not about this task (similarity {one.similarity:.2f})"
    path = visible_line(file_of(one.segment))
    if now is None:
        return ""
    if is_part_of(one.segment.text, now):
        return f"the file holds it as it is now: {path}"
    if one.segment.type is SegmentType.FILE_CONTENT:
        return f"the file changed since: {path}"
    return ""


def _repetition(
    one: FoundSegment,
    runs: frozenset[str],
    held: Mapping[str, frozenset[str]],
    files: Sequence[ContextSegment],
) -> str:
    """Return which text of the pack says the same as a segment, or ''."""
    path = file_of(one.segment)
    for other in files if one.segment.type is SegmentType.FILE_CONTENT else ():
        if path == file_of(other) and not are_parts(one.segment, other):
            return f"another segment of the same file is in the pack: {other.id}"
    same = next((name for name, others in held.items() if held_share(runs, others) >= SAME), "")
    return f"the pack says the same already: {same}" if same else ""


def _file_now(one: FoundSegment, around: PackSurroundings) -> str | None:
    path = file_of(one.segment)
    return around.read(path) if path else None


def _present(one: FoundSegment, around: PackSurroundings, now: str | None, most: int) -> ChosenSegment | None:
    """Return a segment as it is shown within so many tokens, None where that would say too little."""
    origin = cite(one.segment, around.now)
    if one.segment.type is SegmentType.FILE_CONTENT:
        if now is None:
            origin += ", which is not in the project now"
        elif not is_part_of(one.segment.text, now):
            origin += ", which changed since"

    def cost(label: str, text: str) -> int:
        return around.count(f"- ({label})\n{text}\n")

    if one.segment.tokens <= most:
        text = quote(one.segment.text)
        tokens = cost(origin, text)
        if tokens <= most:
            return ChosenSegment(found=one, text=text, origin=origin, why=_why(one), tokens=tokens)
    origin = f"{origin}, in part: `stash show {visible_line(one.segment.id[:SHORT])}`"
    text = quote(one.passage or one.segment.text[:_LONGEST])
    if len(text) > most * _LONGEST_TOKEN or cost(origin, text) > most:
        text = excerpt(text, around.task, most - cost(origin, ""), around.count)
    tokens = cost(origin, text)
    if not text or tokens > most:
        return None
    return ChosenSegment(found=one, text=text, origin=origin, why=_why(one), tokens=tokens, part=True)


def _why(one: FoundSegment) -> str:
    """Return why a segment was found as part of a line that has its age already, with its similarity."""
    reason = one.why.rpartition("; ")[0] or one.why
    return f"{reason[:1].lower()}{reason[1:]} ({one.similarity:.2f})"


def excerpt(text: str, task: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return the lines around those that share most words with a task, '' where few tokens are left.

    What is left out before and after is marked with an ellipsis.
    """
    lines = text.split("\n")
    costs = [count(f"  {line}\n") for line in lines]
    spare = tokens - 2 * count(f"  {_CUT}\n")
    if spare < _LEAST_TOKENS:
        return ""
    words = frozenset(_WORD.findall(task.casefold()))
    shared = [len(words.intersection(_WORD.findall(line.casefold()))) for line in lines]
    first = last = max(range(len(lines)), key=lambda at: (shared[at], -at))
    if costs[first] > spare:
        return f"{lines[first][: spare * _CHARACTERS]} {_CUT}"
    spare -= costs[first]
    grows = True
    while grows:
        grows = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and costs[at] <= spare:
                first, last, spare, grows = min(first, at), max(last, at), spare - costs[at], True
    before, after = [_CUT] * (first > 0), [_CUT] * (last < len(lines) - 1)
    return "\n".join((*before, *lines[first : last + 1], *after))
