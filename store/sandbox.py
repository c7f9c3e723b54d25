"""A person's own SQL: one statement that reads, over a copy of the tables, without files, network or writes.

The copy is made under the shared lock and the statement runs without any, so that a slow one, or a slow
reader of its rows, keeps nobody waiting. Time, memory and space on disk are bounded.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from store.duck import SETTINGS, log_file
from store.files import private_dir, translate_errors
from workbench.errors import StoreError, UsageError, WorkbenchError
from workbench.records.ids import new_id
from workbench.suggest import did_you_mean

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from store.tables import Tables

T = TypeVar("T")

BATCH: Final = 1_000  # rows
MAX_SPILL: Final = "1GB"
_BETWEEN: Final = 0.05  # seconds between two interrupts: the first may come before there is a query

SET_PATHS: Final = "SET allowed_paths = $paths"
LOCK_DOWN: Final = ("SET enable_external_access = false", "SET lock_configuration = true")
SELECT_TABLES: Final = """
SELECT table_name, column_name, data_type
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
ORDER BY table_name, column_index
"""

_READING: Final = frozenset({"SELECT", "EXPLAIN"})
_MISSING = re.compile(r"(?:Table|View) with name (\S+) does not exist")
_NEAR = re.compile(r"^(?:Did you mean|Candidate bindings:|Candidate functions:)\s*(.+)$", re.M)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column of an answer or of a table; `type` is DuckDB's name of it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StatementRows:
    """The columns of a statement's rows, and the rows in batches, fetched as they are asked for."""

    columns: tuple[ColumnType, ...]
    batches: Iterator[Sequence[tuple[Any, ...]]]


class Sandbox:
    """A copy of the tables that statements read; each has so many seconds."""

    def __init__(self, connection: DuckDBPyConnection, worker: Executor, seconds: float) -> None:
        self._connection = connection
        self._worker = worker
        self._seconds = seconds
        self._left = seconds

    def tables(self) -> dict[str, tuple[ColumnType, ...]]:
        """Return the columns of each table and view, by name."""
        found: dict[str, list[ColumnType]] = {}
        for table, column, kind in self._connection.execute(SELECT_TABLES).fetchall():
            found.setdefault(table, []).append(ColumnType(column, kind))
        return {table: tuple(columns) for table, columns in found.items()}

    def select(self, statement: str) -> StatementRows:
        """Return the rows of one statement. Raises: UsageError for one that cannot run; StoreError."""
        self._left = self._seconds

        def execute() -> tuple[DuckDBPyConnection, tuple[ColumnType, ...]]:
            _check(statement)
            result = self._connection.execute(statement)
            return result, tuple(ColumnType(one[0], str(one[1])) for one in result.description)

        result, columns = self._run_bounded(execute)
        return StatementRows(columns, self._batches(result))

    def write_parquet(self, statement: str, path: Path) -> None:
        """Write the rows of one SELECT as Parquet to the path this was opened with. Raises: as select."""
        self._left = self._seconds

        def write() -> None:
            _check(statement)
            self._connection.sql(statement).write_parquet(str(path), compression="zstd")

        self._run_bounded(write)

    def _batches(self, result: DuckDBPyConnection) -> Iterator[Sequence[tuple[Any, ...]]]:
        while rows := self._run_bounded(lambda: result.fetchmany(BATCH)):
            yield rows

    def _run_bounded(self, work: Callable[[], T]) -> T:
        """Do work in a thread, so that Ctrl-C is heard at once; interrupt it when the time is over.

        DuckDB looks for signals between the parts of a query only, and one part may take hours.
        """
        import duckdb

        started = time.monotonic()
        try:
            return self._worker.submit(work).result(self._left)
        except TimeoutError as error:
            self.stop()
            raise StoreError(
                f"the statement took longer than {self._seconds:g} s",
                hint="Ask for less, or give it longer with --timeout.",
            ) from error
        except duckdb.Error as error:
            raise self._explain_error(error) from error
        finally:
            self._left = max(self._left - (time.monotonic() - started), 0.001)

    def stop(self) -> None:
        """Interrupt what is being done, also what has not begun."""
        after = self._worker.submit(int)
        while not after.done():
            self._connection.interrupt()
            wait([after], _BETWEEN)

    def _explain_error(self, error: Exception) -> WorkbenchError:
        """Return what is wrong with a statement, where, and which names are near."""
        import duckdb

        text = str(error)
        kind, _, rest = text.partition(": ")
        message, _, more = (rest if kind.endswith("Error") else text).partition("\n")
        place = more[more.find("LINE ") :] if "LINE " in more else ""
        if isinstance(error, duckdb.OutOfMemoryException):
            return StoreError(message, hint="Ask for fewer rows or columns, or sort less.")
        if isinstance(error, duckdb.PermissionException):
            message, hint = "statements read no files and no network", "They read the tables alone."
        elif "Required module" in text:
            message = "a column has a time zone"
            hint, place = "Cast it to text: `now()::VARCHAR`, or to TIMESTAMP.", ""
        elif missing := _MISSING.search(message):
            hint = did_you_mean(missing[1], self.tables(), "`workbench sql --tables` lists the tables.")
        elif near := _NEAR.search(text):
            hint = f"Did you mean {near[1].rstrip('?')}?"
        else:
            hint = "`workbench sql --schema` shows tables and columns."
        return UsageError("\n".join(filter(None, (message.rstrip("!"), place.rstrip()))), hint=hint)


