"""Hearing of what other machines sent: LISTEN on a connection of its own, and a look now and then.

A pooler that shares sessions between transactions takes LISTEN and never delivers anything. Whether what one
connection announces arrives at the other is tried once; where it does not, the server is asked each second.

An announcement reaches all machines of a team in one moment. Each takes what else is announced in the next
moment with it, which is longer or shorter by chance: so they do not all ask the server, and their processors,
for the same thing at the same time.
"""

from __future__ import annotations

import hashlib
import random
import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from store.postgres.connection import Connections, cut, errors, second_handle
from workbench.records.ids import is_id, new_id

if TYPE_CHECKING:
    from psycopg import Connection

NOTIFY: Final = "SELECT pg_notify(%s, %s)"

_POLL: Final = 1.0  # seconds between looks where nothing is announced
_REST: Final = 30.0  # where it is: a writer may end between its commit and the announcement
_MOMENT: Final = (0.1, 0.4)  # seconds that more announcements are waited for, at least and at most
_CALLS: Final = 1 << 16  # to wake, that count as one
_TRIAL: Final = "?"  # begins what is announced to find out whether it arrives


def channel(project: str) -> str:
    """Return the name under which changes of a project are announced: anyone may listen, nothing is in it."""
    return "workbench_" + hashlib.sha256(project.encode("utf-8", "replace")).hexdigest()[:32]


def announce(connection: Connection[Any], project: str, machine: str) -> None:
    """Announce that a machine has sent something. Where that fails the others find it when they look."""
    with suppress(errors.Error):  # what was sent is committed
        connection.execute(NOTIFY, [channel(project), machine])


class Listener:
    """Waits for changes of a project by other machines. `look` returns what differs when there were any."""

    def __init__(self, connections: Connections, project: str, look: Callable[[], object]) -> None:
        self._connections = connections
        self._channel = channel(project)
        self._look = look
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._connection: Connection[Any] | None = None
        self._line: socket.socket | None = None
        self._waking: socket.socket | None = None
        self._woken: socket.socket | None = None  # the other end of it
        self._closed = False
        self._interval = _POLL
        self._looked_at = 0.0
        self._seen: object = None

    def wait(self, seconds: float, machine: str) -> Collection[str] | None:
        """Wait until machines other than this sent something, and return which; None if none did in time.

        Empty where it may have been any, as it is the first time.
        Raises: ServerUnreachable, TeamError; the next call connects again.
        """
        with self._turn:
            return self._wait(seconds, machine)

    def wake(self) -> None:
        """Let whoever waits return at once, with what was heard so far; else who waits next does."""
        with self._lock, suppress(BlockingIOError):  # of a line that is full of calls
            if self._waking is not None:
                self._waking.send(b"1")

    def close(self) -> None:
        """Let whoever waits return."""
        with self._lock:
            self._closed = True
            if self._line is not None:
                cut(self._line)
        if self._turn.acquire(timeout=_POLL):
            self._drop()
            self._turn.release()

    def _wait(self, seconds: float, machine: str) -> Collection[str] | None:
        if self._connection is None:
            self._open()
            return None if self._closed else ()
        until = time.monotonic() + seconds

        def is_news(text: str) -> bool:
            return text[:1] != _TRIAL and text != machine

        try:
            while (left := until - time.monotonic()) > 0:
                due = self._looked_at + self._interval - time.monotonic()
                if heard := self._hear(min(left, max(due, 0)), is_news, self._woken):
                    heard |= self._hear_for(random.uniform(*_MOMENT), is_news)
                    return heard if all(map(is_id, heard)) else ()
                if self._is_woken():
                    return None
                if due <= left and self._sees():
                    return ()
        except BaseException:
            self._drop()
            if self._closed:
                return None
            raise
        return None

    def _open(self) -> None:
        connection = self._connections.connect()
        with self._lock:
            if self._closed:
                connection.close()
                return
            self._connection, self._line = connection, second_handle(connection)
            self._waking, self._woken = socket.socketpair()
            for one in (self._waking, self._woken):
                one.setblocking(False)
        try:
            self._interval = _REST if self._is_announced() else _POLL
            self._sees()
        except BaseException:
            self._drop()
            raise

    def _is_announced(self) -> bool:
        from psycopg.sql import SQL, Identifier

        trial = _TRIAL + new_id()
        assert self._connection is not None
        with self._connections.explain_errors():
            try:
                self._connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
            except (errors.FeatureNotSupported, errors.ReadOnlySqlTransaction):  # a standby
                return False
        with self._connections.use() as other, suppress(errors.FeatureNotSupported, errors.UndefinedFunction):
            other.execute(NOTIFY, [self._channel, trial])
        return bool(self._hear(_POLL, lambda text: text == trial))

    def _hear(
        self, seconds: float, matches: Callable[[str], bool], woken: socket.socket | None = None
    ) -> set[str]:
        """Return the first announcement that matches, and what came with it.

        Empty if none did in time, or before this was `woken`.
        """
        assert self._connection is not None
        until = time.monotonic() + seconds
        with self._connections.explain_errors(), selectors.DefaultSelector() as selector:
            connection = selector.register(self._connection, selectors.EVENT_READ)
            if woken is not None:
                selector.register(woken, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(until - time.monotonic(), 0))
                if connection not in (key for key, _ in ready):
                    return set()
                heard = (one.payload for one in self._connection.notifies(timeout=0))
                if found := {*filter(matches, heard)}:
                    return found

    def _hear_for(self, seconds: float, matches: Callable[[str], bool]) -> set[str]:
        """Return what is announced in the next moment: of many who write each look has the most."""
        until, found = time.monotonic() + seconds, set[str]()
        while heard := self._hear(until - time.monotonic(), matches, self._woken):
            found |= heard
        return found

    def _is_woken(self) -> bool:
        """Whether this was woken since the last time."""
        assert self._woken is not None
        with suppress(BlockingIOError):
            return bool(self._woken.recv(_CALLS))
        return False

    def _sees(self) -> bool:
        former, self._seen = self._seen, self._look()
        self._looked_at = time.monotonic()
        return former != self._seen

    def _drop(self) -> None:
        with self._lock:
            for one in (self._line, self._connection, self._waking, self._woken):
                if one is not None:
                    one.close()
            self._connection = self._line = self._waking = self._woken = None
