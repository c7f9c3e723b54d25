"""The sample project for tests of screens, and how they are driven: by messages, never by waiting a while."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest
from textual.pilot import Pilot

from sample_data.build import build
from screens.app import WorkbenchApp
from store import project_state, table_attachment
from tests.screens.off_loop import doors_shut
from tests.screens.quiet import jobs_apart, waiting_for_the_loop
from workbench.config import Config
from workbench.entry.project import open_project

_ON_THE_LOOP: Final[list[str]] = []


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    """Let pilots wait for the event loop, not for the machine, and note who holds it up."""
    with waiting_for_the_loop(), doors_shut(_ON_THE_LOOP):
        yield


@pytest.fixture(autouse=True)
def _attached() -> Iterator[None]:
    """Let an app keep the file of its tables attached until somebody writes to it, on a busy machine, too."""
    with patch.object(table_attachment, "MOST_SECONDS", 3600.0):
        yield


@pytest.fixture(autouse=True)
def _off_the_loop() -> Iterator[None]:
    """Hold that no screen read, searched or started anything on the event loop."""
    _ON_THE_LOOP.clear()
    yield
    assert sorted(set(_ON_THE_LOOP)) == []


def one_project(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Give every project one name and one user: ids of rules and what is kept of them follow from both."""
    patch.setattr(project_state, "project_id", lambda root: "roastery-0")
    patch.setenv("HOME", str(home))


@pytest.fixture(scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all tests have their user's home, one after the other."""
    return tmp_path_factory.mktemp("user") / "home"


@pytest.fixture(autouse=True)
def _one_project(monkeypatch: pytest.MonkeyPatch, _home: Path) -> Iterator[None]:
    """Let a copied project be the one that it was copied from; equal rules are ordered by id, too."""
    one_project(monkeypatch, _home)
    _home.mkdir()
    yield
    shutil.rmtree(_home)


@pytest.fixture(autouse=True)
def _notes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let notes stay on the screen for as long as a test on a busy machine takes to read them."""
    monkeypatch.setattr(WorkbenchApp, "NOTIFICATION_TIMEOUT", 3600.0)


class FileTree:
    """The files of a directory, to be written elsewhere in a third of the time that copying them takes."""

    def __init__(self, root: Path) -> None:
        """Read them all."""
        found = sorted(root.rglob("*"))
        self._directories = [one.relative_to(root) for one in found if one.is_dir() and not one.is_symlink()]
        self._links = {one.relative_to(root): os.readlink(one) for one in found if one.is_symlink()}
        files = [one for one in found if one.is_file() and not one.is_symlink()]
        self._files = [(one.relative_to(root), one.read_bytes(), one.stat()) for one in files]

    def write(self, root: Path) -> Path:
        """Write them below a directory that does not exist yet; modes and times stay. Returns it."""
        root.mkdir()
        for name in self._directories:
            os.mkdir(root / name)
        for name, target in self._links.items():
            os.symlink(target, root / name)
        for name, data, status in self._files:
            descriptor = os.open(root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.write(descriptor, data)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            os.close(descriptor)
            os.utime(root / name, ns=(status.st_atime_ns, status.st_mtime_ns))
        return root


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sample project once for a worker."""
    return build(tmp_path_factory.mktemp("sample"))[0]


@pytest.fixture(scope="session")
def _untouched(_built: Path) -> FileTree:
    """The sample project's files."""
    return FileTree(_built)


@pytest.fixture(scope="session")
def _indexed(_untouched: FileTree, _home: Path, tmp_path_factory: pytest.TempPathFactory) -> FileTree:
    """The same with index, rulebook and tables."""
    root = _untouched.write(tmp_path_factory.mktemp("indexed") / "roastery")
    with pytest.MonkeyPatch.context() as patch:
        one_project(patch, _home)
        opened = open_project(root, Config())
        opened.workspace.sync(settle=True)
        opened.workspace.sync_rules()
        with opened.journal_tables() as tables:
            tables.catch_up()
        opened.close()
    return FileTree(root)


@pytest.fixture
def untouched(_untouched: FileTree, tmp_path: Path) -> Path:
    """Return a copy of the sample project that the test may change: history, rule files, no state yet."""
    return _untouched.write(tmp_path / "roastery")


@pytest.fixture
def roastery(_indexed: FileTree, tmp_path: Path) -> Path:
    """Return a copy of the sample project that the test may change, indexed, its rules and tables at hand."""
    return _indexed.write(tmp_path / "roastery")


async def settle(pilot: Pilot[Any], frame: bool = True) -> None:
    """Wait until no job runs, none is about to, every message they led to is handled, and all is drawn."""
    await _end_of_jobs(pilot)
    if frame:
        await pilot.pause()
        await _end_of_jobs(pilot)  # that drawing led to


async def _end_of_jobs(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    with jobs_apart():
        await pilot.pause()
        while app.jobs.busy:
            await app.jobs.idle()
            await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one by one, each when what the last one led to is over; draw what the last one led to."""
    for number, key in enumerate(keys, 1):
        with jobs_apart():
            await pilot.press(key)
        await settle(pilot, frame=number == len(keys))
