"""A project's tables for tests of what uses them: made once for a process, and copied.

Making them takes 40 ms of CPU, which a test of a command or of a screen did for each project. Queries over
the few rows of a test are not optimized, which takes longer than they do. `tests/store`, which is about
tables and migrations, does all of it as the program does (`uncopied`), and so do the processes that tests
start. A connection that a project is done with serves the next one, which spares it 10 ms of CPU.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from store import duck
from store.duck import ATTACH_WRITING, KeptConnection
from store.migrations import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ATTACH: Final = KeptConnection.attach
_CONNECT: Final = KeptConnection._connect
_DISCARD_UNUSED: Final = KeptConnection._discard_unused


@contextmanager
def copied(directory: Path) -> Iterator[None]:
    """Begin new tables as a copy of empty ones, which are kept in a directory, in the block."""
    empty = directory / "empty.duckdb"
    unused: list[DuckDBPyConnection] = []

    def connect(kept: KeptConnection) -> DuckDBPyConnection:
        if unused and (kept._connection is None or kept._process != os.getpid()):
            kept._process, kept._connection = os.getpid(), unused.pop()
        return _CONNECT(kept)

    def discard_unused(kept: KeptConnection) -> None:
        if kept._used.acquire(blocking=False):
            if kept._connection is not None and kept._process == os.getpid():
                unused.append(kept._connection)
            kept._connection = None
            kept._used.release()

    @contextmanager
    def attach(
        kept: KeptConnection, path: Path, *, how: str = ATTACH_WRITING
    ) -> Iterator[DuckDBPyConnection]:
        if how is ATTACH_WRITING and path.parent.is_dir() and not os.path.lexists(path):
            shutil.copyfile(_make(empty), path)
        with _ATTACH(kept, path, how=how) as connection:
            yield connection

    with (
        patch.multiple(KeptConnection, attach=attach, _connect=connect, _discard_unused=discard_unused),
        patch.dict(duck.SETTINGS, disabled_optimizers=_optimizers()),
    ):
        yield
    for connection in unused:
        connection.close()


@contextmanager
def unlent() -> Iterator[None]:
    """Have each project connect and close as the program does in the block."""
    with patch.multiple(KeptConnection, _connect=_CONNECT, _discard_unused=_DISCARD_UNUSED):
        yield


@contextmanager
def uncopied() -> Iterator[None]:
    """Undo `copied` in the block."""
    with (
        unlent(),
        patch.object(KeptConnection, "attach", _ATTACH),
        patch.dict(duck.SETTINGS, disabled_optimizers=""),
    ):
        yield


def _optimizers() -> str:
    import duckdb

    with duckdb.connect() as connection:
        return ",".join(name for (name,) in connection.execute("FROM duckdb_optimizers()").fetchall())


def _make(empty: Path) -> Path:
    if not empty.exists():
        kept = KeptConnection(empty.parent / "spill")
        with _ATTACH(kept, empty) as connection:
            migrate(connection)
            connection.execute("CHECKPOINT tables")
        kept.close()
    return empty
