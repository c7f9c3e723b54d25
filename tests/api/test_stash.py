"""The stash from Python: transcripts in, a context pruned, each as one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def test_what_was_found_is_condensed_on_demand(work: Work, ollama: Any) -> None:
    """`summarize` and `merge(summary=True)` ask the model that is set up; without one they say so."""
    (work.root / "a.py").write_text("x = 1\n")
    work.commit("Add a")
    with workbench.open_project(work.root) as project:
        made = project.stash.add("We keep sessions in Redis", session_id="s1")
        alone = project.stash.merge(made.segment_id, summary=True)
        assert alone.summary is not None
        assert alone.summary.degraded == ("summary",)
        assert "We keep sessions in Redis" in alone.text
    settings = {"models.llm": "tiny", "models.llm_url": ollama.url}
    with workbench.open_project(work.root, settings=settings) as project:
        ollama.answers = ['{"sentences": [{"segments": ["s1"], "text": "Redis has them."}]}']
        summary = project.stash.summarize("sessions", project.stash.search("sessions"))
        assert [sentence.segment_ids for sentence in summary.sentences] == [(made.segment_id,)]
        merged = project.stash.merge(made.segment_id, summary=True, task="sessions")
        assert merged.text == summary.text
        assert merged.summary is not None
        assert merged.summary.cached
