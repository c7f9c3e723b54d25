"""The team of a project as faces ask for it: joining, status, copies and members."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from workbench.entry.project import (
    ProjectTeam,
    TeamSettings,
    add_team_member,
    compare_teams,
    copy_team,
    is_url,
    mask_url,
    open_place,
    prepare_team_project,
    remote_addresses,
    remove_team_member,
    team_members,
)
from workbench.errors import GitError, ServerUnreachable, TeamError, UsageError
from workbench.records.answers.team import (
    EntryPutAside,
    MachineState,
    MemberState,
    RecordDifference,
    TeamExchange,
    TeamMembers,
    TeamStatus,
    TeamVerification,
)

if TYPE_CHECKING:
    from workbench.entry.project import Exchange, ProjectState, TeamComparison, TeamMachine
    from workbench.entry.services.opening import Progress

_LONGEST: Final = 200  # bytes of a project's name
_OF_LOGIN: Final = ("user", "password", "sslpassword")  # parameters of a URL that are its owner's


def project_name(root: Path) -> str:
    """Return how a project is called at a server: as its remote, `github.com/owner/name`, or directory."""
    with suppress(GitError):
        for address in remote_addresses(root):
            if name := remote_name(address):
                return name
    return root.name


def remote_name(address: str) -> str:
    """Return the host and path of a remote's address, without user, password and `.git`; "" for a path."""
    if "://" not in address:
        host, colon, path = address.partition(":")
        if not colon or "/" in host or not path or path.startswith("\\"):
            return ""
        host = host.rpartition("@")[2]
    else:
        try:
            parts = urlsplit(address)
        except ValueError:
            return ""
        host, path = parts.hostname or "", parts.path
    name = f"{host.lower()}/{path.strip('/').removesuffix('.git')}"
    fits = host and path.strip("/") and name.isprintable() and len(name.encode()) <= _LONGEST
    return name if fits else ""


def join_team(project: ProjectState, url: str, name: str, progress: Progress) -> TeamExchange:
    """Be in a team from now on: what is for it is copied aside, sent, and what is there received.

    Whoever owns the server's database makes its tables and the project this way, too.
    Raises: UsageError, StoreError.
    """
    name = checked_name(name or project_name(project.root))
    try:
        prepare_team_project(url, name)
    except ServerUnreachable as error:
        raise ServerUnreachable(
            error.message,
            hint="No team was joined. Check the host and the port in the URL, or run this once it answers.",
        ) from None
    settings = TeamSettings(url, name, f"{socket.gethostname()}:{project.root.name}")
    done = ProjectTeam(project).join(settings, progress)
    return _exchange(settings, done.exchange, done.export)


def sync_team(project: ProjectState, progress: Progress) -> TeamExchange:
    """Send and receive now. Raises: UsageError without a team; StoreError."""
    team = ProjectTeam(project)
    done = team.sync(progress=progress)
    settings = team.settings
    assert settings is not None
    return _exchange(settings, done)


def leave_team(project: ProjectState, *, forget: bool, progress: Progress) -> int:
    """Have no team any more, after a last look; return how many records the server was not sent.

    What others wrote stays here, unless it is to be forgotten, then or later.
    Raises: UsageError without a team; StoreError.
    """
    team = ProjectTeam(project)
    if forget and team.machine and team.settings is None:
        team.leave(forget=True)
        return 0
    with suppress(TeamError):
        team.sync(progress=progress)
    unsent = team.lag().unsent
    team.leave(forget=forget)
    return unsent


def team_status(project: ProjectState) -> TeamStatus:
    """Return how far this machine and the server are apart; the server is asked, and nothing is exchanged.

    Raises: StoreError for what is wrong here.
    """
    team, known = ProjectTeam(project), local_status(project)
    if not known.project:
        return known
    try:
        with closing(team.connect()) as server:
            lag = team.lag(server)
            return msgspec.structs.replace(
                known,
                member=server.member,
                machines=_machine_states(list(server.machines()), known.machine),
                unsent=lag.unsent,
                unreceived=lag.unreceived,
                answers=True,
            )
    except TeamError as error:
        answers = not isinstance(error, ServerUnreachable)
        return msgspec.structs.replace(known, fault=error.message, hint=error.hint, answers=answers)


def local_status(project: ProjectState) -> TeamStatus:
    """Return what is known of the team here, as of the last look at its server. Raises: StoreError."""
    team = ProjectTeam(project)
    settings, look, own = team.settings, team.look, team.machine
    if settings is None:
        return TeamStatus("", "", "", own, False, 0, 0, "", "", "", (), ())
    return TeamStatus(
        server=mask_url(settings.url),
        project=settings.project,
        member="",
        machine=own,
        answers=False,
        unsent=team.lag().unsent,
        unreceived=0,
        synced_at=_moment(look.synced_at),
        fault=look.fault,
        hint=look.hint,
        notes=look.notes,
        machines=_machine_states(team.machines, own),
    )


def _machine_states(machines: Sequence[TeamMachine], own: str) -> tuple[MachineState, ...]:
    return tuple(
        MachineState(machine.id, machine.name, machine.member, machine.seen_at, machine.id == own)
        for machine in sorted(machines, key=lambda one: (one.name, one.id))
    )


