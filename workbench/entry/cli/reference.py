"""`docs/commands.md`, made from the commands: `python -m workbench.entry.cli.reference PATH`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from workbench.entry.cli import exits
from workbench.entry.cli.main import cli

_WIDTH = 100


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yield (path, command) of the program, its commands and theirs, in the order of help."""

    def walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield path, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None:
                    yield from walk(f"{path} {name}", found)

    yield from walk("workbench", cli)


def reference() -> str:
    """Return the page: the help of every command, and the exit codes."""
    parts = ["# Commands\n\nWritten by `make docs` from the commands' own help.\n"]
    for path, command in every_command():
        context = click.Context(
            command, info_name=path, terminal_width=_WIDTH, help_option_names=["-h", "--help"]
        )
        parts.append(f"## {path}\n\n```\n{command.get_help(context).rstrip()}\n```\n")
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in exits.MEANINGS.items())
    parts.append(f"## Exit codes\n\n| code | meaning |\n|---|---|\n{codes}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
