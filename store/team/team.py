"""The team of a project: asks its server, and keeps how that went. Without a team nothing of it is imported.

Work never waits for a server: whoever sends and receives does so after the answer, or in a thread.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store.files import STATE, read_state, translate_errors, write_atomic
from store.journal_files import stream_sizes
from store.table_places import remove_server_tables
from store.team.adoption import STASH, adopt_segments, give_up_segments
from store.team.copying import TeamComparison, compare_teams, copy_team
from store.team.directory import DirectoryTeam
from store.team.forgetting import EXPORTS, forget_others, forget_rewritten
from store.team.record import machine_label, read_machines, read_record, write_record
from store.team.replicas import TEAM, USES, is_shared, own_machine
from store.team.server import TeamMachine, TeamServer
from store.team.settings import (
    TEAM_FILE,
    TeamLook,
    TeamSettings,
    forget_settings,
    mask_url,
    read_look,
    read_settings,
    write_look,
    write_settings,
)
from store.team.sync import Exchange, Progress, TeamReplicas, team_lock
from workbench.errors import StoreError, UsageError, WorkbenchError
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

if TYPE_CHECKING:
    from store.project_state import ProjectState

PATIENCE: Final = 60.0
"""Seconds that another process which sends and receives is waited for."""
REST: Final = 60.0
"""Seconds that commands do not ask a server again which did not answer."""
_SAME: Final = 10.0
"""Seconds in which a look that went as the last one is not written down again."""


Connect = Callable[[str, str], TeamServer]


def open_team_server(url: str, project: str) -> TeamServer:
    """Return a connection to a project of a team's server. Raises: UsageError, TeamError."""
    require_url(url)
    from store.postgres.server import open_server

    return open_server(url, project)


def require_url(url: str) -> None:
    """Raise UsageError for what is not the address of a server."""
    if not is_url(url):
        raise UsageError(
            f"{mask_url(url)!r} is not the address of a team's server",
            hint="It is a URL: postgresql://member@host/database.",
        )


def is_url(place: str) -> bool:
    """Whether a place is a server, not a directory."""
    return place.startswith(("postgresql://", "postgres://"))


@dataclass(frozen=True, slots=True)
class TeamLag:
    """What is not on both sides: records here that were not sent, bytes there that were not received."""

    unsent: int
    unreceived: int


@dataclass(frozen=True, slots=True)
class TeamJoining:
    """What joining a team did: where what is shared was copied first, "" where there was nothing."""

    export: str
    copied: int
    exchange: Exchange


_TURN: Final = "turn"
"""The file that says when a process was last started to exchange."""


