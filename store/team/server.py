"""What a team asks of its server: to keep the streams of its machines, each written by that machine alone.

A stream is bytes that only grow, whole lines of a journal. Where its machine wrote its own journal again, the
stream is replaced as a whole and counts one generation more.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from workbench.errors import TeamError
from workbench.records.dataclass import dataclass

MOST: Final = 4 << 20
"""Bytes that are read or appended at once, if no line is longer."""

StreamKey = tuple[str, str]
"""A machine's id and the name of a stream."""

Mark = tuple[int, int, int]
"""What identifies the bytes of a stream: generation, how many, CRC-32."""


@dataclass(frozen=True, slots=True)
class StreamHead:
    """How far a stream is: its bytes, their CRC-32, the id of the last entry ("" where there is none)."""

    generation: int = 0
    size: int = 0
    crc: int = 0
    last: str = ""

    @property
    def mark(self) -> Mark:
        """What identifies the bytes."""
        return self.generation, self.size, self.crc

    def after(self, lines: bytes, last: str) -> StreamHead:
        """Return the head of the stream with lines appended."""
        return StreamHead(self.generation, self.size + len(lines), zlib.crc32(lines, self.crc), last)


@dataclass(frozen=True, slots=True)
class TeamMachine:
    """A project directory of a member: its name, and when it was last seen (ISO 8601, "" for never)."""

    id: str
    member: str
    name: str
    seen_at: str = ""


class StreamMoved(TeamError):
    """A stream does not end where lines were to be appended: another writer was faster."""


class MachineTaken(TeamError):
    """A machine's id is that of a machine of another member."""


class TeamServer(Protocol):
    """A connection to the server of a team, on behalf of one machine once that is registered.

    Every method raises ServerUnreachable where the server cannot be asked, TeamError where it refuses.
    """

    @property
    def member(self) -> str:
        """The member whose connection it is."""
        ...

    @property
    def time(self) -> float:
        """The server's time at the last look at `heads`, in seconds since the epoch; 0.0 if not known."""
        ...

    def register(self, machine: str, name: str) -> None:
        """Make a machine known as the member's, and be the one that appends to its streams from now on.

        Raises: MachineTaken.
        """
        ...

    def machines(self) -> Sequence[TeamMachine]:
        """Return the machines of the project, sorted by id."""
        ...

    def heads(self, machines: Collection[str] = ()) -> Mapping[StreamKey, StreamHead]:
        """Return how far each stream is of these machines of the project, of all where none is named."""
        ...

    def read(self, machine: str, stream: str, start: int, most: int) -> bytes:
        """Return whole lines from byte `start`, `most` bytes or one line; empty at the end."""
        ...

    def append(self, stream: str, start: int, lines: bytes) -> StreamHead:
        """Append whole lines to a stream of the own machine. Raises: StreamMoved if it ends elsewhere."""
        ...

    def replace(self, stream: str, lines: bytes) -> StreamHead:
        """Let lines be all of a stream of the own machine, one generation on."""
        ...

    def wait(self, seconds: float) -> Collection[str] | None:
        """Wait until other machines sent something, and return which; None if that did not happen in time.

        Empty where it may have been any.
        """
        ...

    def wake(self) -> None:
        """Let whoever waits return at once."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


def read_stream(server: TeamServer, machine: str, stream: str, start: int, end: int) -> Iterator[bytes]:
    """Yield a stream of the server in blocks of whole lines, as far as there are any up to a byte."""
    while start < end and (lines := server.read(machine, stream, start, MOST)):
        yield lines[: end - start]
        start += len(lines)
