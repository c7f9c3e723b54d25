"""Watching a real directory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from store.git_repository import find_repository, lister
from workbench.errors import ProjectError
from workbench.project.delta import ChangeBatch, watch_project


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    """An event that ends a watch, in any case before the test run would hang."""
    event = threading.Event()
    guard = threading.Timer(60, event.set)
    guard.start()
    yield event
    guard.cancel()


def test_a_batch_holds_the_project_files_that_changed(work: Any, stop: threading.Event) -> None:
    """Ignored files, `.git` and `.workbench` never appear; a removed file does."""
    work.write(".gitignore", "*.log\n")
    work.write("gone.py")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None

    def change() -> None:
        for path in ("x.log", ".workbench/journal", ".git/stray", "node_modules/x.js", "src/new.py"):
            work.write(path, "new\n")
        (work.root / "gone.py").unlink()

    seen: set[str] = set()
    batches = watch_project(work.root, lister(repository), stop=stop, debounce_ms=50, watching=change)
    for batch in batches:
        seen.update(batch.paths)
        assert not batch.head_moved
        if {"src/new.py", "gone.py"} <= seen:
            stop.set()

    assert seen == {"src/new.py", "gone.py"}


def test_a_commit_is_noticed(work: Any, stop: threading.Event) -> None:
    """A moved HEAD makes a batch even when no file changed."""
    work.write("a")
    work.commit()
    batches = watch_project(work.root, stop=stop, debounce_ms=50, watching=lambda: work.commit("empty"))

    assert next(batches) == ChangeBatch((), True)
    batches.close()  # type: ignore[attr-defined]


def test_a_stopped_watch_ends(tmp_path: Path, stop: threading.Event) -> None:
    """An event that is set ends the iteration without a batch."""
    assert list(watch_project(tmp_path, stop=stop, watching=stop.set)) == []


def test_ctrl_c_ends_a_watch_quietly(
    tmp_path: Path, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt while waiting ends the iteration without a traceback."""

    def interrupt(*_: Any, **__: Any) -> Iterator[set[Any]]:
        yield set()
        raise KeyboardInterrupt

    monkeypatch.setattr("watchfiles.watch", interrupt)
    assert list(watch_project(tmp_path, stop=stop)) == []


def _limit_reached() -> Iterator[set[Any]]:
    raise OSError("OS file watch limit reached.")


def test_a_system_that_cannot_watch_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many watches is told, with the setting that allows more."""

    def refuse(*_: Any, **__: Any) -> Iterator[set[Any]]:
        yield from _limit_reached()

    monkeypatch.setattr("watchfiles.watch", refuse)
    with pytest.raises(ProjectError, match="cannot be watched") as caught:
        list(watch_project(tmp_path))
    assert "max_user_watches" in caught.value.hint
