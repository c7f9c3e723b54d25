"""Repositories in every state git allows, and some it should not."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest

from store import git_process
from store.git_log import log_commits
from store.git_repository import (
    Repository,
    find_repository,
    head_state,
    list_files,
    list_untracked,
    lister,
    listing_inputs,
    operation_of,
    resolve,
)
from workbench.errors import GitError
from workbench.records.project import Skipped
from workbench.records.worktree import HeadState


def found(path: Path) -> Repository:
    repository = find_repository(path)
    assert repository is not None
    return repository


def test_no_repository(tmp_path: Path) -> None:
    """A plain directory has none, nor has one whose .git is an empty directory or nonsense."""
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_bytes(b"\xff\0")

    assert find_repository(tmp_path) is None
    assert find_repository(tmp_path / "empty") is None
    assert find_repository(tmp_path / "odd") is None


def test_unborn_then_committed_then_detached(work: Any) -> None:
    """Head and branch follow what is checked out, found from any directory below the root."""
    assert HeadState(None, "main") == head_state(found(work.root))
    work.write("deep/er/f")
    sha = work.commit()
    repository = found(work.root / "deep" / "er")

    assert (work.root, sha, "main") == (repository.root, repository.head, repository.branch)
    assert not repository.bare
    assert not repository.shallow
    work.git("checkout", "-q", "--detach")
    assert HeadState(sha, None) == head_state(repository)


def test_packed_references_and_slashed_branches(work: Any) -> None:
    """A branch in packed-refs is found, and a loose one wins over it."""
    work.write("f")
    first = work.commit()
    work.git("checkout", "-q", "-b", "feature/x+y")
    work.git("pack-refs", "--all")
    repository = found(work.root)
    assert HeadState(first, "feature/x+y") == head_state(repository)
    work.write("g")
    assert HeadState(work.commit(), "feature/x+y") == head_state(repository)


def test_what_git_is_in_the_middle_of(work: Any) -> None:
    """A cherry-pick and a rebase that stop on a conflict are in progress until they are given up."""
    work.write("f", "first\n")
    work.commit()
    work.git("checkout", "-q", "-b", "other")
    work.write("f", "other\n")
    other = work.commit()
    work.git("checkout", "-q", "main")
    work.write("f", "ours\n")
    work.commit()
    repository = found(work.root)
    assert operation_of(repository) == ""
    for name, what, arguments in (
        ("cherry-pick", "a cherry-pick", [other]),
        ("rebase", "a rebase", ["other"]),
    ):
        with pytest.raises(CalledProcessError):
            work.git(name, *arguments)
        assert operation_of(repository) == what
        work.git(name, "--abort")
        assert operation_of(repository) == ""


def test_other_kinds_of_reference_stores_are_left_to_git(work: Any) -> None:
    """Where references are no plain files, git itself is asked for the head."""
    work.write("f")
    sha = work.commit()
    (work.root / ".git" / "reftable").mkdir()
    repository = found(work.root)
    assert HeadState(sha, "main") == head_state(repository)
    work.git("checkout", "-q", "--detach")
    assert HeadState(sha, None) == head_state(repository)


def test_a_git_that_hangs_is_given_up(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that never answers is ended and named."""
    work.write("f")
    work.commit()
    os.mkfifo(work.root / ".gitignore.pipe")
    work.git("config", "core.excludesFile", os.fspath(work.root / ".gitignore.pipe"))
    monkeypatch.setattr(git_process, "_PATIENCE", 0.2)
    with pytest.raises(GitError, match="did not answer"):
        list_files(found(work.root))


def test_linked_work_tree(work: Any, tmp_path: Path) -> None:
    """A linked work tree has its own head and shares refs and objects."""
    work.write("f")
    sha = work.commit()
    work.git("worktree", "add", "-q", "-b", "other", os.fspath(tmp_path / "linked"))
    repository = found(tmp_path / "linked")

    assert (tmp_path / "linked", sha, "other") == (repository.root, repository.head, repository.branch)
    assert repository.git_dir != repository.common_dir == work.root / ".git"
    assert list_files(repository).paths == ("f",)


