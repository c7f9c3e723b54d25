"""`workbench store`: the group, whose commands are imported when they are invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands


@click.group(
    cls=LazyGroup,
    lazy=lazy_commands("store"),
    examples=(
        "workbench store use postgresql://anna@db.example.org/team",
        "workbench store status",
        "workbench store sync",
    ),
)
def store() -> None:
    """Share rules, learnings and the stash with a team, over a PostgreSQL server."""
