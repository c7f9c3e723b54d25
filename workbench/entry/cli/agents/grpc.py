"""The command that answers programs over gRPC."""

from __future__ import annotations

import os
from pathlib import Path

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError


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
