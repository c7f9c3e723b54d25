"""Where the program `workbench` begins: hooks go their own short way, everything else to the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the program and exit with its code. A hook loads nothing that only commands need."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words) and not sys.stdin.isatty():
        from workbench.entry.hooks.run import main as answer_hook

        answer_hook(words[1:])
    from workbench.entry.cli.main import main as run_command

    run_command()
