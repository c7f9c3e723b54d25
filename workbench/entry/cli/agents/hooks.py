"""The command that agents run as their hook."""

from __future__ import annotations

import sys

import click

from workbench.entry.cli.frame import command
from workbench.entry.hooks.run import AGENTS
from workbench.entry.hooks.run import main as answer_hook
from workbench.errors import UsageError


@command
@click.argument("event", required=False, default="")
@click.option("--agent", type=click.Choice(AGENTS), default="claude", show_default=True, help="Who asks.")
def hook(event: str, agent: str) -> None:
    """Answer a hook of a coding agent: context, checks of rules, a record of the session.

    The agent's JSON is on stdin, the answer in the agent's own form goes to stdout. EVENT is the event as
    the agent calls it; without it the payload names it. The start of a session and its prompts get context,
    calls of tools are checked against absolute rules, and what a session does is recorded.

    It exits with 0 always and prints nothing unless there is something to say; `workbench doctor` says why
    hooks failed. A project that the workbench was never used in is left alone. WORKBENCH_HOOKS=0 turns all
    hooks off.
    """
    if sys.stdin.isatty():
        raise UsageError("a hook reads its payload from stdin", hint="Agents run this; see docs/agents.md.")
    answer_hook([event, "--agent", agent])
