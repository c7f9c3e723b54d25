"""The arguments and options that commands about records share: which, why, how many, in what order."""

from __future__ import annotations

from collections.abc import Callable

import click

from workbench.entry.cli.frame import Function, with_options
from workbench.lists.tables import ListType

IDENTIFIERS = click.argument("identifiers", metavar="ID...", nargs=-1, required=True)
WHY = click.option("--reason", default="", metavar="TEXT", help="Why, for the history.")


def limit_option(default: int = 50, shown: str = "Maximum number shown.") -> Callable[[Function], Function]:
    """Return what gives a command `--limit`, a number of at least 1."""
    return click.option("--limit", type=click.IntRange(1), default=default, show_default=True, help=shown)


def list_options(listed: ListType) -> Callable[[Function], Function]:
    """Return what gives a command FILTER as `text`, `--sort` and `--cursor` for a type of record."""
    return with_options(
        click.argument("text", nargs=-1, metavar="[FILTER]..."),
        click.option(
            "--sort", default="", metavar="COLUMN", help=f"{', '.join(listed.sorts)}; -COLUMN the other way."
        ),
        click.option(
            "--cursor", metavar="TEXT", help="The page after this one: next_cursor of the page before."
        ),
    )
