"""How the program ends: with its code, whatever threads are at work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import LONG

BUSY = """
import threading, time
import duckdb
from workbench.entry.start import leave

begun = threading.Event()

def ask():
    base = duckdb.connect()
    while True:
        base.execute("SELECT sum(range) FROM range(1000000)").fetchall()
        begun.set()

def write():
    begun.wait()
    print("written")

threading.Thread(target=ask, daemon=True).start()
threading.Thread(target=write).start()
print("answer")
leave(3)
"""


def test_a_thread_in_a_library_does_not_take_the_answer_along() -> None:
    """Threads that are to end are waited for; one that nobody waits for changes neither output nor code."""
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "answer\nwritten\n", "")


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_leads_nowhere(streams: str) -> None:
    """Neither an error about it nor a file of the program's in its place."""
    command = f'"{sys.executable}" -m workbench config show {streams}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stderr) == (0, "")
