"""The sample project, indexed once for the tests that only look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from tests.screens.conftest import FileTree


@pytest.fixture(scope="session")
def shop(_indexed: FileTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an indexed copy of the sample project; a test that changes files takes `roastery`."""
    return _indexed.write(tmp_path_factory.mktemp("shop") / "roastery")


@pytest.fixture
def app(shop: Path) -> WorkbenchApp:
    """Return an app on it that opens at the plan, keeps nothing and watches nothing."""
    return WorkbenchApp(shop, watch=False, section="plan")
