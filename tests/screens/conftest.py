"""The sample project for tests of screens, and how they are driven: by messages, never by waiting a while."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from sample_data.build import build
from screens.app import WorkbenchApp


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
    await pilot.pause()
    while app.jobs.busy:
        await app.jobs.idle()
        await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one by one, each when what the last one led to is over."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
