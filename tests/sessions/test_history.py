"""The arrays of the history say what the list of past tasks says, and renames are followed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.episodes import ChangeKind, FileChange, Outcome
from workbench.sessions.history import (
    MAX_FILES_PER_TASK,
    History,
    PastTask,
    build_history,
    empty_history,
    load_history,
    path_numbers,
    save_history,
)

PATHS = ("a.py", "b.py", "c.py", "d\udcff.py")
CHANGES = st.builds(
    FileChange,
    path=st.sampled_from(PATHS),
    kind=st.just(ChangeKind.MODIFIED),
    added=st.integers(0, 9),
    removed=st.integers(0, 9),
)
TASKS = st.lists(
    st.builds(
        PastTask,
        at=st.integers(0, 10**9),
        terms=st.dictionaries(st.sampled_from(["token", "fix", "é"]), st.integers(1, 3), max_size=3),
        changes=st.lists(CHANGES, max_size=4, unique_by=lambda change: change.path).map(tuple),
        issue_refs=st.lists(st.sampled_from(["#1", "#2", "AB-3"]), max_size=2, unique=True).map(tuple),
        fix=st.booleans(),
        verdict=st.none() | st.sampled_from(Outcome),
    ),
    max_size=6,
)


def change(path: str, old: str = "", lines: int = 1) -> FileChange:
    """Build a change; with an old path it is a rename."""
    return FileChange(path, ChangeKind.MODIFIED, lines, 0, old)


def task(*changes: FileChange, at: int = 0) -> PastTask:
    return PastTask(at, {}, changes)


def pairs(history: History) -> list[tuple[int, str]]:
    """Return (task, path) pairs in order."""
    files = [history.paths[number] for number in history.files.tolist()]
    return list(zip(history.tasks.tolist(), files, strict=True))


@given(TASKS)
def test_the_arrays_say_what_the_tasks_say(tasks: list[PastTask]) -> None:
    """Times, sizes, fixes, words, issues and edits are those of the list, in its order."""
    history = build_history(tasks)
    assert history.times.tolist() == [each.at for each in tasks]
    assert history.sizes.tolist() == [len(each.changes) for each in tasks]
    assert history.fixes.tolist() == [each.fix for each in tasks]
    assert pairs(history) == [(n, c.path) for n, each in enumerate(tasks) for c in each.changes]
    assert history.edits.tolist() == [c.added + c.removed for each in tasks for c in each.changes]
    for word in ("token", "fix", "é"):
        docs, counts = history.messages.posting(word)
        found = dict(zip(docs.tolist(), counts.tolist(), strict=True))
        assert found == {n: each.terms[word] for n, each in enumerate(tasks) if word in each.terms}
    for reference in ("#1", "#2", "AB-3"):
        expected = tuple(n for n, each in enumerate(tasks) if reference in each.issue_refs)
        assert history.issues.get(reference, ()) == expected


@given(TASKS)
def test_a_saved_history_opens_equal(tmp_path_factory: pytest.TempPathFactory, tasks: list[PastTask]) -> None:
    """What is written is what is opened."""
    directory = tmp_path_factory.mktemp("history")
    history = build_history(tasks)
    save_history(history, directory)
    opened = load_history(directory)
    assert (opened.paths, opened.issues) == (history.paths, history.issues)
    for name in ("times", "sizes", "fixes", "tasks", "files", "edits", "trust"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(history, name))
    assert opened.messages == history.messages


def test_a_renamed_file_keeps_its_past() -> None:
    """What was learned under two older names counts for today's."""
    history = build_history(
        [
            task(change("new.py")),
            task(change("new.py", "mid.py")),
            task(change("mid.py", "old.py")),
            task(change("old.py")),
        ]
    )
    assert pairs(history) == [(0, "new.py"), (1, "new.py"), (2, "new.py"), (3, "new.py")]


def test_a_name_used_again_is_another_file_before_the_rename() -> None:
    """After a.py became b.py and a new a.py was made, only the time before the rename is b.py's."""
    history = build_history([task(change("a.py")), task(change("b.py", "a.py")), task(change("a.py"))])
    assert pairs(history) == [(0, "a.py"), (1, "b.py"), (2, "b.py")]


def test_two_files_that_swapped_names_swap_their_past() -> None:
    """Renames of one task apply at once, whatever their order."""
    swap = (change("a.py", "b.py"), change("b.py", "a.py"))
    for changes in (swap, swap[::-1]):
        history = build_history([task(*changes), task(change("a.py"))])
        assert pairs(history)[-1] == (1, "b.py")
        history = build_history([task(*changes), task(change("b.py"))])
        assert pairs(history)[-1] == (1, "a.py")


def test_a_chain_of_renames_in_one_task_is_followed_once() -> None:
    """b to c and a to b in the same task: what was a is b, what was b is c."""
    chain = (change("c.py", "b.py"), change("b.py", "a.py"))
    for changes in (chain, chain[::-1]):
        history = build_history([task(*changes), task(change("a.py"), change("b.py"))])
        assert pairs(history)[-2:] == [(1, "b.py"), (1, "c.py")]


def test_sweeping_changes_follow_renames_but_teach_nothing() -> None:
    """A task of very many files leaves no pairs, yet its renames and its size are known."""
    moved = [change(f"src/{n}.py", f"{n}.py") for n in range(MAX_FILES_PER_TASK + 1)]
    history = build_history([task(*moved), task(change("3.py"))])
    assert pairs(history) == [(1, "src/3.py")]
    assert history.sizes.tolist() == [MAX_FILES_PER_TASK + 1, 1]


def test_paths_that_are_gone_have_no_position() -> None:
    """A path of the past that the index does not know maps to -1."""
    history = build_history([task(change("a.py"), change("gone.py"))])
    assert path_numbers(history, {"a.py": 7}).tolist() == [7, -1]


def test_a_history_without_tasks_is_saved_too(tmp_path: Path) -> None:
    """A project without a past has a history of size zero, also on disk."""
    save_history(empty_history(), tmp_path)
    assert load_history(tmp_path).size == 0
