"""What counts as shown in a pack, and which lines a change touched."""

from __future__ import annotations

import pytest

from workbench.plan.compose import FileCandidate, Pack, ViewOffer
from workbench.plan.render import FileView
from workbench.records.answers.plan import BudgetReport
from workbench.records.plan import Representation
from workbench.records.worktree import Hunk
from workbench.replay.packs import Truth, changed_lines, pack_measures, packed_files


def pack(*views: FileView) -> Pack:
    files = tuple((FileCandidate(view.path, 1.0, ()), ViewOffer(view, 1, 1.0)) for view in views)
    return Pack("", (), files, (), BudgetReport(100, 70, 1.0, "o200k_base", 1.0))


SNIPPET = FileView("a.py", Representation.SNIPPETS, ((1, 4), (9, 9)))
NAMED = FileView("b.py", Representation.PATH)
OUTLINE = FileView("c.py", Representation.OUTLINE)


@pytest.mark.parametrize(
    ("hunk", "lines"),
    [
        (Hunk(3, 2, 3, 5), {3, 4}),
        (Hunk(3, 0, 4, 2), {3, 4}),
        (Hunk(0, 0, 1, 2), {1}),
        (Hunk(9, 0, 10, 1), {9}),
    ],
)
def test_the_lines_a_hunk_changes(hunk: Hunk, lines: set[int]) -> None:
    """Changed and removed lines count, and of an insertion the lines beside it that exist."""
    assert changed_lines([hunk], 9) == lines


def test_what_is_only_named_is_not_shown() -> None:
    """Recall counts lines and outlines, not names; lines count where they are shown."""
    truth = Truth(("a.py", "b.py", "c.py", "d.py"), {"a.py": frozenset({4, 5}), "c.py": frozenset({1, 2})})
    found = pack_measures(pack(SNIPPET, NAMED, OUTLINE), truth)
    assert found == {
        "packed_recall": 0.5,
        "named_recall": 0.75,
        "first_pass_success": 0.0,
        "context_tokens": 70.0,
        "line_coverage": 0.25,
    }


def test_everything_at_once_is_first_pass_success() -> None:
    """All that was edited is in the pack; without known lines there is no share of them."""
    found = pack_measures(pack(SNIPPET, OUTLINE), Truth(("a.py", "c.py"), {}))
    assert (found["first_pass_success"], "line_coverage" in found) == (1.0, False)
    assert packed_files(pack(SNIPPET, OUTLINE)) == {"a.py": "snippets", "c.py": "outline"}
