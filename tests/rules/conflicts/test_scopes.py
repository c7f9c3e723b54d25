"""Rules are in conflict only if both can be in force for some piece of work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Rule
from workbench.rules.conflicts.readings import globs_overlap, overlap, reach_of, wider
from workbench.rules.globs import first_match


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ("*.py", "*.ts", False),
        ("*.py", "src/**/*.py", True),
        ("src/**", "tests/**", False),
        ("src/", "src/api/*.py", True),
        ("**/*.test.ts", "*.ts", True),
        ("*.{js,jsx}", "*.jsx", True),
        ("*.{js,jsx}", "*.tsx", False),
        ("/docs/*.md", "docs/api/*.md", False),
        ("components/**/*", "*.tsx", True),
        ("file[0-9].py", "file7.py", True),
        ("package.json", "*.lock", False),
        ("src", "src/main.py", True),
    ],
)
def test_globs_overlap_where_a_path_matches_both(first: str, second: str, meet: bool) -> None:
    """Two globs overlap if there is a path that both match, whichever comes first."""
    assert globs_overlap((first,), (second,)) is meet
    assert globs_overlap((second,), (first,)) is meet


PARTS = st.sampled_from(["src", "tests", "*", "**", "a.py", "*.py", "*.ts", "b?.py"])
GLOBS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
PATHS = st.lists(st.sampled_from(["src", "tests", "x", "a.py", "bc.py", "d.ts"]), min_size=1, max_size=4)


@given(GLOBS, GLOBS, PATHS)
def test_a_path_of_both_globs_proves_that_they_overlap(first: str, second: str, path: list[str]) -> None:
    """No two globs are called disjoint while one path of files matches both."""
    name = "/".join([*(part.replace(".", "_") for part in path[:-1]), path[-1]])
    if first_match((first,), [name]) and first_match((second,), [name]):
        assert globs_overlap((first,), (second,))


def test_tools_projects_and_conditions_keep_rules_apart() -> None:
    """Rules of other projects, for other tools or under other conditions never meet; unlimited ones do."""
    base = Rule("a", "a", "Use tabs.")
    assert not overlap(Rule("a", "a", "x", project_id="p"), Rule("b", "b", "x", project_id="q"))
    assert not overlap(
        Rule("a", "a", "x", tool_targets=("cursor",)), Rule("b", "b", "x", tool_targets=("claude",))
    )
    assert not overlap(
        Rule("a", "a", "x", conditions={"os": "linux"}), Rule("b", "b", "x", conditions={"os": ["macos"]})
    )
    assert not overlap(Rule("a", "a", "x", scope=("git",)), Rule("b", "b", "x", scope=("docker",)))
    assert overlap(base, Rule("b", "b", "x", project_id="q", tool_targets=("cursor",), scope=("path:*.py",)))
    assert overlap(Rule("a", "a", "x", scope=("git",)), Rule("b", "b", "x", scope=("path:*.py",)))


def test_the_wider_reach_takes_in_the_narrower() -> None:
    """A rule without limits reaches further than one with a scope, and nothing further than itself."""
    everywhere, python = Rule("a", "a", "x"), Rule("b", "b", "x", scope=("path:*.py",))
    assert wider(reach_of(everywhere), reach_of(python))
    assert not wider(reach_of(python), reach_of(everywhere))
    assert not wider(reach_of(python), reach_of(python))
