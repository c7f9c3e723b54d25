"""What became of what was handed over, as it was counted, and what agents do with it right now."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text, Texts

Seconds = Annotated[float, Meta(description="Seconds since the epoch.")]


class DoorUse(Answer, frozen=True):
    """What became of what one hook, tool or command handed over, over all sessions."""

    agent: str
    event: Annotated[str, Meta(description="The hook as its agent calls it, plan_context, plan or copy.")]
    calls: Count
    silent: Annotated[Count, Meta(description="Calls that had nothing relevant enough.")]
    tokens: Annotated[Count, Meta(description="Tokens that were added in all.")]
    files: Annotated[Count, Meta(description="Files shown or named, each once a session.")]
    opened: Annotated[Count, Meta(description="Of these, read or edited in that session later on.")]
    edited: Annotated[Count, Meta(description="Files that those sessions edited afterwards.")]
    missed: Annotated[Count, Meta(description="Of these, given to their session by nothing.")]
    changed: Annotated[Count, Meta(description="Of the files given, those edited later on.")]
    nearby: Annotated[
        Count,
        Meta(
            description="Other files touched later on: in the folder of one given, or a neighbour by imports."
        ),
    ]
    elsewhere: Annotated[Count, Meta(description="All other files touched later on.")]


class SessionUse(Answer, frozen=True):
    """What one session was given, and what it did afterwards."""

    session_id: Annotated[str, Meta(description="Empty for packs that no session took up.")]
    agent: str
    started_at: Seconds
    calls: Count
    tokens: Count
    files: Count
    opened: Count
    changed: Texts
    missed: Annotated[Texts, Meta(description="Files it edited and had not been given.")]
    nearby: Count
    elsewhere: Count
    broken: Annotated[Texts, Meta(description="Ids of rules that it broke after it was given them.")]
    outcome: Text
    variant: str


Share = Annotated[float, Meta(ge=0, le=1)]
Difference = Annotated[float, Meta(ge=-1, le=1)]


class RuleOutcome(Answer, frozen=True):
    """How many of the sessions that had a rule succeeded, and how those did that were judged without it."""

    judged: Annotated[Count, Meta(description="Sessions that had it and whose outcome is known.")]
    share: Annotated[Share, Meta(description="Share of them that succeeded.")]
    low: Annotated[Share, Meta(description="Lower end of its 95 % interval (Wilson).")]
    high: Share
    others: Annotated[
        Count, Meta(description="Judged sessions of the same variant that had it not; 0: nothing follows.")
    ] = 0
    others_share: Share = 0.0
    difference: Annotated[Difference, Meta(description="The share less that of the others.")] = 0.0
    difference_low: Annotated[
        Difference, Meta(description="Lower end of its 95 % interval (Newcombe).")
    ] = -1.0
    difference_high: Difference = 1.0


class RuleUse(Answer, frozen=True):
    """What became of one rule in sessions, each counted once; `variant` is how rules were matched there."""

    rule_id: Text
    variant: str
    matched: Annotated[Count, Meta(description="Sessions with a task that it matched.")]
    given: Annotated[Count, Meta(description="Sessions that it was handed to.")]
    loaded: Annotated[Count, Meta(description="Sessions whose agent loaded its file by itself.")]
    checkable: Annotated[bool, Meta(description="Whether it has a check; others cannot be judged.")]
    obeyed: Annotated[
        Count, Meta(description="Sessions that had it and did not break it, if it is checkable.")
    ]
    broken: Annotated[Count, Meta(description="Sessions that had it and broke it.")]
    success: Annotated[Count, Meta(description="Sessions that had it and succeeded.")]
    failed: Annotated[Count, Meta(description="Sessions that had it and failed.")]
    outcome: Annotated[
        RuleOutcome | None, Meta(description="How they ended beside those without it; null if none is known.")
    ] = None


class VariantGap(Answer, frozen=True):
    """How sessions with a variant of the matching differ from those without, with a 95 % interval.

    `paired` compares rules that sessions of both had, else sessions are two samples. Numbers are means.
    """

    measure: Text
    paired: bool
    variant: Text
    default_count: Count
    variant_count: Count
    default_mean: float
    variant_mean: float
    difference: float
    low: float
    high: float
    p: Annotated[float, Meta(ge=0, le=1, description="Two-sided, by permutation.")]


class UsageResponse(Answer, frozen=True):
    """What `workbench stats --usage --json` prints. It is what was counted, and no claim of tokens saved."""

    since: Text
    hooks: Annotated[tuple[DoorUse, ...], Meta(description="By agent and hook, tool or command.")]
    sessions: Annotated[tuple[SessionUse, ...], Meta(description="Newest first.")]
    rules: Annotated[tuple[RuleUse, ...], Meta(description="Most given first.")]
    variants: tuple[VariantGap, ...]


Moment = Annotated[int, Meta(description="Seconds since the epoch, -1 if never.")]


class RunningFile(Answer, frozen=True):
    """A file that a running session was given, reads or changes."""

    path: Text
    given: Annotated[str, Meta(description="How it was handed over: full, snippets, …; empty: it was not.")]
    read_at: Moment
    edited_at: Moment


class RunningRule(Answer, frozen=True):
    """A rule that a running session has, and whether it keeps it."""

    rule_id: Text
    text: str
    by: Annotated[str, Meta(description="given by the workbench, or loaded by the agent with its file.")]
    verdict: Annotated[str, Meta(description="kept, broken, or unknown where the rule has no check.")]
    broken_at: Moment


class RunningSession(Answer, frozen=True):
    """A session that goes on: what it is for, what it does, and what it was given for that.

    `episode` is the id of its last prompt where that is recorded, which `episode end` and `feedback` take;
    `now` is the last call, as far as it is known. `state` is working, waiting (its turn is over) or quiet.
    """

    session_id: Text
    episode: str
    agent: str
    task: str
    state: Text
    prompts: Count
    started_at: Moment
    last_at: Moment
    now: str
    known_by: Annotated[str, Meta(description="hooks, transcript, or who began it: tui, cli, http, mcp.")]
    outcome: Annotated[str, Meta(description="Of the last prompt: success, partial, failed, unknown.")]
    files: tuple[RunningFile, ...]
    rules: tuple[RunningRule, ...]
    calls: Annotated[Count, Meta(description="How often something was handed over.")]
    tokens: Annotated[Count, Meta(description="Tokens handed over.")]
    lost_at: Annotated[Moment, Meta(description="When its context was last compacted or cleared.")]


class RunningSessionsResponse(Answer, frozen=True):
    """What `workbench episode running --json` prints."""

    sessions: Annotated[tuple[RunningSession, ...], Meta(description="The last one heard of first.")]
