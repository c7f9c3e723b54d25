"""Connections to PostgreSQL: how they are encrypted, how long they may take, and what their errors mean.

The rest of `store.postgres` runs statements inside `Connections.use()`, which hands out a connection that
works and turns what goes wrong into errors of a team: ServerUnreachable for what passes by itself, TeamError
for what a person has to see to. No message holds the password.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from store.postgres.server_url import ANSWERING, mask_password, parse_url, place
from workbench.errors import ConfigError, LoginRefused, ServerUnreachable, StoreError, TeamError
from workbench.records.dataclass import dataclass

try:
    import psycopg
except ImportError as error:
    raise ConfigError(
        f"a team's server needs psycopg, which cannot be imported: {error}",
        hint="pip install 'context-workbench[postgres]'",
    ) from error

from psycopg import errors as errors
from psycopg.conninfo import make_conninfo

OLDEST: Final = 14
"""The oldest major version of a server."""

NEXT: Final = "What you do is kept here and sent later."

_PREAMBLE: Final = re.compile(
    r"connection failed: |connection to server (?:at|on) .{0,200}? failed: |FATAL: +"
)
_ADVICE: Final = "Is the server running "  # of libpq, a question beneath the reason
_REASON: Final = 300  # characters
_TLS: Final = "cannot be reached over TLS as the URL asks for it"

# What libpq, a pooler and the server report while connecting has no code: (words, kind, what, hint).
_REFUSALS: Final[tuple[tuple[tuple[str, ...], type[TeamError], str, str], ...]] = (
    (
        ("password authentication failed", "no password supplied", "authentication failed"),
        LoginRefused,
        "refuses the login",
        "Check the user and the password in the URL, or put the password into ~/.pgpass.",
    ),
    (
        ("does not match host name",),
        LoginRefused,
        _TLS,
        "Write the name that the certificate is for as the URL's host; sslmode=verify-ca checks no names.",
    ),
    (
        ("certificate verify failed", "certificate has expired"),
        LoginRefused,
        _TLS,
        "The certificate is expired, or not signed by what sslrootcert names: ask whoever runs the server.",
    ),
    (
        ("does not support SSL", "certificate", "SSL error"),
        LoginRefused,
        _TLS,
        "Check sslmode and sslrootcert in the URL; `sslmode=disable` sends everything in the clear.",
    ),
    (
        ("no pg_hba.conf entry", "not permitted to log in"),
        LoginRefused,
        "does not let this user in from here",
        "Leave sslmode=disable out of the URL if it is there; else ask whoever runs the server to allow it "
        "(pg_hba.conf, or the provider's list of networks).",
    ),
    (
        ("permission denied for database",),
        LoginRefused,
        "lets only members in",
        "Ask the team's owner for `workbench store members add`.",
    ),
    (
        ('" does not exist',),
        LoginRefused,
        "lacks what the URL names",
        "Check the user and the database in the URL.",
    ),
    (
        ("unsupported startup parameter",),
        LoginRefused,
        "does not take what the URL asks for",
        "Leave `options` out of the URL, or name the server itself instead of the pooler before it.",
    ),
    (
        ("too many c", "remaining connection slots", "no more connections allowed"),
        ServerUnreachable,
        "has no connection left",
        f"If it stays so, ask whoever runs the server for more, or for a pooler. {NEXT}",
    ),
)


@dataclass(frozen=True, slots=True)
class _Open:
    connection: psycopg.Connection[Any]
    line: socket.socket  # the same socket, to cut it from another thread


class Connections:
    """Up to `most` connections to one server, kept open between uses. Any number of threads may share them.

    Every statement commits by itself except inside `connection.transaction()`. Statements are not prepared on
    the server, and nothing is left in a session, so that a pooler may stand between.
    """

    def __init__(self, url: str, *, most: int = 1) -> None:
        """Connect to nothing yet. Raises: ConfigError for a wrong URL."""
        self._parameters: Final = parse_url(url)
        self.place: Final = place(self._parameters)
        self._free = threading.BoundedSemaphore(most)
        self._idle: list[_Open] = []
        self._lock = threading.Lock()
        self._watch = _Watch()

    @property
    def user(self) -> str:
        """The role of the URL, "" where the environment says it."""
        return self._parameters.get("user", "")

    @contextlib.contextmanager
    def use(self, seconds: float = ANSWERING) -> Iterator[psycopg.Connection[Any]]:
        """Have a connection to oneself for at most so many seconds, after which it is cut.

        Raises: ServerUnreachable, TeamError, for what is done inside, too.
        """
        if not self._free.acquire(timeout=seconds):
            raise ServerUnreachable(f"all connections to {self.place} are in use", hint=NEXT)
        try:
            with self.explain_errors():
                one = self._take()
                self._watch.begin(one.line, seconds)
                try:
                    yield one.connection
                except psycopg.OperationalError:
                    if self._watch.was_cut(one.line):
                        raise ServerUnreachable(
                            f"{self.place} did not answer within {seconds:.3g} seconds",
                            hint=f"It is busy, or a pooler before it has no connection left. {NEXT}",
                        ) from None
                    raise
                finally:
                    self._watch.end(one.line)
                    self._give_back(one)
        finally:
            self._free.release()

    def connect(self) -> psycopg.Connection[Any]:
        """Return a new connection that the caller closes. Raises: ServerUnreachable, TeamError."""
        with self.explain_errors():
            try:
                connection = psycopg.connect(
                    make_conninfo(**self._parameters), autocommit=True, prepare_threshold=None
                )
            except UnicodeError:  # of Python's resolver
                raise ConfigError(
                    f"the host of {self.place} cannot be one", hint="Check the URL's host."
                ) from None
        version = connection.info.server_version // 10_000
        if version < OLDEST:
            connection.close()
            raise TeamError(
                f"{self.place} is PostgreSQL {version}; a team needs {OLDEST} or newer",
                hint="Ask whoever runs the server to update it.",
            )
        return connection

    @contextlib.contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into those of a team."""
        try:
            yield
        except psycopg.Error as error:
            raise self._explain(error) from None  # its text may hold the password

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            _close(one)
        self._watch.close()

    def _take(self) -> _Open:
        with self._lock:
            while self._idle:
                one = self._idle.pop()
                if _is_open(one):
                    return one
                _close(one)
        connection = self.connect()
        return _Open(connection, second_handle(connection))

    def _give_back(self, one: _Open) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        if one.connection.closed or one.connection.info.transaction_status != idle:
            _close(one)
            return
        with self._lock:
            self._idle.append(one)

    def _explain(self, error: psycopg.Error) -> StoreError:
        reason = self._mask_error(error)
        for types, kind, what, hint in _MEANINGS:
            if isinstance(error, types):
                return kind(f"{self.place} {what}: {reason}", hint=hint)
        if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
            for words, kind, what, hint in _REFUSALS:
                if any(word in reason for word in words):
                    return kind(f"{self.place} {what}: {reason}", hint=hint)
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return ServerUnreachable(
                f"{self.place} cannot be reached: {reason}",
                hint=f"If this machine never reached it, check the host and the port in the URL. {NEXT}",
            )
        return TeamError(
            f"{self.place} does not do what the program asks for: {reason}",
            hint="Report this, with the version of the server.",
        )

    def _mask_error(self, error: psycopg.Error) -> str:
        text = error.diag.message_primary or str(error)
        for name in ("password", "sslpassword"):
            text = mask_password(text, self._parameters.get(name, ""))
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(_ADVICE)]
        # Each address of a host, and TLS and its absence, are tried: mostly for one reason.
        reasons = dict.fromkeys(" ".join(_PREAMBLE.sub("", line).split()) for line in lines)
        return (" ".join(filter(None, reasons)) or type(error).__name__)[:_REASON]


