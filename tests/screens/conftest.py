"""The sample project for tests of screens, and how they are driven: by messages, never by waiting a while."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from textual.pilot import Pilot

from sample_data.build import build
from screens.app import WorkbenchApp
from tests.screens.off_loop import doors_shut
from tests.screens.quiet import jobs_apart, waiting_for_the_loop

_ON_THE_LOOP: Final[list[str]] = []


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    """Let pilots wait for the event loop, not for the machine, and note who holds it up."""
    with waiting_for_the_loop(), doors_shut(_ON_THE_LOOP):
        yield


@pytest.fixture(autouse=True)
def _off_the_loop() -> Iterator[None]:
    """Hold that no screen read, searched or started anything on the event loop."""
    _ON_THE_LOOP.clear()
    yield
    assert sorted(set(_ON_THE_LOOP)) == []


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
