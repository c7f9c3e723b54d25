"""Trees, blobs and differences of real repositories."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.git_diff import changes_since, diff_files, diff_hunks, parse_hunks, recent_bases, touched_files
from store.git_objects import BlobReader, read_tree
from store.git_repository import Repository, find_repository
from workbench.errors import GitError
from workbench.records.episodes import ChangeKind, FileChange
from workbench.records.worktree import Hunk


def found(work: Any) -> Repository:
    repository = find_repository(work.root)
    assert repository is not None
    return repository


def test_a_tree_holds_regular_files_with_sizes(work: Any) -> None:
    """Paths, ids and sizes come sorted; links are left out; contents come back byte for byte."""
    work.write("b/\udce9.txt", b"\xe9\0\n")
    work.write("a", "")
    (work.root / "link").symlink_to("a")
    work.commit()
    repository = found(work)

    tree = read_tree(repository, "HEAD")

    assert [(path, size) for path, _, size in tree] == [("a", 0), ("b/\udce9.txt", 3)]
    with BlobReader(repository) as blobs:
        assert [data for _, data in blobs.read_many(sha for _, sha, _ in tree)] == [b"", b"\xe9\0\n"]


def test_a_tree_with_a_missing_blob_is_read_all_the_same(work: Any) -> None:
    """A blob that is gone has no size and no content; everything else is there."""
    work.write("gone", "gone\n")
    work.write("here", "here\n")
    work.commit()
    repository = found(work)
    (_, gone, _), (_, here, _) = read_tree(repository, "HEAD")
    (work.root / ".git" / "objects" / gone[:2] / gone[2:]).unlink()

    assert read_tree(repository, "HEAD") == [("gone", gone, -1), ("here", here, 5)]
    with BlobReader(repository) as blobs:
        assert list(blobs.read_many([gone, here])) == [(gone, None), (here, b"here\n")]


def test_blobs_over_the_cap_and_missing_ones_are_none(work: Any) -> None:
    """A blob over the cap is drained, a missing one skipped, and the next one still comes out right."""
    work.write("big", b"x" * 400_000)
    work.write("small", b"small\n")
    work.commit()
    repository = found(work)
    (_, big, _), (_, small, _) = read_tree(repository, "HEAD")

    with BlobReader(repository, cap=1000) as blobs:
        asked = [big, "f" * 40, small, big, small]
        assert [data for _, data in blobs.read_many(asked)] == [None, None, b"small\n", None, b"small\n"]
        assert blobs.read(small) == b"small\n"
        with pytest.raises(GitError, match="not an object id"):
            blobs.read("HEAD:small\nHEAD:big")
    with pytest.raises(GitError, match="not open"):
        blobs.read(small)


def test_many_blobs_do_not_fill_the_pipes(work: Any) -> None:
    """More requests than a pipe holds are answered in order."""
    for number in range(20):
        work.write(f"f{number:02}", f"{number}\n" * 5000)
    work.commit()
    repository = found(work)
    shas = [sha for _, sha, _ in read_tree(repository, "HEAD")] * 50

    with BlobReader(repository) as blobs:
        heads = [data[:2] for _, data in blobs.read_many(shas) if data is not None]

    assert len(heads) == 1000
    assert heads[:20] == heads[-20:]


def test_hunks_by_path(work: Any) -> None:
    """Changed ranges come per path, also for odd names, renames, removals and files on disk."""
    work.write("sp ace\t\n\"'ü.txt", "1\n2\n3\n")
    work.write("gone", "1\n")
    work.write("old", "".join(f"{number}\n" for number in range(20)))
    base = work.commit()
    work.write("sp ace\t\n\"'ü.txt", "0\n1\n2\n")
    (work.root / "gone").unlink()
    work.git("mv", "old", "new")
    work.write("new", "".join(f"{number}\n" for number in range(19)))
    work.write("bin", b"\0")
    head = work.commit()
    repository = found(work)

    expected = {
        "gone": (Hunk(1, 1, 0, 0),),
        "new": (Hunk(20, 1, 19, 0),),
        "sp ace\t\n\"'ü.txt": (Hunk(0, 0, 1, 1), Hunk(3, 1, 3, 0)),
    }
    assert expected == diff_hunks(repository, base, head)
    assert expected == diff_hunks(repository, base)
    assert diff_hunks(repository, head) == {}
    assert [change.path for change in diff_files(repository, base, head)] == [
        "bin",
        "gone",
        "new",
        "sp ace\t\n\"'ü.txt",
    ]


LINES = st.lists(
    st.sampled_from(
        [b"x", b"-- a/evil", b"++ b/evil", b"@@ -1 +1 @@", b"diff --git a/x b/x", b"\r", b"\\ No"]
    ),
    max_size=6,
)


@given(LINES, LINES)
def test_content_that_looks_like_a_header_is_content(old: list[bytes], new: list[bytes]) -> None:
    """Removed and added lines are counted off, whatever they say."""
    patch = [b"diff --git a/f b/f\n", b"index 1..2 100644\n", b"--- a/f\n", b"+++ b/f\n"]
    patch.append(b"@@ -3,%d +3,%d @@ def f\n" % (len(old), len(new)))
    patch += [b"-" + line + b"\n" for line in old] + [b"+" + line + b"\n" for line in new]
    patch += [b"diff --git a/g b/g\n", b"--- /dev/null\n", b"+++ b/g\n", b"@@ -0,0 +1 @@\n", b"+x\n"]

    expected = {"f": (Hunk(3, len(old), 3, len(new)),), "g": (Hunk(0, 0, 1, 1),)}
    assert expected == parse_hunks(iter(patch))


def test_changes_since_a_revision(work: Any) -> None:
    """Committed, uncommitted and untracked work are told apart."""
    work.write("a", "1\n")
    work.write(".gitignore", "*.log\n")
    base = work.commit("base")
    work.write("b", "1\n2\n")
    head = work.commit("add b")
    work.write("a", "1\n2\n")
    work.write("staged", "1\n")
    work.git("add", "staged")
    work.write("c", "x")
    work.write("c.log", "x")
    changes = changes_since(found(work), base)

    assert (base, head) == (changes.base, changes.head)
    assert [commit.subject for commit in changes.commits] == ["add b"]
    assert (FileChange("b", ChangeKind.ADDED, 2, 0),) == changes.committed
    added = FileChange("staged", ChangeKind.ADDED, 1, 0)
    assert (FileChange("a", ChangeKind.MODIFIED, 1, 0), added) == changes.uncommitted
    assert [one.path for one in changes.untracked] == ["c"]
    with pytest.raises(GitError, match="no commit is named 'v9'"):
        changes_since(found(work), "v9")


def test_recent_bases(work: Any) -> None:
    """The first lies that many commits back, or is the first commit; without commits there is none."""
    assert recent_bases(found(work), 3) == []
    shas = [work.commit(f"c{number}") for number in range(4)]

    assert shas[1:] == recent_bases(found(work), 2)
    assert shas == recent_bases(found(work), 100)


def test_asking_git_leaves_its_index_alone(work: Any) -> None:
    """Files whose time changed and not their content make `git diff` want to write; it may not."""
    for number in range(3):
        work.write(f"{number}.py", "same\n")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None
    before = (work.root / ".git/index").stat()
    for number in range(3):
        os.utime(work.root / f"{number}.py", (1, 1))
    assert touched_files(repository) == ()
    assert diff_files(repository, "HEAD") == ()
    assert diff_hunks(repository, "HEAD") == {}
    after = (work.root / ".git/index").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_touched_files_are_those_that_differ_from_head(work: Any) -> None:
    """Edited, staged, removed and renamed tracked files are touched; untracked and untouched ones are not."""
    for path in ("same.py", "edited.py", "staged.py", "removed.py", "old\udcff.py"):
        work.write(path, f"{path!a}\n")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None
    assert touched_files(repository) == ()
    work.write("edited.py", "edited\n")
    work.write("staged.py", "staged\n")
    work.git("add", "staged.py")
    work.git("rm", "-q", "removed.py")
    work.git("mv", b"old\xff.py", "new.py")
    work.write("untracked.py")
    assert touched_files(repository) == ("edited.py", "new.py", "old\udcff.py", "removed.py", "staged.py")
