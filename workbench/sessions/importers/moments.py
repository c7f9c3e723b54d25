"""What a transcript says, one moment after another, whichever agent wrote it.

The readers of each format yield moments; `folding` makes tasks of them. Each part of a record becomes a
moment: what says nothing about tasks is `Passed` with a name, what no reader knows is `Unknown` with a
reason, so that nothing goes missing without being counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workbench.sessions.importers.transcripts import ToolResult, ToolUse, Unreadable
from workbench.text.sanitize import visible_line

_MOST_REASONS = 60
_REASON = 80  # characters


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user asked for. `id` is the format's own, empty if it has none; `at` ISO 8601 or empty.

    `channel` tells the logs of one file apart that tell the same prompts; `guessed` marks the agent's opening
    words, which stand for the prompt where the format does not record it.
    """

    text: str
    id: str
    at: str
    session: str
    cwd: str
    line: int
    channel: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The user, or an error, ended the agent's work on a prompt before it was done."""

    line: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a message, which several lines may tell: of equal ids the last counts.

    With `total` they are those of the whole session so far.
    """

    id: str
    tokens: int
    line: int
    total: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a session works: its directory, the roots of its work tree, its repository's address.

    `root_session` is the first of the sessions it was forked from, itself if of none; `parent` the session
    whose sub-agent it is.
    """

    session: str
    cwd: str
    line: int
    roots: tuple[str, ...] = ()
    repository: str = ""
    root_session: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A call started the sub-agent `agent_id`."""

    agent_id: str
    call_id: str
    line: int


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that is understood and says nothing about tasks: a thought, a hook's progress."""

    line: int
    what: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is not understood, and why."""

    line: int
    reason: str


Moment = (
    ToolUse | ToolResult | Unreadable | Prompt | Interrupted | Usage | Setting | Started | Passed | Unknown
)


@dataclass(slots=True)
class Tally:
    """How much of a file was understood. An event is a part of a line: a text, a call, a result."""

    lines: int = 0
    lines_understood: int = 0
    events: int = 0
    events_understood: int = 0
    bytes_cut: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Take in the counts of another file."""
        self.lines += other.lines
        self.lines_understood += other.lines_understood
        self.events += other.events
        self.events_understood += other.events_understood
        self.bytes_cut += other.bytes_cut
        self.reasons.update(other.reasons)
        self.passed.update(other.passed)

    @property
    def share_of_lines(self) -> float:
        """Understood lines in [0, 1]; 1 for an empty file."""
        return self.lines_understood / self.lines if self.lines else 1.0

    @property
    def share_of_events(self) -> float:
        """Understood events in [0, 1]; 1 for an empty file."""
        return self.events_understood / self.events if self.events else 1.0


def counted_moments(moments: Iterable[Moment], tally: Tally) -> Iterator[Moment]:
    """Yield the moments and count them; moments of a line come one after another."""
    line, sound = 0, True
    for moment in moments:
        if moment.line != line:
            tally.lines_understood += bool(line) and sound
            tally.lines += 1
            line, sound = moment.line, True
        tally.events += 1
        match moment:
            case Unreadable(reason=reason) | Unknown(reason=reason):
                sound = False
                _count(tally.reasons, reason)
            case Passed(what=what):
                tally.events_understood += 1
                _count(tally.passed, what)
            case _:
                tally.events_understood += 1
        yield moment
    tally.lines_understood += bool(line) and sound


def _count(counter: Counter[str], reason: str) -> None:
    reason = visible_line(reason[:_REASON])
    if reason not in counter and len(counter) >= _MOST_REASONS:
        reason = "other reasons"
    counter[reason] += 1
