"""What sessions were given and have still: so that nothing is given twice, and what became of it is counted.

A hand-over is what a hook added to a session, or the plan that its agent asked for: files and how they were
shown, the ids of rules and learnings, and the tokens they took. Beside it is which files of instructions the
agent itself reports to have loaded. A session whose context was compacted or cleared has nothing of what came
before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from workbench.ports import Entry
from workbench.records.plan import Representation

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject

STREAM: Final = "handovers"
GIVEN: Final = "handover.given"
LOADED: Final = "handover.instructions"
LOST: Final = "handover.lost"


@dataclass(frozen=True, slots=True)
class Handover:
    """What a session was given at one of its moments, `at` as ISO 8601; `why` says why nothing was.

    `files` maps paths to how they were shown, `passages` are ids of rules and learnings, `tokens` those of
    the whole text. What was given to a sub-agent is not in the session's own context.
    """

    session: str
    agent: str
    event: str
    files: Mapping[str, str] = field(default_factory=dict)
    passages: tuple[str, ...] = ()
    tokens: int = 0
    why: str = ""
    subagent: bool = False
    at: str = ""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session's context holds: names of files and passages given, and paths of instructions loaded.

    Paths of instructions are relative to the project or begin with `~/`, as rules name their files. `lost_at`
    is when the context was last compacted or cleared, as ISO 8601, empty if never.
    """

    received: frozenset[str] = frozenset()
    instructions: frozenset[str] = frozenset()
    lost_at: str = ""


def record_handover(project: OpenedProject, given: Handover, by: str = "hook") -> None:
    """Record a hand-over without waiting for the disk; `by` is the face. Raises: StoreError."""
    body = {
        "session_id": given.session,
        "agent": given.agent,
        "event": given.event,
        "files": dict(given.files),
        "passages": list(given.passages),
        "tokens": given.tokens,
        "why": given.why,
        "subagent": given.subagent,
    }
    project.journal.append(STREAM, GIVEN, [body], by=by, sync=False)


def record_instructions(project: OpenedProject, session: str, agent: str, file: str, reason: str) -> None:
    """Record that an agent loaded a file of instructions, and why as it says. Raises: StoreError."""
    body = {"session_id": session, "agent": agent, "file": file, "reason": reason[:100]}
    project.journal.append(STREAM, LOADED, [body], by="hook", sync=False)


def loaded_instructions(project: OpenedProject, agent: str) -> Iterator[tuple[str, str, str]]:
    """Yield (session, file, reason) of each file of instructions that an agent's sessions report.

    Raises: JournalError.
    """
    for entry in project.mentioning(STREAM, f'"{LOADED}"'):
        body = entry.body
        if entry.kind == LOADED and body.get("agent") == agent:
            yield str(body.get("session_id", "")), str(body.get("file", "")), str(body.get("reason", ""))


def record_loss(project: OpenedProject, session: str, reason: str) -> None:
    """Record that a session's context was compacted or cleared. Raises: StoreError."""
    body = {"session_id": session, "reason": reason[:100]}
    project.journal.append(STREAM, LOST, [body], by="hook", sync=False)


def session_context(project: OpenedProject, session: str) -> SessionContext:
    """Return what a session has in its context as far as hooks know. Raises: JournalError."""
    if not session:
        return SessionContext()
    received: set[str] = set()
    instructions: set[str] = set()
    lost_at = ""
    for entry in project.mentioning(STREAM, f'"{session}"'):
        if entry.body.get("session_id") != session:
            continue
        if entry.kind == LOST:
            received.clear()
            lost_at = entry.at
        elif entry.kind == LOADED:
            instructions.add(str(entry.body.get("file", "")))
        elif entry.kind == GIVEN and not entry.body.get("subagent"):
            given = read_handover(entry)
            received.update(given.passages, shown_files(given))
    return SessionContext(frozenset(received), frozenset(instructions), lost_at)


def shown_files(given: Handover) -> list[str]:
    """Return the files of a hand-over that were shown, not only named."""
    return [path for path, shown in given.files.items() if shown != Representation.PATH]


def read_handover(entry: Entry) -> Handover:
    """Return a recorded hand-over; fields that are not of their type are empty."""
    body = entry.body
    files, passages, tokens = body.get("files"), body.get("passages"), body.get("tokens")
    return Handover(
        session=str(body.get("session_id", "")),
        agent=str(body.get("agent", "")),
        event=str(body.get("event", "")),
        files={str(path): str(shown) for path, shown in files.items()} if isinstance(files, dict) else {},
        passages=tuple(map(str, passages)) if isinstance(passages, list) else (),
        tokens=tokens if isinstance(tokens, int) else 0,
        why=str(body.get("why", "")),
        subagent=bool(body.get("subagent")),
        at=entry.at,
    )


def read_handovers(project: OpenedProject, since: str) -> list[Handover]:
    """Return the hand-overs since a moment (ISO 8601 in UTC), in order. Raises: JournalError."""
    entries: Iterable[Entry] = (entry for _, entry in project.journal.read(STREAM))
    return [read_handover(entry) for entry in entries if entry.kind == GIVEN and entry.at >= since]


@dataclass(frozen=True, slots=True)
class HandoverUse:
    """What sessions made of what they were given, at one event of an agent.

    `calls` hooks answered, of which `silent` had nothing relevant enough; `tokens` were added in all. Of
    `files` that were shown or named `opened` were read or edited in their session later on; of the files that
    those sessions `edited`, `missed` had not been given.
    """

    agent: str
    event: str
    calls: int
    silent: int
    tokens: int
    files: int
    opened: int
    edited: int
    missed: int


Touches = Mapping[str, Sequence[tuple[str, str, int]]]
"""By session: (read or edit, path, seconds since the epoch), in order."""


def count_use(handovers: Sequence[Handover], touches: Touches) -> list[HandoverUse]:
    """Return what was made of hand-overs, by agent and event; edits count at each event that gave files."""
    from datetime import datetime

    groups: dict[tuple[str, str], list[Handover]] = {}
    for one in handovers:
        groups.setdefault((one.agent, one.event), []).append(one)
    found = []
    for (agent, event), given in sorted(groups.items()):
        first: dict[tuple[str, str], float] = {}
        began: dict[str, float] = {}
        for one in given:
            at = datetime.fromisoformat(one.at).timestamp()
            began.setdefault(one.session, at)
            for path in one.files:
                first.setdefault((one.session, path), at)
        opened = edited = missed = 0
        for session, start in sorted(began.items()):
            later = [touch for touch in touches.get(session, ()) if touch[2] >= int(start)]
            paths = {path for _, path, _ in later}
            changed = {path for what, path, _ in later if what == "edit"}
            opened += sum((session, path) in first for path in paths)
            edited += len(changed)
            missed += sum((session, path) not in first for path in changed)
        silent = sum(not (one.files or one.passages) for one in given)
        tokens = sum(one.tokens for one in given)
        found.append(
            HandoverUse(agent, event, len(given), silent, tokens, len(first), opened, edited, missed)
        )
    return found


def handover_use(project: OpenedProject, since: float) -> list[HandoverUse]:
    """Return what was made of hand-overs since a time in seconds. Raises: StoreError."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(max(since, 0.0), UTC).isoformat(timespec="seconds")
    found = read_handovers(project, moment.partition("+")[0])
    if not found:
        return []
    with project.tables() as tables:
        return count_use(found, tables.session_touches(sorted({one.session for one in found})))
