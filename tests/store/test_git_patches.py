"""The lines commits changed, read from real repositories and made-up streams."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from store.git_patches import log_patches, parse_patches
from store.git_repository import find_repository
from workbench.errors import GitError
from workbench.records.worktree import CommitPatch, FilePatch, Hunk


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with an edit, a rename with an edit, and a removal."""
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    commit(tmp_path, "one")
    (tmp_path / "a.txt").write_text(
        "".join(f"line {number}\n" for number in range(20) if number != 4) + "@@ -1 +1 @@\n"
    )
    commit(tmp_path, "two")
    git(tmp_path, "mv", "a.txt", "b ü.txt")
    commit(tmp_path, "three")
    (tmp_path / "b ü.txt").unlink()
    (tmp_path / "c.txt").write_text("new\n")
    commit(tmp_path, "four")
    return tmp_path


def test_hunks_of_every_commit_newest_first(root: Path) -> None:
    """Each commit comes with the ranges it changed; content that looks like a hunk is ignored."""
    repository = find_repository(root)
    assert repository is not None
    four, three, two, one = log_patches(repository)
    assert four.files == (
        FilePatch("b ü.txt", (Hunk(1, 20, 0, 0),), whole=True),
        FilePatch("c.txt", (Hunk(0, 0, 1, 1),), whole=True),
    )
    assert three.files == ()
    assert two.files == (FilePatch("a.txt", (Hunk(5, 1, 4, 0), Hunk(20, 0, 20, 1))),)
    assert one.files == (FilePatch("a.txt", (Hunk(0, 0, 1, 20),), whole=True),)


def test_since_and_limit_bound_the_log(root: Path) -> None:
    """Later runs read only what is new."""
    repository = find_repository(root)
    assert repository is not None
    everything = list(log_patches(repository))
    assert list(log_patches(repository, since_sha=everything[2].sha)) == everything[:2]
    assert list(log_patches(repository, limit=1)) == everything[:1]


def test_a_repository_without_commits_has_none(tmp_path: Path) -> None:
    """Before the first commit there is nothing to read."""
    git(tmp_path, "init", "-q")
    repository = find_repository(tmp_path)
    assert repository is not None
    assert list(log_patches(repository)) == []


def test_renames_carry_both_names() -> None:
    """A rename with changed lines names the file before and after."""
    stream = [
        b"\0commit abc 12\n",
        b"\n",
        b"diff --git a/x b/y\n",
        b"similarity index 90%\n",
        b"--- a/x\n",
        b"+++ b/y\n",
        b"@@ -3,2 +3 @@ def f\n",
        b"-a\n",
        b"-+++ b/z\n",
        b"+c\n",
        b"\\ No newline at end of file\n",
    ]
    patched = FilePatch("y", (Hunk(3, 2, 3, 1),), "x")
    assert list(parse_patches(stream)) == [CommitPatch("abc", 12, (patched,))]


def test_a_patch_that_is_none_is_an_error() -> None:
    """A range that cannot be read says where to look."""
    with pytest.raises(GitError, match="cannot be read"):
        list(parse_patches([b"\0commit abc 12\n", b"@@ nonsense @@\n"]))


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        (b"", 0),
        (b" ", 0),
        (b"tomorrow", 0),
        (b"-5000000000", -5_000_000_000),
        (b"9" * 20, 253_402_300_799),
        (b"-" + b"9" * 5000, 0),
    ],
)
def test_a_commit_of_any_date_has_one_of_the_calendar(written: bytes, taken: int) -> None:
    """Whoever makes a commit may leave its date out or write what is none: its lines count all the same."""
    patch = [b"\0commit %s %s\n" % (b"a" * 40, written), b"\n", b"diff --git a/a b/a\n", b"--- a/a\n"]

    (commit,) = parse_patches([*patch, b"+++ b/a\n", b"@@ -1 +1 @@\n", b"-x\n", b"+y\n"])

    assert commit == CommitPatch("a" * 40, taken, (FilePatch("a", (Hunk(1, 1, 1, 1),)),))
