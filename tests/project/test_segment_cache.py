"""What a segment cache gives back is what was put there, whatever became of its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project import segment_cache
from workbench.project.segment_cache import SegmentCache, tidy


def filled(directory: Path, version: str = "v1", count: int = 5) -> SegmentCache:
    cache = SegmentCache(directory, version)
    for number in range(count):
        cache.put(f"key {number}", bytes([number]) * (100 + number))
    cache.flush()
    return cache


@given(values=st.dictionaries(st.text(max_size=8), st.binary(max_size=40), max_size=8), data=st.data())
def test_a_damaged_segment_gives_what_was_put_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, bytes], data: st.DataObject
) -> None:
    """Whichever byte of a segment changes or is cut off, no key gets a value that is not its own."""
    place = tmp_path_factory.mktemp("cache")
    cache = SegmentCache(place, "v1")
    for key, value in values.items():
        cache.put(key, value)
    cache.flush()
    opened = SegmentCache(place, "v1")
    usable = {key: value for key, value in values.items() if opened.get(key) is not None}
    assert {key: bytes(opened.get(key) or b"") for key in usable} == usable
    for path in (place / "v1").glob("*"):
        good = path.read_bytes()
        at = data.draw(st.integers(0, len(good) - 1))
        flipped = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
        path.write_bytes(data.draw(st.sampled_from([flipped, good[:at]])))
    damaged = SegmentCache(place, "v1")
    for key, value in values.items():
        found = damaged.get(key)
        assert found is None or bytes(found) == value


def test_what_one_process_wrote_another_finds(tmp_path: Path) -> None:
    """Values are there for whoever opens the directory later, and only under their version and key."""
    filled(tmp_path)
    other = SegmentCache(tmp_path, "v1")
    assert [bytes(other.get(f"key {number}") or b"") for number in range(5)] == [
        bytes([number]) * (100 + number) for number in range(5)
    ]
    assert other.get("key 5") is None
    assert SegmentCache(tmp_path, "v2").get("key 0") is None


def test_many_small_segments_become_one(tmp_path: Path) -> None:
    """Whoever writes the next one joins small segments; nothing is lost, also for who has them open."""
    for number in range(segment_cache.MANY):
        cache = SegmentCache(tmp_path, "v1")
        cache.put(f"key {number}", b"%d" % number)
        cache.flush()
    before = SegmentCache(tmp_path, "v1")
    filled(tmp_path, count=1)
    assert len([*(tmp_path / "v1").iterdir()]) == 1
    for cache in (before, SegmentCache(tmp_path, "v1")):
        assert [bytes(cache.get(f"key {number}") or b"") for number in range(1, segment_cache.MANY)] == [
            b"%d" % number for number in range(1, segment_cache.MANY)
        ]


def test_other_versions_and_the_oldest_go(tmp_path: Path) -> None:
    """Segments of other versions go, and beyond its size those that were written first."""
    filled(tmp_path, "v0")
    for _ in range(3):
        filled(tmp_path)
    segments = sorted((tmp_path / "v1").iterdir())
    tidy(tmp_path, "v1", most=2 * segments[0].stat().st_size)
    assert [*tmp_path.iterdir()] == [tmp_path / "v1"]
    assert sorted((tmp_path / "v1").iterdir()) == segments[1:]


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    """A directory that cannot be made keeps values for this process alone."""
    (tmp_path / "file").write_bytes(b"")
    assert bytes(filled(tmp_path / "file").get("key 0") or b"") == bytes(100)
