"""The commands that answer programs over HTTP and gRPC, and agents by the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError


@command
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="Listen at a port; 0 takes a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="With --port: where.")
@click.option(
    "--socket", "path", type=click.Path(path_type=Path), metavar="PATH", help="Another unix socket."
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIRECTORY",
    help="Answer for all projects below it (default: this project). Repeatable.",
)
@click.option("--openapi", is_flag=True, help="Print the OpenAPI document, and serve nothing.")
def serve(port: int | None, host: str, path: Path | None, roots: Sequence[Path], openapi: bool) -> int:
    """Answer programs over HTTP: plans, rules, learnings, the stash, sessions, hooks.

    It listens at a unix socket that only you can open; with --port at a port of this machine, where every
    request needs the bearer token of a file that only you can read. Both are printed once it can be asked.
    The address goes to stdout. Ctrl-C ends it.

    The server owns nothing: everything is on disk before a request is answered, so it may be killed, two may
    run, and every other command works meanwhile and without it. Hooks of agents ask it where it runs, because
    its projects are loaded; nothing starts it unasked.
    """
    here = current()
    if openapi:
        from workbench.entry.http.openapi import document_text

        here.out.data(document_text().rstrip("\n"))
        return exits.OK
    if port is not None and path is not None:
        raise UsageError("a server listens at a port or at a socket", hint="Leave out --port or --socket.")
    answer_requests(port, host, path, roots)
    return exits.OK


def answer_requests(
    port: int | None, host: str, path: Path | None = None, roots: Sequence[Path] = (), address: str = ""
) -> None:
    """Serve until Ctrl-C, at a port or a socket; `address` is what of it is printed. Raises: UsageError."""
    from workbench.entry.http.projects import ServedProjects
    from workbench.entry.http.serving import ListeningPlace, read_token
    from workbench.entry.http.serving import serve as serve_requests
    from workbench.entry.web.access import is_loopback
    from workbench.places import serve_socket, user_home

    here = current()
    if not is_loopback(host):
        raise UsageError(
            f"{host} may be reached from other machines",
            hint="Use a tunnel, such as ssh -L 8321:localhost:8321.",
        )
    project = Path(os.path.realpath(here.project))
    projects = ServedProjects(roots or [project], project)
    if not any(project.is_relative_to(root) for root in projects.roots):
        projects.usual = None
    if port is None:
        place, token_file = ListeningPlace(socket=(path or serve_socket(project)).absolute()), None
    else:
        token, token_file = read_token(user_home(os.environ))
        place = ListeningPlace(host=host, port=port, token=token)

    def ready(base: str) -> None:
        url = base + address
        if here.flags.json:
            known = {"socket": url} if token_file is None else {"url": url, "token_file": str(token_file)}
            here.out.json(known)
            return
        here.out.data(url)
        if token_file is None:
            here.out.say(f"try: curl --unix-socket {url} http://localhost/v1/health")
        else:
            here.out.say(f"the bearer token is in {token_file}")
            here.out.say(f'try: curl -H "Authorization: Bearer $(cat {token_file})" {base}v1/health')
        here.out.say("Ctrl-C ends it")

    serve_requests(projects, place, ready)
    here.out.say("stopped serving")


@command
@click.option("--http", is_flag=True, help="Serve over HTTP instead, as `workbench serve` does, at /mcp.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="With --http: the port (default: free).",
)
def mcp(http: bool, port: int) -> None:
    """Serve this project to an agent by the Model Context Protocol, over stdin and stdout.

    Twelve tools: plan_context, expand, find_files, rules_for, remember, recall, list_conflicts,
    settle_conflict, record_feedback, and the stash: stash_context, retrieve_stashed_context,
    merge_stashed_context. The project is that of --project, else of CLAUDE_PROJECT_DIR, else the one around
    here; it is opened by the
    first call, and never indexed unasked.
    Nothing but the protocol goes to stdout.

    With --http agents ask at a port of this machine, with the bearer token of the file that is named; the
    address goes to stdout, and Ctrl-C ends it.
    """
    if http:
        answer_requests(port, "127.0.0.1", address="mcp")
        return
    if sys.stdin.isatty():
        raise UsageError(
            "the server speaks with a program over stdin", hint="Agents start it; `workbench install`."
        )
    from workbench.entry.mcp.stdio import serve

    serve(current().flags.project)


@command
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="Listen at a port; 0 takes a free one."
)
@click.option("--socket", "path", type=click.Path(path_type=Path), help="Another unix socket.")
def grpc(port: int | None, path: Path | None) -> int:
    """Answer programs over gRPC: the rules of this project, by filters, by a query and by id.

    Four methods, `workbench/entry/grpc/ingestion.proto`: GetMemoryRules, SearchMemoryRules, GetMemoryRuleById
    and UpdateRuleUsage. It listens at a unix socket that only you can open; with --port at a port of this
    machine, where every call bears the token of a file that only you can read. The address goes to stdout.
    Ctrl-C ends it. It needs the extra: pip install 'context-workbench[grpc]'.
    """
    here = current()
    if port is not None and path is not None:
        raise UsageError("a server listens at a port or at a socket", hint="Leave out --port or --socket.")
    from workbench.entry.grpc.server import BY, serve
    from workbench.entry.http.serving import ListeningPlace, is_answered, read_token
    from workbench.entry.project import private_dir
    from workbench.entry.services.opening import host_project, report_progress
    from workbench.places import serve_socket, user_home

    if port is None:
        socket = (path or serve_socket(here.project).with_suffix(".grpc")).absolute()
        private_dir(socket.parent)
        if socket.exists() and (not socket.is_socket() or is_answered(socket)):
            raise UsageError(f"{socket} is in use", hint="Ask the server there, or give --socket.")
        place, token_file = ListeningPlace(socket), None
    else:
        token, token_file = read_token(user_home(os.environ))
        place = ListeningPlace(host="127.0.0.1", port=port, token=token)

    def ready(address: str) -> None:
        here.out.data(address)
        if token_file is not None:
            here.out.say(f"the bearer token is in {token_file}")
        here.out.say("Ctrl-C ends it")

    host = host_project(here.project, {}, BY, report_progress)
    try:
        serve(host, place, ready)
    finally:
        host.close()
    here.out.say("stopped serving")
    return exits.OK