_MEANINGS: Final[tuple[tuple[tuple[type[psycopg.Error], ...], type[TeamError], str, str], ...]] = (
    (
        (errors.ReadOnlySqlTransaction,),
        TeamError,
        "takes no writes",
        "The URL names a standby, or a role that may only read: use that of the primary server.",
    ),
    (
        (errors.InsufficientPrivilege,),
        TeamError,
        "forbids that",
        "Ask the team's owner for `workbench store members add`, or use the owner's URL.",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory, errors.ProgramLimitExceeded),
        TeamError,
        "has no room",
        f"Ask whoever runs the server for more. {NEXT}",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName),
        TeamError,
        "has other tables than this version of the program",
        "Run `workbench store use` with the owner's URL, or update the program.",
    ),
    (
        (errors.LockNotAvailable, errors.QueryCanceled),
        ServerUnreachable,
        "is busy with something else",
        f"If it stays so, ask whoever runs the server for longer timeouts. {NEXT}",
    ),
)


def second_handle(connection: psycopg.Connection[Any]) -> socket.socket:
    """Return the socket of a connection once more, to `cut` it from another thread; the caller closes it."""
    return socket.socket(fileno=os.dup(connection.fileno()))


def cut(line: socket.socket) -> None:
    """End a connection for whoever waits for it."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class _Watch:
    """Cuts lines that are used for too long, in one thread, which ends once none is and it looks again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[socket.socket, float] = {}
        self._cut: set[socket.socket] = set()
        self._wakes = 0.0  # when the thread looks next; 0 without one

    def begin(self, line: socket.socket, seconds: float) -> None:
        """Cut a line in so many seconds, unless its use ends before."""
        due = time.monotonic() + seconds
        with self._changed:
            self._due[line] = due
            if not self._wakes:
                self._wakes = due
                threading.Thread(target=self._run, name="watch", daemon=True).start()
            elif due < self._wakes:
                self._changed.notify()

    def was_cut(self, line: socket.socket) -> bool:
        """Whether a line that is in use was cut."""
        with self._changed:
            return line in self._cut

    def end(self, line: socket.socket) -> None:
        """Take note that a line is not in use any more."""
        with self._changed:
            self._due.pop(line, None)
            self._cut.discard(line)

    def close(self) -> None:
        """Look now."""
        with self._changed:
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._due:
                self._wakes = min(self._due.values())
                self._changed.wait(self._wakes - time.monotonic())
                now = time.monotonic()
                for line in [line for line, due in self._due.items() if due <= now]:
                    del self._due[line]
                    self._cut.add(line)  # before whoever waits for it notices
                    cut(line)
            self._wakes = 0.0


def _is_open(one: _Open) -> bool:
    """Whether the other end has not ended an idle connection, as far as is known here."""
    try:
        waiting = one.line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return not one.connection.closed
    except OSError:
        return False
    # A server that ends a session says why. Over TLS what waits may be something else.
    return bool(waiting) and one.connection.pgconn.ssl_in_use and not one.connection.closed


def _close(one: _Open) -> None:
    one.line.close()
    one.connection.close()
