"""The stash from Python: transcripts in, a context pruned, each as one step."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.conftest import Work
from workbench.errors import UsageError

EXAMPLE = Path(__file__).parents[2] / "sample_data" / "stash_example.jsonl"


def test_a_transcript_is_imported_and_pruned_in_steps(work: Work) -> None:
    """What the command line does, Python does: counts, reasons, one step each, undone one by one."""
    work.write("a.py", "x = 1\n")
    work.commit("Add a")
    with workbench.open_project(work.root) as project:
        proposal = project.stash.prune(EXAMPLE, 700, latest=3)
        assert (proposal.fits, proposal.stashed) == (True, ())
        assert proposal.aside[0].why.startswith("superseded by")
        assert project.stash.list().total == 0
        applied = project.stash.prune(EXAMPLE, 700, latest=3, apply=True, expires_in=2)
        assert {one.segment_id for one in applied.aside} <= set(applied.stashed)
        assert project.stash.get(applied.stashed[0]).expires_at is not None
        imported = project.stash.import_files(EXAMPLE, session_id="mine")
        assert imported.added + imported.known == 20
        assert imported.known == len(applied.stashed)
        with pytest.raises(UsageError, match="does not exist"):
            project.stash.import_files(EXAMPLE.with_name("missing.jsonl"))
        assert "import stash_example.jsonl" in project.stash.undo()
        assert project.stash.list().total == len(applied.stashed)
