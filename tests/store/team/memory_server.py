"""A team's server that keeps everything in memory and fails where a test says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from store.team.replica_files import last_id
from store.team.server import MachineTaken, StreamHead, StreamKey, StreamMoved, TeamMachine
from workbench.errors import ServerUnreachable


class MemoryTeam:
    """What all connections of a team share. `fail` is asked before and after each call, by its name."""

    def __init__(self) -> None:
        self.machines: dict[str, TeamMachine] = {}
        self.lines: dict[StreamKey, bytes] = {}
        self.generations: dict[StreamKey, int] = {}
        self.changed = threading.Condition()
        self.changes: list[str] = []  # the machine of each
        self.time = time.time
        self.fail: Callable[[str], None] = lambda call: None
        self.calls: list[str] = []

    def connect(self, member: str = "ann") -> MemoryServer:
        return MemoryServer(self, member)

    def head(self, key: StreamKey) -> StreamHead:
        lines = self.lines.get(key, b"")
        return StreamHead(self.generations.get(key, 0)).after(lines, last_id(lines))


class MemoryServer:
    """One member's connection (protocol `TeamServer`)."""

    def __init__(self, team: MemoryTeam, member: str) -> None:
        self.team = team
        self.member = member
        self.machine = ""
        self._seen = len(team.changes)
        self._woken = False

    @property
    def time(self) -> float:
        return self.team.time()

    def register(self, machine: str, name: str) -> None:
        with _Call(self.team, "register"):
            known = self.team.machines.get(machine)
            if known is not None and known.member != self.member:
                raise MachineTaken("another member's", hint="Take another id.")
            self.team.machines[machine] = TeamMachine(machine, self.member, name, "2026-01-01T00:00:00Z")
            self.machine = machine

    def machines(self) -> Sequence[TeamMachine]:
        with _Call(self.team, "machines"):
            return [self.team.machines[key] for key in sorted(self.team.machines)]

    def heads(self, machines: Collection[str] = ()) -> Mapping[StreamKey, StreamHead]:
        """Return how far all streams are, or those of some machines."""
        with _Call(self.team, "heads"):
            keys = [key for key in self.team.lines if not machines or key[0] in machines]
            return {key: self.team.head(key) for key in keys}

    def read(self, machine: str, stream: str, start: int, most: int) -> bytes:
        with _Call(self.team, "read"):
            rest = self.team.lines.get((machine, stream), b"")[start:]
            end = rest.rfind(b"\n", 0, most) + 1
            return rest[: end or rest.find(b"\n") + 1]

    def append(self, stream: str, start: int, lines: bytes) -> StreamHead:
        key = (self.machine, stream)
        with _Call(self.team, "append"):
            before = self.team.lines.get(key, b"")
            if len(before) != start:
                raise StreamMoved(f"{stream} ends at {len(before)}", hint="Look again.")
            self._put(key, before + lines)
        return self.team.head(key)

    def replace(self, stream: str, lines: bytes) -> StreamHead:
        key = (self.machine, stream)
        with _Call(self.team, "replace"):
            self.team.generations[key] = self.team.generations.get(key, 0) + 1
            self._put(key, lines)
        return self.team.head(key)

    def wait(self, seconds: float) -> Collection[str] | None:
        with self.team.changed:
            self.team.changed.wait_for(lambda: self._woken or len(self.team.changes) != self._seen, seconds)
            self._woken = False
            seen, self._seen = self._seen, len(self.team.changes)
            return {*self.team.changes[seen:]} or None

    def wake(self) -> None:
        with self.team.changed:
            self._woken = True
            self.team.changed.notify_all()

    def close(self) -> None:
        """Nothing is held."""

    def _put(self, key: StreamKey, lines: bytes) -> None:
        with self.team.changed:
            self.team.lines[key] = lines
            self.team.changes.append(key[0])
            self.team.changed.notify_all()


class _Call:
    """A call that fails before it does anything, or after with its answer lost: `heads`, `after heads`."""

    def __init__(self, team: MemoryTeam, name: str) -> None:
        self.team, self.name = team, name

    def __enter__(self) -> None:
        self.team.calls.append(self.name)
        self.team.fail(self.name)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.team.fail(f"after {self.name}")


def cut(*calls: str) -> Callable[[str], None]:
    """Return what loses the connection at some calls."""

    def fail(call: str) -> None:
        if call in calls:
            raise ServerUnreachable(f"the connection was lost at {call}", hint="Try again.")

    return fail
