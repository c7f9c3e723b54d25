"""`workbench episode` and `workbench feedback`: sessions recorded while they happen.

Writing needs no index and no tables, and opens none, because a hook waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import WHY, decode_json, read_input
from workbench.entry.cli.session import episode_service_of
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.records.episodes import Episode

_MAX_INPUT = 1 << 20  # bytes
_SCENARIO = click.option("--scenario", metavar="NAME", help="The scenario that is active from now on.")
_STEP = click.option("--step", metavar="NAME", help="The step of the work that is active from now on.")


@command
@click.argument("task")
@click.option("--session", "session", default="", metavar="ID", help="Its id (default: a new one).")
@click.option("--type", "query_type", default="", metavar="KIND", help="bugfix, feature, refactor, …")
@click.option(
    "--budget", "--token-budget", type=int, metavar="TOKENS", help="The token budget it works under."
)
@click.option(
    "--source", default="", metavar="NAME", help="Who records: claude_code, codex, … (default: cli)."
)
@click.option("--parent", default="", metavar="ID", help="The longer session it is a part of.")
@click.option("--prompt", type=int, metavar="N", help="Which prompt of the longer session it is, from 0.")
@_SCENARIO
@_STEP
def start(
    task: str,
    session: str,
    query_type: str,
    budget: int | None,
    source: str,
    parent: str,
    prompt: int | None,
    scenario: str | None,
    step: str | None,
) -> None:
    """Start an episode and print its session's id.

    An episode is one task. Starting the same one again changes nothing.
    """
    here = current()
    records = episode_service_of(here)
    found = records.start(
        task,
        session_id=session,
        query_type=query_type,
        token_budget=budget,
        source=source,
        parent_session=parent,
        prompt_index=prompt,
    )
    records.note_disk(found)
    if parts := _parts(scenario, step):
        records.event(found, "decision", payload=parts, key=f"begun in {parts}")
    if not here.wrote_json({"session_id": found}):
        here.out.data(found)


@command
@click.argument("session")
@click.option(
    "--type", "event_type", required=True, metavar="TYPE", help="read, edit, grepai_hit, delta, decision."
)
@click.option("--file", "files", multiple=True, metavar="PATH", help="The file; may be repeated.")
@click.option("--symbol", default="", metavar="NAME", help="What in the file: a function, a class.")
@click.option("--change", default="", metavar="KIND", help="Of an edit: added, modified or removed.")
@click.option("--payload", default="", metavar="JSON", help="An object with more about it; `-` for stdin.")
@click.option(
    "--key", default="", metavar="TEXT", help="Names the event: the same key again changes nothing."
)
@_SCENARIO
@_STEP
def event(
    session: str,
    event_type: str,
    files: Sequence[str],
    symbol: str,
    change: str,
    payload: str,
    key: str,
    scenario: str | None,
    step: str | None,
) -> None:
    """Record what a session did, once for each file. Prints nothing.

    A decision may say which scenario and which step of the work are active from now on, empty for none: rules
    of that scenario or step hold in plans of the session. Files are kept relative to the project; others are
    refused. Any unambiguous beginning names a session.
    """
    here = current()
    parts = _parts(scenario, step)
    if parts and event_type != "decision":
        raise UsageError("--scenario and --step belong to a decision", hint="Record it with --type decision.")
    recorded = episode_service_of(here).event(
        session,
        event_type,
        files=files,
        symbol=symbol,
        payload={**_payload(payload), **parts},
        kind=change,
        base=os.getcwd(),
        key=key,
    )
    if here.flags.json:
        here.out.json({"recorded": recorded})


@command
@click.argument("session")
@click.option(
    "--outcome",
    default="unknown",
    show_default=True,
    metavar="OUTCOME",
    help="success, partial, failed, unknown.",
)
@click.option("--commit", default="", metavar="SHA", help="The commit it ended in.")
@click.option("--evidence", default="", metavar="TEXT", help="The evidence for the outcome: tests passed, …")
@click.option("--tokens", type=int, metavar="N", help="Tokens it used.")
@click.option("--latency-ms", type=int, metavar="N", help="How long it took (default: since its start).")
def end(
    session: str, outcome: str, commit: str, evidence: str, tokens: int | None, latency_ms: int | None
) -> None:
    """End an episode and say how it went.

    One that nobody ends is closed as unknown after sessions.timeout_hours without an event.
    """
    here = current()
    ended = episode_service_of(here).end(
        session, outcome, commit=commit, evidence=evidence, token_used=tokens, latency_ms=latency_ms
    )
    _show_episode(here, ended)


@command
@click.argument("session", default="")
@click.option("--session", "given", default="", metavar="ID", help="SESSION, where it is not an argument.")
@click.option("--outcome", default="", metavar="OUTCOME", help="success, partial, failed, unknown.")
@click.option("--why", "--note", default="", metavar="TEXT", help="Why, for the history.")
def feedback(session: str, given: str, outcome: str, why: str) -> None:
    """Set the outcome of a session, recorded or imported, whenever it is known.

    Feedback outweighs what the session said of itself; the last word counts.
    """
    if bool(session) == bool(given):
        raise UsageError(
            "feedback is for one session", hint="`workbench feedback SESSION --outcome success`."
        )
    here = current()
    _show_episode(here, episode_service_of(here).feedback(session or given, outcome, why))


@command
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@WHY
def forget(sessions: Sequence[str], reason: str) -> None:
    """Exclude sessions from everything that is learned.

    Their lines stay in the journal; tables, history and plans leave them out.
    """
    here = current()
    found = episode_service_of(here).forget(sessions, reason)
    if not here.wrote_json({"forgotten": found}):
        for session in found:
            here.out.data(f"{session} forgotten")


def _show_episode(here: Invocation, found: Episode) -> None:
    from workbench.text.counts import plural

    if here.flags.json:
        from workbench.sessions.episodes_fold import FULL, TRACED, story

        kind = story(found)
        facts = {"session_id": found.session_id, "outcome": found.outcome, "ended_at": found.ended_at}
        touched = {"reads": len(found.reads), "edits": len(found.changes)}
        here.out.json({**facts, **touched, "traced": kind in (TRACED, FULL), "full": kind == FULL})
        return
    files = f"{plural(len(found.reads), 'file')} read, {len(found.changes):,} edited"
    state = "open" if found.ended_at is None else "ended"
    here.out.data(f"{found.session_id}  {state}: {found.outcome}, {files}")


def _parts(scenario: str | None, step: str | None) -> dict[str, str]:
    given = {"scenario": scenario, "step": step}
    return {name: value for name, value in given.items() if value is not None}


def _payload(given: str) -> dict[str, Any]:
    if not given:
        return {}
    text = given if given != "-" else read_input("-", "the payload", _MAX_INPUT).decode("utf-8", "replace")
    found = decode_json(text, "payload", "--payload", '{"why": "…"}')
    if not isinstance(found, dict):
        raise UsageError("the payload is not a JSON object", hint="""Such as --payload '{"why": "…"}'.""")
    return found
