"""Which files have uncommitted changes is kept while nothing moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import store.git_diff
from store.git_repository import Repository
from tests.conftest import Work
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.project import uncommitted
from workbench.project.directories import walk_lister
from workbench.project.scan import scan
from workbench.project.snapshot import Snapshot, take_snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("a = 1\n")
    (root / "b.py").write_text("b = 1\n")
    return take_snapshot(root, scan(root, walk_lister(root)), {"a.py": "1", "b.py": "2"}, head="c1")


def test_paths_are_those_of_the_same_state(tmp_path: Path, snapshot: Snapshot) -> None:
    """What was kept is read again while commit, files and git's index are the same."""
    state = uncommitted.state_of("c1", snapshot)
    uncommitted.write_paths(tmp_path, state, ["a.py", "odd\udcff"])

    assert uncommitted.read_paths(tmp_path, state) == ("a.py", "odd\udcff")
    others = [
        uncommitted.state_of("c2", snapshot),
        uncommitted.state_of("c1", replace(snapshot, hashes=("3", "2"))),
        uncommitted.state_of("c1", replace(snapshot, seen=snapshot.seen + 1)),
        uncommitted.state_of("c1", replace(snapshot, inputs=(("/index", 1, 2),))),
    ]
    assert [uncommitted.read_paths(tmp_path, other) for other in others] == [None] * 4


def test_nothing_and_damage_are_no_answer(tmp_path: Path) -> None:
    """Without a file, or with another one in its place, git is asked."""
    assert uncommitted.read_paths(None, "s") is None
    assert uncommitted.read_paths(tmp_path, "s") is None
    (tmp_path / "paths.msgpack").write_bytes(b"\xc1")
    assert uncommitted.read_paths(tmp_path, "s") is None


def test_git_is_asked_where_something_moved(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process knows what git would say, after an edit, a commit, a change of its index."""
    asked: list[tuple[str, ...]] = []
    ask = store.git_diff.touched_files

    def touched(repository: Repository) -> tuple[str, ...]:
        asked.append(ask(repository))
        return asked[-1]

    monkeypatch.setattr(store.git_diff, "touched_files", touched)

    def uncommitted_now() -> tuple[str, ...]:
        """Return what a process finds that nobody else helps."""
        project = open_project(work.root, Config())
        project.workspace.sync()
        return project.workspace.uncommitted

    work.write("a.py", "a = 1\n")
    work.write("b.py", "b = 1\n")
    work.commit()
    assert [uncommitted_now() for _ in range(4)] == [()] * 4
    assert len(asked) < 4
    work.write("a.py", "a = 2\n")
    assert [uncommitted_now() for _ in range(3)] == [("a.py",)] * 3
    work.git("add", "a.py")
    work.write("a.py", "a = 1\n")  # staged, and then written as it was
    assert [uncommitted_now() for _ in range(3)] == [("a.py",)] * 3
    work.git("reset", "-q")
    assert [uncommitted_now() for _ in range(3)] == [()] * 3
    work.write("b.py", "b = 3\n")
    work.commit()
    assert [uncommitted_now() for _ in range(3)] == [()] * 3
