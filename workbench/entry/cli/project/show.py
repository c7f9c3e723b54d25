"""`workbench show`: the text of what is named: definitions, outlines, callers, ranges of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.project.places import handle_from_here
from workbench.entry.cli.session import workspace_session
from workbench.records.expansion import Aspect

_ASPECTS: Final = (Aspect.CALLERS, Aspect.USES, Aspect.SUBCLASSES, Aspect.OUTLINE, Aspect.REST, Aspect.LINKS)
_HELP: Final = {
    Aspect.CALLERS: "Where it is used; of a file, what imports it.",
    Aspect.USES: "What it depends on; of a file, what it imports.",
    Aspect.SUBCLASSES: "The types that extend or implement it.",
    Aspect.OUTLINE: "The definitions of a file, also of a small one.",
    Aspect.REST: "What of a file the session was not given yet.",
    Aspect.LINKS: "What a file imports, is imported by and is tested by.",
}


def _aspects(function: click.decorators.FC) -> click.decorators.FC:
    for aspect in reversed(_ASPECTS):
        option = click.option(f"--{aspect}", "aspect", flag_value=str(aspect), help=_HELP[aspect])
        function = option(function)
    return function


@command
@click.argument("handles", nargs=-1, required=True, metavar="HANDLE...")
@click.option(
    "--budget",
    "--token-budget",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum tokens (default: 1500).",
)
@_aspects
@click.option("--session", "session_id", default="", metavar="ID", help="The session that it is given to.")
@click.option("--again", is_flag=True, help="Show also what the session was given before.")
def show(
    handles: Sequence[str], budget: int | None, aspect: str | None, session_id: str, again: bool
) -> None:
    """Show what names stand for: definitions, outlines, callers, ranges of files.

    A HANDLE is a name (parseKeymap, Terminal.Loop), a file (src/options.go, or options.go), or a file and
    what is wanted of it: :120-180 for lines, :Terminal.Loop for a definition or a heading, :rest for what the
    session has not. NAME:callers, NAME:uses and FILE:links are as the options below, for one handle.

    A small file is shown whole, a larger one as its definitions with their lines. Where several definitions
    have a name, the one in source that is visible from outside is shown, else all are listed. The text never
    has more tokens than the budget; what is cut says how to ask for the rest. Nothing is given twice to a
    session (--session, or that of the agent that runs the command) unless its file changed.
    """
    from workbench.entry.services.expansion import expand_for, expand_request

    here = current()
    with workspace_session("show") as work:
        root = work.opened.root
        request = expand_request(
            work.opened,
            [handle_from_here(handle, root) for handle in handles],
            budget=budget,
            aspect=aspect or "",
            session=session_id,
            again=again,
            by="cli",
        )
        response = expand_for(work.opened, work.measurement, request, progress=work.progress, by="cli")
    if here.wrote_json(response):
        return
    if response.text:
        here.out.data(response.text.rstrip("\n"))
    else:  # not even a line that names what has no room
        for item in response.handles:
            here.out.warn(f"{item.handle}: {item.note}")
