"""The answer to what agents do right now: each session with its files, its rules and what it was given."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text

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
