"""What was imported before: which files, as they were then, and which episodes, as the journal has them.

The files are a cache, losing it costs time; the episodes are the journal's. Both together make that
importing twice is importing once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from workbench.ports import Damaged, Entry
from workbench.records.conversion import decode_msgpack
from workbench.sessions.episodes_fold import FORGOTTEN, IMPORTED
from workbench.sessions.importers.git import session_commit
from workbench.sessions.importers.places import SessionFiles

GENERATION = "transcripts"
_FILE = "seen.msgpack"
_FORMAT = 1

Order = tuple[int, int, int, str]


class SeenSession(msgspec.Struct, frozen=True):
    """A session's files as they were read: `signature` of their sizes and times, and what they gave.

    `open`: its last task was left for later; `archived`: its files were copied.
    """

    signature: str
    session: str = ""
    tasks: int = 0
    open: bool = False
    archived: bool = False


class _Saved(msgspec.Struct):
    format: int
    seen: dict[str, SeenSession]


@dataclass(slots=True)
class KnownEpisodes:
    """The episodes of the journal that are sessions': id → (order, digest of the body); forgotten ones."""

    episodes: dict[str, tuple[Order, str]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)


def load_seen(latest: Callable[[str], Path | Damaged | None]) -> dict[str, SeenSession]:
    """Return the sessions that were read, by path; empty if that is not known any more."""
    directory = latest(GENERATION)
    if directory is None or isinstance(directory, Damaged):
        return {}
    try:
        saved = decode_msgpack((directory / _FILE).read_bytes(), _Saved)
    except (OSError, msgspec.MsgspecError):
        return {}
    return saved.seen if saved.format == _FORMAT else {}


def write_seen(directory: Path, seen: dict[str, SeenSession]) -> None:
    """Write what `load_seen` reads into the directory of a generation."""
    (directory / _FILE).write_bytes(msgspec.msgpack.encode(_Saved(_FORMAT, dict(sorted(seen.items())))))


def signature(group: SessionFiles, roots: Iterable[str]) -> str:
    """Return a text that differs when a session's files, or what counts as the project, differ."""
    files = sorted((str(file.path), file.size, file.changed) for file in (group.main, *group.agents))
    return _digest((files, sorted(roots)))


def known_episodes(entries: Iterable[Entry]) -> KnownEpisodes:
    """Return which episodes of sessions the journal has now."""
    known = KnownEpisodes()
    for entry in entries:
        if entry.kind == IMPORTED:
            session = entry.body.get("session_id")
            if isinstance(session, str) and not session_commit(session):
                known.episodes[session] = (order_of(entry.body), digest_of(entry.body))
                known.forgotten.discard(session)
        elif entry.kind == FORGOTTEN and isinstance(entry.body.get("session_ids"), list):
            for session in entry.body["session_ids"]:
                if isinstance(session, str) and known.episodes.pop(session, None) is not None:
                    known.forgotten.add(session)
    return known


def order_of(body: Mapping[str, Any]) -> Order:
    """Return what decides between two records of a prompt, in copies and resumed sessions: more wins."""
    ended, started = body.get("ended_at"), body.get("started_at")
    at = ended if type(ended) is int else started if type(started) is int else 0
    touched = sum(len(files) for key in ("changes", "reads") if isinstance(files := body.get(key), list))
    evidence = str(body.get("outcome_evidence") or "")
    return at, touched, evidence.count(";") + bool(evidence), str(body.get("parent_session") or "")


def digest_of(body: Mapping[str, Any]) -> str:
    """Return a digest of a body's content, whatever the order of its keys; empty fields don't count."""
    return _digest(sorted((key, value) for key, value in body.items() if value not in (None, "", [])))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]
