"""A file of tables stays attached while threads read it, for a moment longer where that is asked for."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from store import table_attachment
from store.duck import DamagedTables, KeptConnection
from store.locks import FairLock, exclusive
from store.table_attachment import TableAttachment
from tests.empty_tables import uncopied
from workbench.errors import StoreBusy


class CountingConnection(KeptConnection):
    """A kept connection that counts how often a file was attached."""

    attached = 0

    def attach(self, path: Path, **how: str):  # type: ignore[no-untyped-def]
        self.attached += 1
        return super().attach(path, **how)


class Place:
    """A file of tables, the connection that attaches it and the lock that writers take."""

    def __init__(self, root: Path) -> None:
        self.kept = CountingConnection(root / "spill")
        with self.kept.attach(root / "t.duckdb") as connection:
            connection.execute("CREATE TABLE one AS SELECT 1 AS x")
            connection.execute("CHECKPOINT tables")
        self.kept.attached = 0
        self.lock_file = root / "locks" / "tables.lock"
        self.attachment = TableAttachment(
            root / "t.duckdb", self.kept, FairLock(root / "locks", "tables", 10)
        )

    def read(self, statement: str = "SELECT x FROM one") -> list[tuple[object, ...]]:
        with self.attachment.in_line():
            return self.attachment.read(lambda connection: connection.execute(statement).fetchall())

    def is_free(self) -> bool:
        """Whether a writer of another process would not wait."""
        with exclusive(self.lock_file, timeout=0):
            return True

    def read_at_once(self, threads: int) -> None:
        """Have threads wait for a turn while another one has it, and then read."""
        waiting = [threading.Thread(target=self.read) for _ in range(threads)]
        with self.attachment.in_line():
            for thread in waiting:
                thread.start()
            while self.attachment._waiting < threads:
                pass
            self.attachment.read(lambda connection: connection.execute("SELECT 1"))
        for thread in waiting:
            thread.join()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with uncopied():
        made = Place(tmp_path)
        yield made
        made.attachment.close()
        made.kept.close()


@pytest.fixture
def lasting(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The same, which stays attached until something ends that."""
    monkeypatch.setattr(table_attachment, "MOST_SECONDS", 3600.0)
    place.attachment.keep_attached()
    return place


def test_who_waits_in_line_reads_what_is_attached(place: Place) -> None:
    """Four questions of four threads attach once; nobody waiting, each attaches and lets writers in."""
    place.read_at_once(3)
    assert place.kept.attached == 1
    assert place.is_free()
    assert (place.read(), place.read()) == ([(1,)], [(1,)])
    assert place.kept.attached == 3
    assert place.is_free()


def test_readers_in_line_do_not_keep_writers_away(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the file is detached whoever waits."""
    monkeypatch.setattr(table_attachment, "MOST_SECONDS", -1.0)
    place.read_at_once(3)
    assert place.kept.attached == 4


def test_a_turn_alone_finds_the_file_free(place: Place) -> None:
    """Who writes may take the lock, whatever was read in the same turn before."""
    with place.attachment.alone():
        place.attachment.read(lambda connection: connection.execute("SELECT 1"))
        place.attachment.detach()
        assert place.is_free()
        place.attachment.read(lambda connection: connection.execute("SELECT 1"))
    assert place.is_free()


def test_a_question_that_fails_lets_the_file_go(place: Place) -> None:
    """Whoever reads next attaches it again."""
    with pytest.raises(DamagedTables):
        place.read("SELECT x FROM missing")
    assert place.is_free()
    with pytest.raises(ZeroDivisionError), place.attachment.in_line():
        place.attachment.read(lambda _: 1 // 0)
    assert place.is_free()
    assert place.read() == [(1,)]


def is_let_go(place: Place) -> bool:
    """Wait until a writer that passes no gate would have the file."""
    with exclusive(place.lock_file):
        return True


def test_one_question_after_the_other_reads_what_is_attached(lasting: Place) -> None:
    """Whoever asks within a moment attaches nothing, whichever thread it is."""
    assert [lasting.read() for _ in range(3)] == [[(1,)]] * 3
    lasting.read_at_once(3)
    assert lasting.kept.attached == 1
    with pytest.raises(StoreBusy):
        lasting.is_free()


def test_a_writer_is_let_in_soon(lasting: Place) -> None:
    """Another process that comes to the gate has the file, however long it might stay attached."""
    lasting.read()
    with FairLock(lasting.lock_file.parent, "tables", 60).exclusive():
        assert lasting.attachment._attached is None
    assert lasting.read() == [(1,)]
    assert lasting.kept.attached == 2


def test_the_moment_ends(place: Place) -> None:
    """A file that nobody reads any more is let go without a question or a writer."""
    place.attachment.keep_attached()
    place.read()
    assert is_let_go(place)


@pytest.mark.parametrize("how", ["let_go", "close"])
def test_it_is_let_go_at_once(lasting: Place, how: str) -> None:
    """An app that stops or ends keeps nobody waiting; after it ended it attaches for each question."""
    lasting.read()
    getattr(lasting.attachment, how)()
    assert lasting.is_free()
    assert lasting.read() == [(1,)]
    if how == "close":
        assert lasting.is_free()


def test_what_took_the_files_place_is_read(lasting: Place, tmp_path: Path) -> None:
    """A file that somebody replaced without a lock is attached before the next question."""
    lasting.read()
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other")
    with other.kept.attach(other.attachment._path) as connection:
        connection.execute("UPDATE one SET x = 2")
        connection.execute("CHECKPOINT tables")
    other.kept.close()
    os.replace(other.attachment._path, lasting.attachment._path)
    assert lasting.read() == [(2,)]


def test_a_state_directory_that_is_gone_stays_gone(lasting: Place) -> None:
    """Looking for writers makes nothing."""
    lasting.read()
    shutil.rmtree(lasting.lock_file.parent)
    while lasting.attachment._attached is not None:
        pass
    assert not lasting.lock_file.parent.exists()
