"""Paths of a transcript made relative, and what was done to a file in the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.extraction.extract import files_touched, relative
from workbench.records.iterations import FileAction, ToolUseEvent, unsafe_path

PARTS = st.sampled_from(
    ["a", "b.py", "..", ".", "", "~", "C:", "c:\\x", "\\", "a\\..\\b", "\0", "é", " ", "-", "p"]
)


@given(
    st.lists(PARTS, max_size=6),
    st.sampled_from(["", "/", "//", "/p/", "/p/../"]),
    st.sampled_from(["", "/p", "/p/s"]),
)
def test_no_path_leads_out(parts: list[str], start: str, cwd: str) -> None:
    """Whatever a transcript names, what comes back is a path inside of the project or nothing."""
    found = relative(start + "/".join(parts), ["/p"], cwd)
    assert not found or not unsafe_path(found)


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("/p/a.py", "", "a.py"),
        ("a.py", "/p/sub", "sub/a.py"),
        ("../a.py", "/p/sub", "a.py"),
        ("../../a.py", "/p/sub", ""),
        ("/pq/a.py", "", ""),
        ("/p", "", ""),
        ("./a.py", "", "a.py"),
        ("C:\\p\\a.py", "", ""),
    ],
)
def test_paths_are_relative_to_the_deepest_root(path: str, cwd: str, expected: str) -> None:
    """Relative paths are from where the agent was; a name that merely begins alike is outside."""
    assert expected == relative(path, ["/p"], cwd)
    assert relative("/p/sub/a.py", ["/p", "/p/sub"]) == "a.py"
    assert relative("C:\\p\\a.py", ["C:\\p"]) == "a.py"


def call(name: str, given: dict[str, Any], **more: Any) -> ToolUseEvent:
    return ToolUseEvent(name, given, "", "", **more)


@pytest.mark.parametrize(
    ("calls", "action"),
    [
        ([call("Read", {"file_path": "/p/a.py"})], FileAction.READ),
        (
            [call("Read", {"file_path": "/p/a.py"}), call("Edit", {"file_path": "/p/a.py"})],
            FileAction.MODIFIED,
        ),
        (
            [call("Edit", {"file_path": "/p/a.py"}), call("Read", {"file_path": "/p/a.py"})],
            FileAction.MODIFIED,
        ),
        ([call("Write", {"file_path": "/p/a.py", "content": "x"}, created=True)], FileAction.CREATED),
        (
            [call("Write", {"file_path": "/p/a.py"}, created=True), call("Edit", {"file_path": "/p/a.py"})],
            FileAction.CREATED,
        ),
        ([call("NotebookEdit", {"notebook_path": "/p/a.py"})], FileAction.MODIFIED),
        ([call("MultiEdit", {"file_path": "/p/a.py", "edits": []})], FileAction.MODIFIED),
        ([call("Edit", {"file_path": "/p/a.py"}), call("Bash", {"command": "rm a.py"})], FileAction.DELETED),
        (
            [call("Write", {"file_path": "/p/a.py"}, created=True), call("Bash", {"command": "rm -f a.py"})],
            None,
        ),
        ([call("Edit", {"file_path": "/p/a.py"}, failed=True)], None),
        ([call("Bash", {"command": "rm -rf *.py $X"})], None),
        ([call("Read", {"file_path": "/p/.git/config"})], None),
    ],
)
def test_what_was_done_in_the_end_counts(calls: list[ToolUseEvent], action: FileAction | None) -> None:
    """One entry a file; what was made and taken away again, failed, or is not certain is none."""
    dropped: Counter[str] = Counter()
    found = files_touched(calls, "/p", ["/p"], dropped)
    assert [action] * (action is not None) == [one.action for one in found]
    assert not dropped
