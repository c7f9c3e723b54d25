"""The options that commands which list records share: a filter, an order, and where to go on."""

from __future__ import annotations

from collections.abc import Callable

import click

from workbench.entry.cli.frame import Function, with_options
from workbench.lists.tables import ListType


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
