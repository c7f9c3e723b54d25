"""`workbench episode list` and `show`: which sessions were recorded, and the causal trace of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.inputs import list_options
from workbench.entry.cli.output import shorten
from workbench.entry.cli.session import episode_service_of
from workbench.lists.sessions import SESSIONS
from workbench.records.episodes import Event, EventType
from workbench.sessions.episodes_fold import COMMIT, FULL, HOUR, TRACED, event_text, state_of, story
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.records.answers.usage import RunningSession
    from workbench.records.episodes import SessionRow, Trace

_TASK = 60  # characters
_SHOWN = 30  # files of a kind
_UNSEEN = "(the prompt was not recorded)"
_COLORS = {"success": "32", "partial": "33", "failed": "31", "unknown": "2"}


@command
@list_options(SESSIONS)
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Maximum number shown."
)
@click.option("--open", "only_open", is_flag=True, help="Only sessions that have not ended.")
@click.option("--commits", is_flag=True, help="Commits of the repository as well.")
def list_(
    text: Sequence[str], sort: str, limit: int, cursor: str | None, only_open: bool, commits: bool
) -> None:
    """List sessions, the newest first, and how many are complete.

    FILTER is that of the app: words of the task, and fields: source, outcome, since, when, file, open, kind,
    reads, edits, id. A session is complete when it has ended and has a task, a file that was read, one that
    was edited, and an outcome other than unknown: causal_trace_completeness is their share.
    """
    from workbench.entry.project import open_workspace
    from workbench.entry.services.sessions import (
        completeness_sentence,
        session_completeness,
        session_figures,
        session_page,
        session_query,
    )

    here = current()
    config = here.settings().config
    query = session_query(" ".join([*text, *(["open:yes"] if only_open else [])]), sort)
    place = open_workspace(here.project, config)
    page = session_page(place, query, commits=commits, cursor=cursor, limit=limit)
    figures = session_figures(session_completeness(place))
    now, timeout = place.clock.now(), config.sessions.timeout_hours * HOUR
    states = [
        state_of(row.ended_at is not None, row.closed_by, row.last_at, now, timeout) for row in page.rows
    ]
    if here.flags.json:
        found = [
            {**{name: getattr(row, name) for name in row.__slots__}, "state": state}
            for row, state in zip(page.rows, states, strict=True)
        ]
        more = {"total": page.total, "next_cursor": page.cursor}
        here.out.json({"sessions": found, **more, "completeness": figures})
        return
    for line, outcome in _rows(page.rows, states):
        here.out.paint(here.out.style(line, _COLORS.get(outcome, "0")))
    if not page.rows:
        none = 'no session is known: `workbench episode start "…"` starts one'
        here.out.say("no session matches" if query.filter else none)
    if page.cursor is not None:
        here.out.say(f"{len(page.rows):,} of {page.total:,}; the next: --cursor {page.cursor}")
    if figures.ended or figures.open:
        here.out.say(completeness_sentence(figures))


def _rows(rows: Sequence[SessionRow], states: Sequence[str]) -> Iterator[tuple[str, str]]:
    cells = [
        (
            visible_line(row.session_id),
            shown_time(row.started_at),
            state,
            row.outcome if state != "open" else "-",
            f"{row.reads:,}r",
            f"{row.edits:,}e",
            shorten(row.task_text or _UNSEEN, _TASK),
        )
        for row, state in zip(rows, states, strict=True)
    ]
    widths = [max(len(cell[column]) for cell in cells) for column in range(6)] if cells else []
    for cell in cells:
        parts = [f"{text:<{width}}" for text, width in zip(cell, widths, strict=False)]
        yield "  ".join([*parts, cell[6]]), cell[3]


@command
def running() -> None:
    """Show what agents do now: files read and changed, what they were given, rules kept and broken.

    Known from hooks and from the transcripts that agents write. A session is listed until ten minutes after
    its turn is over.
    """
    from workbench.entry.project import open_workspace
    from workbench.entry.services.running import RunningSessions
    from workbench.records.answers.usage import RunningSessionsResponse

    here = current()
    place = open_workspace(here.project, here.settings().config)
    found = RunningSessions(place).look()
    if here.wrote_json(RunningSessionsResponse(found)):
        return
    for one in found:
        head = f"{one.session_id}  {one.state}, prompt {one.prompts:,}, last word {shown_time(one.last_at)}"
        here.out.paint(here.out.style(visible_line(head), "1"))
        for name, text in _running_lines(one):
            here.out.data(visible_line(f"  {name:<12}{text}"))
    if not found:
        here.out.say("no session is running: `workbench install` adds the hooks that record them")


def _running_lines(session: RunningSession) -> Iterator[tuple[str, str]]:
    from workbench.sessions.running import was_missed, was_opened

    yield "task", shorten(session.task, _TASK)
    yield "now", session.now or "-"
    yield "reads", _paths(file.path for file in session.files if file.read_at >= 0)
    yield "edits", _paths(file.path for file in session.files if file.edited_at >= 0)
    yield "given", f"{session.tokens:,} tokens in {plural(session.calls, 'hand-over')}"
    yield "not given", _paths(file.path for file in session.files if was_missed(file))
    yield "not opened", _paths(file.path for file in session.files if file.given and not was_opened(file))
    for rule in session.rules:
        yield rule.verdict, f"{rule.rule_id[:13]} {shorten(rule.text, _TASK)}"


def _paths(paths: Iterable[str]) -> str:
    found = list(paths)
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}" or "-"


@command
@click.argument("session")
@click.option("--events", "every", is_flag=True, help="Every event in its order, too.")
def show(session: str, every: bool) -> None:
    """Show a session from its task over its reads and edits to its outcome.

    Any unambiguous beginning names a session; `git:` and a commit's id name a commit.
    """
    here = current()
    place = episode_service_of(here)
    trace = place.trace(session)
    episode = trace.episode
    state = state_of(
        episode.ended_at is not None,
        episode.closed_by,
        episode.last_at,
        place.store.now(),
        place.store.timeout,
    )
    if here.flags.json:
        here.out.json(_facts(trace, state))
        return
    for name, text in _lines(trace, state):
        here.out.paint(here.out.style(f"{name:<11}", "1") + here.out.style(visible_line(text), "0"))
    if every:
        for event in trace.events:
            here.out.data("  ".join(_event_cells(event)).rstrip())


def _facts(trace: Trace, state: str) -> dict[str, Any]:
    episode = trace.episode
    kind = story(episode)
    return {
        **{name: getattr(episode, name) for name in episode.__slots__},
        "state": state,
        "traced": None if kind == COMMIT else kind in (TRACED, FULL),
        "full": None if kind == COMMIT else kind == FULL,
        "events": [{name: getattr(event, name) for name in event.__slots__} for event in trace.events],
    }


def _lines(trace: Trace, state: str) -> Iterator[tuple[str, str]]:
    episode = trace.episode
    yield "task", episode.task_text or _UNSEEN
    place = episode.prompt_index
    part = f", prompt {'?' if place is None else place + 1} of {episode.parent_session}"
    part = part if episode.parent_session else ""
    yield "session", f"{episode.session_id} (from {episode.source}{part})"
    ended = "" if episode.ended_at is None else f" to {shown_time(episode.ended_at)}"
    yield "when", f"{shown_time(episode.started_at)}{ended}, {state}"
    issues = f", {', '.join(episode.issue_refs)}" if episode.issue_refs else ""
    yield "kind", f"{episode.query_type}{issues}"
    yield "reads", plural(len(episode.reads), "file")
    yield from _some(episode.reads)
    yield "edits", plural(len(episode.changes), "file")
    yield from _some([f"{change.path} ({change.kind})" for change in episode.changes])
    for kind in (EventType.DELTA, EventType.GREPAI_HIT, EventType.DECISION):
        events = [event for event in trace.events if event.event_type is kind]
        if events:
            yield kind.value, plural(len(events), "event")
            yield from _some([event_text(event) for event in events])
    evidence = f" ({episode.outcome_evidence})" if episode.outcome_evidence else ""
    yield "outcome", f"{episode.outcome}{evidence}"
    if episode.rationale:
        yield "why", episode.rationale
    if episode.commit_sha:
        yield "commit", episode.commit_sha
    if episode.token_used is not None or episode.token_budget is not None:
        used, budget = (
            "-" if count is None else f"{count:,}" for count in (episode.token_used, episode.token_budget)
        )
        yield "tokens", f"{used} used of {budget}"


def _some(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    for path in paths[:_SHOWN]:
        yield "", path
    if len(paths) > _SHOWN:
        yield "", f"and {len(paths) - _SHOWN:,} more"


def _event_cells(event: Event) -> tuple[str, ...]:
    said = event.payload.get("outcome", "") if event.event_type is EventType.FEEDBACK else ""
    return (
        shown_time(event.timestamp),
        f"{event.event_type:<10}",
        visible_line(event.file_path or str(said) or "-"),
        visible_line(event.symbol),
        "late" if event.late else "",
    )


def shown_time(seconds: int) -> str:
    """Return a time as text, the number itself where no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(seconds)
