"""Facts are the same from the cache as from the file, and whatever is wrong with it costs time alone."""

from __future__ import annotations

from pathlib import Path

from workbench.project.extraction import extract_facts
from workbench.project.segment_cache import tidy
from workbench.replay.facts_cache import ENOUGH, SegmentedFacts

FACTS = [extract_facts(f"f{number}.py", f"def f{number}(): ...\n".encode()) for number in range(ENOUGH)]


def filled(directory: Path, version: str = "v1") -> SegmentedFacts:
    cache = SegmentedFacts(directory, version)
    for number, facts in enumerate(FACTS):
        cache.put(f"f{number}.py", f"sha{number}", facts)
    cache.flush()
    return cache


def test_facts_come_back_in_another_process(tmp_path: Path) -> None:
    """What was flushed is found by a cache that is opened later, equal to what was put."""
    filled(tmp_path)
    other = SegmentedFacts(tmp_path, "v1")
    assert [other.get(f"f{number}.py", f"sha{number}") for number in range(ENOUGH)] == FACTS
    assert other.get("f0.py", "sha1") is None


def test_other_versions_are_of_no_use(tmp_path: Path) -> None:
    """Facts of another version are not found, and go."""
    filled(tmp_path)
    assert SegmentedFacts(tmp_path, "v2").get("f0.py", "sha0") is None
    tidy(tmp_path, "v2")
    assert SegmentedFacts(tmp_path, "v1").get("f0.py", "sha0") is None


def test_damage_costs_time_alone(tmp_path: Path) -> None:
    """A segment cut short or empty is passed over; few facts are not worth a segment."""
    filled(tmp_path)
    (segment,) = (tmp_path / "v1").iterdir()
    segment.write_bytes(segment.read_bytes()[:20])
    (tmp_path / "v1" / "0-0.seg").write_bytes(b"")
    cache = SegmentedFacts(tmp_path, "v1")
    assert cache.get("f0.py", "sha0") is None
    cache.put("f0.py", "sha0", FACTS[0])
    cache.flush()
    assert len(list((tmp_path / "v1").iterdir())) == 2
    assert cache.get("f0.py", "sha0") == FACTS[0]


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """Where nothing can be written facts are still found in this process."""
    (tmp_path / "file").write_bytes(b"")
    cache = filled(tmp_path / "file")
    assert cache.get("f0.py", "sha0") == FACTS[0]
