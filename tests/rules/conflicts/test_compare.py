"""The kinds of conflict on pairs written by hand, and what is never taken for one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from workbench.records.conflicts import Conflict, ConflictKind
from workbench.records.rules import Provenance, Rule
from workbench.rules.conflicts.detection import find_conflicts, judge_pair
from workbench.rules.conflicts.readings import read_rule

FOLDER = Path(__file__).parents[1]


def judged(left: str, right: str) -> Conflict | None:
    return judge_pair(read_rule(Rule("a", "", left)), read_rule(Rule("b", "", right)), None)


def outcomes(name: str) -> Counter[tuple[str, str]]:
    """Count (label, verdict) of the pairs of a file."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    verdicts = [judged(left, right) for _, left, right in rows]
    return Counter(
        (row[0], found.kind.value if found else "none") for row, found in zip(rows, verdicts, strict=True)
    )


@pytest.mark.parametrize("name", ["conflict_pairs.tsv", "conflict_pairs_held.tsv"])
def test_pairs_written_by_hand_are_told_apart(name: str) -> None:
    """No pair without a conflict is reported, nothing contradictory is merged, most is found."""
    counts = outcomes(name)
    assert [key for key in counts if key[0] == "none" and key[1] != "none"] == []
    assert [
        key for key in counts if key[0] == "contradictory" and key[1] not in ("contradictory", "none")
    ] == []
    total = sum(counts.values())
    assert sum(count for (label, found), count in counts.items() if label == found) >= 0.85 * total


@pytest.mark.parametrize("name", ["conflict_pairs.tsv", "conflict_pairs_held.tsv"])
def test_the_search_finds_what_the_comparison_finds(name: str) -> None:
    """Candidates miss no pair of the files that comparing it alone reports."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    for _, left, right in (line.split("\t") for line in lines if not line.startswith("#")):
        alone = judged(left, right)
        assert find_conflicts([Rule("a", "", left), Rule("b", "", right)]) == ((alone,) if alone else ())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Create a `.env` file:\n```\nA=1\n```", "Create a `.env` file:\n```\nB=2\n```"),
        ("Install the dependencies:", "Please install dependencies:"),
        ("Avoid these common mistakes.", "Avoid those common mistakes!"),
        ("Convert strings to numbers", "Convert numbers to strings"),
        ("Set `limit = 1` for one file", "Set `limit > 1` for one file"),
        ("Comments are allowed", "Comments are required"),
        ("Only commit tested code", "Commit tested code when asked"),
        ("Use TypeScript", "Use TypeScript for all new services"),
    ],
)
def test_what_says_something_else_is_no_repetition(left: str, right: str) -> None:
    """Other code, texts that point elsewhere, turned-around words and single terms repeat nothing."""
    assert judged(left, right) is None


def test_mistakes_listed_under_a_heading_are_ruled_out() -> None:
    """ "Not using types" below "Mistakes to avoid" agrees with "Use types"."""
    where = Provenance("CLAUDE.md", 1, 1, "claude", section=("Common mistakes to avoid",))
    listed = Rule("a", "", "Not using strict types", provenance=where)
    assert judge_pair(read_rule(listed), read_rule(Rule("b", "", "Never use strict types"))) is not None
    agreed = judge_pair(read_rule(listed), read_rule(Rule("b", "", "Use strict types")))
    assert agreed is None or agreed.kind is not ConflictKind.CONTRADICTORY


def test_evidence_names_the_words_and_the_tests() -> None:
    """The words that differ stand on their sides, the deciding test first."""
    found = judged("Use npm to install packages.", "Use pnpm to install packages.")
    assert found is not None
    assert (found.left_words, found.right_words) == (("npm",), ("pnpm",))
    assert [item.test for item in found.evidence] == ["choice", "words"]
    assert found.why == "Both cannot be followed: JavaScript package manager: npm or pnpm."


def test_what_one_denies_and_the_other_demands_is_in_both() -> None:
    """A denial is what the contradiction is about: its words are shared all the same."""
    found = judged(
        "Do not run scripts/check before committing.", "Always run `scripts/check` before a commit."
    )
    assert found is not None
    assert found.kind is ConflictKind.CONTRADICTORY
    assert {one.test: one.score for one in found.evidence}["words"] == 1.0
