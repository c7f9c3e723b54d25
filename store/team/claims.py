"""What an entry of another machine may say: who wrote it, and where, comes from its stream and never from it.

Members may write whatever they like into their own streams. What claims to be of another machine, of another
time than its id, or about what is not the team's, is put aside by every reader alike: it stays in its stream,
takes no part in anything, and is named by whoever looks for it (`PeerJournals.put_aside`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from store.files import open_state
from store.journal import FileJournal
from store.journal_files import list_streams, stream_path
from store.team.record import machines_stamp, read_machines
from store.team.replica_files import last_id
from store.team.replicas import TEAM, is_for_team, is_shared, replica_root
from workbench.errors import StoreError
from workbench.ports import Entry
from workbench.records.ids import milliseconds, step_machine

TOLERANCE: Final = 600
"""Seconds by which clocks of a team may differ."""

_CURATION: Final = "curation"
"""The key under which an entry names its step (`workbench.curation`)."""
_PUT: Final = frozenset({"rule.put", "learning.put"})
_SUBJECTS: Final = ("id", "left", "right")
"""Fields that name what an entry is about: a record, or both sides of a conflict."""
_IDS: Final = (*_SUBJECTS, "segment_id")
_MOST: Final = 200  # characters of an id
_OTHERS: Final = ("replaces", "conflicts_with", "merged_from")
"""Fields that list other records."""
_TIMES: Final = (
    *("created_at", "updated_at", "last_used", "reviewed_at", "last_hit"),
    *("timestamp", "stashed_at"),
)
"""Fields of records that say when something happened: later than the entry nothing has happened."""
_SEGMENT: Final = "segment.put"
_FACES: Final = ("reviewed_by",)
"""Fields of records that say by which face something was done, as `by` does."""
_FACE: Final = 100  # characters
_TIME: Final = 10  # characters of an id that say when it was made
_LAST: Final = 1 << 16  # bytes at the end of a file in which its last id is looked for first


class TeamClaims:
    """Judges what machines of a team say; `home` has the user's own records, which are nobody else's."""

    def __init__(self, state: Path, home: FileJournal | None = None) -> None:
        self._state = state
        self._home = home
        self._own: tuple[object, frozenset[str]] = ((), frozenset())  # as of the last look
        self._members: tuple[object, Mapping[str, str]] = ((), {})

    def objection(self, machine: str, stream: str, entry: Entry) -> str:
        """Return why an entry of a machine's stream does not count, "" if it does."""
        if not is_for_team(stream, entry):
            return "it is of no kind that machines share"
        if problem := _time_problem(entry) or _id_problem(entry):
            return problem
        step = _marks(entry).get("step")
        bound = step_machine(str(step or ""))
        if bound and bound != machine and self._began(str(step), bound, machine):
            return f"it claims a step of the machine {bound}, which is another member's"
        if not self._own[1].isdisjoint(str(entry.body.get(name, "")) for name in _SUBJECTS):
            return "it is about a record of your own, which is no team's"
        return ""

    def theirs(self, machine: str, project_id: str, entry: Entry) -> Entry:
        """Return an entry as it counts here: of its machine, about this project, by a plain face."""
        body = dict(entry.body)
        owner = body.get("project_id")
        if owner is not None:
            body["owner"] = owner
        if owner is not None or entry.kind in _PUT:
            body["project_id"] = project_id
        for name in _OTHERS:
            if isinstance(listed := body.get(name), list):
                body[name] = [one for one in listed if str(one) not in self._own[1]]
        if str(body.get("successor", "")) in self._own[1]:
            body["successor"] = ""
        for name in _FACES:
            if isinstance(body.get(name), str):
                body[name] = plain_face(body[name])
        return replace(entry, machine=machine, by=plain_face(entry.by), body=body)

    def look(self) -> None:
        """Find out which rules and learnings are the user's own, in all projects. Raises: JournalError."""
        if self._home is None:
            return
        streams = [stream for stream in self._home.streams() if is_shared(stream)]
        stamp = [(stream, self._home.revision(stream)) for stream in streams]
        if stamp != self._own[0]:
            found = (entry for one in streams for _, entry in self._home.read(one) if entry.kind in _PUT)
            self._own = stamp, frozenset(str(entry.body.get("id", "")) for entry in found)

    def _began(self, step: str, bound: str, machine: str) -> bool:
        """Whether a step is another member's machine's, and that one is as far as its beginning here.

        A directory that takes a new id sends what it had not sent by the old one: of a step that nobody has
        by that, it is the first to speak.
        """
        members = self._known_members()
        if members.get(bound) and members.get(bound) == members.get(machine):
            return False
        root = replica_root(self._state, bound)
        return any(_last_id(stream_path(root, one))[:_TIME] >= step[:_TIME] for one in list_streams(root))

    def _known_members(self) -> Mapping[str, str]:
        stamp = machines_stamp(self._state / TEAM)
        if stamp != self._members[0]:
            self._members = stamp, {one.id: one.member for one in read_machines(self._state / TEAM)}
        return self._members[1]


def plain_face(by: str) -> str:
    """Return the name of a face as one word: a machine and a person are never part of it."""
    return "_".join("".join(one if one.isprintable() else " " for one in by).split())[:_FACE]


def _time_problem(entry: Entry) -> str:
    """Return what is wrong with an entry's times; they may lie behind its id, as of a clock that is late."""
    try:
        latest = datetime.fromtimestamp(milliseconds(entry.id) / 1000, UTC) + timedelta(seconds=TOLERANCE)
        at = datetime.fromisoformat(entry.at)
    except (ValueError, OverflowError, OSError):
        return "its time is not one"
    if at.tzinfo is None or at > latest or not entry.at.startswith(f"{at.year:04}-"):
        return "its time is not that of its id"
    limit = latest.isoformat()
    names = _TIMES if entry.kind in _PUT or entry.kind == _SEGMENT else ()
    late = next(
        (name for name in names if isinstance(entry.body.get(name), str) and entry.body[name] > limit), ""
    )
    return f"its {late} is after it was written" if late else ""


def _id_problem(entry: Entry) -> str:
    """Return what is wrong with the ids of what an entry is about: they are shown as they are."""
    for name in _IDS:
        given = entry.body.get(name, "")
        if not isinstance(given, str) or len(given) > _MOST or not given.isprintable():
            return f"its {name} has not the form of an id"
    return ""


def _last_id(path: Path) -> str:
    """Return the id of the last entry of a replica, "" if there is none."""
    with suppress(OSError, StoreError), open(open_state(path), "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _LAST))
        return last_id(file.read())
    return ""


def _marks(entry: Entry) -> Mapping[str, Any]:
    marks = entry.body.get(_CURATION)
    return marks if isinstance(marks, Mapping) else {}
