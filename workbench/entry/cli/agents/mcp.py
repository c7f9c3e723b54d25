"""The command that agents start as their MCP server."""

from __future__ import annotations

import sys

import click

from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError


@command
@click.option("--http", is_flag=True, help="Serve over HTTP instead, as `workbench serve` does, at /mcp.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="With --http: the port (default: free).",
)
def mcp(http: bool, port: int) -> None:
    """Serve this project to an agent by the Model Context Protocol, over stdin and stdout.

    Nine tools: plan_context, find_files, rules_for, remember, recall, record_feedback, and the stash:
    stash_context, retrieve_stashed_context, merge_stashed_context. The project is that of --project, else of
    CLAUDE_PROJECT_DIR, else the one around here; it is opened by the first call, and never indexed unasked.
    Nothing but the protocol goes to stdout.

    With --http agents ask at a port of this machine, with the bearer token of the file that is named; the
    address goes to stdout, and Ctrl-C ends it.
    """
    if http:
        from workbench.entry.cli.agents.serve import answer_requests

        answer_requests(port, "127.0.0.1", address="mcp")
        return
    if sys.stdin.isatty():
        raise UsageError(
            "the server speaks with a program over stdin", hint="Agents start it; `workbench install`."
        )
    from workbench.entry.mcp.stdio import serve

    serve(current().flags.project)
