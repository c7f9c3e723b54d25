"""What sessions were given and have still: nothing is given twice, and what became of it is counted.

A hand-over is what a hook added to a session, the plan that its agent asked for, or what it asked for by
name: files and how they were shown, which lines of them, the ids of rules and learnings, and the tokens they
took. Beside it is which files of instructions the agent itself reports to have loaded. A session whose
context was compacted or cleared has nothing of what came before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from workbench.ports import Entry
from workbench.records.dataclass import dataclass
from workbench.records.plan import AFFINITIES, Representation
from workbench.records.usage import Handover, ShownLines
from workbench.sessions.episodes_fold import STREAM as SESSIONS

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.answers.plan import PlanResponse
    from workbench.records.plan import PlanRequest

STREAM: Final = "handovers"
GIVEN: Final = "handover.given"
LOADED: Final = "handover.instructions"
LOST: Final = "handover.lost"
BROKEN: Final = "handover.broken"
SESSION_VARIABLE: Final = "CLAUDE_CODE_SESSION_ID"


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session's context holds: names of files and passages given, and paths of instructions loaded.

    Paths of instructions are relative to the project or begin with `~/`, as rules name their files. `lost_at`
    is when the context was last compacted or cleared, as ISO 8601, empty if never. `informed` is whether the
    session was informed since that nothing is relevant enough. `shown` are lines of files that it was given,
    `lists` what identifies the lists.
    """

    received: frozenset[str] = frozenset()
    instructions: frozenset[str] = frozenset()
    lost_at: str = ""
    informed: bool = False
    shown: Mapping[str, tuple[ShownLines, ...]] = field(default_factory=dict)
    lists: frozenset[str] = frozenset()


def plan_handover(  # noqa: PLR0913 - what is recorded of a plan
    request: PlanRequest,
    response: PlanResponse,
    event: str,
    *,
    session: str = "",
    tokens: int | None = None,
    matched: Sequence[str] = (),
    variant: str = "",
    subagent: bool = False,
    digests: Mapping[str, str] | None = None,
) -> Handover:
    """Return what a plan hands to a session at one of its moments; `tokens` of its text unless given.

    `session` is that of the agent, where it is known otherwise than by the request. `digests` are those of
    the contents of files, of which the lines are then recorded, too.
    """
    known = digests or {}
    return Handover(
        session=session or request.session_id or "",
        agent=request.tool or "",
        event=event,
        files={one.path: str(one.representation) for one in response.selection},
        passages=tuple(rule.id for rule in response.rules),
        matched=tuple(matched),
        backed=frozenset(
            one.path
            for one in response.selection
            if any(one.features.get(name, 0.0) > 0 for name in AFFINITIES)
        ),
        tokens=response.budget_report.estimated_used if tokens is None else tokens,
        variant=variant,
        subagent=subagent,
        shown={
            one.path: (ShownLines(known[one.path], one.spans),)
            for one in response.selection
            if one.spans and known.get(one.path)
        },
    )


def agent_session(environment: Mapping[str, str]) -> str:
    """Return the session of the agent that runs this program, empty where none does."""
    return environment.get(SESSION_VARIABLE, "")


