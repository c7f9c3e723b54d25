"""Journals under several processes and kill -9."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from store.journal import FileJournal, verify
from tests.deep import searches, times

Start = Callable[..., subprocess.Popen[str]]
Outputs = Callable[[list[subprocess.Popen[str]]], list[str]]

WRITER = """
import sys
from pathlib import Path
from store.clock import SystemClock
from store.journal import FileJournal
root, name, batches, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
journal = FileJournal(Path(root), SystemClock())
sys.stdin.readline()
for batch in range(batches):
    bodies = [{"by": name, "n": batch * size + n, "text": "x" * 2000} for n in range(size)]
    journal.append("rules", "rule.put", bodies, by=name)
    print(batch * size + size, flush=True)
"""


@searches
def test_writers_at_once_lose_nothing(
    journal: FileJournal, tmp_path: Path, start: Start, outputs: Outputs
) -> None:
    """Batches of many processes stay whole and in each writer's order, none missing, none garbled."""
    count = times(3, 8)
    writers = [start(WRITER, tmp_path, f"w{n}", 20, 5) for n in range(count)]
    outputs(writers)

    entries = [entry for _, entry in journal.read("rules")]
    for n in range(count):
        assert list(range(100)) == [entry.body["n"] for entry in entries if entry.by == f"w{n}"]
    writers_of_batches = [{entry.by for entry in entries[at : at + 5]} for at in range(0, 100 * count, 5)]
    assert all(len(names) == 1 for names in writers_of_batches)
    assert len({entry.id for entry in entries}) == 100 * count
    assert verify(tmp_path) == []


@searches
def test_killed_writers_lose_nothing_acknowledged(journal: FileJournal, tmp_path: Path, start: Start) -> None:
    """Whatever a writer reported before kill -9 is there, and the next writer goes on without repair."""
    acknowledged = {}
    for n in range(times(2, 6)):
        writer = start(WRITER, tmp_path, f"w{n}", 10_000, 3)
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for _ in range(5 + 7 * n):
            acknowledged[f"w{n}"] = int(writer.stdout.readline())
        writer.kill()
        writer.communicate()

    entries = [entry for _, entry in journal.read("rules")]
    for name, count in acknowledged.items():
        numbers = [entry.body["n"] for entry in entries if entry.by == name]
        assert list(range(len(numbers))) == numbers
        assert count <= len(numbers)
    journal.append("rules", "rule.put", [{"n": "after"}], by="cli")
    assert len(entries) + 1 == len(list(journal.read("rules")))
