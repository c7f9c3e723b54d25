"""The change digest: what happened since a revision."""

from __future__ import annotations

from typing import Any

from store.git_diff import changes_since, diff_hunks
from store.git_repository import find_repository
from workbench.project.delta import digest
from workbench.records.answers.project import DeltaFile
from workbench.records.episodes import ChangeKind, Commit, FileChange
from workbench.records.worktree import Hunk, WorkChanges

ADDED, MODIFIED, REMOVED = ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.REMOVED


def commit(number: int, *files: FileChange) -> Commit:
    """Make a commit whose id and time follow from a number."""
    return Commit(f"{number:040x}", (), number, f"commit {number}", "", files)


def changes(
    commits: tuple[Commit, ...] = (),
    committed: tuple[FileChange, ...] = (),
    uncommitted: tuple[FileChange, ...] = (),
    untracked: tuple[str, ...] = (),
) -> WorkChanges:
    new = tuple(FileChange(path, ADDED) for path in untracked)
    return WorkChanges("b" * 40, "h" * 40, commits, committed, uncommitted, new)


def test_uncommitted_work_comes_first_then_the_latest_commits() -> None:
    """Files are ordered by how recently they were worked on, ties by name."""
    both = (FileChange("a", MODIFIED), FileChange("b", MODIFIED))
    delta = digest(
        changes(
            (commit(1, *both), commit(2, FileChange("c", MODIFIED))),
            (*both, FileChange("c", MODIFIED)),
            (FileChange("b", MODIFIED),),
            ("new",),
        )
    )

    assert [file.path for file in delta.files] == ["b", "new", "c", "a"]
    assert [file.uncommitted for file in delta.files] == [True, True, False, False]
    assert [one.subject for one in delta.commits] == ["commit 2", "commit 1"]
    assert [one.files for one in delta.commits] == [1, 2]


def test_lines_add_up_and_limits_do_not_change_totals() -> None:
    """Totals count everything, the lists are cut."""
    delta = digest(
        changes(
            (commit(1, FileChange("a", MODIFIED)), commit(2, FileChange("z", ADDED))),
            (FileChange("a", MODIFIED, 3, 1), FileChange("z", ADDED, 5, 0)),
            (FileChange("a", MODIFIED, 2, 2),),
        ),
        {"a": (Hunk(1, 1, 1, 2),)},
        max_files=1,
        max_commits=1,
    )

    assert delta.files == (DeltaFile("a", MODIFIED, 5, 3, "", 1, 1, True, (Hunk(1, 1, 1, 2),)),)
    assert (delta.total_files, delta.total_commits) == (2, 2)
    assert (delta.total_added, delta.total_removed) == (10, 3)
    assert len(delta.commits) == 1


def test_a_renamed_file_keeps_its_commits() -> None:
    """Commits under old names count for the new name, through several renames."""
    delta = digest(
        changes(
            (
                commit(1, FileChange("a", MODIFIED)),
                commit(2, FileChange("b", MODIFIED, old_path="a")),
                commit(3, FileChange("b", MODIFIED)),
            ),
            (FileChange("b", MODIFIED, old_path="a"),),
            (FileChange("c", MODIFIED, old_path="b"),),
        )
    )

    assert delta.files == (DeltaFile("c", MODIFIED, 0, 0, "a", 3, 3, True),)


def test_added_and_removed_again_is_nothing() -> None:
    """A file that exists neither at the revision nor on disk does not differ."""
    appeared = (FileChange("a", ADDED, 1, 0),)
    assert digest(changes((commit(1, *appeared),), appeared, (FileChange("a", REMOVED, 0, 1),))).files == ()


def test_removed_and_written_again_is_modified() -> None:
    """A file that was deleted in a commit and is there again was modified."""
    gone = (FileChange("a", REMOVED, 0, 1),)
    (file,) = digest(changes((commit(1, *gone),), gone, (), ("a",))).files
    assert (file.kind, file.uncommitted) == (MODIFIED, True)


def test_the_digest_of_a_repository(work: Any) -> None:
    """From a real repository: commits, counts, hunks in lines of the revision and of the disk."""
    work.write("a.py", "1\n2\n3\n")
    base = work.commit("base")
    work.write("a.py", "1\n2\n3\n4\n")
    work.commit("more")
    work.write("a.py", "0\n1\n2\n3\n4\n")
    work.write("b.py", "x\ny")
    work.write("c.bin", "\0\n\n")
    repository = find_repository(work.root)
    assert repository is not None

    delta = digest(changes_since(repository, base), diff_hunks(repository, base))

    first, second, third = delta.files
    assert (first.path, first.added, first.commits) == ("a.py", 2, 1)
    assert first.hunks == (Hunk(0, 0, 1, 1), Hunk(3, 0, 5, 1))
    assert (second.path, second.kind, second.commits, second.added) == ("b.py", ADDED, 0, 2)
    assert (third.path, third.added) == ("c.bin", 0)
    assert delta.since == base