class ProjectTeam:
    """The team of a project's state directory. `connect` opens its server."""

    def __init__(self, project: ProjectState, connect: Connect | None = None) -> None:
        self._project = project
        self._state = project.state
        self._journal = project.journal
        self._clock = project.clock
        self._connect = connect or open_team_server
        self._kept: TeamReplicas | None = None

    @property
    def settings(self) -> TeamSettings | None:
        """Which server and project, None without a team. Raises: TeamError."""
        return read_settings(self._state)

    @property
    def look(self) -> TeamLook:
        """How it went when the server was asked last."""
        return read_look(self._state)

    @property
    def machine(self) -> str:
        """The id of this machine, empty before it ever had a team."""
        return own_machine(self._state)

    @property
    def machines(self) -> list[TeamMachine]:
        """The machines of the team, as of the last look."""
        return read_machines(self._state / TEAM)

    def connect(self) -> TeamServer:
        """Return a connection to the server, which the caller closes. Raises: TeamError."""
        settings = self._require_settings()
        return self._connect(settings.url, settings.project)

    def sync(
        self,
        patience: float = PATIENCE,
        progress: Progress | None = None,
        server: TeamServer | None = None,
        machines: Collection[str] = (),
    ) -> Exchange:
        """Send, and receive what `machines` wrote, or all; how it went is kept.

        Raises: StoreError, StoreBusy.
        """
        settings = self._require_settings()
        with team_lock(self._state, patience):
            try:
                with translate_errors("exchanging records with the team"):
                    replicas, self._kept = self._open_replicas(settings.name, progress), None
                    with closing(self.connect()) if server is None else nullcontext(server) as opened:
                        done = replicas.exchange(opened, machines)
                    self._adopt(replicas)
                    self._kept = replicas
            except StoreError as error:
                self.note_fault(error)
                raise
            self._note_success(done)
        return done

    def load(self) -> None:
        """Import what asking the server takes, so that it does not count as waiting. Raises: ConfigError."""
        import store.postgres.server as _server  # noqa: F401 - for its effect

    def note_fault(self, error: WorkbenchError) -> None:
        """Keep that the server could not be asked, or refused."""
        look, now = self.look, self._clock.now()
        if look.fault != error.message or now - look.failed_at > _SAME:
            new = TeamLook(look.synced_at, now, error.message, error.hint, look.notes)
            write_look(self._state, new)

    def written_sizes(self) -> dict[str, int] | None:
        """Return how large the files are of journals for the team, but of uses; None without a team.

        It differs when something was written that others wait for. No file is opened.
        """
        if not (self._state / TEAM / TEAM_FILE).exists():
            return None
        sizes = stream_sizes(self._journal.root)
        return {name: size for name, size in sizes.items() if is_shared(name) and name != USES}

    def has_news(self) -> bool:
        """Whether anything was written here since the last look, or that was a while ago."""
        record = read_record(self._state, self.machine)
        known = {name: outbox.source.end for name, outbox in record.own.items()}
        recent = self._clock.now() - self.look.synced_at < _SAME
        shared = (name for name in self._journal.streams() if is_shared(name))
        return not recent or any(self._journal.size(name) != known.get(name, 0) for name in shared)

    def is_resting(self) -> bool:
        """Whether the server did not answer so lately that commands do not ask it again."""
        look = self.look
        return look.failed_at > look.synced_at and self._clock.now() - look.failed_at < REST

    def begin_turn(self, seconds: float) -> bool:
        """Whether nobody began one within some seconds; then that is noted. Raises: StoreError."""
        path, now = self._state / TEAM / _TURN, self._clock.now()
        with suppress(OSError, ValueError):
            if 0 <= now - float(read_state(path)) < seconds:
                return False
        write_atomic(path, f"{now}".encode(), sync=False)
        return True

    def lag(self, server: TeamServer | None = None) -> TeamLag:
        """Return what is not on both sides; without a server, as of the last look. Raises: StoreError."""
        settings = self._require_settings()
        with team_lock(self._state, PATIENCE):
            replicas = TeamReplicas(self._state, self._journal, settings.name)
            replicas.fill_outbox()
            replicas.save()
        heads = {} if server is None else server.heads()
        return TeamLag(replicas.unsent(), replicas.unreceived_bytes(heads))

    def join(self, settings: TeamSettings, progress: Progress) -> TeamJoining:
        """Copy what is for the team aside, then send it and receive what is there. Raises: StoreError.

        The settings count once the server let this machine in.
        """
        before = self.settings
        if before is not None and before.project != settings.project:
            raise UsageError(
                f"this project is in the team of {before.project} already",
                hint="Leave it first: `workbench store leave --forget` keeps only what was written here.",
            )
        with (
            closing(self._connect(settings.url, settings.project)) as server,
            team_lock(self._state, PATIENCE),
        ):
            replicas = TeamReplicas(self._state, self._journal, settings.name, progress)
            replicas.fill_outbox()
            replicas.save()
            export = self._state / TEAM / EXPORTS / new_id()
            copied = copy_team(DirectoryTeam(self._state / TEAM), DirectoryTeam(export), progress)
            if before is not None and before.url != settings.url:
                remove_server_tables(self._state, self._clock)
            write_settings(self._state, settings)
            done = replicas.exchange(server)
            self._adopt(replicas)
            self._note_success(done)
        return TeamJoining(str(export) if copied else "", copied, done)

    def leave(self, *, forget: bool) -> None:
        """Have no team any more; `forget` removes what others wrote, too. Raises: StoreError, StoreBusy."""
        with team_lock(self._state, PATIENCE), translate_errors("leaving the team"):
            remove_server_tables(self._state, self._clock)
            forget_settings(self._state)
            if forget:
                give_up_segments(self._state)
                team = self._state / TEAM
                for pattern in ("machines/*", "former/*", f"{EXPORTS}/*/machines/*"):
                    for path in team.glob(pattern):
                        if path.name != self.machine:
                            shutil.rmtree(path)
                # Otherwise they would be taken for damaged once a team is joined again.
                record = read_record(self._state, self.machine)
                record.peers = {}
                write_record(self._state, record)
                forget_others(self._state)

    def forget_copies(self) -> None:
        """Let the own replica be what the journals are by now, and remove what `join` copied aside.

        The server has it with the next exchange. Raises: StoreError, StoreBusy.
        """
        with team_lock(self._state, PATIENCE), translate_errors("removing copies of what is shared"):
            replicas = TeamReplicas(self._state, self._journal, "")
            replicas.fill_outbox()
            replicas.save()
            if (exports := self._state / TEAM / EXPORTS).is_dir():
                shutil.rmtree(exports)

    def verify(self, progress: Progress) -> tuple[Exchange, TeamComparison]:
        """Send and receive, then compare all records here with the server's. Raises: StoreError.

        Others' streams that differ are fetched again the next time.
        """
        with closing(self.connect()) as server:
            done = self.sync(progress=progress, server=server)
            with team_lock(self._state, PATIENCE):
                teams = compare_teams(DirectoryTeam(self._state / TEAM), server, progress)
                record = read_record(self._state, self.machine)
                for difference in teams.differences:
                    record.peers.get(difference.machine, {}).pop(difference.stream, None)
                if teams.differences:
                    write_record(self._state, record)
        return done, teams

    def _adopt(self, replicas: TeamReplicas) -> None:
        """Take others' segments into the own stash. Raises: StoreError, StoreBusy."""
        if marks := replicas.received_marks(STASH):
            names = {machine.id: machine_label(machine) for machine in replicas.machines}
            adopt_segments(self._state, self._journal, self._project.peer_journals, marks, names)
        forget_rewritten(self._state, replicas.generations(), self._clock)

    def _open_replicas(self, name: str, progress: Progress | None) -> TeamReplicas:
        """Return the replicas as the last exchange left them, read again where another process had one."""
        if self._kept is None or not self._kept.is_current(name):
            return TeamReplicas(self._state, self._journal, name, progress)
        return self._kept

    def _require_settings(self) -> TeamSettings:
        settings = self.settings
        if settings is None:
            raise UsageError(
                "this project has no team",
                hint="`workbench store use postgresql://member@host/database` joins one.",
            )
        return settings

    def _note_success(self, done: Exchange) -> None:
        look, now = self.look, self._clock.now()
        if look.fault or done.notes or now - look.synced_at > _SAME:
            write_look(self._state, TeamLook(now, look.failed_at, notes=tuple(done.notes) or look.notes))


def open_place(place: str, project: str) -> TeamServer:
    """Return a project of a server, or the journals of a team in a directory: a copy, or a project's.

    Raises: UsageError, TeamError.
    """
    if is_url(place):
        return open_team_server(place, project)
    inside = Path(place) / STATE / TEAM
    return DirectoryTeam(inside if inside.is_dir() else Path(place))
