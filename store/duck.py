"""DuckDB as a file that is attached for a moment: one kept in-memory connection a process, no owner.

Attaching to a kept connection takes milliseconds where opening the file again takes tens of them. Extensions
are never loaded from a network.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from store.files import PRIVATE_FILE
from workbench.errors import StoreBusy, StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MEMORY_LIMIT: Final = "256MB"
THREADS: Final = 1
"""Of a statement. A second one made lists of 60,000 rules no faster and took 4 to 10 % more of the CPU."""

LOG_BYTES: Final = 12_000
"""A longer log goes to the file. Readers replay it, 1 ms for the 4 KB of an edit; writing it takes 10 ms."""

# Cores share a scan by groups of rows, and the groups with changes are written again: with 100,000 rules the
# checkpoint of an edit takes 40 ms of CPU in groups of 122,880 rows, 12 in these, 35 in groups of 4,096.
ATTACH_WRITING: Final = "ATTACH $path AS tables (ROW_GROUP_SIZE 10240)"
ATTACH_READING: Final = "ATTACH $path AS tables (READ_ONLY)"

SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "memory_limit": MEMORY_LIMIT,
    # A small change goes to the log alone, a large one to the file. DuckDB takes for a change's size the
    # memory that it allocates, which is up to a megabyte for one entry; `LOG_BYTES` are counted.
    "checkpoint_on_detach": "DISABLED",
    "wal_autocheckpoint": "4MB",
    "threads": THREADS,
}
Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""Columns of values by name, each (NumPy's type, values)."""
_HOLDER = re.compile(r"held in (\S+) \(PID (\d+)\)")


class Result(Protocol):
    """The rows of a statement."""

    def fetchall(self) -> list[Any]:
        """Return all rows, in tuples."""
        ...

    def fetchmany(self, size: int) -> list[Any]:
        """Return the next rows, in tuples."""
        ...

    def fetchnumpy(self) -> dict[str, Any]:
        """Return the columns by name, as NumPy's arrays."""
        ...


class Connection(Protocol):
    """What the tables are read and written by: DuckDB's, or what does the same for another database."""

    def execute(self, statement: str, parameters: object = ..., /) -> Result:
        """Run a statement with values by place or by name."""
        ...


class StagingConnection(Connection, Protocol):
    """A connection that is handed the columns of `staged`: DuckDB's finds them by itself."""

    def execute_staged(
        self, statement: str, columns: Mapping[str, Any], parameters: Mapping[str, Any], /
    ) -> Result:
        """Run a statement that reads columns, NumPy's arrays by name, as the table `staged`."""
        ...


class DamagedTables(Exception):
    """The database file cannot be read."""


