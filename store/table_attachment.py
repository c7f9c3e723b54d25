"""The file of the tables attached to be read, for who asks and for those of this process who wait in line.

After a key press several jobs ask at once, and attaching takes as long as a question. Writers of other
processes wait for the readers of a moment, as they do for one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from store.duck import ATTACH_READING, KeptConnection
from store.locks import FairLock

if TYPE_CHECKING:
    from store.duck import Connection

MOST_SECONDS: Final = 0.2
"""So long the file may stay attached while others wait to read it."""

T = TypeVar("T")


class TableAttachment:
    """Who uses the file of tables, one thread at a time; a thread that reads may ask in turn."""

    def __init__(self, path: Path, kept: KeptConnection, lock: FairLock) -> None:
        self._path = path
        self._kept = kept
        self._lock = lock
        self._turn = threading.RLock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._attached: tuple[contextlib.ExitStack, Connection] | None = None
        self._until = 0.0
        self.reading: Connection | None = None
        """What the thread whose turn it is reads."""

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads in a turn. Raises: as `KeptConnection.attach`; FileNotFoundError."""
        if self._attached is None:
            self._kept.prepare()
        with contextlib.ExitStack() as held:
            if self._attached is None:
                held.enter_context(self._lock.hold_shared())
                connection: Connection = held.enter_context(self._kept.attach(self._path, how=ATTACH_READING))
                self._until = time.monotonic() + MOST_SECONDS
            else:
                stack, connection = self._attached
                self._attached = None
                held.push(stack)
            self.reading = connection
            try:
                found = work(connection)
            finally:
                self.reading = None
            self._attached = (held.pop_all(), connection)
        return found

    def detach(self) -> None:
        """Let others write to the file, in a turn in which that is waited for."""
        if self._attached is not None and self.reading is None:
            stack, _ = self._attached
            self._attached = None
            stack.close()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Have a turn in which the file may be written."""
        with self._turn:
            self.detach()
            try:
                yield
            finally:
                self.detach()

    @contextlib.contextmanager
    def in_line(self) -> Iterator[None]:
        """Have a turn to read; the file stays attached for who waits for the next one."""
        with self._counting:
            self._waiting += 1
        try:
            self._turn.acquire()
        finally:
            with self._counting:
                self._waiting -= 1
        try:
            yield
        finally:
            if not self._waiting or time.monotonic() > self._until:
                self.detach()
            self._turn.release()
