"""Run files are written whole, listed newest first, and bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store import runs
from store.runs import list_runs, open_run, put_run
from workbench.errors import StoreError


def name(number: int) -> str:
    return f"{number:016x}"


def put(root: Path, number: int, data: bytes = b"x", **more: list[str]) -> None:
    """Keep a run that was written at the second `number`."""
    found = put_run(root, name(number), data, **more)
    os.utime(found.path, (number, number))


def test_a_run_comes_back(tmp_path: Path) -> None:
    """What was put is what is read, private to its owner, and listed."""
    put(tmp_path, 1, b"one")
    put(tmp_path, 2, b"two")
    assert [(name(2), 3), (name(1), 3)] == [(run.id, run.size) for run in list_runs(tmp_path)]
    with open_run(tmp_path, name(1)) as file:
        assert file.read() == b"one"
    assert list_runs(tmp_path)[0].path.stat().st_mode & 0o777 == 0o600


def test_the_oldest_are_dropped_beyond_the_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither more runs nor more bytes than the bounds stay; what is spared and what is new do."""
    monkeypatch.setattr(runs, "KEPT", 3)
    for number in range(1, 6):
        put(tmp_path, number)
    assert [run.id for run in list_runs(tmp_path)] == [name(5), name(4), name(3)]
    put(tmp_path, 6, spare=[name(3)])
    assert [run.id for run in list_runs(tmp_path)] == [name(6), name(5), name(4), name(3)]
    monkeypatch.setattr(runs, "MAX_RUNS_TOTAL", 10)
    put(tmp_path, 7, b"x" * 20)
    assert [run.id for run in list_runs(tmp_path)] == [name(7)]


def test_other_files_are_no_runs(tmp_path: Path) -> None:
    """Links, directories, leftovers and names that are no ids are not listed."""
    put(tmp_path, 1)
    runs = tmp_path / "runs"
    (runs / "note.txt").write_text("x")
    (runs / "zz.jsonl.gz").write_text("x")
    (runs / f"{name(2)}.jsonl.gz").mkdir()
    (runs / f"{name(3)}.jsonl.gz").symlink_to(runs / f"{name(1)}.jsonl.gz")
    assert [run.id for run in list_runs(tmp_path)] == [name(1)]
    with pytest.raises(StoreError):
        open_run(tmp_path, name(3))


def test_what_cannot_be_kept_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads elsewhere, a run that is too large, one that is not there."""
    with pytest.raises(StoreError, match="not the id"):
        put_run(tmp_path, "../x", b"")
    with pytest.raises(StoreError, match="not the id"):
        open_run(tmp_path, "../x")
    with pytest.raises(StoreError, match="No such file"):
        open_run(tmp_path, name(9))
    monkeypatch.setattr(runs, "MAX_RUN_SIZE", 3)
    with pytest.raises(StoreError, match="too large"):
        put_run(tmp_path, name(1), b"four")
    assert list_runs(tmp_path) == []
