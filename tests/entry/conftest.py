"""An indexed repository for what serves one."""

from __future__ import annotations

import pytest

import workbench
from tests.conftest import Work

TASK = "the token is not refreshed after a 401"


@pytest.fixture
def shop(work: Work) -> Work:
    """A repository with code and a rule, indexed."""
    work.write("AGENTS.md", "- Never push with force.\n")
    work.write("shop/auth.py", 'def refresh_token():\n    """Refresh the token after a 401."""\n')
    work.write("shop/store.py", "def read(key):\n    return key\n")
    work.commit("Refresh tokens")
    with workbench.open_project(work.root) as project:
        project.preview(TASK)
    return work