def test_bare_repository(work: Any, tmp_path: Path) -> None:
    """A bare repository has history and no files."""
    work.write("f")
    sha = work.commit()
    work.git("clone", "-q", "--bare", ".", os.fspath(tmp_path / "bare.git"))
    repository = found(tmp_path / "bare.git")

    assert repository.bare
    assert sha == repository.head
    assert len(list(log_commits(repository))) == 1
    with pytest.raises(GitError, match="bare"):
        list_files(repository)


def test_a_reference_cannot_leave_the_git_directory(work: Any, tmp_path: Path) -> None:
    """A HEAD that points outside is not read as a file."""
    (tmp_path / "secret").write_text("a" * 40)
    work.write("f")
    work.commit()
    (work.root / ".git" / "HEAD").write_text("ref: refs/../../../secret\n")
    with pytest.raises(GitError):
        found(work.root)


def test_listing_holds_tracked_and_untracked_but_not_ignored(work: Any) -> None:
    """Names of any bytes are listed; ignored, nested and submodule directories are not."""
    work.write(".gitignore", "*.log\n")
    work.write("a b\n\t\udcff.txt".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))
    work.write("gone")
    work.commit()
    work.write("? x")
    work.write("H 100644 abc 0\tx")
    work.write("new.log")
    work.write("dir/new")
    (work.root / "gone").unlink()
    work.git("init", "-q", "nested")
    repository = found(work.root)

    listing = list_files(repository)

    expected = [".gitignore", "? x", "H 100644 abc 0\tx", "a b\n\t\udcff.txt", "dir/new", "gone"]
    assert expected == list(listing.paths)
    assert (Skipped("nested", "nested repository"),) == listing.skipped
    assert list_untracked(repository) == ("? x", "H 100644 abc 0\tx", "dir/new")
    assert list_files(repository, under="dir").paths == ("new",)
    assert lister(repository)(["? x", "dir", "new.log", "*", "missing"]).paths == ("? x", "dir/new")


def test_submodules_are_skipped_with_a_reason(work: Any, make_work: Any) -> None:
    """A submodule is known by its path, and its files are not the project's."""
    library = make_work("library")
    library.write("lib.py")
    library.commit()
    work.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", os.fspath(library.root), "libs/one"
    )
    work.commit()
    repository = found(work.root)

    assert repository.submodules == ("libs/one",)
    assert (Skipped("libs/one", "submodule"),) == list_files(repository).skipped
    assert list_files(repository).paths == (".gitmodules",)
    inner = found(work.root / "libs" / "one")
    assert work.root / "libs" / "one" == inner.root
    assert inner.head is not None


