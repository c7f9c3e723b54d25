"""`workbench store members`: who is in the team of a project."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from workbench.entry.cli.frame import Invocation, command, current, with_options
from workbench.entry.cli.team.team import project_of
from workbench.entry.services import team as service
from workbench.records.answers.team import TeamMembers
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_WHERE = with_options(
    click.option("--url", default="", metavar="URL", help="Another URL than this project's: the owner's."),
    click.option("--name", default="", metavar="NAME", help="Another project at the server."),
)


@command
@_WHERE
def list_(url: str, name: str) -> None:
    """List the members, and who was one and has machines."""
    here = current()
    with project_of(here) as project:
        _show(here, service.list_members(project, url, name))


@command
@click.argument("member", metavar="NAME")
@_WHERE
def add(member: str, url: str, name: str) -> None:
    """Make somebody a member: a role of the server, created unless it exists.

    With --url of the database's owner the tables and the project are made, too: that is how a team begins. A
    new role has a password, which is in the URL that is printed, once. Hand it over where nobody else reads.
    A role that was there keeps its password, and the URL has none.
    """
    here = current()
    with project_of(here) as project:
        found = service.add_member(project, member, url, name)
    _show(here, found)
    if urlsplit(found.url).password is None:
        here.out.say(visible_line(f"the role {member} was there and keeps its password"))
    if not here.flags.json:
        here.out.data(
            visible_line(f"for {member}: workbench store use '{found.url}' --name '{found.project}'")
        )


@command
@click.argument("member", metavar="NAME")
@_WHERE
def remove(member: str, url: str, name: str) -> None:
    """Take a member out: nothing is sent or received by its machines any more, and what they sent stays."""
    here = current()
    with project_of(here) as project:
        _show(here, service.remove_member(project, member, url, name))


def _show(here: Invocation, found: TeamMembers) -> None:
    if here.wrote_json(found):
        return
    for member in found.members:
        seen = f", seen {member.seen_at}" if member.seen_at else ""
        former = "" if member.present else ", no member any more"
        line = f"{member.member:<20} {plural(member.machines, 'machine')}{seen}{former}"
        here.out.data(visible_line(line))
