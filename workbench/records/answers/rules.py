"""The answers about rules: which match a task, and whether a tool call breaks one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Share, Text
from workbench.records.rules import Decision


class MatchedRule(Answer, frozen=True):
    """A rule that matches, with the parts of its score; parts that there is no evidence for are null."""

    id: Text
    origin: Annotated[str, Meta(description="Where it is: file:line, or who it is from.")]
    rule: Text
    final: Annotated[float, Meta(description="What matches are ordered by.")]
    relevance: Annotated[Share, Meta(description="0.5 is as likely relevant as not.")]
    hybrid: Annotated[float | None, Meta(description="Meaning and words, weighted, before calibration.")]
    vector: Annotated[float | None, Meta(description="The best cosine with the task.")]
    meaning: Annotated[float | None, Meta(description="The vector's part of hybrid.")]
    bm25: Annotated[float | None, Meta(description="Evidence of the words, in [0, 1].")]
    example: Annotated[str, Meta(description="The rule's example that is closest, if one is.")]
    terms: Annotated[tuple[str, ...], Meta(description="Words of the task that it shares.")]
    priority: Annotated[float, Meta(description="The weighted part of final.")]
    scope: Annotated[float, Meta(description="The weighted part of final.")]
    why: str


class RejectedRule(Answer, frozen=True):
    """A rule that does not match, and why."""

    id: Text
    reason: Text


class MatchResponse(Answer, frozen=True):
    """What `workbench rules match --json` prints: the rules that match a task, best first."""

    matches: tuple[MatchedRule, ...]
    rejected: tuple[RejectedRule, ...]
    notes: Annotated[tuple[str, ...], Meta(description="What was missing for the scores.")]


class DecidingRule(Answer, frozen=True):
    """The rule that decides about a call."""

    id: Text
    origin: Text


class BrokenRule(Answer, frozen=True):
    """A rule that a call breaks."""

    id: Text
    origin: Text
    rule: Text
    decision: Annotated[Decision, Meta(description="What its check decides.")]
    decides: Annotated[
        bool, Meta(description="False for a default rule, whose check is reported and changes nothing.")
    ]
    found: Annotated[str, Meta(description="What in the call breaks it.")]
    doubt: str


class CheckResponse(Answer, frozen=True):
    """What `workbench rules check --json` prints: whether a tool call may run, and by which rule."""

    decision: Annotated[Decision, Meta(description="The strongest one: deny, then ask, then allow.")]
    rule: Annotated[DecidingRule | None, Meta(description="The rule that decides; null for allow.")]
    why: str
    breaches: tuple[BrokenRule, ...]
    notes: Annotated[tuple[str, ...], Meta(description="What could not be read whole.")]
