"""Statements of a person's own run on a copy: of all that was written, and in nobody's way."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.duck import log_file
from store.journal import FileJournal
from store.metrics import record_call
from store.sandbox import sandbox
from store.tables import Tables
from tests.adapters import ManualClock

COUNT = "select count(*) from metrics"


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> Tables:
    """The tables of a journal with one measurement; a lock that is held is not waited for."""
    record_call(journal, "plan", 12.5, by="cli")
    return Tables(tmp_path, {"project": journal}, clock, timeout=0.0)


def test_writers_are_not_kept_waiting(tables: Tables, journal: FileJournal) -> None:
    """While rows are being read, others project; the statement sees the tables as they were."""
    with sandbox(tables, seconds=10) as box:
        found = box.select("select i, (select count(*) from metrics) from range(5000) as numbers(i)")
        first = next(found.batches)
        record_call(journal, "plan", 12.5, by="cli")
        assert tables.catch_up().entries == 1
        rest = [row for batch in found.batches for row in batch]
    assert {row[1] for row in [*first, *rest]} == {1}
    assert tables.query(COUNT) == [(2,)]


def test_changes_that_only_the_log_has_are_seen(tables: Tables) -> None:
    """A database whose last change is in its log, as after a crash, is copied with it."""
    tables.catch_up()
    with duckdb.connect(str(tables.path)) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("SET wal_autocheckpoint = '1GB'")
        connection.execute("INSERT INTO rejected VALUES ('project', 'metrics', 0, 'op.measured', 'odd')")
    assert log_file(tables.path).exists()
    with sandbox(tables, seconds=10) as box:
        assert list(box.select("select reason from rejected").batches) == [[("odd",)]]
    assert list((tables.path.parent / "spill").iterdir()) == []


def test_a_copy_is_only_read(tables: Tables, tmp_path: Path) -> None:
    """Settings are locked and the one file that may be written is the one that was named."""
    wanted = tmp_path / "out.parquet"
    with sandbox(tables, seconds=10, output=wanted) as box:
        box.write_parquet("from metrics", wanted)
    assert duckdb.execute("select count(*) from read_parquet(?)", [str(wanted)]).fetchall() == [(1,)]


def test_ctrl_c_reaches_a_query_that_looks_for_no_signals(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that is at work or about to begin is interrupted."""
    endless = "select sum(a.i * b.i) from range(10000000) a(i), range(10000000) b(i)"
    with sandbox(tables, seconds=3_600) as box:
        submit = box._worker.submit

        def submit_and_interrupt(*work: Any) -> Any:
            found = submit(*work)
            signal.raise_signal(signal.SIGINT)
            return found

        monkeypatch.setattr(box._worker, "submit", submit_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            box.select(endless)
        monkeypatch.undo()
