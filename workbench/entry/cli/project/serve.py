"""`workbench serve-web`: the app in a browser, also `workbench --serve-web`."""

from __future__ import annotations

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError


@command(
    examples=(
        "workbench --serve-web",
        "workbench --serve-web --port 0 --json",
        "workbench serve-web --project ~/src/shop --port 8123",
    )
)
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
    help="Let other machines in, with a --host they reach. There is no login: "
    "who reaches it uses the app as you.",
)
def serve_web(port: int, host: str, allow_remote: bool) -> int:
    """Serve the app to browsers of this machine (also `--serve-web`).

    Ctrl-C ends it. The URL goes to stdout once it can be visited. Every visit is an app of its own, which
    ends with the page. Nothing is loaded from other servers, and requests of other pages are refused.
    """
    from workbench.entry.project import repository_at, require_consent
    from workbench.entry.web.access import is_loopback, url_of
    from workbench.entry.web.serving import Serving, app_command, serve

    here = current()
    if repository_at(here.project)[0] is None:
        require_consent(here.project)
    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            f"{host} may be reached from other machines, and there is no login",
            hint="Leave --host out and use a tunnel (ssh -L 8000:localhost:8000), or say --allow-remote.",
        )
    if not is_loopback(host):
        here.out.warn(f"whoever reaches {url_of(host, port)} uses the app as you: there is no login")

    def ready(url: str) -> None:
        if here.flags.json:
            here.out.json({"url": url})
        else:
            here.out.data(url)
        here.out.say("open it in a browser; Ctrl-C ends it")

    serve(Serving(app_command(here.project), host, port, f"workbench · {here.project.name}"), ready)
    here.out.say("stopped serving")
    return exits.OK
