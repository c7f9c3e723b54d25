"""Summaries of segments by the language model that the user set up; none is asked unless somebody says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import ConfigError
from workbench.records.answers.stash import StashSummary
from workbench.records.segments import ContextSegment, FoundSegment
from workbench.stash.summary import SummaryLimits, condense, without_summary

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject


def summarize_segments(
    project: OpenedProject,
    query: str,
    segments: Sequence[FoundSegment | ContextSegment],
    *,
    tell: Callable[[str], None] | None = None,
) -> StashSummary:
    """Return what of segments matters for a query, by the model of the settings `models.llm`.

    Of what a search found the part that was hit is condensed. Never fails: where no model is set up, or it
    does not answer as agreed, the summary is degraded and its notes say why.
    """
    from workbench.entry.project import language_model

    try:
        model = language_model(project.config)
    except ConfigError as error:
        return without_summary(error.message)
    if model is None:
        return without_summary("models.llm and models.llm_url are not both set")
    settings = project.config.stash
    return condense(
        query,
        [_condensed(one) for one in segments],
        model,
        SummaryLimits(settings.summary_timeout, settings.summary_tokens),
        project.answer_cache,
        count_tokens=project.counter.count,
        tell=tell,
    )


def _condensed(one: FoundSegment | ContextSegment) -> ContextSegment:
    return one if isinstance(one, ContextSegment) else replace(one.segment, text=one.passage)
