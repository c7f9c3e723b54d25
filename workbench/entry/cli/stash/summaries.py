"""Summaries of segments as commands ask for them: who is asked, and what that took, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from workbench.entry.cli.output import Output
from workbench.entry.cli.session import StashSession
from workbench.records.answers.stash import StashSummary
from workbench.records.segments import ContextSegment, FoundSegment
from workbench.text.sanitize import visible_line


def summarizer(work: StashSession) -> Callable[[str, Sequence[FoundSegment | ContextSegment]], StashSummary]:
    """Return what condenses segments to what matters for words, and says whom it asks."""
    from workbench.entry.services.stash_summary import summarize_segments

    return partial(summarize_segments, work.opened, tell=work.here.out.say)


def say_cost(out: Output, summary: StashSummary) -> None:
    """Say what a summary took, nothing where no model was asked."""
    if summary.prompt_tokens:
        asked = "answered the same before" if summary.cached else "asked"
        took = f"{summary.prompt_tokens:,} tokens sent, {summary.answer_tokens:,} received"
        out.say(f"{asked}: {visible_line(summary.model)}, {took}")
