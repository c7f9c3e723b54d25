"""The journals of a team in a directory (protocol `TeamServer`): a copy, or where to restore a server from.

`machines/<machine>/journal/<stream>.jsonl`, as in each member's state directory, and `machines.json` with the
machines' members and names.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from store.files import open_state, translate_errors
from store.journal_files import list_streams, stream_path
from store.team.record import ReplicaFile, read_machines, write_machines
from store.team.replica_files import extend_file, last_id, prefix_crc, put_file, read_lines
from store.team.server import StreamHead, StreamKey, StreamMoved, TeamMachine
from workbench.errors import StoreError
from workbench.records.ids import is_id

_TAIL: Final = 1 << 20


class DirectoryTeam:
    """The streams below a directory, which is made when something is put there; for one process at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._machine = ""
        self._heads: dict[StreamKey, StreamHead] = {}

    @property
    def member(self) -> str:
        """Nobody's: a directory has no members."""
        return ""

    @property
    def time(self) -> float:
        """None: nothing is of the future in a directory."""
        return 0.0

    def register(self, machine: str, name: str) -> None:
        """Be a machine from now on. Raises: StoreError."""
        known = {machine.id: machine for machine in self.machines()}
        if machine not in known or known[machine].name != name:
            named = [*(one for one in known.values() if one.id != machine), TeamMachine(machine, "", name)]
            write_machines(self._root, named)
        self._machine = machine

    def machines(self) -> Sequence[TeamMachine]:
        """Return the machines with a journal here, or that are named here."""
        known = {name: TeamMachine(name, "", name) for name in self._names()}
        known |= {machine.id: machine for machine in read_machines(self._root)}
        return [known[name] for name in sorted(known)]

    def heads(self, machines: Collection[str] = ()) -> Mapping[StreamKey, StreamHead]:
        """Return how far each stream is, of all machines or of some; files are read. Raises: StoreError."""
        names = [name for name in self._names() if not machines or name in machines]
        keys = [(name, stream) for name in names for stream in list_streams(self._journals(name))]
        found = {key: self._head(key) for key in keys}
        self._heads = {**self._heads, **found} if machines else found
        return dict(found)

    def read(self, machine: str, stream: str, start: int, most: int) -> bytes:
        """Return whole lines. Raises: StoreError."""
        return read_lines(self._path(machine, stream), start, most)

    def append(self, stream: str, start: int, lines: bytes) -> StreamHead:
        """Append whole lines. Raises: StreamMoved, StoreError."""
        key = (self._machine, stream)
        head = self._heads.get(key, StreamHead())
        if head.size != start:
            raise StreamMoved(f"the journal {stream} ends at {head.size}, not at {start}", hint="Try again.")
        kept = ReplicaFile(head.generation, head.size, head.crc, head.last)
        return self._keep(key, extend_file(self._path(*key), kept, lines))

    def replace(self, stream: str, lines: bytes) -> StreamHead:
        """Let lines be all of a stream. Raises: StoreError."""
        key = (self._machine, stream)
        generation = self._heads.get(key, StreamHead()).generation + 1
        return self._keep(key, put_file(self._path(*key), generation, (lines,)))

    def wait(self, seconds: float) -> None:
        """Nobody else writes here."""
        del seconds

    def wake(self) -> None:
        """Nobody waits."""

    def close(self) -> None:
        """Nothing is held."""

    def _keep(self, key: StreamKey, kept: ReplicaFile) -> StreamHead:
        self._heads[key] = StreamHead(kept.generation, kept.size, kept.crc, kept.last)
        return self._heads[key]

    def _names(self) -> list[str]:
        with translate_errors(f"reading {self._root}"), suppress(FileNotFoundError):
            return [name for name in sorted(os.listdir(self._root / "machines")) if is_id(name)]
        return []

    def _journals(self, machine: str) -> Path:
        return self._root / "machines" / machine

    def _path(self, machine: str, stream: str) -> Path:
        return stream_path(self._journals(machine), stream)

    def _head(self, key: StreamKey) -> StreamHead:
        path = self._path(*key)
        with translate_errors(f"reading {path}"), os.fdopen(open_state(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            crc = prefix_crc(file, size)
            file.seek(max(0, size - _TAIL))
            tail = file.read()
        if tail and not tail.endswith(b"\n"):
            raise StoreError(f"the last line of {path} is unfinished", hint="Remove that line.")
        return StreamHead(0, size, crc, last_id(tail))
