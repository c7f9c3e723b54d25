"""Several writers of one stash, and what is left of one that was killed: nothing acknowledged is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from store import locks
from store.lists.segments import segment_texts
from tests.store.test_segment_tables import Place
from workbench.errors import UsageError
from workbench.records.segments import ContextSegment
from workbench.stash.service import StashService


def writer(place: Place, name: str) -> StashService:
    """Return a service with a ledger of its own over the same files, as another process has."""
    theirs = Place(place.root).stash.store
    lock = place.root / "stash.lock"
    object.__setattr__(theirs, "lock", lambda _: locks.exclusive(lock, timeout=60))
    return StashService(theirs, name)


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    """Each sees what the other wrote, and one id has one text whoever was first."""
    place = Place(tmp_path)
    first, second = writer(place, "first"), writer(place, "second")

    def write(service: StashService) -> None:
        for number in range(20):
            service.add(ContextSegment(text=f"{service.by} {number}", source=service.by))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (first, second)))
    first.add(ContextSegment(segment_id="x", text="one"))
    with pytest.raises(UsageError, match="another text"):
        second.add(ContextSegment(segment_id="x", text="two"))
    second.protect(["x"])
    assert first.find("x").protected
    assert first.count() == second.count() == len(place.rows()) == 41
    assert first.undo().title == "undo: protect x"


def test_a_writer_killed_before_the_tables_loses_nothing(tmp_path: Path) -> None:
    """What is in the journal is in the tables of the next reader; half a line is nobody's segment."""
    place = Place(tmp_path)
    place.stash.add(ContextSegment(segment_id="a", text="one"))
    assert list(place.rows()) == ["a"]
    place.stash.add(ContextSegment(segment_id="b", text="two"))  # and killed here
    path = tmp_path / "project" / "journal" / "stash.jsonl"
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines()[-1][:-9].replace(b"two", b"six"))  # or here
    after = Place(tmp_path)
    assert sorted(after.rows()) == ["a", "b"]
    assert segment_texts(after.tables, "ab") == {"a": "one", "b": "two"}
    after.stash.add(ContextSegment(segment_id="c", text="three"))
    assert sorted(after.rows()) == ["a", "b", "c"]
    assert after.stash.undo().title == "undo: stash c"
