"""Entries of the future: a stream waits at the first one until the server's time has come to it.

Ids put what several machines wrote in one order, so that an id of the future would be the last for as long.
The server's time decides, at every exchange: it is the same for all members, whatever their own clocks are.
Nothing is kept of how early an entry was, so that a machine that joins later decides as the others do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from store.files import file_stamp, read_state, write_atomic
from store.journal_files import list_streams, stream_path
from store.journal_lines import decode_line
from store.team.claims import TOLERANCE
from store.team.replica_files import read_file
from store.team.replicas import MACHINES, TEAM, own_machine, replica_root
from store.team.server import StreamKey
from workbench.ports import Entry
from workbench.records.conversion import decode_json
from workbench.records.ids import is_id, last_id_at, milliseconds

_FILE: Final = "ahead.json"
_LATEST: Final = 253_402_300_800.0
"""Seconds since the epoch until the year 10,000, as far as dates go."""


class HeldStream(msgspec.Struct, frozen=True):
    """Where a stream of a machine waits: the byte at which an entry of the future begins, and its id."""

    start: int
    entry: str

    @property
    def reason(self) -> str:
        """Why it waits, and until when."""
        seconds = milliseconds(self.entry) / 1000 - TOLERANCE
        if seconds >= _LATEST:
            return "it is of the future: it and what follows it never count"
        until = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
        return f"it is of the future: it and what follows it count from {until} on"


Held = dict[str, dict[str, HeldStream]]
"""By machine and stream."""


class AheadEntries:
    """The streams of a state directory's replicas that wait; one process at a time changes them."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._limit = ""
        self.held: Held = read_held(state)

    def begin(self, now: float) -> None:
        """Let streams go on whose time has come at the server. Raises: StoreError."""
        if not now:
            return
        self._limit = last_id_at(int((now + TOLERANCE) * 1000))
        if not (self._state / TEAM / _FILE).exists():
            for key in _replicas(self._state):
                self._find(key, 0, read_file(self._path(key), 0, -1))
            self._write()
        for machine, streams in [*self.held.items()]:
            for stream, held in [*streams.items()]:
                if held.entry <= self._limit:
                    key = (machine, stream)
                    self._forget(key)
                    self._find(key, held.start, read_file(self._path(key), held.start, -1))
                    self._write()

    def receive(self, key: StreamKey, start: int, lines: bytes) -> HeldStream | None:
        """Look at lines that will be in a replica from a byte on; return where it waits from now on.

        None where all of them count now, or it waits already.

        Raises: StoreError.
        """
        if not start and self._forget(key):
            self._write()
        if not self._limit or key[1] in self.held.get(key[0], {}) or not self._find(key, start, lines):
            return None
        self._write()
        return self.held[key[0]][key[1]]

    def _find(self, key: StreamKey, start: int, lines: bytes) -> bool:
        """Note the first entry of the future in lines; return whether there is one."""
        for line in lines.split(b"\n"):
            entry = decode_line(line)
            if isinstance(entry, Entry) and is_id(entry.id) and entry.id > self._limit:
                self.held.setdefault(key[0], {})[key[1]] = HeldStream(start, entry.id)
                return True
            start += len(line) + 1
        return False

    def _forget(self, key: StreamKey) -> bool:
        return self.held.get(key[0], {}).pop(key[1], None) is not None

    def _path(self, key: StreamKey) -> Path:
        return stream_path(replica_root(self._state, key[0]), key[1])

    def _write(self) -> None:
        self.held = {machine: streams for machine, streams in self.held.items() if streams}
        write_atomic(self._state / TEAM / _FILE, msgspec.json.encode(self.held))


def read_held(state: Path) -> Held:
    """Return the streams that wait; none if that cannot be read."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return decode_json(read_state(state / TEAM / _FILE), Held)
    return {}


def held_stamp(state: Path) -> tuple[int, ...]:
    """Return what differs once other streams wait; empty before any did."""
    return file_stamp(state / TEAM / _FILE)


def _replicas(state: Path) -> Iterator[StreamKey]:
    own = own_machine(state)
    with suppress(OSError):
        for machine in sorted(os.listdir(state / TEAM / MACHINES)):
            if is_id(machine) and machine != own:
                yield from ((machine, stream) for stream in list_streams(replica_root(state, machine)))
