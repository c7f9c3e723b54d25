"""The journals of a team's other machines as they count here: of what is in their streams, what may be.

What is put aside (`store.team.claims`) and what waits for its time (`store.team.ahead`) stays in the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from store.journal import HEAD, FileJournal, Quarantined
from store.journal_files import SUFFIX
from store.team.adoption import STASH, refused_texts
from store.team.ahead import Held, held_stamp, read_held
from store.team.claims import TeamClaims
from store.team.replicas import FORMER, MACHINES, TEAM, former_root, is_shared, own_machine, replica_root
from workbench.ports import Clock, Entry
from workbench.records.dataclass import dataclass
from workbench.records.ids import is_id


@dataclass(frozen=True, slots=True)
class EntryAside:
    """A line of another machine's stream that does not count, and why.

    `entry` is the id of its entry, "" for none.
    """

    machine: str
    stream: str
    entry: str
    reason: str


class PeerJournal(FileJournal):
    """The journals of another machine: what it says of its project it says of this one.

    Each entry has the machine's id, and in place of the `project_id` of its directory the one of this, if it
    has one; that of the machine is its `owner`. What `claims` objects to is quarantined.
    """

    def __init__(self, root: Path, clock: Clock, machine: str, project_id: str, claims: TeamClaims) -> None:
        super().__init__(root, clock)
        self._machine = machine
        self._project_id = project_id
        self._claims = claims
        self._seen: dict[str, tuple[object, tuple[int, str, bytes]]] = {}
        self.ends: Mapping[str, int] = {}  # of streams that wait

    def size(self, stream: str) -> int:
        """Return how many bytes a reader may consume now, 0 for a stream that does not exist."""
        return self._look(stream)[0]

    def settled_size(self, stream: str) -> int:
        """Return the size: whoever writes holds the lock of the team, which nobody waits for here."""
        return self.size(stream)

    def prefix(self, stream: str, length: int) -> bytes:
        """Return the first `length` bytes of a stream, fewer if it is shorter: they identify it."""
        return self._look(stream)[2][:length] if length <= HEAD else super().prefix(stream, length)

    def _look(self, stream: str) -> tuple[int, str, bytes]:
        """Return how a stream is: read again only if its file is another, for a team has many machines."""
        try:
            found = os.stat(f"{self.root}/journal/{stream}{SUFFIX}")
        except OSError:
            return 0, "0", b""
        stamp = (found.st_size, found.st_mtime_ns, found.st_ino, self.ends.get(stream))
        known = self._seen.get(stream)
        if known is None or known[0] != stamp:
            known = self._seen[stream] = (stamp, super()._look(stream))
        return known[1]

    def _readable_end(self, file: IO[bytes], stream: str) -> int:
        end = super()._readable_end(file, stream)
        return min(end, self.ends.get(stream, end))

    def scan(
        self, stream: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, int, Entry | Quarantined]]:
        """Yield (offset of the line, offset after it, entry or quarantined line) from `start` to `end`."""
        if start and start == self.size(stream):
            return  # most machines have written nothing since
        self._claims.look()
        for offset, after, found in super().scan(stream, start, end):
            if isinstance(found, Entry):
                reason = self._claims.objection(self._machine, stream, found)
                if reason:
                    yield offset, after, Quarantined(stream, 0, offset, reason)
                    continue
                found = self._claims.theirs(self._machine, self._project_id, found)
            yield offset, after, found

    def put_aside(self, streams: str) -> Iterator[EntryAside]:
        """Yield what does not count of the streams whose names begin so. Raises: JournalError."""
        for stream in (one for one in self.streams() if is_shared(one) and one.startswith(streams)):
            lines = {start: found for start, _, found in super().scan(stream)}
            for offset, _, found in self.scan(stream):
                if isinstance(found, Quarantined):
                    line = lines[offset]
                    identifier = line.id if isinstance(line, Entry) else ""
                    yield EntryAside(self._machine, stream, identifier, found.reason)


class PeerJournals:
    """The journals of a team's other machines, as far as they were received: each the same object always.

    `home` are the journals of the user's own records.
    """

    def __init__(
        self, state: Path, clock: Clock, project_id: str = "", home: FileJournal | None = None
    ) -> None:
        self._state = state
        self._clock = clock
        self._project_id = project_id
        self._claims = TeamClaims(state, home)
        self._places: object = None
        self._known: dict[str, PeerJournal] = {}
        self._held: tuple[object, Held] = (None, {})

    def journals(self) -> Mapping[str, PeerJournal]:
        """Return them by the machines' ids, in the order of these."""
        names, former = _names(self._state / TEAM / MACHINES), _names(self._state / TEAM / FORMER)
        places = (own_machine(self._state), names, former)
        if places != self._places:
            self._known = {
                name: self._journal(name, former) for name in names if is_id(name) and name != places[0]
            }
            self._places = places
        if (stamp := held_stamp(self._state)) != self._held[0]:
            self._held = (stamp, read_held(self._state))
        for name, journal in self._known.items():
            journal.ends = {
                stream: one.start
                for stream, one in self._held[1].get(name, {}).items()
                if name not in former  # whose file has the rest of its stream alone
            }
        return dict(self._known)

    def put_aside(self, streams: str = "") -> list[EntryAside]:
        """Return what does not count of all machines' journals whose names begin so; they are read whole.

        Raises: JournalError.
        """
        found = [one for journal in self.journals().values() for one in journal.put_aside(streams)]
        texts = refused_texts(self._state) if STASH.startswith(streams) else {}
        for machine, refused in sorted(texts.items()):
            for entry, segment in sorted(refused.items()):
                reason = f"it has another text for the segment {segment}, whose text never changes"
                found.append(EntryAside(machine, STASH, entry, reason))
        for machine, waiting in sorted(self._held[1].items()):
            for stream, held in sorted(waiting.items()):
                if stream.startswith(streams):
                    found.append(EntryAside(machine, stream, held.entry, held.reason))
        return found

    def _journal(self, name: str, former: Sequence[str]) -> PeerJournal:
        root = (former_root if name in former else replica_root)(self._state, name)
        known = self._known.get(name)
        if known is not None and known.root == root:
            return known
        return PeerJournal(root, self._clock, name, self._project_id, self._claims)


def _names(directory: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(directory))
    return []
