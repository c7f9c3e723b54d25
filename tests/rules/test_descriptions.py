"""What an agent is given of a rule says what its file says."""

from __future__ import annotations

import pytest

from workbench.records.rules import Provenance, Rule
from workbench.rules.descriptions import forbidding_heading, instruction


def rule_under(heading: str, text: str) -> Rule:
    section = ("Security", heading) if heading else ()
    where = Provenance("AGENTS.md", 3, 3, "agents", section=section)
    return Rule(id="rule-1", name="", rule=text, provenance=where)


@pytest.mark.parametrize(
    ("heading", "text", "given"),
    [
        ("Do NOT", "Commit `.env` files", "Do NOT: Commit `.env` files"),
        ("Don't:", "Use floats for money", "Don't: Use floats for money"),
        ("Anti-patterns", "Catching all exceptions", "Anti-patterns: Catching all exceptions"),
        ("Things to avoid", "Global state", "Things to avoid: Global state"),
        ("Do NOT", "Never commit `.env` files", "Never commit `.env` files"),
        ("Do not", "Don’t push to main", "Don’t push to main"),
        ("Commits", "Use the imperative", "Use the imperative"),
        ("What never changes in releases", "Keep the format", "Keep the format"),
        ("", "Log in UTC", "Log in UTC"),
    ],
)
def test_a_heading_that_forbids_goes_with_what_is_under_it(heading: str, text: str, given: str) -> None:
    """Without it the words would say the opposite; where they forbid by themselves it would deny that."""
    rule = rule_under(heading, text)
    assert instruction(rule) == given
    assert bool(forbidding_heading(rule)) is (
        heading not in ("Commits", "What never changes in releases", "")
    )
