"""From the journal's episodes to the past tasks a plan weighs: a fold that can be continued where it stopped.

An `EpisodeLedger` names every episode that counts and holds the newest of them whole. It is the same whether
the journal was read at once or in pieces, by one process or by several.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import field
from typing import Protocol

import msgspec

from workbench.errors import JournalError
from workbench.ports import Entry
from workbench.records.conversion import convert, decode_msgpack, path_bytes, path_text
from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind, Completeness, Episode, FileChange, Outcome
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import (
    COMMITS,
    ENDED,
    EVENT,
    FEEDBACK,
    FORGOTTEN,
    IMPORTED,
    MALFORMED,
    STARTED,
    completeness,
    follow,
    names,
    printable,
    story,
)
from workbench.sessions.history import History, PastTask, Trust, build_history, verdict_of
from workbench.text.templates import shared_shingles, shingles
from workbench.text.terms import TERMS_VERSION, count_terms

MAX_TEXT = 20_000  # characters of a task's text that are weighed
MAX_HEAD = 500
_SPARE = 2_000  # episodes held beyond the limit before the oldest are let go

Entries = Iterable[tuple[int, Entry]]
_FORMAT = 8_000 + TERMS_VERSION  # of the rows, and of the terms in them
_CRC = 4  # bytes
_LIVE = frozenset({EVENT, ENDED, FEEDBACK})
_Changes = list[tuple[bytes, str, int, int, bytes]]
_Row = tuple[int, dict[str, int], _Changes, list[str], bool, str, str, list[int], str]
_NOBODY = Episode("", "", "", "", "", 0, None, Outcome.UNKNOWN, ())


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past task in the ledger: what a plan weighs, and the first line of its text."""

    task: PastTask
    head: str


@dataclass(slots=True)
class EpisodeLedger:
    """The episodes of a journal up to `offset`. `last` is where its last line begins, and its entry's id.

    `alive` maps the id of every episode that has ended and is not forgotten to (time, offset after its first
    line, how complete its story is, offset from which entries about it are read); `tasks` holds the newest
    `limit` of them, and may hold older ones; `packed` are they as they were saved, until somebody asks.
    `live` holds sessions that have started, with both offsets; whole, until they end. `events` counts the
    entries that made a difference to the past, `malformed` those that are not episodes.
    """

    limit: int
    offset: int = 0
    last: tuple[int, str] = (0, "")
    alive: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    packed: dict[str, Remembered] | msgspec.Raw = field(default_factory=dict)
    live: dict[str, tuple[Episode, int, int]] = field(default_factory=dict)
    events: int = 0
    malformed: int = 0

    @property
    def tasks(self) -> dict[str, Remembered]:
        """The tasks of `alive` that are at hand."""
        if isinstance(self.packed, msgspec.Raw):
            rows = decode_msgpack(self.packed, dict[str, _Row])
            self.packed = {session: _unrow(row) for session, row in rows.items()}
        return self.packed

    @property
    def stories(self) -> Completeness:
        """How many sessions have a complete story."""
        open_ones = sum(episode.ended_at is None for episode, *_ in self.live.values())
        return completeness((found for _, _, found, _ in self.alive.values()), open_ones)


class _Saved(msgspec.Struct):
    format: int
    limit: int
    offset: int
    last: tuple[int, str]
    events: int
    malformed: int
    alive: dict[str, tuple[int, int, int, int]]
    tasks: msgspec.Raw
    live: dict[str, tuple[int, int, str]]


def task_of(episode: Episode) -> PastTask:
    """Return what a plan weighs of an episode."""
    prompt = episode.source != COMMITS
    return PastTask(
        at=episode.started_at,
        terms=count_terms(episode.task_text[:MAX_TEXT]),
        changes=episode.changes,
        issue_refs=episode.issue_refs,
        fix=episode.query_type == QueryType.BUGFIX.value,
        verdict=verdict_of(episode),
        shingles=shingles(episode.task_text[:MAX_TEXT]) if prompt else (),
        session=episode.parent_session or episode.session_id if prompt else "",
    )


def _remember(episode: Episode) -> Remembered:
    return Remembered(task_of(episode), printable(episode.task_text[:MAX_HEAD].split("\n", 1)[0]))


def fold(ledger: EpisodeLedger, read: Callable[[int], Entries]) -> None:
    """Bring a ledger up to the end of the journal; `read(start)` yields (offset after the line, entry).

    Raises: JournalError if the journal was replaced by another one, such as one that was purged.
    Reads only what is new, unless an episode that was let go is among the newest again because newer ones
    were forgotten, or something was added to one that had ended before.
    """
    before, (start, known) = ledger.events, ledger.last
    again: set[str] = set()
    entries = iter(read(start))
    if known and ((first := next(entries, None)) is None or first[1].id != known):
        raise JournalError("the journal of sessions was replaced", hint="Run `workbench rebuild`.")
    for after, entry in entries:
        changed = _apply(ledger, after, entry, again)
        ledger.events += changed
        ledger.last, ledger.offset = (ledger.offset, entry.id), after
        if changed and len(ledger.tasks) > ledger.limit + _SPARE:
            _let_go(ledger)
    if ledger.events != before:
        _let_go(ledger)
        again |= {session for session in newest(ledger) if session not in ledger.tasks}
        if again := again & ledger.alive.keys():
            _reread(ledger, again, read)
            _let_go(ledger)
    ledger.live = {session: one for session, one in ledger.live.items() if one[0].ended_at is None}


