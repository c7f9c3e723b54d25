"""Answers of models in files: found again, bounded, and never a reason to fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.answer_cache import MAX_BYTES, AnswerCache


def test_an_answer_is_found_by_any_process(tmp_path: Path) -> None:
    """It is in a private file, replaced by a later one and forgotten on demand."""
    cache = AnswerCache(tmp_path / "answers")
    assert cache.get("a1") is None
    cache.put("a1", {"value": "é"})
    cache.put("a1", {"value": "ö"})
    assert AnswerCache(tmp_path / "answers").get("a1") == {"value": "ö"}
    assert (tmp_path / "answers" / "a1.json").stat().st_mode & 0o077 == 0
    cache.clear()
    assert cache.get("a1") is None
    assert cache.fault == ""


def test_those_written_first_go(tmp_path: Path) -> None:
    """No more than so many are kept; files of others stay."""
    cache = AnswerCache(tmp_path, most=2)
    (tmp_path / "note.txt").write_text("mine")
    for number in range(4):
        cache.put(f"k{number}", {})
        os.utime(tmp_path / f"k{number}.json", ns=(number, number))
    assert [cache.get(f"k{number}") for number in range(4)] == [None, None, {}, {}]
    assert (tmp_path / "note.txt").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 200_000, b" " * MAX_BYTES + b"{}"])
def test_what_is_damaged_is_a_miss(tmp_path: Path, content: bytes) -> None:
    """Broken, of another shape, endless, too large."""
    (tmp_path / "k.json").write_bytes(content)
    assert AnswerCache(tmp_path).get("k") is None


def test_no_link_is_followed_in_a_project(tmp_path: Path) -> None:
    """A directory of a repository that leads elsewhere is neither read, written nor emptied."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "k.json").write_text("{}")
    (tmp_path / ".workbench").mkdir()
    (tmp_path / ".workbench" / "answers").symlink_to(outside)
    cache = AnswerCache(tmp_path / ".workbench" / "answers")
    assert cache.get("k") is None
    cache.put("k2", {})
    assert cache.fault
    cache.clear()
    assert [file.name for file in outside.iterdir()] == ["k.json"]
