"""Where the user's files are: as `platformdirs` says."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from workbench.places import platform_directory

HOME = "/home/me"


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": HOME},
        {"HOME": f"{HOME}/"},
        {"HOME": HOME, "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config", "XDG_CACHE_HOME": "/cache"},
        {"HOME": HOME, "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "~/cache"},
        {"HOME": "relative", "XDG_DATA_HOME": "/data"},
        {},
    ],
)
def test_directories_are_those_of_the_platform(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not imported on Linux would say the same, whatever is set."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    expected = {
        "data": platformdirs.user_data_dir("context-workbench", appauthor=False),
        "config": platformdirs.user_config_dir("context-workbench", appauthor=False),
        "cache": platformdirs.user_cache_dir("context-workbench", appauthor=False),
    }
    assert {kind: platform_directory(kind) for kind in expected} == {
        kind: Path(path) for kind, path in expected.items()
    }
