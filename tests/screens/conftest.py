"""The sample project for tests of screens, and how they are driven: by messages, never by waiting a while."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from textual.pilot import Pilot

from sample_data.build import build
from screens.app import WorkbenchApp
from tests.screens.probe import ATTEMPTS, TooLong
from tests.screens.quiet import jobs_apart, waiting_for_the_loop

_MISSED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Know the mark of tests that measure the loop."""
    config.addinivalue_line("markers", "probed: runs anew if a limit of tests/screens/probe.py was missed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note on the report that a limit was missed."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(TooLong):
        item.stash[_MISSED] = True
    return report


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that measures the loop anew, with new fixtures, if it missed a limit and nothing else."""
    if item.get_closest_marker("probed") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(ATTEMPTS)):
        item.stash[_MISSED] = False
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if not (left and item.stash[_MISSED]):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    """Let pilots wait for the event loop, not for the machine."""
    with waiting_for_the_loop():
        yield


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sample project once for a worker."""
    return build(tmp_path_factory.mktemp("sample"))[0]


@pytest.fixture
def roastery(_built: Path, tmp_path: Path) -> Path:
    """Return a copy of the sample project that the test may change: history, rule files, no state yet."""
    place = tmp_path / "roastery"
    shutil.copytree(_built, place, symlinks=True)
    return place


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until no job runs, none is about to, and every message they led to is handled."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    with jobs_apart():
        await pilot.pause()
        while app.jobs.busy:
            await app.jobs.idle()
            await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one by one, each when what the last one led to is over."""
    for key in keys:
        with jobs_apart():
            await pilot.press(key)
        await settle(pilot)
