"""Locks between processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from store import locks
from store.journal_files import LOCK_TIMEOUT
from store.locks import command_of, exclusive, hold_shared, holders
from store.project_state import BUILD_PATIENCE, PATIENCE
from store.tables import REBUILD_PATIENCE
from tests.processes import LONG
from workbench.entry.services import episodes
from workbench.errors import StoreBusy

Start = Callable[..., subprocess.Popen[str]]

HOLDER = """
import sys
from pathlib import Path
from store.locks import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""

READER = """
import sys
from pathlib import Path
from store.locks import FairLock
with FairLock(Path(sys.argv[1]), "tables", 5).hold_shared():
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_held_lock_is_refused_with_its_holder(tmp_path: Path, start: Start) -> None:
    """Whoever cannot have a lock is told its name and the process that has it."""
    path = tmp_path / "tables.lock"
    other = start(HOLDER, path)
    assert other.stdout is not None
    other.stdout.readline()

    with (
        pytest.raises(StoreBusy, match=rf"process {other.pid} .*holds the lock tables"),
        exclusive(path, timeout=0),
    ):
        pass
    with pytest.raises(StoreBusy), hold_shared(path, timeout=0.01):
        pass
    other.communicate("go\n")
    with exclusive(path, timeout=0):
        assert holders(path) == [os.getpid()]
    assert not holders(path)


def test_a_dead_holder_leaves_the_lock_free(tmp_path: Path, start: Start) -> None:
    """After kill -9 of the holder the lock is free at once."""
    path = tmp_path / "x.lock"
    other = start(HOLDER, path)
    assert other.stdout is not None
    other.stdout.readline()
    other.kill()
    other.communicate()

    with exclusive(path, timeout=0):
        pass


def test_waiters_are_served(tmp_path: Path, start: Start) -> None:
    """Threads that wait for one lock all get it, one at a time."""
    path = tmp_path / "x.lock"
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with exclusive(path, timeout=LONG):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    with exclusive(path):
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()

    assert most == [1] * 12


def test_shared_holders_keep_writers_out(tmp_path: Path) -> None:
    """Readers hold a lock together; a writer waits for all of them."""
    path = tmp_path / "x.lock"
    with (
        hold_shared(path, timeout=0),
        hold_shared(path, timeout=0),
        pytest.raises(StoreBusy),
        exclusive(path, timeout=0),
    ):
        pass
    with exclusive(path, timeout=0):
        pass


def test_a_given_up_wait_leaves_no_lock_behind(tmp_path: Path) -> None:
    """A waiter that timed out does not take the lock afterwards and keep it."""
    path = tmp_path / "x.lock"
    with exclusive(path), pytest.raises(StoreBusy), exclusive(path, timeout=0.01):
        pass

    with exclusive(path, timeout=LONG):
        pass


def test_what_is_waited_is_counted(tmp_path: Path) -> None:
    """Waiting for a lock counts for the thread that waits, also where it gives up; a free lock costs none."""
    before = locks.seconds_waited()
    with locks.exclusive(tmp_path / "a.lock"):
        assert locks.seconds_waited() == before
        with pytest.raises(StoreBusy), locks.hold_shared(tmp_path / "a.lock", timeout=0.01):
            pass
    assert locks.seconds_waited() > before


def test_waits_are_counted_by_lock(tmp_path: Path) -> None:
    """What is waited at the gate of a lock counts for the lock."""
    lock = locks.FairLock(tmp_path, "tables", 0.01)
    before = locks.lock_waits().get("tables", 0.0)
    with lock.exclusive(), pytest.raises(StoreBusy), lock.hold_shared():
        pass
    assert locks.lock_waits()["tables"] > before


linux = pytest.mark.skipif(sys.platform != "linux", reason="no other system says who holds a lock")


def test_who_waits_for_long_is_told_for_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, while it waits, and not where the lock is had soon."""
    said: list[str] = []
    monkeypatch.setattr(locks, "_say", [])
    monkeypatch.setattr(locks, "LATE", 0.01)
    locks.announce_waits(said.append)
    with (
        exclusive(tmp_path / "a.lock"),
        pytest.raises(StoreBusy),
        exclusive(tmp_path / "a.lock", timeout=0.02),
    ):
        assert not said

    assert len(said) == 1
    assert said[0].startswith(f"waiting for process {os.getpid()}")
    assert said[0].endswith(", which holds the lock a")


@linux
def test_who_reads_is_named_to_who_waits_at_the_gate(tmp_path: Path, start: Start) -> None:
    """The holder is named, also of a lock held with others, and not the one that waits before oneself."""
    other = start(READER, tmp_path)
    assert other.stdout is not None
    other.stdout.readline()

    with (
        exclusive(tmp_path / "tables-turn.lock"),
        pytest.raises(StoreBusy, match=rf"process {other.pid} .*holds the lock tables") as refused,
        locks.FairLock(tmp_path, "tables", 0.01).exclusive(),
    ):
        pass
    assert f"kill {other.pid}" in refused.value.hint
    other.communicate("go\n")


@linux
def test_a_command_is_shown_without_what_it_was_given(start: Start) -> None:
    """Of a process the program and the command are shown, and none of what a person wrote."""
    program = start(
        "import sys; print(flush=True); sys.stdin.readline()", "workbench", "rules", "add", "pa55"
    )
    assert program.stdout is not None
    program.stdout.readline()
    assert command_of(program.pid) == "workbench rules add"
    program.communicate("go\n")
    assert not command_of(program.pid)


def test_a_turn_is_one_holders_and_others_wait_for_its_end(tmp_path: Path) -> None:
    """Whoever asks during a turn waits for its end, at most as long as asked."""
    lock = locks.FairLock(tmp_path, "x", LONG)
    over = threading.Event()
    told: list[bool] = []

    def ask() -> None:
        with lock.turn() as own:
            told.append(own or over.is_set())

    asking = threading.Thread(target=ask)
    with lock.turn() as own:
        assert own
        asking.start()
        with pytest.raises(StoreBusy), locks.FairLock(tmp_path, "x", 0.01).turn():
            pass
        over.set()
    asking.join()

    assert told == [True]


def test_locks_are_waited_for_as_long_as_the_page_says() -> None:
    """Journals, what a session did, what is curated, and an index or tables that another makes."""
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    documented = " ".join(page[page.index("Waiting ends after") :].split("[^", 1)[0].split())
    assert documented == (
        f"Waiting ends after {LOCK_TIMEOUT:.0f} s for a journal, {episodes._PATIENCE:.0f} s to record what a "
        f"session did, {PATIENCE:.0f} s for tables and what is curated, ten minutes for an index or tables "
        "that another makes, with the holder and the next step."
    )
    assert BUILD_PATIENCE == REBUILD_PATIENCE == 600
    assert locks.LATE == 3