class KeptConnection:
    """The in-memory connection of this process; a forked child and a failed one get a new one.

    A connection holds threads and memory until it is closed: nothing but `close` does so soon.
    """

    def __init__(self, spill: Path) -> None:
        self._spill = spill
        self._process = 0
        self._connection: DuckDBPyConnection | None = None
        self._used = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def attach(self, path: Path, *, how: str = ATTACH_WRITING) -> Iterator[DuckDBPyConnection]:
        """Use the database file at `path`; `how` is one of the ATTACH statements.

        Raises: DamagedTables if the file is no sound database; StoreError, StoreBusy.
        """
        try:
            with self._used, self._discarding(path):
                connection = self._connect()
                connection.execute(how, {"path": str(path)})
                connection.execute("USE tables")
                yield connection
                if how is ATTACH_WRITING:
                    _shorten_log(connection, path)
                    _close_to_others(path)
                connection.execute("USE memory")
                connection.execute("DETACH tables")
        finally:
            if self._closed:
                self._discard_unused()

    def prepare(self, *, writing: bool = False) -> None:
        """Load and open what using a file needs, so that nobody waits for that with its lock."""
        if writing:
            import_module("numpy")
        with self._used:
            self._connect()

    def close(self) -> None:
        """Keep no connection any more: who uses it closes it then, and who asks later one of their own."""
        self._closed = True
        self._discard_unused()

    def _discard_unused(self) -> None:
        if self._used.acquire(blocking=False):
            try:
                self._discard()
            finally:
                self._used.release()

    def _discard(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _connect(self) -> DuckDBPyConnection:
        import duckdb

        if self._connection is None or self._process != os.getpid():
            self._process = os.getpid()
            settings = {**SETTINGS, "temp_directory": str(self._spill)}
            self._connection = duckdb.connect(":memory:", config=settings)
        return self._connection

    @contextlib.contextmanager
    def _discarding(self, path: Path) -> Iterator[None]:
        """Translate DuckDB's errors; after one the connection is given up with everything attached to it."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            self._discard()
            raise _translate_error(error, path) from error
        except BaseException:
            self._discard()
            raise


def log_file(path: Path) -> Path:
    """Return the file of changes that are not in a database's own file yet."""
    return path.with_name(f"{path.name}.wal")


def _shorten_log(connection: DuckDBPyConnection, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log_file(path).stat().st_size > LOG_BYTES:
            connection.execute("CHECKPOINT tables")


def _close_to_others(path: Path) -> None:
    """Let only their owner read the files that DuckDB made, whatever the umask."""
    for file in (path, log_file(path)):
        with contextlib.suppress(OSError):
            if file.stat().st_mode & 0o077:
                file.chmod(PRIVATE_FILE)


def insert(connection: Connection, statement: str, columns: Columns) -> None:
    """Run an INSERT … SELECT … FROM staged over columns of values, in bulk.

    `columns` maps a name to (NumPy's type, values); type `str` is text or None. About 0.5 µs a value, where
    a parameter list costs ten times that. Lone surrogates, which no database holds, become escapes.
    """
    execute_staged(connection, statement, columns)


def select(
    connection: Connection, statement: str, columns: Columns, parameters: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the rows of a SELECT that joins `staged`, columns of values as for `insert`."""
    return execute_staged(connection, statement, columns, parameters).fetchall()


def execute_staged(
    connection: Connection, statement: str, columns: Columns, parameters: Mapping[str, Any] | None = None
) -> Result:
    """Run a statement that may read `staged`, columns of values as for `insert`; no columns, no `staged`.

    DuckDB finds a table of no other place among the caller's variables; registering it takes .5 ms more.
    """
    staged = _arrays(columns)
    if staged and hasattr(connection, "execute_staged"):
        return cast("StagingConnection", connection).execute_staged(statement, staged, parameters or {})
    return connection.execute(statement, parameters or {})


def _arrays(columns: Columns) -> dict[str, Any]:
    if not columns:
        return {}
    import numpy as np

    return {
        name: np.array([storable(value) for value in values], dtype=object)
        if kind == "str"
        else np.array(values, dtype=kind)
        for name, (kind, values) in columns.items()
    }


def storable(text: str | None) -> str | None:
    """Return text that UTF-8 can hold: lone surrogates become escapes."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _translate_error(error: Exception, path: Path) -> Exception:
    """Return what a DuckDB error means: a damaged file, or one of our own errors."""
    import duckdb

    # Checksum errors are of the base class and of no other.
    damage = (
        duckdb.IOException,
        duckdb.SerializationException,
        duckdb.InternalException,
        duckdb.FatalException,
        duckdb.CatalogException,
    )
    text = str(error).splitlines()[0][:300]
    if "Could not set lock on file" in text or "Conflicting lock" in text:
        match = _HOLDER.search(str(error))
        who = f"process {match[2]} ({Path(match[1]).name})" if match else "another program"
        return StoreBusy(f"{who} has {path} open", hint="Close it there and try again.")
    if "No space left" in text or "File too large" in text or "Disk quota" in text:
        return StoreError(f"writing {path} failed: {text}", hint="Free some space and run the same again.")
    if "Permission denied" in text or "Read-only file system" in text:
        return StoreError(
            f"opening {path} failed: {text}", hint="Check the owner and permissions of the state directory."
        )
    if isinstance(error, damage) or type(error) is duckdb.Error:
        return DamagedTables(text)
    if isinstance(error, duckdb.ProgrammingError | duckdb.DataError):
        # What was asked is at fault: the same tables, made again, refuse it again.
        return StoreError(f"{path} cannot answer this: {text}", hint="Ask for less, or in other words.")
    return StoreError(f"working on {path} failed: {text}", hint="Run `workbench rebuild`.")