@contextlib.contextmanager
def sandbox(tables: Tables, *, seconds: float, output: Path | None = None) -> Iterator[Sandbox]:
    """Open a copy of up-to-date tables in which statements may run `seconds`, and write `output` alone.

    Raises: StoreError, StoreBusy.
    """
    import duckdb

    copy = private_dir(tables.path.parent / "spill") / f"sql-{new_id()}.duckdb"
    try:
        with translate_errors(f"copying {tables.path}"):
            tables.read(lambda _: _copy(tables.path, copy))
        settings = {
            **SETTINGS,
            "temp_directory": str(copy.parent),
            "max_temp_directory_size": MAX_SPILL,
            "python_enable_replacements": False,  # a table is never a variable of this program
        }
        connection = duckdb.connect(str(copy), read_only=True, config=settings)
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file: below
            _remove(copy)
    try:
        connection.execute(SET_PATHS, {"paths": [] if output is None else [str(output)]})
        for statement in LOCK_DOWN:
            connection.execute(statement)
        with ThreadPoolExecutor(1, "statement") as worker:
            box = Sandbox(connection, worker, seconds)
            try:
                yield box
            finally:
                box.stop()
    finally:
        connection.close()
        _remove(copy)


def _copy(path: Path, copy: Path) -> None:
    """Copy a database with the changes that only its log has; called again it starts over."""
    _remove(copy)
    shutil.copyfile(path, copy)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(log_file(path), log_file(copy))


def _remove(copy: Path) -> None:
    copy.unlink(missing_ok=True)
    log_file(copy).unlink(missing_ok=True)


def _check(statement: str) -> None:
    """Let pass exactly one statement that reads."""
    import duckdb

    statements = duckdb.extract_statements(statement)
    if not statements:
        raise UsageError("there is no statement", hint='Such as `workbench sql "from episodes limit 5"`.')
    if len(statements) > 1:
        raise UsageError(f"there are {len(statements)} statements", hint="Give them one at a time.")
    kind = statements[0].type.name
    if kind == "MULTI":
        raise UsageError(
            "this PIVOT is several statements", hint="Name its values: PIVOT … ON column IN (…)."
        )
    if kind not in _READING:
        raise UsageError(
            f"{kind} is not allowed: statements only read",
            hint="Tables are made from journals; what is in them changes through its own commands.",
        )
