"""Tasks for the stash from recorded conversations: what was used again of what had been said before.

A task is a prompt of the user's, which may know all that was said before it, or a step that the agent
announces in a long run, whose last segments are still in its context. What it should have found is computed
from what follows alone, until the next task, in four kinds of questions:

- `file`: segments with lines of a file that was then read or edited again,
- `error`: segments with an error that then came up again,
- `decision`: decisions of which the agent then repeated a passage,
- `quote`: messages, findings and outputs of which it did.

A passage that is in the query itself counts for nothing, nor does one that many segments have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.memory.extraction.errors import errors_of
from workbench.records.iterations import ToolUseEvent
from workbench.records.segments import ContextSegment, SegmentType
from workbench.replay.stash_passages import LEAST_ERROR, ContentUse, Passages, StashKind, error_key
from workbench.sessions.importers.touches import absolute, touches
from workbench.sessions.importers.transcripts import (
    AGENT_MESSAGE,
    AGENT_TEXT,
    Aside,
    CallOutcome,
    Moment,
    Prompt,
    Setting,
    ToolResult,
    ToolUse,
)
from workbench.stash.times import utc_time
from workbench.text.redact import redact
from workbench.text.terms import clean_task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Int64

CONTEXT: Final = 20
"""Segments that an agent in a long run still has before it."""

STEP: Final = 10
"""Segments between two steps of a run at least."""

MESSAGES: Final = 3
FILES: Final = 5
"""How many recent messages and active files a query has."""

_STATED: Final = 40  # characters of a message that says what comes next


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt of the user's, or a step that the agent announced, after so many segments."""

    place: int
    text: str
    at: str
    is_step: bool = False


@dataclass(slots=True)
class Recording:
    """A transcript: its segments in order, what was asked and used, with its place among them."""

    session: str = ""
    segments: list[ContextSegment] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    uses: list[ContentUse] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StashTask:
    """A question to the stash.

    `known` int64 are the rows of the segments that may be found, oldest first; `truth` the ids of those that
    should be. `text` is the prompt or the step, `goal` the prompt that a step belongs to, `messages` and
    `files` what the agent had before it. `at` is ISO 8601.
    """

    id: str
    session: str
    kind: StashKind
    text: str
    goal: str
    messages: tuple[str, ...]
    files: tuple[str, ...]
    at: str
    known: Int64
    truth: frozenset[str]


def record_session(steps: Iterable[tuple[Moment | None, Iterable[ContextSegment]]]) -> Recording:
    """Return a transcript as a recording, from its events with the segments each gave."""
    found = Recording()
    calls: dict[str, ToolUse] = {}
    cwd = ""
    for moment, segments in steps:
        place = len(found.segments)
        match moment:
            case Setting():
                cwd = moment.cwd or cwd
            case Prompt() if moment.channel != "screen" and not moment.guessed:
                text = redact(clean_task(moment.text)).text
                found.asked.append(Asked(place, text, utc_time(moment.at)))
            case Aside(what=what, text=words) if words and what in (AGENT_TEXT, AGENT_MESSAGE):
                said = redact(words).text
                if len(said) >= _STATED:
                    found.asked.append(Asked(place, said, utc_time(moment.at), is_step=True))
                found.uses.append(ContentUse(place, said))
            case ToolUse():
                calls[moment.id] = moment
                found.uses += _written_content(moment, place, cwd)
            case ToolResult():
                call = calls.pop(moment.id, None)
                if call is not None and moment.outcome is not CallOutcome.REJECTED:
                    found.uses += _answer_content(call, moment, place, cwd)
        found.segments += segments
    found.session = next((segment.session_id for segment in found.segments), "")
    return found


def _written_content(use: ToolUse, place: int, cwd: str) -> Iterator[ContentUse]:
    """Yield what a call says of the files it names; its texts are the agent's words."""
    said = "\n".join(value for value in use.input.values() if isinstance(value, str))
    words = redact(said).text
    yield ContentUse(place, words)
    for touch in touches(use):
        yield ContentUse(place, words, _inside(touch.path, use.cwd or cwd))


