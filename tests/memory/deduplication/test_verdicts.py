"""What two texts are to each other."""

from __future__ import annotations

from workbench.memory.deduplication.verdicts import Verdict, judge


def test_a_denial_is_a_conflict_and_no_repetition() -> None:
    """A text that forbids what another asks contradicts it, however many words they share."""
    assert Verdict.CONFLICT is judge("Use tabs for indentation.", "Never use tabs for indentation.").verdict


def test_equal_but_for_marks_is_a_duplicate() -> None:
    """Marks and case make no difference."""
    assert Verdict.DUPLICATE is judge("- Run `make test` first.", "run `make test` first").verdict