def verify_team(project: ProjectState, progress: Progress) -> TeamVerification:
    """Send, receive and compare every record here with the server's. Raises: UsageError, StoreError."""
    done, found = ProjectTeam(project).verify(progress)
    return _verification(found, notes=done.notes, aside=entries_put_aside(project))


def entries_put_aside(project: ProjectState, streams: str = "") -> tuple[EntryPutAside, ...]:
    """Return the records of others that do not count, of the journals whose names begin so.

    These are read whole. Raises: StoreError.
    """
    names = project.machine_names
    found = []
    for one in project.put_aside(streams):
        reason = one.reason
        for machine, name in names.items():
            if machine:
                reason = reason.replace(f"the machine {machine}", name)
        machine = names.get(one.machine, one.machine)
        found.append(EntryPutAside(machine, one.stream, one.entry, reason))
    return tuple(found)


def aside_sentence(found: EntryPutAside) -> str:
    """Return what was put aside, whose it is and why."""
    return f"put aside: {found.entry or 'a line'} in {found.stream} of {found.machine}: {found.reason}"


def copy_between(source: str, target: str, name: str, progress: Progress) -> TeamVerification:
    """Copy all journals of a team from one server or directory to another, and compare all records of both.

    Raises: UsageError, StoreError.
    """
    if any(is_url(place) for place in (source, target)):
        if not name:
            raise UsageError(
                "a server has several projects",
                hint="--name says which, as `workbench store status` shows it.",
            )
        name = checked_name(name)
    if not is_url(source) and not Path(source).is_dir():
        raise UsageError(f"{source} is neither a directory nor the URL of a server", hint="Correct it.")
    if is_url(target):
        prepare_team_project(target, name)
    with closing(open_place(source, name)) as here, closing(open_place(target, name)) as there:
        if not is_url(source) and not here.machines():
            raise UsageError(
                f"{source} has no journals of a team", hint="Give a copy, or a project that has a team."
            )
        copied = copy_team(here, there, progress)
        return _verification(compare_teams(here, there, progress), copied)


def list_members(project: ProjectState, url: str = "", name: str = "") -> TeamMembers:
    """Return who is a member of the team, or has machines.

    `url` is another one than the project's own, the owner's. Raises: UsageError, StoreError.
    """
    url, name = _address(project, url, name)
    return _members(url, name)


def add_member(project: ProjectState, member: str, url: str = "", name: str = "") -> TeamMembers:
    """Let a role of the server be a member, made with a password if there is none.

    The URL of the answer has that password; a role that was there keeps its own, which nobody here knows.
    With the owner's `url` the tables and the project are made as well. Raises: UsageError, StoreError.
    """
    prepared, (url, name) = bool(url), _address(project, url, name)
    if prepared:
        prepare_team_project(url, name)
    password = add_team_member(url, name, member)
    return _members(url, name, member_url(url, member, password))


def remove_member(project: ProjectState, member: str, url: str = "", name: str = "") -> TeamMembers:
    """Take a member out; what its machines sent stays. Raises: UsageError if it is none; StoreError."""
    url, name = _address(project, url, name)
    if not remove_team_member(url, name, member):
        raise UsageError(f"{member!r} is not a member of {name}", hint="`workbench store members list`.")
    return _members(url, name)


def member_url(url: str, member: str, password: str) -> str:
    """Return the URL of a server for a member, with a password unless that is empty."""
    parts = urlsplit(url)
    login = quote(member, safe="") + (f":{quote(password, safe='')}" if password else "")
    own = [given for given in parts.query.split("&") if unquote(given.partition("=")[0]) not in _OF_LOGIN]
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{login}@{host}", query="&".join(own)).geturl()


def checked_name(name: str) -> str:
    """Return the name of a project at a server, without blanks around it.

    Raises: UsageError for what cannot be one.
    """
    name = name.strip()
    if not name or not name.isprintable() or len(name.encode("utf-8", "replace")) > _LONGEST:
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a project",
            hint=f"--name takes 1 to {_LONGEST} bytes, all of them printable.",
        )
    return name


def _members(url: str, name: str, made: str = "") -> TeamMembers:
    found = [MemberState(one.name, one.present, one.machines, one.seen_at) for one in team_members(url, name)]
    return TeamMembers(name, tuple(found), made)


def _address(project: ProjectState, url: str, name: str) -> tuple[str, str]:
    """Return the server's URL, or the one that is given, and the project there. Raises: UsageError."""
    settings = ProjectTeam(project).settings
    if settings is not None:
        return url or settings.url, checked_name(name or settings.project)
    if not url:
        raise UsageError(
            "this project has no team", hint="`workbench store use URL` joins one; --url names a server."
        )
    return url, checked_name(name or project_name(project.root))


def _exchange(settings: TeamSettings, done: Exchange, export: str = "") -> TeamExchange:
    server = mask_url(settings.url)
    return TeamExchange(server, settings.project, done.sent, done.received, export, tuple(done.notes))


def _verification(
    found: TeamComparison,
    copied: int = 0,
    notes: Sequence[str] = (),
    aside: tuple[EntryPutAside, ...] = (),
) -> TeamVerification:
    differences = tuple(
        RecordDifference(one.machine, one.stream, one.line, one.here, one.there) for one in found.differences
    )
    return TeamVerification(
        copied, found.machines, found.streams, found.records, differences, aside, tuple(notes)
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else ""
