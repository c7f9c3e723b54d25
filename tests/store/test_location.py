"""Where a project's state goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.location import Location, locate
from workbench.errors import StoreError
from workbench.places import fallback_root, user_home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose user home is under `tmp_path`."""
    return {"WORKBENCH_HOME": str(tmp_path / "home")}


def test_state_lives_in_the_project(project: Path, environment: dict[str, str]) -> None:
    """The state directory is private and git ignores all of it."""
    found = locate(project, environment)

    assert Location(project / ".workbench", project, Path(environment["WORKBENCH_HOME"])) == found
    assert found.root.stat().st_mode & 0o777 == 0o700
    assert "*" in (found.root / ".gitignore").read_text().splitlines()
    assert found == locate(project, environment)


def test_an_open_state_directory_is_closed(project: Path, environment: dict[str, str]) -> None:
    """A state directory others can read is made private."""
    (project / ".workbench").mkdir(mode=0o755)

    assert locate(project, environment).root.stat().st_mode & 0o777 == 0o700


def test_a_read_only_project_falls_back(
    project: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the project cannot be written, state goes to the user's home, and the reason is told."""
    mkdir = Path.mkdir

    def refuse(path: Path, *arguments: object, **named: object) -> None:
        if path.name == ".workbench":
            raise PermissionError(13, "Permission denied")
        mkdir(path, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", refuse)
    found = locate(project, environment)

    assert fallback_root(project, found.home) == found.root
    assert "Permission denied" in found.fallback_reason
    assert found.root.is_dir()


def test_a_link_is_not_trusted(project: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """A state directory that is a link out of the project is not used."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".workbench").symlink_to(outside)

    found = locate(project, environment)

    assert "symbolic link" in found.fallback_reason
    assert os.listdir(outside) == []


def test_what_belongs_to_another_user_is_not_used(
    project: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was there first decides nothing about what is kept."""
    (project / ".workbench").mkdir()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    found = locate(project, environment)

    assert "belongs to another user" in found.fallback_reason
    assert os.listdir(project / ".workbench") == []


def test_a_file_in_the_way_falls_back(project: Path, environment: dict[str, str]) -> None:
    """A file with the directory's name is left alone."""
    (project / ".workbench").write_text("mine")

    found = locate(project, environment)

    assert "not a directory" in found.fallback_reason
    assert (project / ".workbench").read_text() == "mine"


def test_no_place_at_all_is_an_error(project: Path, tmp_path: Path) -> None:
    """When neither place can be made the error says what to try."""
    (project / ".workbench").write_text("")
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError):
        locate(project, {"WORKBENCH_HOME": str(tmp_path / "file")})


def test_projects_have_homes_of_their_own(tmp_path: Path) -> None:
    """Two projects never share a fallback directory; one keeps its own."""
    a, b = fallback_root(tmp_path / "a", tmp_path), fallback_root(tmp_path / "b", tmp_path)

    assert a != b
    assert a == fallback_root(tmp_path / "x" / ".." / "a", tmp_path)


def test_the_home_has_a_default() -> None:
    """Without a setting the platform's own place is used."""
    assert "context-workbench" in str(user_home({}))