def _apply(ledger: EpisodeLedger, after: int, entry: Entry, again: set[str]) -> bool:
    """Take one entry; return whether it changed the past. `again` gathers episodes to be read once more."""
    if entry.kind == FORGOTTEN:
        return _forget(ledger, entry)
    if entry.kind not in _LIVE and entry.kind not in (IMPORTED, STARTED):
        return False
    try:
        session = printable(str(entry.body["session_id"]))
        known = ledger.live.get(session)
        if entry.kind == IMPORTED:
            episode = follow(known[0] if known else None, entry)
            assert episode is not None
            if session in ledger.alive and known is None:
                again.add(session)  # earlier entries about it still count
            first = known[2] if known else ledger.alive.get(session, (0, 0, 0, ledger.offset))[3]
            _enter(ledger, episode, after, first)
            ledger.live.pop(session, None)
            return True
        # An entry about an episode that is not at hand is checked all the same.
        episode = follow(None if entry.kind == STARTED else known[0] if known else _NOBODY, entry)
    except MALFORMED:
        ledger.malformed += 1
        return False
    if entry.kind == STARTED:
        if known is None and session not in ledger.alive and episode is not None:
            ledger.live[session] = (episode, after, ledger.offset)
        return False
    if known is None:
        if session in ledger.alive:
            again.add(session)
            ledger.tasks.pop(session, None)
            return True
        return False
    assert episode is not None  # only forgetting ends one
    ledger.live[session] = (episode, known[1], known[2])
    if episode.ended_at is None:
        return False
    _enter(ledger, episode, known[1], known[2])
    return True


def _enter(ledger: EpisodeLedger, episode: Episode, after: int, first: int) -> None:
    ledger.alive[episode.session_id] = (episode.started_at, after, story(episode), first)
    ledger.tasks[episode.session_id] = _remember(episode)


def _forget(ledger: EpisodeLedger, entry: Entry) -> bool:
    sessions = entry.body.get("session_ids", ())
    if not isinstance(sessions, list):
        ledger.malformed += 1
        return False
    named = [session for session in sessions if isinstance(session, str)]
    gone = [session for session in named if session in ledger.alive]
    for session in named:
        ledger.live.pop(session, None)
    for session in gone:
        del ledger.alive[session]
        ledger.tasks.pop(session, None)
    return bool(gone)


def newest(ledger: EpisodeLedger) -> list[str]:
    """Return the ids of the newest `limit` episodes, newest first; the later line wins a tie of times."""
    at = ledger.alive
    return sorted(at, key=lambda session: (-at[session][0], -at[session][1]))[: ledger.limit]


def _let_go(ledger: EpisodeLedger) -> None:
    if len(ledger.tasks) > ledger.limit:
        ledger.packed = {
            session: ledger.tasks[session] for session in newest(ledger) if session in ledger.tasks
        }


def _reread(ledger: EpisodeLedger, missing: set[str], read: Callable[[int], Entries]) -> None:
    """Fold some episodes again from all entries about them."""
    found: dict[str, Episode | None] = {}
    for after, entry in read(min(ledger.alive[session][3] for session in missing)):
        if after > ledger.offset:
            break
        for session in _name_sessions(entry, missing):
            try:
                found[session] = follow(found.get(session), entry)
            except MALFORMED:
                continue  # counted when it was read first
    for session, episode in found.items():
        if episode is not None:
            _, after, _, first = ledger.alive[session]
            _enter(ledger, episode, after, first)


def _name_sessions(entry: Entry, sessions: set[str]) -> list[str]:
    if entry.kind == FORGOTTEN:
        return [session for session in sessions if names(entry, session)]
    named = entry.body.get("session_id")
    session = printable(named) if isinstance(named, str) else ""
    return [session] if session in sessions else []


class Moves(Protocol):
    """Where the lines of a journal went that was written again."""

    @property
    def sessions(self) -> Set[str]:
        """The sessions of lines that went or became others."""
        ...

    def locate(self, offset: int) -> int | None:
        """Return where what was at a byte is today, None if its line went or became another."""
        ...

    def entries_again(self) -> Iterator[tuple[int, int, Entry]]:
        """Yield (first byte, byte after it, entry) of all lines about such sessions that are there today."""
        ...


