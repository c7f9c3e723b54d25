"""The tables of tests: in a file, or on a server where `TABLES=postgres` (`make test-tables`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from store.journal import FileJournal
from store.table_queries import TableQueries
from workbench.ports import Clock
from workbench.records.ids import new_id

ON_SERVER = os.environ.get("TABLES") == "postgres"
of_the_file = pytest.mark.skipif(ON_SERVER, reason="it is about the file of DuckDB")

T = TypeVar("T")
urls: list[str] = []
"""The server's database, once there is one."""
opened: list[TableQueries] = []
"""The tables on it whose connections a test leaves behind."""


def open_tables(root: Path, journals: Mapping[str, FileJournal], clock: Clock) -> TableQueries:
    """Return the tables of a state directory; on a server those that report what the server refuses."""
    if not ON_SERVER:
        return TableQueries(root, journals, clock)
    from store.postgres.tables import ServerTables

    class StrictTables(ServerTables):
        def _asked(self, work: Callable[[], T], seconds: float = 60.0) -> tuple[T] | None:
            found = super()._asked(work, seconds)
            assert not self.degraded, self.degraded
            return found

    opened.append(StrictTables(urls[0], _machine(root), root, journals, clock))
    return opened[-1]


@cache
def _machine(root: Path) -> str:
    """Return the same id for the same directory."""
    del root
    return new_id()
