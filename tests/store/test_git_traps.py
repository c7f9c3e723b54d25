"""Files on which git would wait for ever: it is not called where there is one, and freed where it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from store import git_process
from store.git_diff import diff_files
from store.git_log import log_commits
from store.git_repository import Repository, find_repository, list_files, tracked_below
from workbench.errors import GitError

TOP = (
    *(".gitignore", ".gitattributes", ".gitmodules", ".git/info/exclude", ".git/info/attributes"),
    *(".git/info/grafts", ".git/info/sparse-checkout", ".git/config", ".git/index", ".git/packed-refs"),
    *(".git/shallow", ".git/refs/heads/other", ".git/objects/info/alternates"),
)


def found(root: Path) -> Repository:
    repository = find_repository(root)
    assert repository is not None
    return repository


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search the work tree as soon as git has not answered at once."""
    monkeypatch.setattr(git_process, "_SILENCE", 0.01)


def test_git_is_not_called_where_it_would_wait(work: Any) -> None:
    """A pipe, or a link to a device, where git reads text: every question is refused and names the file."""
    work.write("f")
    work.commit()
    for name in TOP:
        place = work.root / name
        before = place.read_bytes() if place.exists() else None
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        if name == ".git/info/attributes":
            place.symlink_to("/dev/zero")
        else:
            os.mkfifo(place)
        repository = found(work.root)
        for ask in (list_files, lambda one: diff_files(one, "HEAD"), lambda one: list(log_commits(one))):
            with pytest.raises(GitError) as refused:
                ask(repository)
            assert str(place) in refused.value.message, name
        assert tracked_below(repository, ".other") == ()
        place.unlink()
        if before is not None:
            place.write_bytes(before)
        assert list_files(repository).paths == ("f",), name


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("name", ["deep/.gitignore", "deep/nested/.git/HEAD"])
def test_a_git_that_waits_deep_in_the_tree_is_ended(work: Any, name: str) -> None:
    """Where the top shows nothing, git is asked, ended when it waits, and the file named."""
    work.write("deep/f")
    work.commit()
    place = work.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    for other in ("objects", "refs"):
        (place.parent / other).mkdir()
    os.mkfifo(place)
    with pytest.raises(GitError) as refused:
        list_files(found(work.root))
    assert str(place) in refused.value.message


@pytest.mark.usefixtures("silent")
def test_a_stream_of_git_that_waits_is_ended(work: Any) -> None:
    """Counting the lines of a commit reads the attributes of its directories."""
    work.write("deep/f", "text\n")
    work.commit()
    os.mkfifo(work.root / "deep" / ".gitattributes")
    with pytest.raises(GitError, match="named pipe"):
        list(log_commits(found(work.root)))


@pytest.mark.parametrize("is_split", [False, True])
def test_git_runs_for_tracked_names_only_where_its_index_is_split(
    work: Any, monkeypatch: pytest.MonkeyPatch, is_split: bool
) -> None:
    """A file whose name ends as the mark of a split index does costs no process of git."""
    work.write("src/unlink")
    work.write(".other/state" if is_split else "other")
    work.commit()
    if is_split:
        work.git("update-index", "--split-index")
    calls: list[list[str]] = []
    run = git_process.run

    def noting(root: Path, words: list[str]) -> bytes:
        calls.append(words)
        return run(root, words)

    monkeypatch.setattr(git_process, "run", noting)

    assert tracked_below(found(work.root), ".other") == ((".other/state",) if is_split else ())
    assert bool(calls) == is_split
