"""Which files a query is about, and which segments are of them."""

from __future__ import annotations

import pytest

from workbench.records.segments import StashQuery
from workbench.stash.filenames import named_files, source_file


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("src/harbour.py", "harbour.py"),
        ("claude_code:0f3c9a52#15", ""),
        ("https://example.com/a.html", ""),
        ("", ""),
    ],
)
def test_a_source_is_a_file_where_it_looks_like_one(source: str, name: str) -> None:
    """A line of a transcript and a page are none."""
    assert source_file(source) == name


def test_names_count_most_in_the_request_and_less_beside_it() -> None:
    """The task, the last message and the open files count less, the further files less than the first."""
    named = named_files(
        StashQuery(
            text="What did we change in `src/Harbour.py`, e.g. yesterday?",
            task="fix boat_list.go:12",
            messages=("see old.py", "look at quay.ts."),
            files=("a/one.py", "b/harbour.py", "c/two.py", "x = 1\nread.py"),
        )
    )
    assert named["harbour.py"] == 1.0
    assert named["boat_list.go"] == named["quay.ts"] == 0.5
    assert named["one.py"] == pytest.approx(0.3)
    assert named["two.py"] == pytest.approx(0.3 * 0.7**2)
    assert "old.py" not in named
    assert "read.py" not in named


def test_a_task_alone_is_the_request() -> None:
    """What a plan asks for is all there is."""
    assert named_files(StashQuery(task="test harbour.py")) == {"harbour.py": 1.0}
