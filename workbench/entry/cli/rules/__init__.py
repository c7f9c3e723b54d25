"""`workbench rules`: the group, whose commands are imported when they are invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands


@click.group(
    cls=LazyGroup,
    lazy=lazy_commands("rules"),
    examples=("workbench rules list", 'workbench rules match "add a migration"'),
)
def rules() -> None:
    """Find, edit and settle rules, and keep CLAUDE.md, AGENTS.md and their like up to date."""
