"""`workbench stash`: the group, whose commands are imported when they are invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands


@click.group(
    cls=LazyGroup,
    lazy=lazy_commands("stash"),
    examples=("workbench stash add --type decision 'We keep sessions in Redis'", "workbench stash list"),
)
def stash() -> None:
    """Put segments of a conversation aside, and get back those that matter for a task."""
