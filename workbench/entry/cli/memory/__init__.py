"""`workbench memory`: the group, whose commands are imported when they are invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands


@click.group(
    cls=LazyGroup,
    lazy=lazy_commands("memory"),
    examples=("workbench memory status", "workbench memory ingest run.jsonl --feature auth"),
)
def memory() -> None:
    """Record what iterations of an agent did, and what was learned from them."""
