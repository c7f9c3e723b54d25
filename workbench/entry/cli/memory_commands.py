"""`workbench memory`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Lazy, LazyGroup

_PLACE = "workbench.entry.cli"

COMMANDS = {
    "status": Lazy(
        f"{_PLACE}.memory_journal_commands:status",
        "Show what is remembered of each feature, and what of it cannot be read.",
    ),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, examples=("workbench memory status",))
def memory() -> None:
    """Keep what iterations of an agent did, and what was learned from them."""