def record_handover(project: OpenedProject, given: Handover, by: str = "hook") -> None:
    """Record a hand-over without waiting for the disk; `by` is the face. Raises: StoreError.

    What the session does later is what the stream of sessions has beyond its size of now.
    """
    body = {
        "session_id": given.session,
        "agent": given.agent,
        "event": given.event,
        "files": dict(given.files),
        "passages": list(given.passages),
        "matched": list(given.matched),
        **({"backed": sorted(given.backed)} if given.backed else {}),
        "tokens": given.tokens,
        "why": given.why,
        "subagent": given.subagent,
        "variant": given.variant,
        **({"shown": _pack_shown(given.shown)} if given.shown else {}),
        **({"lists": list(given.lists)} if given.lists else {}),
        "seen": project.journal.size(SESSIONS),
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


def record_breach(
    project: OpenedProject,
    session: str,
    rules: Sequence[str],
    *,
    call: str,
    decision: str,
    at: str = "",
    by: str = "hook",
) -> None:
    """Record that a session's call of a tool broke rules; a call counts once. Raises: StoreError.

    `at` is when, as ISO 8601, where that was not now.
    """
    if session and rules:
        body = {"session_id": session, "rules": list(rules), "call": call, "decision": decision, "at": at}
        project.journal.append(STREAM, BROKEN, [body], by=by, sync=False)


def recorded_breaches(project: OpenedProject) -> set[tuple[str, str, str]]:
    """Return (session, rule, call) of each breach that is recorded. Raises: JournalError."""
    return {
        (str(entry.body.get("session_id")), rule, str(entry.body.get("call")))
        for entry in project.mentioning(STREAM, f'"{BROKEN}"')
        if entry.kind == BROKEN
        for rule in _texts(entry.body.get("rules"))
    }


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
    shown: dict[str, tuple[ShownLines, ...]] = {}
    lists: set[str] = set()
    lost_at, informed = "", False
    for entry in project.mentioning(STREAM, f'"{session}"'):
        if entry.body.get("session_id") != session:
            continue
        if entry.kind == LOST:
            received.clear()
            shown.clear()
            lists.clear()
            lost_at, informed = entry.at, False
        elif entry.kind == LOADED:
            instructions.add(str(entry.body.get("file", "")))
        elif entry.kind == GIVEN and not entry.body.get("subagent"):
            given = read_handover(entry)
            received.update(given.passages, shown_files(given))
            informed = informed or bool(given.why and given.tokens)
            lists.update(given.lists)
            for path, pieces in given.shown.items():
                shown[path] = (*shown.get(path, ()), *pieces)
    return SessionContext(
        frozenset(received), frozenset(instructions), lost_at, informed, shown, frozenset(lists)
    )


def shown_files(given: Handover) -> list[str]:
    """Return the files of a hand-over that were shown, not only named."""
    return [path for path, shown in given.files.items() if shown != Representation.PATH]


def read_handover(entry: Entry) -> Handover:
    """Return a recorded hand-over; fields that are not of their type are empty."""
    body = entry.body
    files, tokens, seen = body.get("files"), body.get("tokens"), body.get("seen")
    return Handover(
        session=str(body.get("session_id", "")),
        agent=str(body.get("agent", "")),
        event=str(body.get("event", "")),
        files={str(path): str(shown) for path, shown in files.items()} if isinstance(files, dict) else {},
        passages=_texts(body.get("passages")),
        matched=_texts(body.get("matched")),
        tokens=tokens if isinstance(tokens, int) else 0,
        why=str(body.get("why", "")),
        subagent=bool(body.get("subagent")),
        variant=str(body.get("variant", "")),
        seen=seen if isinstance(seen, int) else -1,
        at=datetime.fromisoformat(entry.at).timestamp(),
        by=entry.by,
        shown=_read_shown(body.get("shown")),
        lists=_texts(body.get("lists")),
    )


def _pack_shown(shown: Mapping[str, Sequence[ShownLines]]) -> dict[str, list[list[object]]]:
    return {
        path: [[one.digest, list(map(list, one.lines))] for one in pieces] for path, pieces in shown.items()
    }


def _read_shown(value: object) -> dict[str, tuple[ShownLines, ...]]:
    """Return the lines that a hand-over has; what is malformed is left out."""
    found: dict[str, tuple[ShownLines, ...]] = {}
    for path, pieces in value.items() if isinstance(value, dict) else ():
        for piece in pieces if isinstance(pieces, list) else ():
            try:
                digest, lines = piece
                spans = tuple((int(first), int(last)) for first, last in lines)
            except (TypeError, ValueError):
                continue
            found[str(path)] = (*found.get(str(path), ()), ShownLines(str(digest), spans))
    return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
