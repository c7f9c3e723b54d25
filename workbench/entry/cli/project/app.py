"""`workbench app`: the terminal app, also what `workbench` alone opens in a terminal."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.entry.os.terminal import can_show_app
from workbench.errors import UsageError

_SWITCH = 0.001  # seconds: a key waits no longer than that for a thread that computes


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
    open_app(section or "")


def open_app(section: str) -> NoReturn:
    """Run the app in this terminal until it is left, and end the program with its exit code."""
    from screens.app import WorkbenchApp
    from screens.sections import SECTIONS, find_section
    from workbench.entry.project import place_file, repository_at, require_consent

    if section and find_section(section) is None:
        known = ", ".join(one.id for one in SECTIONS)
        raise UsageError(f"there is no screen {section!r}", hint=f"One of {known}.")
    here = current()
    if repository_at(here.project)[0] is None:
        require_consent(here.project)
    application = WorkbenchApp(here.project, place_file=place_file(here.project), section=section)
    sys.setswitchinterval(_SWITCH)
    application.run(mouse=here.settings().config.app.mouse)
    code = application.return_code or exits.OK
    # Threads of work that was cancelled may still compute, and libraries that were loaded take their time to
    # be taken down: nothing of that is needed, and journals bear an end at any instant.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
