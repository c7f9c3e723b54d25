"""The answers about rules: which match a task, which an agent loads, whether a tool call breaks one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Share, Text
from workbench.records.rules import Activation, Decision


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


class EffectiveRule(Answer, frozen=True):
    """A rule in a file that an agent loads."""

    id: Text
    line: Annotated[Count, Meta(description="1-based; 0 for a rule that waits to be written there.")]
    rule: Text
    enabled: Annotated[
        bool,
        Meta(description="False for a rule that is switched off; the agent reads its text all the same."),
    ]


class EffectiveFile(Answer, frozen=True):
    """A rule file that an agent loads, in its order."""

    file: Text
    when: Annotated[
        Activation,
        Meta(description="At its start, for paths, as its description fits, or as the user names it."),
    ]
    why: str
    via: Annotated[str, Meta(description="The file that imports it; empty for one that the agent finds.")]
    tokens: Count
    cut: Annotated[bool, Meta(description="Whether the agent reads only the beginning of it.")]
    seen: Annotated[Count | None, Meta(description="Sessions that reported it; null where none reports.")]
    rules: tuple[EffectiveRule, ...]


class LeftOutFile(Answer, frozen=True):
    """A rule file of the agent's formats that it does not load for the file, and why."""

    file: Text
    why: Text


class EffectiveResponse(Answer, frozen=True):
    """What `workbench rules effective --json` prints: the rule files that an agent loads for a file."""

    agent: Text
    file: Annotated[str, Meta(description="Relative to the project.")]
    cwd: Annotated[str, Meta(description="Where the session starts, relative to the project; empty: there.")]
    order: Annotated[str, Meta(description="What holds where files disagree.")]
    loaded: Annotated[tuple[EffectiveFile, ...], Meta(description="In the order of loading.")]
    left_out: tuple[LeftOutFile, ...]
    tokens_at_start: Annotated[Count, Meta(description="Of all that is loaded at the start of a session.")]
    tokens: Annotated[Count, Meta(description="Of all that is loaded without being asked for.")]
    sessions: Annotated[Count, Meta(description="Sessions that reported what they loaded.")]
    unpredicted: Annotated[
        tuple[str, ...], Meta(description="Files that sessions loaded at their start and are not in here.")
    ]
    notes: tuple[str, ...]


class LintEntry(Answer, frozen=True):
    """Something wrong with a rule file, and the next thing to do."""

    kind: Annotated[str, Meta(description="Such as dead-glob; docs/rules.md lists all.")]
    severity: Annotated[str, Meta(description="error, warning or note.")]
    file: Text
    line: Annotated[Count, Meta(description="1-based; 0 for the file as a whole.")]
    message: Text
    step: Annotated[str, Meta(description="The next thing to do.")]
    conflict: Annotated[str, Meta(description="The id of a pair of rules; empty for what is about none.")]


class FixedFile(Answer, frozen=True):
    """A rule file that `--fix` wrote, or with `--dry-run` would."""

    file: Text
    diff: Annotated[tuple[str, ...], Meta(description="Lines of a unified diff.")]
    refused: Annotated[tuple[str, ...], Meta(description="What the file could not say, and why.")]


class LintReport(Answer, frozen=True):
    """What `workbench rules lint --json` prints: what is wrong with rule files, by file and line."""

    files: Annotated[Count, Meta(description="Rule files that were looked at.")]
    counts: Annotated[dict[str, Count], Meta(description="Findings by severity.")]
    findings: tuple[LintEntry, ...]
    fixed: Annotated[tuple[FixedFile, ...], Meta(description="What --fix wrote; empty without it.")]
