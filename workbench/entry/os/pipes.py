"""A stream passed through byte for byte and at once, while somebody looks on: the pipe in `memory collect`.

What was read is written before anybody looks at it. Neither a reader that goes away nor a signal ends the
looking on: the run is heard to its end, as far as there is one.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

CHUNK: Final = 65_536
IDLE: Final = 0.05  # seconds without input after which there is time for work
_GRACE = 0.5  # seconds that the source may be silent after a signal
_PATIENCE = 5.0  # seconds it may go on at all after one
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(slots=True)
class Stops:
    """Signals that came in, first to last, and a descriptor that becomes readable with each."""

    wake: int
    numbers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Passed:
    """How a stream ended: its bytes, whether the reader went away before, the first signal (0 for none)."""

    bytes: int
    unheard: bool = False
    signal: int = 0


@contextmanager
def stoppable() -> Iterator[Stops]:
    """Note signals that ask to stop instead of dying of them, and put everything back afterwards."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    stops = Stops(reading)

    def note(number: int, frame: FrameType | None) -> None:
        stops.numbers.append(number)

    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    handlers = [(number, signal.signal(number, note)) for number in known]
    try:
        yield stops
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def pass_through(
    source: int,
    sink: int,
    look: Callable[[bytes], None],
    stops: Stops,
    idle: Callable[[], None] | None = None,
) -> Passed:
    """Copy from one descriptor to another until the source ends; each chunk is shown to `look` afterwards.

    `idle` is called when nothing has come for a moment. After a signal the source may finish what it
    says, for a few seconds; a second one ends it. Raises: OSError if the source cannot be read.
    """
    copy = _Copy(source, sink)
    ended = False
    try:
        while _next(copy, look, stops, idle):
            pass
        ended = True
    finally:
        if not ended:  # whoever looked on failed: the stream is not to suffer from it
            copy.rest()
    return Passed(copy.seen, copy.unheard, stops.numbers[0] if stops.numbers else 0)


class _Copy:
    """A stream on its way: what was seen of it, and whether anybody still reads it."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.seen = 0
        self.unheard = False
        self.rested = False
        self.patience = 0.0

    def step(self) -> bytes:
        """Pass on what there is and return it, nothing at the end. Raises: OSError."""
        chunk = os.read(self.source, CHUNK)
        self.seen += len(chunk)
        self.unheard = self.unheard or (bool(chunk) and not _write(self.sink, chunk))
        return chunk

    def rest(self) -> None:
        """Pass on everything that is still to come."""
        while self.step():
            pass


def _next(copy: _Copy, look: Callable[[bytes], None], stops: Stops, idle: Callable[[], None] | None) -> bool:
    """Wait for what comes next and deal with it; False at the end."""
    if stops.numbers:
        copy.patience = copy.patience or time.monotonic() + _PATIENCE
        if len(stops.numbers) > 1 or time.monotonic() > copy.patience:
            return False
    ready = _wait(copy.source, stops, _GRACE if stops.numbers else IDLE if idle and not copy.rested else None)
    if not ready:
        if stops.numbers:
            return False
        copy.rested = True
        if idle is not None:
            idle()
        return True
    if copy.source not in ready:
        return True
    copy.rested = False
    chunk = copy.step()
    if chunk:
        look(chunk)
    return bool(chunk)


def _wait(source: int, stops: Stops, timeout: float | None) -> list[int]:
    """Return which of the source and the signals have something, none after `timeout` seconds."""
    before = len(stops.numbers)
    ready, _, _ = select.select([source, stops.wake], [], [], timeout)
    if stops.wake in ready:
        try:
            os.read(stops.wake, 512)
        except BlockingIOError:
            ready.remove(stops.wake)
    if not ready and len(stops.numbers) > before:
        return [stops.wake]
    return ready


def _write(sink: int, chunk: bytes) -> bool:
    """Write all of a chunk; False once nobody reads any more."""
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(sink, rest) :]
        except BlockingIOError:
            select.select([], [sink], [])
        except OSError:  # the reader has gone, or its terminal
            return False
    return True
