"""Sizes are those of the files, and growth is that of the last days."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from store.journal import FileJournal
from store.storage import StoredSize, directory_sizes, journal_sizes
from tests.adapters import ManualClock

DAY = 86_400.0
NOW = 1_700_000_000.0


def test_journals_are_counted_with_their_copies(tmp_path: Path) -> None:
    """Features of memory are one, parts of metrics too; without a day of entries growth is unknown."""
    journal = FileJournal(tmp_path, ManualClock(NOW))
    for stream in ("rules", "memory/auth", "memory/pay", "metrics"):
        journal.append(stream, "x.put", [{"a": 1}, {"a": 2}], by="cli")
    size = (tmp_path / "journal" / "rules.jsonl").stat().st_size
    found = {size.name: size for size in journal_sizes(tmp_path, NOW)}
    assert found["rules"] == StoredSize("rules", 2 * size, 2)
    assert (found["memory"].bytes, found["memory"].records) == (4 * size, 4)
    assert found["metrics"].bytes == size
    assert journal_sizes(tmp_path / "nothing", NOW) == []


@given(st.lists(st.integers(0, 90), min_size=1, max_size=40))
def test_growth_is_what_came_in_the_last_thirty_days(days: list[int]) -> None:
    """Wherever entries lie, those since then are found by their times and counted with the copy."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        lines = []
        for before in sorted((*days, 90), reverse=True):
            journal = FileJournal(root, ManualClock(NOW - before * DAY))
            journal.append("sessions", "x.put", [{"a": "b" * (before + 1)}], by="cli")
            lines.append(before)
        data = (root / "journal" / "sessions.jsonl").read_bytes().splitlines(keepends=True)
        recent = sum(len(line) for line, before in zip(data, lines, strict=True) if before <= 30)
        [found] = journal_sizes(root, NOW)
        assert found.growth is not None
        assert round(found.growth * 30) == 2 * recent


def test_the_rest_is_counted_by_kind(tmp_path: Path) -> None:
    """Generations of an index are one kind; of copies of transcripts the new ones are growth."""
    for name, size in (
        ("index/history-1/a", 10),
        ("index/history-2/a", 20),
        ("index/history.current", 1),
        ("tables.duckdb", 100),
        ("archive/old.gz", 300),
        ("archive/new.gz", 60),
        ("journal/rules.jsonl", 7),
        ("config.toml", 5),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (NOW, NOW - (40 * DAY if "old" in name else DAY)))
    found = {size.name: size for size in directory_sizes(tmp_path, NOW)}
    assert {name: one.bytes for name, one in found.items()} == {
        "index of history": 31, "tables": 100, "archive": 360, "other": 5,
    }  # fmt: skip
    assert (found["archive"].records, found["archive"].growth) == (2, 2.0)
