"""Suggestions follow from the rules: authority, reach, age; merged wordings invent nothing."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from workbench.records.conflicts import Action, Suggestion
from workbench.records.rules import Authority, Provenance, Rule
from workbench.rules.conflicts.detection import find_conflicts
from workbench.rules.conflicts.suggestions import merge_text

Make = Callable[..., Rule]


def suggested(left: Rule, right: Rule) -> Suggestion:
    """Return the suggestion for the one conflict between two rules."""
    (found,) = find_conflicts([left, right])
    return found.suggestion


def place(file: str, form: str) -> Provenance:
    return Provenance(file, 1, 1, form)


def test_one_text_in_two_agents_files_becomes_one_rule(rule: Make) -> None:
    """CLAUDE.md and AGENTS.md may hold the same rule: merge, with its text."""
    suggestion = suggested(
        rule("a", "Use tabs.", provenance=place("CLAUDE.md", "claude")),
        rule("b", "Use tabs.", provenance=place("AGENTS.md", "agents")),
    )
    assert (suggestion.action, suggestion.text) == (Action.MERGE, "Use tabs.")


def test_what_binds_more_is_kept(rule: Make) -> None:
    """An absolute rule outweighs a default one, a clearly higher priority a lower one."""
    suggestion = suggested(
        rule("a", "Use semicolons."), rule("b", "Never use semicolons.", authority=Authority.ABSOLUTE)
    )
    assert (suggestion.action, suggestion.keep) == (Action.KEEP_RIGHT, "b")
    suggestion = suggested(rule("a", "Use semicolons.", priority=90), rule("b", "Never use semicolons."))
    assert (suggestion.action, suggestion.keep) == (Action.KEEP_LEFT, "a")


def test_the_wider_of_two_contradicting_rules_is_narrowed(rule: Make) -> None:
    """A rule for some files is an exception to the one for all; the newer of two equals supersedes."""
    found = suggested(rule("a", "Use semicolons."), rule("b", "Never use semicolons.", scope=("path:*.py",)))
    assert (found.action, found.keep) == (Action.NARROW_SCOPE, "b")
    found = suggested(
        rule("a", "Use semicolons.", created_at="2026-01-02"),
        rule("b", "Never use semicolons.", created_at="2026-01-01"),
    )
    assert (found.action, found.keep) == (Action.SUPERSEDE, "a")


def test_a_special_case_gives_way_and_a_further_demand_stays(rule: Make) -> None:
    """What only narrows the other one down is left out, what asks for more is kept."""
    found = suggested(rule("a", "Validate user input."), rule("b", "Validate user input on the server."))
    assert found.keep == "a"
    found = suggested(rule("a", "Validate user input."), rule("b", "Validate user input and escape output."))
    assert found.keep == "b"


def test_merged_text_is_the_longer_with_what_it_lacks() -> None:
    """The longer wording comes first, sentences it lacks follow, code stays whole."""
    assert merge_text("Run the tests.", "Always run the tests first. Keep them fast.") == (
        "Always run the tests first. Keep them fast."
    )
    assert merge_text("Use tabs. Log errors.", "Use tabs. Sort imports.") == (
        "Use tabs. Sort imports. Log errors."
    )
    assert merge_text("Run:\n```\nmake\n```", "Run make") == "Run:\n```\nmake\n```"


SENTENCES = st.lists(
    st.sampled_from(["Use tabs.", "Run the tests.", "Log errors!", "Keep lines short", "Sort imports."]),
    min_size=1,
    max_size=4,
).map(" ".join)


@given(SENTENCES, SENTENCES)
def test_merging_is_symmetric_and_invents_nothing(left: str, right: str) -> None:
    """Both orders give one text, whose every word is one of theirs."""
    merged = merge_text(left, right)
    assert merged == merge_text(right, left)
    words = {word.strip(".!") for word in f"{left} {right}".split()}
    assert {word.strip(".!") for word in merged.split()} <= words
