"""Where the journals of a team's machines are on this disk, and which machine this one is.

`<state>/team/machines/<machine>/` is a directory of journals for each machine, byte for byte what is on the
server. The own machine has one, too: what of its journals is for the team. Where this directory went by
another machine's id before, `former/<machine>/` holds what that one wrote since, because all before is in
the own journals.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from store.files import read_state, write_atomic
from store.journal import HEAD, FileJournal, Quarantined
from store.journal_files import SUFFIX
from workbench.ports import Clock, Entry
from workbench.records.ids import is_id, new_id

TEAM: Final = "team"
FLOOR: Final = "floor"
"""The file with the highest id that was received: own entries get higher ones."""
_MACHINES: Final = "machines"
_FORMER: Final = "former"
_OWN: Final = "machine"
USES: Final = "rule-usage"
"""The stream of what rules were used for. It has most entries and nobody waits for them: nothing announces
them, a long-lived face sends them with all else or after a while."""

_STREAMS: Final = frozenset({"rules", USES, "stash"})
_MEMORY: Final = "memory/"
"""How the streams of features begin (`workbench.memory.learnings.kinds.STREAMS`)."""
_LEARNED: Final = "learning."
"""How the kinds of entries about learnings begin; iterations and corrections beside them are a member's."""
_OF_FILES: Final = "import:rule-files"
"""Who writes what rule files say (`workbench.rules.curation.ledger.AUTOMATIC`): git carries it."""
_OF_MACHINE: Final = frozenset({"segment.embedded", "segment.collected", "segment.pruned"})
"""By which model this machine's index was written, when its retention ran, steps without a change."""
_COLLECTING: Final = "collect "
"""How the titles of retention's steps begin: each machine keeps segments as its own settings say."""
ADOPTED: Final = "auto:team:"
"""How `by` begins of what is in the own journals and came from others (`store.team.adoption`)."""


def replica_root(state: Path, machine: str) -> Path:
    """Return the directory of a machine's journals."""
    return state / TEAM / _MACHINES / machine


def former_root(state: Path, machine: str) -> Path:
    """Return the directory of what was written by others under an id that this machine had."""
    return state / TEAM / _FORMER / machine


def own_machine(state: Path) -> str:
    """Return the id of the machine that a state directory is, empty where no team was ever used."""
    try:
        found = read_state(state / TEAM / _OWN).decode(errors="replace").strip()
    except OSError:
        return ""
    return found if is_id(found) else ""


def name_machine(state: Path) -> str:
    """Give the machine a new id and return it. Raises: StoreError."""
    identifier = new_id()
    write_atomic(state / TEAM / _OWN, identifier.encode())
    return identifier


def raise_floor(state: Path, identifier: str) -> None:
    """Let own entries have ids above one that was received. Raises: StoreError."""
    path = state / TEAM / FLOOR
    try:
        known = read_state(path).decode(errors="replace")
    except OSError:
        known = ""
    if is_id(identifier) and identifier > known:
        write_atomic(path, identifier.encode(), sync=False)


def is_shared(stream: str) -> bool:
    """Whether a stream of the project's journals is for the team."""
    return stream in _STREAMS or stream.startswith(_MEMORY)


def is_for_team(stream: str, entry: Entry) -> bool:
    """Whether an entry of a shared stream is: not what follows this machine's checkout, index or sessions."""
    if not is_id(entry.id):
        return False  # no order of several machines has a place for it
    if stream.startswith(_MEMORY):
        return entry.kind.startswith(_LEARNED)
    if stream == "rules":
        return not (entry.kind.startswith("file.") or entry.by == _OF_FILES)
    marks = entry.body.get("curation")
    title = marks.get("title") if isinstance(marks, Mapping) else ""
    collected = entry.kind == "segment.removed" and str(title).startswith(_COLLECTING)
    return not (collected or entry.kind in _OF_MACHINE or entry.by.startswith(ADOPTED))


class PeerJournal(FileJournal):
    """The journals of another machine: what it says of its project it says of this one.

    Each entry has the machine's id, and in place of the `project_id` of its directory the one of this, if it
    has one; that of the machine is its `owner`.
    """

    def __init__(self, root: Path, clock: Clock, machine: str, project_id: str) -> None:
        super().__init__(root, clock)
        self._machine = machine
        self._project_id = project_id
        self._seen: dict[str, tuple[object, tuple[int, str, bytes]]] = {}

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
        stamp = (found.st_size, found.st_mtime_ns, found.st_ino)
        known = self._seen.get(stream)
        if known is None or known[0] != stamp:
            known = self._seen[stream] = (stamp, super()._look(stream))
        return known[1]

    def scan(
        self, stream: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, int, Entry | Quarantined]]:
        """Yield (offset of the line, offset after it, entry or quarantined line) from `start` to `end`."""
        if start and start == self.size(stream):
            return  # most machines have written nothing since
        for offset, after, found in super().scan(stream, start, end):
            if isinstance(found, Entry):
                owner = found.body.get("project_id")
                mine = {} if owner is None else {"project_id": self._project_id, "owner": owner}
                found = replace(found, machine=self._machine, body={**found.body, **mine})
            yield offset, after, found


class PeerJournals:
    """The journals of a team's other machines, as far as they were received: each the same object always."""

    def __init__(self, state: Path, clock: Clock, project_id: str = "") -> None:
        self._state = state
        self._clock = clock
        self._project_id = project_id
        self._places: object = None
        self._known: dict[str, FileJournal] = {}

    def journals(self) -> Mapping[str, FileJournal]:
        """Return them by the machines' ids, in the order of these."""
        names, former = _names(self._state / TEAM / _MACHINES), _names(self._state / TEAM / _FORMER)
        places = (own_machine(self._state), names, former)
        if places != self._places:
            self._known = {
                name: self._journal(name, former) for name in names if is_id(name) and name != places[0]
            }
            self._places = places
        return dict(self._known)

    def _journal(self, name: str, former: Sequence[str]) -> FileJournal:
        root = (former_root if name in former else replica_root)(self._state, name)
        known = self._known.get(name)
        if known is not None and known.root == root:
            return known
        return PeerJournal(root, self._clock, name, self._project_id)


def _names(directory: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(directory))
    return []
