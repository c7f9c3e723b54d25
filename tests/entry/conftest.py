"""An indexed repository for what serves one."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.conftest import Work, make_repository

TASK = "the token is not refreshed after a 401"


@pytest.fixture(scope="session")
def _indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Make a repository with code and a rule, and its index."""
    work = make_repository(tmp_path_factory.mktemp("shop") / "work")
    work.write("AGENTS.md", "- Never push with force.\n")
    work.write("shop/auth.py", 'def refresh_token():\n    """Refresh the token after a 401."""\n')
    work.write("shop/store.py", "def read(key):\n    return key\n")
    work.commit("Refresh tokens")
    with workbench.open_project(work.root) as project:
        project.preview(TASK)
    return work


@pytest.fixture
def shop(_indexed_shop: Work, tmp_path: Path) -> Work:
    """A copy of that repository."""
    return _indexed_shop.copy(tmp_path / "work")
