"""`workbench app` and `serve-web`: the app in this terminal, as `workbench` alone opens it, or a browser."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.entry.os.terminal import can_show_app
from workbench.errors import UsageError

_SWITCH = 0.001  # seconds: a key waits no longer than that for a thread that computes


@command
@click.argument("section", required=False)
def app(section: str | None) -> int:
    """Open the terminal app (also `workbench` alone in a terminal).

    It works on the project of the current directory. SECTION is the screen to begin with: plan, rules,
    conflicts, sessions and so on; by default the one that was left. `?` lists the keys of a screen, ctrl+p
    searches all commands.
    """
    if reason := can_show_app(os.environ, sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty()):
        raise UsageError(
            f"the app needs a terminal: {reason}",
            hint="`workbench --help` lists the commands that work in pipes.",
        )
    open_app(section or "")


def open_app(section: str) -> NoReturn:
    """Run the app in this terminal until it is left, and end the program with its exit code."""
    from screens.app import WorkbenchApp
    from screens.commands import SECTIONS, find_section
    from workbench.entry.project import place_file, require_consent

    if section and find_section(section) is None:
        known = ", ".join(section.id for section in SECTIONS)
        raise UsageError(f"there is no screen {section!r}", hint=f"One of {known}.")
    here = current()
    require_consent(here.project)
    application = WorkbenchApp(here.project, place_file=place_file(here.project), section=section)
    sys.setswitchinterval(_SWITCH)
    if isinstance(sys.__stderr__, io.TextIOWrapper):  # what Textual draws on; under LC_ALL=C it may be ASCII
        sys.__stderr__.reconfigure(encoding="utf-8")
    application.run(mouse=here.settings().config.app.mouse)
    code = application.return_code or exits.OK
    # Threads of work that was cancelled may still compute, and libraries that were loaded take their time to
    # be taken down: nothing of that is needed, and journals bear an end at any instant.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@command
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port; 0 takes a free one.",
)
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Let other machines in, with a --host they reach: "
    "who reads the address uses the app as you, unencrypted.",
)
def serve_web(port: int, host: str, allow_remote: bool) -> int:
    """Serve the app to browsers of this machine (also `--serve-web`).

    Ctrl-C ends it. The URL goes to stdout once it can be visited, with a token: nobody is served without
    it. Every visit is an app of its own, which ends with the page. Nothing is loaded from other servers, and
    requests of other pages are refused.
    """
    from workbench.entry.project import require_consent
    from workbench.entry.web.access import is_loopback, url_of
    from workbench.entry.web.serving import Serving, app_command, serve

    here = current()
    require_consent(here.project)
    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            f"{host} may be reached from other machines, and nothing is encrypted",
            hint="Leave --host out and use a tunnel (ssh -L 8000:localhost:8000), or say --allow-remote.",
        )
    if not is_loopback(host):
        here.out.warn(f"whoever reads the address of {url_of(host, port)} uses the app as you")

    def ready(url: str) -> None:
        if not here.wrote_json({"url": url}):
            here.out.data(url)
        here.out.say("open it in a browser; Ctrl-C ends it")

    serve(Serving(app_command(here.project), host, port, f"workbench · {here.project.name}"), ready)
    here.out.say("stopped serving")
    return exits.OK
