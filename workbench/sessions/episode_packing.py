"""The ledger of episodes as bytes, so that a fold goes on in another process."""

from __future__ import annotations

import json

import msgspec

from workbench.records.conversion import convert, decode_msgpack, path_bytes, path_text
from workbench.records.episodes import ChangeKind, Episode, FileChange, Outcome
from workbench.sessions.episode_ledger import EpisodeLedger, Remembered, newest
from workbench.sessions.history import PastTask

_FORMAT = 5
_Changes = list[tuple[bytes, str, int, int, bytes]]
_Row = tuple[int, dict[str, int], _Changes, list[str], bool, str, str, list[int], str]


class _Saved(msgspec.Struct):
    format: int
    limit: int
    offset: int
    last: tuple[int, str]
    events: int
    malformed: int
    alive: dict[str, tuple[int, int, int, int]]
    tasks: dict[str, _Row]
    live: dict[str, tuple[int, int, str]]


def pack_ledger(ledger: EpisodeLedger) -> bytes:
    """Return a ledger as bytes for `unpack_ledger`."""
    tasks = {session: _row(ledger.tasks[session]) for session in newest(ledger)}
    live = {
        session: (after, first, _write_episode(episode))
        for session, (episode, after, first) in ledger.live.items()
    }
    counts = (ledger.limit, ledger.offset, ledger.last, ledger.events, ledger.malformed)
    saved = _Saved(_FORMAT, *counts, ledger.alive, tasks, live)
    return msgspec.msgpack.encode(saved)


def unpack_ledger(data: bytes) -> EpisodeLedger:
    """Undo `pack_ledger`. Raises ValueError or msgspec.MsgspecError if the bytes are damaged."""
    saved = decode_msgpack(data, _Saved)
    if saved.format != _FORMAT:
        raise ValueError(f"ledger format {saved.format}, expected {_FORMAT}")
    tasks = {session: _unrow(row) for session, row in saved.tasks.items()}
    if not tasks.keys() <= saved.alive.keys():
        raise ValueError("the ledger holds tasks of no episode")
    live = {session: (_read(text), after, first) for session, (after, first, text) in saved.live.items()}
    places = (saved.limit, saved.offset, saved.last)
    return EpisodeLedger(*places, saved.alive, tasks, live, saved.events, saved.malformed)


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