def test_without_git_the_repository_is_known_but_cannot_be_asked(
    work: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the program, the head is still known and everything else says what is missing."""
    work.write("f")
    sha = work.commit()
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "nothing"))
    repository = found(work.root)

    assert sha == repository.head
    with pytest.raises(GitError, match="was not found") as caught:
        list_files(repository)
    assert "Install git" in caught.value.hint
    with pytest.raises(GitError):
        list(log_commits(repository))


def test_programs_named_by_the_repository_are_not_run(work: Any, tmp_path: Path) -> None:
    """Monitors, filters, diff drivers and text converters of a hostile configuration never start."""
    from store.git_diff import changes_since, diff_hunks

    proof = tmp_path / "ran"
    work.write("f.x", "1\n")
    work.write(".gitattributes", "*.x filter=evil diff=evil\n")
    sha = work.commit()
    command = f"touch '{proof}'; cat"
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process"):
        work.git("config", key, command)
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager", "pager.log"):
        work.git("config", key, command)
    for key in ("core.sshCommand", "core.editor", "core.askPass", "credential.helper", "gpg.program"):
        work.git("config", key, command)
    for key in ("alias.log", "alias.ls-files", "alias.rev-parse", "uploadpack.packObjectsHook"):
        work.git("config", key, f"!{command}")
    work.git("config", "filter.evil.required", "true")
    work.git("config", "log.showSignature", "true")
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        work.write(f".git/hooks/{name}", f"#!/bin/sh\n{command}\n")
        (work.root / ".git" / "hooks" / name).chmod(0o755)
    work.write(".git/included", f'[core]\n\tfsmonitor = "{command}"\n\thooksPath = .git/hooks\n')
    work.git("config", "include.path", "included")
    work.write("f.x", "2\n3\n")
    repository = found(work.root)

    changes = changes_since(repository, sha)
    assert [(one.path, one.added, one.removed) for one in changes.uncommitted] == [("f.x", 2, 1)]
    assert list(diff_hunks(repository, sha)) == ["f.x"]
    assert len(list(log_commits(repository))) == 1
    assert list(list_files(repository).paths) == [".gitattributes", "f.x"]
    assert not proof.exists()

    work.git("config", "filter.evil=x.clean", command)
    work.write(".gitattributes", "*.x filter=evil=x\n")
    with pytest.raises(GitError, match="odd name"):
        changes_since(repository, sha)
    assert not proof.exists()


def test_a_hostile_gitmodules_runs_and_fetches_nothing(work: Any, tmp_path: Path) -> None:
    """Paths that lead out or are options, commands as update and as transport: names, and nothing more."""
    from store.git_diff import changes_since

    proof = tmp_path / "ran"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    for number, path in enumerate(("../outside", ".git", "-u./run", "sub", "/etc")):
        module = f'[submodule "{number}"]\n\tpath = {path}\n\turl = ext::sh -c touch% {proof}\n'
        work.write(f"module{number}", f"{module}\tignore = none\n")
        work.git("config", f"submodule.{number}.update", f"!touch {proof}")
    parts = [(work.root / f"module{number}").read_text() for number in range(5)]
    work.write(".gitmodules", "".join(parts))
    sha = work.commit()
    work.git("update-index", "--add", "--cacheinfo", f"160000,{sha},sub")
    work.git("commit", "-q", "-m", "a link")
    (work.root / "sub").symlink_to(outside)
    repository = found(work.root)

    assert set(repository.submodules) == {"../outside", ".git", "-u./run", "sub", "etc"}
    listed = list_files(repository)
    assert Skipped("sub", "submodule") in listed.skipped
    assert not [path for path in listed.paths if "secret" in path]
    assert len(list(log_commits(repository))) == 2
    assert not changes_since(repository, sha).untracked
    with (work.root / ".gitmodules").open("a") as file:
        file.write(f"\tupdate = !touch {proof}\n")
    with pytest.raises(GitError, match="update"):  # git refuses such a repository by itself
        changes_since(repository, sha)
    assert not proof.exists()


def test_the_callers_variables_do_not_redirect_git(
    work: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a hook of another repository, git is asked about the one that was named."""
    work.write("mine")
    work.commit()
    other = make_work("other")
    monkeypatch.setenv("GIT_DIR", os.fspath(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", os.fspath(other.root / ".git" / "index"))
    monkeypatch.chdir(other.root)

    assert list_files(found(work.root)).paths == ("mine",)


def test_a_repository_of_someone_else_tells_how_to_trust_it() -> None:
    """The refusal of git to read another user's repository carries the command that allows it."""
    complaint = b"fatal: detected dubious ownership in repository at '/p'\nTo add an exception ...\n"
    error = git_process.failure(Path("/p"), complaint)

    assert "dubious ownership" in error.message
    assert "git config --global --add safe.directory /p" in error.hint


def test_resolving_names(work: Any) -> None:
    """A name resolves to a commit's full id or to None."""
    work.write("f")
    sha = work.commit()
    repository = found(work.root)

    assert sha == resolve(repository, "HEAD") == resolve(repository, sha[:8]) == resolve(repository, "main")
    assert [resolve(repository, text) for text in ("", "nope", "-x", "HEAD:f")] == [None] * 4


def test_inputs_of_a_listing_are_named(work: Any) -> None:
    """The index, the ignore files of repository and user, and those above a sub-project are inputs."""
    inputs = listing_inputs(found(work.root), "a/b")

    assert os.fspath(work.root / ".git" / "index") in inputs
    assert os.fspath(work.root / ".gitignore") in inputs
    assert os.fspath(work.root / "a" / ".gitignore") in inputs
    assert any(path.endswith("git/ignore") for path in inputs)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_someone_else_is_refused_by_git(work: Any) -> None:
    """Every question about a repository that git does not trust is answered with the way to trust it."""
    work.write("f")
    work.commit()
    repository = found(work.root)
    for path in (work.root, work.root / ".git"):
        os.chown(path, 12345, 12345)
    for ask in (lambda: list_files(repository), lambda: list(log_commits(repository))):
        with pytest.raises(GitError, match="dubious ownership") as caught:
            ask()
        assert "safe.directory" in caught.value.hint
