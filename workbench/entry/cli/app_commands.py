"""`workbench app`: the terminal app, also what `workbench` alone opens in a terminal."""

from __future__ import annotations

import os
import sys

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.entry.terminal import can_show_app
from workbench.errors import UsageError


@command(
    examples=(
        "workbench",
        "workbench app rules",
        "workbench app --project ~/src/shop conflicts",
    )
)
@click.argument("section", required=False)
def app(section: str | None) -> int:
    """Open the terminal app (also `workbench` alone in a terminal).

    It works on the project of the current directory. SECTION is the screen to begin with: plan, rules,
    conflicts, sessions and so on; by default the one that was left. `?` lists the keys of a screen, ctrl+p
    searches all commands.
    """
    if reason := can_show_app(os.environ, sys.stdin.isatty(), sys.stdout.isatty()):
        raise UsageError(
            f"the app needs a terminal: {reason}",
            hint="`workbench --help` lists the commands that work in pipes.",
        )
    return open_app(section or "")


def open_app(section: str) -> int:
    """Run the app in this terminal until it is left, and return the exit code."""
    from screens.app import WorkbenchApp
    from screens.sections import SECTIONS, find_section
    from workbench.entry.resuming import place_file

    if section and find_section(section) is None:
        known = ", ".join(one.id for one in SECTIONS)
        raise UsageError(f"there is no screen {section!r}", hint=f"One of {known}.")
    here = current()
    application = WorkbenchApp(here.project, place_file=place_file(here.project), section=section)
    application.run()
    code = application.return_code or exits.OK
    if application.jobs.running:
        # Threads of work that was cancelled may still compute: nothing they do is needed, and journals bear
        # an end at any instant.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
