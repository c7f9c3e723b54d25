"""Instructions are told from descriptions, and what binds from what advises."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Authority, Category
from workbench.rules.reading.construction import authority_of, category_of, priority_of
from workbench.text.instructions import introduces_only, judge, judge_row, negative_lead
from workbench.text.prose import plain, table_cells

LABELLED = Path(__file__).with_name("labelled.tsv")


def labelled() -> list[tuple[bool, str, str, str]]:
    """Return (is a rule, heading, lead-in, text) of the labelled sentences."""
    rows = []
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            label, heading, lead, text = line.split("\t")
            rows.append((label == "rule", heading, lead, text))
    return rows


@pytest.mark.parametrize(("expected", "heading", "lead", "text"), labelled())
def test_labelled_sentences(expected: bool, heading: str, lead: str, text: str) -> None:
    """Each sentence of the labelled set is judged as a person judged it."""
    judgement = judge(text, (heading,) if heading else (), lead)
    assert judgement.instruction is expected, judgement.reason


@pytest.mark.parametrize(
    "text",
    [
        "You MUST run the tests.",
        "Never commit secrets.",
        "Always use UTC.",
        "Do not ever rewrite published history.",
        "IMPORTANT: keep the lock file in step.",
        "Reviews are required.",
        "Inline styles are forbidden.",
        "Secrets must not be logged.",
        "DO NOT touch generated code.",
        "Force pushes are not allowed.",
        "Use the queue; you must always acknowledge messages.",
    ],
)
def test_binding_words_make_a_rule_absolute(text: str) -> None:
    """Obligations and prohibitions without exception are absolute."""
    assert authority_of(text) is Authority.ABSOLUTE


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs.",
        "Do not forget to close the channel.",
        "Prefer early returns.",
        "A docstring is not required for tests; keep them short.",
        "You don't have to run the slow tests; run the fast ones.",
        "Consider whether a cache is required.",
        "Prefer values over pointers unless sharing is required.",
        "Validate required fields.",
        'Use the label "must have" sparingly.',
        "Handle the case that it always returns an empty list.",
        "Use `NEVER` as the enum's last member.",
        "Never mind the warnings; use the quiet flag.",
        "Tests are almost always better than comments, so write tests.",
    ],
)
def test_hedges_negations_and_mentions_do_not_bind(text: str) -> None:
    """Lifted obligations, preferences, descriptions, quotes and code don't make a rule absolute."""
    assert authority_of(text) is Authority.DEFAULT


def test_headings_and_leads_bind_what_stands_below() -> None:
    """A strict heading binds its rules unless they hedge."""
    assert authority_of("Use parameters in SQL", ("Hard rules",)) is Authority.ABSOLUTE
    assert authority_of("Prefer views", ("Hard rules",)) is Authority.DEFAULT
    assert authority_of("private keys", (), "Never commit:") is Authority.ABSOLUTE
    assert authority_of("Use views", ("Always-read notes",)) is Authority.DEFAULT


def test_priorities_follow_the_wording() -> None:
    """Shouting raises, hedging lowers, and all stay within 0 to 100."""
    assert priority_of("NEVER do this", Authority.ABSOLUTE, ("Critical",)) == 95
    assert priority_of("must do", Authority.ABSOLUTE) == 80
    assert priority_of("Use x", Authority.DEFAULT) == 50
    assert priority_of("Prefer x", Authority.DEFAULT) == 40
    assert priority_of("Optional: use x", Authority.DEFAULT) == 30


def test_categories() -> None:
    """Tastes are preferences, roles are agents, the rest is behaviour."""
    assert category_of("Prefer x over y") is Category.PREFERENCE
    assert category_of("You are a reviewer. Be brief.") is Category.AGENT
    assert category_of("Run the tests") is Category.BEHAVIOR


def test_negative_leads_are_labels_not_sentences() -> None:
    """ "Do not:" turns a list round; "Avoid global state" is explained by what follows."""
    for label in (
        "Do NOT:",
        "## Don'ts",
        "Forbidden",
        "Things to avoid",
        "Never commit any of these:",
        "🚫 Never",
    ):
        assert negative_lead(label), label
    for sentence in (
        "Avoid global state",
        "Do not import styles in components",
        "Error handling",
        "No idea:",
    ):
        assert not negative_lead(sentence), sentence


def test_introductions() -> None:
    """An introduction is a rule of its own only if it says something without its list."""
    assert introduces_only("Follow these rules:")
    assert introduces_only("When you review, you must:")
    assert not introduces_only("Use the shared logger in all services:")


def test_tables() -> None:
    """Rows are rules under a directive column or with an obligation in a cell; bars can be escaped."""
    assert judge_row("| `api/` | style.md |", "| Area | Read first (required) |").instruction
    assert judge_row("| `a` | must be set |", "| Key | Meaning |").instruction
    assert not judge_row("| `a` | the first letter |", "| Key | Meaning |").instruction
    assert table_cells(r"| a \| b | `c|d` | |") == ("a | b", "`c|d`", "")


def test_plain_text() -> None:
    """Markdown marks go, what they mark stays; names with underscores and stars in code are left alone."""
    assert plain("**Use** [the guide](x.md) for `**/*.py` and snake_case") == (
        "Use the guide for **/*.py and snake_case"
    )


@given(st.text(max_size=200), st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_judged(text: str, heading: str, lead: str) -> None:
    """No text makes judging fail."""
    judge(text, (heading,), lead)
    judge_row(text, heading)
    authority_of(text, (heading,), lead)
    plain(text)


@pytest.mark.parametrize(
    "text", ["*" * 20_000, "`" * 20_000, "[" * 20_000, "a, " * 20_000, "a: " * 20_000, " - " * 20_000]
)
def test_pathological_text_ends(text: str) -> None:
    """Long runs of marks are judged in reasonable time."""
    judge(text)
    authority_of(text)
    plain(text)
