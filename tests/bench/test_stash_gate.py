"""The tasks that a gate is measured with: commits of others, and turns asked of what was said before them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.stash_gate import commit_subjects, own_turns
from workbench.records.segments import ContextSegment, SegmentType


def test_turns_are_asked_of_what_was_said_before_them() -> None:
    """The first sentence of those long enough; the first turn has nothing before it, an error is no turn."""
    said = ("Why is the invoice a cent off? It was right.", "Round the sum of each tax rate once.", "yes")
    segments = [
        ContextSegment(
            segment_id=str(at),
            text=text,
            type=SegmentType.MESSAGE,
            timestamp=f"2024-01-0{at + 1}T10:00:00+00:00",
        )
        for at, text in enumerate(said)
    ]
    error = replace(
        segments[0], segment_id="e", type=SegmentType.ERROR_LOG, timestamp="2024-01-09T10:00:00+00:00"
    )
    (task,) = own_turns([*segments, error])
    assert (task.text, task.until) == ("Round the sum of each tax rate once.", "2024-01-02T09:59:59+00:00")


def test_what_is_no_repository_is_named(tmp_path: Path) -> None:
    """Nothing is measured without tasks of others."""
    with pytest.raises(SystemExit, match="is not a repository"):
        commit_subjects(tmp_path)
