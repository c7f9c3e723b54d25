"""`workbench store members`: who is in the team of a project."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Group, Invocation, command, current
from workbench.entry.cli.team.team import project_of
from workbench.entry.services import team as service
from workbench.records.answers.team import TeamMembers
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

_URL = click.option(
    "--url", default="", metavar="URL", help="The owner's URL (default: the one this project uses)."
)


@click.group(cls=Group, examples=("workbench store members list", "workbench store members add bob"))
def members() -> None:
    """List, add and remove members. Adding and removing needs the owner of the database."""


@command(name="list", examples=("workbench store members list",))
@_URL
def list_(url: str) -> None:
    """List the members, and who was one and has machines."""
    here = current()
    with project_of(here) as project:
        _show(here, service.list_members(project, url))


@command(examples=("workbench store members add bob", "workbench store members add bob --json"))
@click.argument("member", metavar="NAME")
@_URL
def add(member: str, url: str) -> None:
    """Let somebody be a member: a role of the server, which is made if there is none.

    The password of a new role is printed once. Give it to the person in a way that nobody else reads.
    """
    here = current()
    with project_of(here) as project:
        found = service.add_member(project, member, url)
    _show(here, found)
    if found.password and not here.flags.json:
        here.out.data(visible_line(f"password of {member}: {found.password}"))


@command(examples=("workbench store members remove bob",))
@click.argument("member", metavar="NAME")
@_URL
def remove(member: str, url: str) -> None:
    """Take a member out: nothing is sent or received by its machines any more, and what they sent stays."""
    here = current()
    with project_of(here) as project:
        _show(here, service.remove_member(project, member, url))


def _show(here: Invocation, found: TeamMembers) -> None:
    if here.flags.json:
        here.out.json(found)
        return
    for one in found.members:
        seen = f", seen {one.seen_at}" if one.seen_at else ""
        former = "" if one.present else ", no member any more"
        line = f"{one.member:<20} {counted(one.machines, 'machine')}{seen}{former}"
        here.out.data(visible_line(line))


for _command in (list_, add, remove):
    members.add_command(_command)
