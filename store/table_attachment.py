"""The file of the tables attached to be read, for who asks and for those of this process who wait in line.

After a key press several jobs ask, at once or one after the other, and attaching takes as long as a question.
Writers of other processes wait for the readers of a moment, as they do for one. Where the file stays attached
although nobody reads (`keep_attached`), a thread lets it go when a writer comes or the moment is over.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from store.duck import ATTACH_READING, DamagedTables, KeptConnection
from store.locks import FairLock
from store.table_files import identity
from workbench.errors import StoreError

if TYPE_CHECKING:
    from store.duck import Connection

MOST_SECONDS: Final = 0.2
"""So long the file may stay attached while others wait to read it, or may come to."""

LOOK_SECONDS: Final = 0.01
"""So long a writer of another process waits for a file that nobody reads."""

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
        self._seen: object = None
        self._lasts = False
        self._closed = threading.Event()
        self._watched = False
        self.reading: Connection | None = None
        """What the thread whose turn it is reads."""

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads in a turn. Raises: as `KeptConnection.attach`; FileNotFoundError."""
        if self._attached is not None and identity(self._path) != self._seen:
            self.detach()  # somebody replaced the file, or damaged it
        if self._attached is None:
            self._kept.prepare()
        with contextlib.ExitStack() as held:
            if self._attached is None:
                held.enter_context(self._lock.hold_shared())
                connection: Connection = held.enter_context(self._kept.attach(self._path, how=ATTACH_READING))
                self._until = time.monotonic() + MOST_SECONDS
                self._seen = identity(self._path)
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

    def keep_attached(self) -> None:
        """Let the file stay attached for a moment after each question. For a process that does not fork."""
        self._lasts = True

    def let_go(self) -> None:
        """Let others write to the file soon, also where a thread still reads."""
        if self._turn.acquire(blocking=False):
            try:
                self.detach()
            finally:
                self._turn.release()

    def close(self) -> None:
        """Keep the file attached for nobody any more."""
        self._lasts = False
        self._closed.set()
        self.let_go()

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
            if time.monotonic() > self._until or not (self._waiting or self._lasts):
                self.detach()
            elif self._lasts and self._attached is not None and not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="table attachment", daemon=True).start()
            self._turn.release()

    def _watch(self) -> None:
        """Detach the file once it was attached for long enough, or a writer waits."""
        while not (self._closed.is_set() or time.monotonic() > self._until or self._lock.is_wanted()):
            self._closed.wait(LOOK_SECONDS)
        with self._turn:
            self._watched = False
            with contextlib.suppress(StoreError, DamagedTables):  # whoever reads next finds it, too
                self.detach()
