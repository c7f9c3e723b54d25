"""A project that cannot be written shows its state, takes additions elsewhere, and gets them back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import location
from store import location as places
from store.clock import SystemClock
from store.journal import FileJournal
from store.location import Location, locate
from store.runs import list_runs, put_run
from tests.deep import times
from workbench.errors import StoreError

Opened = Callable[[], Location]


class Project:
    """A project that can be made read-only: the store is told so where it asks."""

    def __init__(self, base: Path) -> None:
        """Make a project that can be written."""
        self.root = base / "project"
        self.root.mkdir()
        self.environment = {"WORKBENCH_HOME": str(base / "home")}
        self.read_only = False

    def access(self, path: object, mode: int) -> bool:
        """Answer as `os.access` does."""
        below = os.path.commonpath([str(path), str(self.root)]) == str(self.root)
        return not (self.read_only and below and mode & os.W_OK)

    def opened(self) -> Location:
        """Locate the state as every command does."""
        return locate(self.root, self.environment)

    def add(self, name: str, stream: str = "rules") -> None:
        journal = FileJournal(self.opened().root, SystemClock())
        journal.append(stream, "rule.put", [{"name": name}], by="cli")

    def names(self, stream: str = "rules") -> list[str]:
        """Return what is there, as a command would see it."""
        journal = FileJournal(self.opened().root, SystemClock())
        return [entry.body["name"] for _, entry in journal.read(stream)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setattr(os, "access", made.access)
    return made


def test_what_is_read_and_added_while_read_only_is_the_projects(project: Project) -> None:
    """The same entries before, meanwhile and afterwards, with a note each time it is not as usual."""
    project.add("one")
    project.add("past", "memory/auth")
    assert project.opened().notes == ()
    project.read_only = True
    assert project.names() == ["one"]
    assert project.names("memory/auth") == ["past"]
    project.add("two")
    assert project.names() == ["one", "two"]
    (note,) = project.opened().notes
    assert "is read-only" in note
    assert "brought back when it can be written" in note

    project.read_only = False
    assert not places.is_usual(project.root, project.environment)
    found = project.opened()
    assert found.root == project.root / ".workbench"
    assert found.notes == (f"1 entry added while {found.root} could not be written: brought back",)
    assert project.names() == ["one", "two"]
    assert project.opened().notes == ()


def test_a_project_that_never_could_be_written_gets_its_state_when_it_can(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any state of its own there is nothing to take over, and everything to bring back."""
    prepare = places._prepare

    def refuse(root: Path) -> None:
        if root.is_relative_to(project.root):
            raise StoreError("making it failed: Read-only file system")
        prepare(root)

    with monkeypatch.context() as patch:
        patch.setattr(places, "_prepare", refuse)
        project.add("one")
        assert not (project.root / ".workbench").exists()
    assert project.names() == ["one"]
    assert (project.root / ".workbench").is_dir()


def test_an_interruption_brings_nothing_twice(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that arrived before the sizes were noted are known by their ids."""
    project.add("one")
    project.read_only = True
    project.add("two")
    project.read_only = False

    def die(*_: object) -> None:
        raise StoreError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(location, "_write_sizes", die)
        with pytest.raises(StoreError):
            project.opened()
    assert project.names() == ["one", "two"]


def test_kept_replays_go_along(project: Project) -> None:
    """Runs of either side are on both, as old as they were."""
    run = put_run(project.opened().root, "a" * 16, b"run")
    project.read_only = True
    assert list_runs(project.opened().root)[0].written == run.written
    put_run(project.opened().root, "b" * 16, b"another")
    project.add("one")
    project.read_only = False
    assert [run.id for run in list_runs(project.opened().root)] == ["b" * 16, "a" * 16]


@settings(max_examples=times(4, 12))
@given(steps=st.lists(st.sampled_from(["add", "toggle", "elsewhere", "late"]), max_size=12))
def test_nothing_is_lost_or_doubled(steps: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever adds to which side, and whenever it changes: in the end the project has each entry once.

    `elsewhere` is another machine that writes to the project all the while, `late` a process that opened the
    overlay and writes to it after the project could be written again.
    """
    with pytest.MonkeyPatch.context() as patch:
        project = Project(tmp_path_factory.mktemp("steps"))
        patch.setattr(os, "access", project.access)
        project.add("first")
        behind = FileJournal(project.root / ".workbench", SystemClock())
        late: FileJournal | None = None
        added = ["first"]
        for number, step in enumerate(steps):
            name = f"{step}-{number}"
            if step == "toggle":
                project.read_only = not project.read_only
                if project.read_only:
                    late = FileJournal(project.opened().root, SystemClock())
                continue
            if step == "add":
                project.add(name)
            elif step == "elsewhere":
                behind.append("rules", "rule.put", [{"name": name}], by="cli")
            elif late is not None:
                late.append("rules", "rule.put", [{"name": name}], by="cli")
            else:
                continue
            added.append(name)
            if step != "late" or project.read_only:
                assert name in project.names()
        project.read_only = False
        assert sorted(project.names()) == sorted(added)
