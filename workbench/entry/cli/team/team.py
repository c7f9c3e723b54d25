"""`workbench store use|status|sync|verify|copy|leave`: the team of a project, and its journals elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.project import find_state
from workbench.entry.services import team as service
from workbench.records.answers.team import TeamLeaving
from workbench.text.counts import plural, shown_bytes
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.opening import Progress
    from workbench.records.answers.team import TeamExchange, TeamStatus, TeamVerification

NAME = click.option("--name", default="", metavar="NAME", help="The project at the server.")


@contextmanager
def project_of(here: Invocation) -> Iterator[OpenedProject]:
    """Open the state of the project. Raises: WorkbenchError."""
    with closing(find_state(here.project, here.settings().config)) as project:
        yield project


@contextmanager
def progress_of(here: Invocation) -> Iterator[Progress]:
    """Show what takes longer than a second."""
    with here.out.progress("Working") as line:
        yield lambda stage, done, total: line(done, total, stage)


@command
@click.argument("url", metavar="URL")
@click.option(
    "--name", default="", metavar="NAME", help="The project at the server (default: from the git remote)."
)
def use(url: str, name: str) -> None:
    """Join a team: share this project's rules, learnings and stash from now on.

    What is shared is copied aside first, then sent, and what the team has is received. From then on
    everything is written here as before, sent after each command or at once by what runs for long, and
    received likewise; without the server work goes on, and meets again later. WORKBENCH_TEAM=0 leaves it to
    `workbench store sync`.

    Shared are the rules that people wrote or changed with the workbench, learnings, the stash, and how often
    rules were used. Never shared are sessions, prompts, metrics, models, rule files and what is yours in all
    projects.

    URL is the member's own, postgresql://NAME:PASSWORD@HOST/DATABASE; without a password it is looked up in
    ~/.pgpass. It is kept in the state directory, for you alone. TLS is required unless the server is on this
    machine, or the URL ends with ?sslmode=disable. The owner of the database makes the tables and the project
    by this command; others have to be members.
    """
    here = current()
    with project_of(here) as project, progress_of(here) as progress:
        done = service.join_team(project, url, name, progress)
    if here.wrote_json(done):
        return
    here.out.data(visible_line(f"{done.project} at {done.server}"))
    if done.export:
        here.out.data(visible_line(f"copied what is shared to {done.export}"))
    _show_exchange(here, done)


@command
def status() -> None:
    """Show the server, the machines, and what is not on both sides yet."""
    here = current()
    with project_of(here) as project:
        found = service.team_status(project)
    if here.flags.json:
        here.out.json(found)
    else:
        _show_status(here, found)


@command
def sync() -> None:
    """Send what was written here and receive what others wrote, now."""
    here = current()
    with project_of(here) as project, progress_of(here) as progress:
        done = service.sync_team(project, progress)
    if here.wrote_json(done):
        return
    _show_exchange(here, done)


@command
def verify() -> int:
    """Compare every record here with the server's.

    Both sides send and receive first. Exit 1 if any record differs, or one of another member is put aside
    because it claims what is not its machine's to say: it is named, and takes no part in anything. A journal
    of another machine that differs is fetched again the next time. One of this machine means that the server
    lost or changed something: its owner can bring it back with `workbench store copy`.
    """
    here = current()
    with project_of(here) as project, progress_of(here) as progress:
        verification = service.verify_team(project, progress)
    return _show_verification(here, verification)


@command
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@NAME
def copy(source: str, target: str, name: str) -> int:
    """Copy all journals of a team to another server or directory.

    All records of both are compared afterwards; exit 1 if any differs. A and B are URLs of a server, with
    --name for the project there, or directories: a copy made before, or a project that has a team. Nothing
    is overwritten: B must be empty, or hold a part of what A holds, which a copy that was interrupted
    leaves. Machines are their copier's at a new server: members take new ids there by themselves, and
    nothing is lost or there twice.
    """
    here = current()
    with progress_of(here) as progress:
        verification = service.copy_between(source, target, name, progress)
    return _show_verification(here, verification)


@command
@click.option("--forget", is_flag=True, help="Remove what others wrote from this machine, too.")
def leave(forget: bool) -> None:
    """Work alone again: nothing is sent or received any more.

    What this machine sent stays at the server. What others wrote stays here and goes on to count, unless
    --forget removes it; `workbench store use` brings it back.
    """
    here = current()
    with project_of(here) as project, progress_of(here) as progress:
        unsent = service.leave_team(project, forget=forget, progress=progress)
    if here.wrote_json(TeamLeaving(unsent, forget)):
        return
    here.out.data("this project has no team any more")
    if unsent:
        here.out.data(f"the team does not have {plural(unsent, 'record')} of this machine")


def _show_exchange(here: Invocation, done: TeamExchange) -> None:
    here.out.data(f"sent {plural(done.sent, 'record')}, received {plural(done.received, 'record')}")
    for note in done.notes:
        here.out.warn(visible_line(note))


def _show_verification(here: Invocation, found: TeamVerification) -> int:
    if here.flags.json:
        here.out.json(found)
    else:
        if found.copied:
            here.out.data(f"copied {plural(found.copied, 'record')}")
        here.out.data(
            f"the same in both: {plural(found.records, 'record')} of {plural(found.machines, 'machine')}"
        )
        for difference in found.differences:
            here.out.data(
                visible_line(
                    f"{difference.stream} of machine {difference.machine} differs at line {difference.line}: "
                    f"{difference.here or 'nothing'} here, {difference.there or 'nothing'} there"
                )
            )
        for aside in found.put_aside:
            here.out.data(visible_line(service.aside_sentence(aside)))
        for note in found.notes:
            here.out.warn(visible_line(note))
    return exits.ERROR if found.differences or found.put_aside else exits.OK


def _show_status(here: Invocation, found: TeamStatus) -> None:
    if not found.server:
        here.out.data("this project has no team")
        here.out.say("`workbench store use postgresql://member@host/database` joins one")
        return
    rows = [("server", found.server), ("project", found.project), ("member", found.member)]
    lines = [f"{label:<9}{value}" for label, value in rows if value]
    lines.append(f"{'state':<9}{_state(found)}")
    lines += [f"{'':<9}{note}" for note in found.notes]
    width = max((len(visible_line(machine.name)) for machine in found.machines), default=0)
    for number, one in enumerate(found.machines):
        seen = "this machine" if one.own else f"seen {one.seen_at}" if one.seen_at else "never seen"
        label = "" if number else "machines"
        lines.append(f"{label:<9}{visible_line(one.name):<{width}}  {one.member}, {seen}")
    for line in lines:
        here.out.data(visible_line(line))
    if found.fault:
        here.out.warn(visible_line(found.fault))
        if found.hint:
            here.out.say(visible_line(found.hint))


def _state(found: TeamStatus) -> str:
    parts = []
    if found.unsent:
        parts.append(f"{plural(found.unsent, 'record')} to send")
    if found.unreceived:
        parts.append(f"{shown_bytes(found.unreceived)} to receive")
    if found.fault:
        parts.append("the server does not answer" if not found.answers else "the server refuses")
    last = f"last in sync {found.synced_at}" if found.synced_at else "never in sync"
    return f"{', '.join(parts) or 'in sync'}; {last}"
