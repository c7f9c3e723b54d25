"""The sample project, indexed once for the tests that only look at it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from store import project_state
from workbench.config import Config
from workbench.entry.project import open_workspace


def one_name(patch: pytest.MonkeyPatch) -> None:
    """Give every project one name: ids of rules follow from it, and equal rules are ordered by id."""
    patch.setattr(project_state, "project_id", lambda root: "roastery-0")


@pytest.fixture(autouse=True)
def _one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the order of equal rules the same in every run."""
    one_name(monkeypatch)


@pytest.fixture(scope="session")
def shop(_built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an indexed copy of the sample project; a test that changes files takes `roastery`."""
    place = tmp_path_factory.mktemp("indexed") / "roastery"
    shutil.copytree(_built, place, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        one_name(patch)
        open_workspace(place, Config()).workspace.sync(settle=True)
    return place


@pytest.fixture
def app(shop: Path) -> WorkbenchApp:
    """Return an app on it that opens at the plan, keeps nothing and watches nothing."""
    return WorkbenchApp(shop, watch=False, section="plan")
