"""The options that say what rules are to hold for: agent, contexts, facts, scenario, step, session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from workbench.entry.cli.frame import Invocation, with_options
from workbench.errors import UsageError
from workbench.text.sanitize import visible_line

AGENT = click.option(
    "--tool",
    "--agent",
    "tool",
    metavar="NAME",
    help="The agent it is for, claude or codex: rules for one agent hold for that alone.",
)

context_options = with_options(
    click.option(
        "--context", "contexts", multiple=True, metavar="NAME", help="A context in force. Repeatable."
    ),
    click.option(
        "--fact",
        "facts",
        multiple=True,
        metavar="NAME=VALUE",
        help="A fact for conditions of rules, such as phase=release. Repeatable.",
    ),
    click.option("--scenario", metavar="NAME", help="The active scenario (default: the session's)."),
    click.option("--step", metavar="NAME", help="The active step of the work (default: the session's)."),
    click.option(
        "--session",
        "session_id",
        metavar="ID",
        help="The session that asks: its scenario and step hold, and use is recorded for it.",
    ),
)
"""The options of `context_fields`, apart from the agent."""


def context_fields(
    here: Invocation,
    *,
    tool: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    scenario: str | None,
    step: str | None,
    session_id: str | None,
) -> dict[str, Any]:
    """Return the options as fields of a plan's request.

    Raises: UsageError for what is no fact; StoreError.
    """
    active = ("", "")
    if session_id and (scenario is None or step is None):
        from workbench.entry.cli.session import episode_service_of  # opens projects, which a hook need not

        active = episode_service_of(here).active(session_id)
    return {
        "tool": here.settings().config.rules.tool if tool is None else tool,
        "contexts": tuple(dict.fromkeys(contexts)),
        "facts": _facts(facts),
        "scenario": active[0] if scenario is None else scenario,
        "step": active[1] if step is None else step,
        "session_id": session_id,
    }


def _facts(given: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(
                f"{visible_line(text)!r} is no fact", hint="Write NAME=VALUE: --fact phase=release"
            )
        found.setdefault(name, []).append(value)
    return tuple((name, tuple(values)) for name, values in found.items())
