"""Isolation for every test: a home and configuration of its own, and git that reads no user settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("deep", parent=settings.get_profile("house"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a test from the user's files: HOME and WORKBENCH_HOME point to an empty directory."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("WORKBENCH_", "GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WORKBENCH_HOME", str(home / "workbench"))
    monkeypatch.setenv("WORKBENCH_CACHE", str(home / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")
    for name in ("NO_COLOR", "FORCE_COLOR", "SSH_CONNECTION", "SSH_TTY", "TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home() -> Path:
    """Return this test's WORKBENCH_HOME, which does not exist yet."""
    return Path(os.environ["WORKBENCH_HOME"])