def follow_moves(ledger: EpisodeLedger, moves: Moves) -> bool:
    """Bring a ledger along when its journal was written again; False if only a fold from the start can.

    `events` goes on counting. What is among the newest episodes has to be so still.
    """
    start, offset = moves.locate(ledger.last[0]), moves.locate(ledger.offset)
    if start is None or offset is None or ledger.malformed:
        return False
    gone = {printable(session) for session in moves.sessions}
    for session in gone & ledger.tasks.keys():
        del ledger.tasks[session]
    ledger.live = {
        session: (episode, *_places(moves, after, first))
        for session, (episode, after, first) in ledger.live.items()
        if session not in gone
    }
    places = {session: one for session, one in ledger.alive.items() if session not in gone}
    ledger.alive = {
        session: (at, after, complete, first)
        for session, (at, old, complete, old_first) in places.items()
        for after, first in (_places(moves, old, old_first),)
    }
    found: dict[str, tuple[Episode, int, int]] = {}
    for begin, end, entry in moves.entries_again():
        for session in _name_sessions(entry, gone) if begin < offset else ():
            known = found.pop(session, None)
            try:
                episode = follow(known[0] if known else None, entry)
            except MALFORMED:
                return False
            if episode is not None:
                found[session] = (episode, *(known[1:] if known else (end, begin)))
    for session, (episode, after, first) in found.items():
        if episode.ended_at is None:
            ledger.live[session] = (episode, after, first)
        else:
            _enter(ledger, episode, after, first)
    ledger.offset, ledger.last, ledger.events = offset, (start, ledger.last[1]), ledger.events + 1
    return all(session in ledger.tasks for session in newest(ledger))


def _places(moves: Moves, after: int, first: int) -> tuple[int, int]:
    """Return where the first line of an episode ends today, and where what is about it begins."""
    return (moves.locate(after - 1) or 0) + 1, moves.locate(first) or 0


def recall(ledger: EpisodeLedger, trust: Trust | None = None) -> tuple[History, tuple[str, ...]]:
    """Return the history of the newest episodes and their first lines, newest first."""
    found = [ledger.tasks[session] for session in newest(ledger)]
    return build_history((each.task for each in found), trust), tuple(each.head for each in found)


def recall_templates(ledger: EpisodeLedger) -> dict[int, int]:
    """Return what the prompts among the newest episodes share, see `templates_of`."""
    return templates_of(ledger.tasks[session].task for session in newest(ledger))


def templates_of(tasks: Iterable[PastTask]) -> dict[int, int]:
    """Return the shingles that prompts of several sessions share, with how many do."""
    return shared_shingles((task.session, task.shingles) for task in tasks if task.shingles)


def pack_ledger(ledger: EpisodeLedger) -> bytes:
    """Return a ledger as bytes for `unpack_ledger`."""
    tasks = ledger.packed
    if not isinstance(tasks, msgspec.Raw):
        rows = {session: _row(tasks[session]) for session in newest(ledger)}
        tasks = msgspec.Raw(msgspec.msgpack.encode(rows))
    live = {
        session: (after, first, _write_episode(episode))
        for session, (episode, after, first) in ledger.live.items()
    }
    counts = (ledger.limit, ledger.offset, ledger.last, ledger.events, ledger.malformed)
    saved = _Saved(_FORMAT, *counts, ledger.alive, tasks, live)
    data = msgspec.msgpack.encode(saved)
    return zlib.crc32(data).to_bytes(_CRC, "little") + data


def unpack_ledger(data: bytes) -> EpisodeLedger:
    """Undo `pack_ledger`. Raises ValueError or msgspec.MsgspecError if the bytes are damaged."""
    if zlib.crc32(data[_CRC:]).to_bytes(_CRC, "little") != data[:_CRC]:
        raise ValueError("the ledger is damaged")
    saved = decode_msgpack(memoryview(data)[_CRC:], _Saved)
    if saved.format != _FORMAT:
        raise ValueError(f"ledger format {saved.format}, expected {_FORMAT}")
    live = {session: (_read(text), after, first) for session, (after, first, text) in saved.live.items()}
    places = (saved.limit, saved.offset, saved.last)
    return EpisodeLedger(*places, saved.alive, saved.tasks, live, saved.events, saved.malformed)


def _write_episode(episode: Episode) -> str:
    # Names of files may hold lone surrogates, which JSON can escape and UTF-8 not hold.
    return json.dumps(msgspec.to_builtins(episode), ensure_ascii=True)


def _read(text: str) -> Episode:
    return convert(json.loads(text), Episode)


def _row(remembered: Remembered) -> _Row:
    task = remembered.task
    changes = [
        (
            path_bytes(change.path),
            change.kind.value,
            change.added,
            change.removed,
            path_bytes(change.old_path),
        )
        for change in task.changes
    ]
    verdict = "" if task.verdict is None else task.verdict.value
    prompt = list(task.shingles), task.session
    return task.at, task.terms, changes, list(task.issue_refs), task.fix, remembered.head, verdict, *prompt


def _unrow(row: _Row) -> Remembered:
    at, terms, changes, issue_refs, fix, head, verdict, runs, session = row
    files = tuple(
        FileChange(path_text(path), ChangeKind(kind), added, removed, path_text(old))
        for path, kind, added, removed, old in changes
    )
    found = Outcome(verdict) if verdict else None
    return Remembered(PastTask(at, terms, files, tuple(issue_refs), fix, found, tuple(runs), session), head)
