"""Work spread over processes gives the same results in the same order, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import pytest

from tests.processes import LONG, running
from workbench.project import workers
from workbench.project.workers import spread, worker_count

ROOT = Path(__file__).resolve().parents[2]


def double(item: int) -> int:
    return item * 2


def deadly(item: int) -> int:
    """End the process that is asked about 13."""
    if item == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return item * 2


def failing(item: int) -> int:
    """Refuse 13."""
    if item == 13:
        raise ValueError("thirteen")
    return item * 2


def given_up(item: int) -> int:
    return -item


def flat(batches: Iterator[list[int]]) -> list[int]:
    return [result for batch in batches for result in batch]


@pytest.mark.parametrize(("workers", "count"), [(1, 0), (1, 100), (2, 0), (2, 1), (2, 100), (3, 7)])
def test_results_come_in_order(workers: int, count: int) -> None:
    """However many workers, results are those of a loop, in batches of the size asked for."""
    batches = list(spread(double, range(count), workers=workers, batch=8, failed=given_up))
    assert flat(iter(batches)) == [item * 2 for item in range(count)]
    assert all(len(batch) == 8 for batch in batches[:-1])
    assert active_children() == []


def test_a_worker_that_dies_costs_one_item() -> None:
    """The item that ends its process is given up; all others have their results, in order."""
    found = flat(spread(deadly, range(40), workers=2, batch=8, failed=given_up))
    assert found == [-13 if item == 13 else item * 2 for item in range(40)]
    assert active_children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_here(workers: int) -> None:
    """An exception in a worker is the caller's, and the workers are gone."""
    with pytest.raises(ValueError, match="thirteen"):
        flat(spread(failing, range(40), workers=workers, batch=8, failed=given_up))
    assert active_children() == []


def test_leaving_early_ends_the_workers() -> None:
    """A caller that has enough leaves no process behind, and nothing was read far ahead of it."""
    taken: list[int] = []

    def source() -> Iterator[int]:
        for item in range(100_000):
            taken.append(item)
            yield item

    batches = spread(double, source(), workers=2, batch=10, failed=given_up)
    assert next(batches) == [item * 2 for item in range(10)]
    batches.close()
    assert active_children() == []
    assert len(taken) <= 10 * 2 * 4


def test_a_caller_with_threads_is_served() -> None:
    """Beside other threads processes start without a fork."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert flat(spread(abs, [-1, -2, -3], workers=2, batch=1, failed=abs)) == [1, 2, 3]
    finally:
        done.set()
        thread.join()


def test_an_interpreter_without_a_program_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within another program there is nothing to start: no worker is tried, item after item, and dies."""
    monkeypatch.setattr(workers, "_can_fork", lambda: False)
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(workers, "_start", None)
    assert flat(spread(double, range(9), workers=2, batch=4, failed=given_up)) == [*range(0, 18, 2)]


_WAITING = """
import os, sys, time
from workbench.project.workers import spread

def slow(item):
    print(os.getpid(), flush=True)
    time.sleep(0.02 if item < 4 else 60)
    return item

for batch in spread(slow, range(100), workers=2, batch=1, failed=abs):
    pass
"""


_CAPTURED = """
import sys, threading
from workbench.project.workers import spread
class Captured:
    def fileno(self):
        return -1
    def write(self, text):
        return len(text)
    def flush(self):
        pass
captured = sys.stderr = Captured()
threading.Thread(target=threading.Event().wait, daemon=True).start()
if __name__ == "__main__":
    print(list(spread(abs, [-1, -2], workers=2, batch=1, failed=abs)), sys.stderr is captured)
"""


def test_a_caller_that_captures_its_stderr_is_served(tmp_path: Path) -> None:
    """An app that draws the screen has a stderr without a descriptor; its workers start all the same."""
    program = tmp_path / "program.py"
    program.write_text(_CAPTURED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[[1], [2]] True\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("ending", ["SIGINT", "SIGKILL", "SIGTERM"])
def test_workers_end_with_their_caller(ending: str, tmp_path: Path) -> None:
    """Ctrl-C, kill and kill -9 of the caller alone end the workers, also those in the middle of an item."""
    script = tmp_path / "waiting.py"
    script.write_text(_WAITING.replace("60", "0.2"), encoding="utf-8")
    with running([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(ROOT)}) as caller:
        assert caller.stdout is not None
        for _ in range(6):
            caller.stdout.readline()
        caller.send_signal(getattr(signal, ending))
        _, errors = caller.communicate(timeout=LONG)  # pipes end with the last process that holds them
    assert caller.returncode != 0
    assert errors.count("Traceback") == (ending == "SIGINT")


def test_the_number_of_workers_follows_the_machine() -> None:
    """An explicit number counts; else it is bounded by the processors this process may use."""
    assert worker_count(3) == 3
    assert 1 <= worker_count(None) <= 8
