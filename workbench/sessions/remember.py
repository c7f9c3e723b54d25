"""From the journal's episodes to the past tasks a plan weighs: a fold that can be continued where it stopped.

A `Ledger` names every episode that counts and holds the newest of them whole. It is the same whether the
journal was read at once or in pieces, by one process or by several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from workbench.ports import Entry
from workbench.records.episodes import ChangeKind, FileChange
from workbench.records.plan import QueryType
from workbench.sessions.history import History, PastTask, build_history
from workbench.text.terms import count_terms

STREAM = "sessions"
IMPORTED = "episode.imported"
FORGOTTEN = "episode.forgotten"

MAX_TEXT = 20_000  # characters of a task's text that are weighed
MAX_HEAD = 500
_LATEST = 1 << 53  # seconds; beyond any clock
_MOST_LINES = 1_000_000_000
_SPARE = 2_000  # episodes held beyond the limit before the oldest are let go

Entries = Iterable[tuple[int, Entry]]
_FORMAT = 1
_Row = tuple[int, dict[str, int], list[tuple[bytes, str, int, int, bytes]], list[str], bool, str]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past task in the ledger: what a plan weighs, and the first line of its text."""

    task: PastTask
    head: str


@dataclass(slots=True)
class Ledger:
    """The episodes of a journal up to `offset`.

    `alive` maps the id of every episode that is not forgotten to (time, offset after its line); `tasks` holds
    the newest `limit` of them, and may hold older ones. `events` counts the entries that made a difference,
    `malformed` those that are no episodes.
    """

    limit: int
    offset: int = 0
    alive: dict[str, tuple[int, int]] = field(default_factory=dict)
    tasks: dict[str, Remembered] = field(default_factory=dict)
    events: int = 0
    malformed: int = 0


class _Saved(msgspec.Struct):
    format: int
    limit: int
    offset: int
    events: int
    malformed: int
    alive: dict[str, tuple[int, int]]
    tasks: dict[str, _Row]


def past_task(body: Mapping[str, Any]) -> PastTask:
    """Read an imported episode. Raises KeyError, ValueError or TypeError if it is malformed."""
    return PastTask(
        at=min(max(int(body["started_at"]), 0), _LATEST),
        terms=count_terms(str(body["task_text"])[:MAX_TEXT]),
        changes=tuple(_changes(body["changes"])),
        issue_refs=tuple(_printable(str(reference)) for reference in body["issue_refs"]),
        fix=body["query_type"] == QueryType.BUGFIX.value,
    )


def _changes(rows: Iterable[Any]) -> Iterator[FileChange]:
    for path, kind, added, removed, old in rows:
        for name in (path, old):
            name.encode("utf-8", "surrogateescape")  # a name that no file can have is malformed
        yield FileChange(path, ChangeKind(kind), _lines(added), _lines(removed), old)


def _lines(count: Any) -> int:
    return min(max(int(count), 0), _MOST_LINES)


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def fold(ledger: Ledger, read: Callable[[int], Entries]) -> None:
    """Bring a ledger up to the end of the journal; `read(start)` yields (offset after the line, entry).

    Reads only what is new, unless an episode that was let go is among the newest again because newer ones
    were forgotten.
    """
    before = ledger.events
    for after, entry in read(ledger.offset):
        ledger.events += _apply(ledger, after, entry)
        ledger.offset = after
        if len(ledger.tasks) > ledger.limit + _SPARE:
            _let_go(ledger)
    if ledger.events != before:
        _let_go(ledger)
        if any(session not in ledger.tasks for session in newest(ledger)):
            _reread(ledger, read)


def _apply(ledger: Ledger, after: int, entry: Entry) -> bool:
    if entry.kind == FORGOTTEN:
        sessions = entry.body.get("session_ids", ())
        if not isinstance(sessions, list):
            ledger.malformed += 1
            return False
        gone = [session for session in sessions if isinstance(session, str) and session in ledger.alive]
        for session in gone:
            del ledger.alive[session]
            ledger.tasks.pop(session, None)
        return bool(gone)
    if entry.kind != IMPORTED:
        return False
    try:
        session, remembered = _episode(entry.body)
    except (KeyError, ValueError, TypeError, AttributeError):
        ledger.malformed += 1
        return False
    ledger.alive[session] = (remembered.task.at, after)
    ledger.tasks[session] = remembered
    return True


def _episode(body: Mapping[str, Any]) -> tuple[str, Remembered]:
    head = _printable(str(body["task_text"])[:MAX_HEAD].split("\n", 1)[0])
    return _printable(str(body["session_id"])), Remembered(past_task(body), head)


def newest(ledger: Ledger) -> list[str]:
    """Return the ids of the newest `limit` episodes, newest first; the later line wins a tie of times."""
    at = ledger.alive
    return sorted(at, key=lambda session: (-at[session][0], -at[session][1]))[: ledger.limit]


def _let_go(ledger: Ledger) -> None:
    if len(ledger.tasks) > ledger.limit:
        ledger.tasks = {
            session: ledger.tasks[session] for session in newest(ledger) if session in ledger.tasks
        }


def _reread(ledger: Ledger, read: Callable[[int], Entries]) -> None:
    missing = {ledger.alive[session][1]: session for session in newest(ledger) if session not in ledger.tasks}
    for after, entry in read(0):
        if after in missing:
            ledger.tasks[missing[after]] = _episode(entry.body)[1]
        if after >= max(missing):
            break


def recall(ledger: Ledger) -> tuple[History, tuple[str, ...]]:
    """Return the history of the newest episodes and their first lines, newest first."""
    found = [ledger.tasks[session] for session in newest(ledger)]
    return build_history(each.task for each in found), tuple(each.head for each in found)


def pack_ledger(ledger: Ledger) -> bytes:
    """Return a ledger as bytes for `unpack_ledger`."""
    tasks = {session: _row(ledger.tasks[session]) for session in newest(ledger)}
    counts = (ledger.limit, ledger.offset, ledger.events, ledger.malformed)
    saved = _Saved(_FORMAT, *counts, ledger.alive, tasks)
    return msgspec.msgpack.encode(saved)


def unpack_ledger(data: bytes) -> Ledger:
    """Undo `pack_ledger`. Raises ValueError or msgspec.MsgspecError if the bytes are damaged."""
    saved = msgspec.msgpack.decode(data, type=_Saved)
    if saved.format != _FORMAT:
        raise ValueError(f"ledger format {saved.format}, expected {_FORMAT}")
    tasks = {session: _unrow(row) for session, row in saved.tasks.items()}
    if not tasks.keys() <= saved.alive.keys():
        raise ValueError("the ledger holds tasks of no episode")
    return Ledger(saved.limit, saved.offset, saved.alive, tasks, saved.events, saved.malformed)


def _row(remembered: Remembered) -> _Row:
    task = remembered.task
    changes = [
        (_raw(change.path), change.kind.value, change.added, change.removed, _raw(change.old_path))
        for change in task.changes
    ]
    return task.at, task.terms, changes, list(task.issue_refs), task.fix, remembered.head


def _unrow(row: _Row) -> Remembered:
    at, terms, changes, issue_refs, fix, head = row
    files = tuple(
        FileChange(_name(path), ChangeKind(kind), added, removed, _name(old))
        for path, kind, added, removed, old in changes
    )
    return Remembered(PastTask(at, terms, files, tuple(issue_refs), fix), head)


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