def _answer_content(use: ToolUse, result: ToolResult, place: int, cwd: str) -> Iterator[ContentUse]:
    failed = result.outcome is CallOutcome.FAILED
    event = ToolUseEvent(use.tool, use.input, use.id, result.output, failed=failed)
    errors = (error_key(redact(error.message).text) for error in errors_of(event, use.cwd or cwd))
    known = tuple(dict.fromkeys(key for key in errors if len(key) >= LEAST_ERROR))
    if known:
        yield ContentUse(place, errors=known)
    words = redact(result.output).text
    for touch in touches(use):
        yield ContentUse(place, words, _inside(touch.path, use.cwd or cwd))


def _inside(path: str, cwd: str) -> str:
    whole = absolute(path, cwd)
    return whole.removeprefix(f"{cwd.rstrip('/')}/") if cwd.strip("/") else whole


def stash_tasks(recordings: Sequence[Recording]) -> tuple[tuple[ContextSegment, ...], tuple[StashTask, ...]]:
    """Return all segments, oldest first, and the tasks, newest first; what used nothing again is none."""
    ordered = sorted(
        (
            (segment.timestamp, number, place, segment)
            for number, recording in enumerate(recordings)
            for place, segment in enumerate(recording.segments)
        ),
        key=lambda one: one[:3],
    )
    places = SegmentPlaces(
        np.asarray([one[1] for one in ordered], np.int64),
        np.asarray([one[2] for one in ordered], np.int64),
        np.asarray([one[0] for one in ordered], np.str_),
    )
    segments = tuple(one[3] for one in ordered)
    passages = Passages(segments)
    tasks = [
        task
        for number, recording in enumerate(recordings)
        for task in _tasks_of(recording, number, places, passages)
    ]
    return segments, tuple(sorted(tasks, key=lambda task: (task.at, task.id), reverse=True))


def _tasks_of(
    recording: Recording, number: int, places: SegmentPlaces, passages: Passages
) -> Iterator[StashTask]:
    asked = list(_space_out(recording.asked))
    ends = [*(one.place for one in asked[1:]), len(recording.segments) + 1]
    goal = ""
    for turn, (one, end) in enumerate(zip(asked, ends, strict=False)):
        goal = goal if one.is_step else one.text
        messages, quoted = _recent(recording, one.place)
        known = places.before(number, one, quoted)
        if not len(known) or not one.text:
            continue
        follows = [use for use in recording.uses if one.place <= use.place < end]
        files = _active(recording, one.place)
        found = passages.used_ids(known, follows, "\n".join((one.text, goal, *messages)))
        for kind in StashKind:
            if found[kind]:
                yield StashTask(
                    id=f"{recording.session}:{turn}/{kind}",
                    session=recording.session,
                    kind=kind,
                    text=one.text,
                    goal=goal if one.is_step else "",
                    messages=messages,
                    files=files,
                    at=one.at,
                    known=known,
                    truth=frozenset(found[kind]),
                )


def _space_out(asked: Iterable[Asked]) -> Iterator[Asked]:
    """Yield all prompts, and the steps that are far from the task before them and from the beginning."""
    last = 0
    for one in asked:
        if not one.is_step or (one.place >= CONTEXT and one.place - last >= STEP):
            last = one.place
            yield one


@dataclass(frozen=True, slots=True)
class SegmentPlaces:
    """Where each of all segments is: the number of its recording, its place there, when it was said."""

    recordings: Int64
    places: Int64
    times: NDArray[np.str_]

    def before(self, recording: int, asked: Asked, quoted: Sequence[int]) -> Int64:
        """Return the rows of what was said before, int64, but for what the query quotes or the context holds.

        In its own recording places decide, in others times.
        """
        own = self.recordings == recording
        end = asked.place - CONTEXT if asked.is_step else asked.place
        earlier = np.where(own, self.places < end, self.times < asked.at)
        return np.flatnonzero(earlier & ~(own & np.isin(self.places, quoted)))


def _recent(recording: Recording, place: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the last messages before a place, the newest last, and their places: they are in the context."""
    said = (
        number
        for number in range(place - 1, -1, -1)
        if recording.segments[number].type is SegmentType.MESSAGE
    )
    last = tuple(islice(said, MESSAGES))[::-1]
    return tuple(recording.segments[number].text for number in last), last


def _active(recording: Recording, place: int) -> tuple[str, ...]:
    """Return the files that were used last before a place, the latest first."""
    used = (use.path for use in reversed(recording.uses) if use.place < place and use.path)
    return tuple(islice(dict.fromkeys(used), FILES))
