"""Exchange with a team's server beside the work: after a command, in a process, in a thread that listens.

Nothing waits for a server: writes are local.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.project import ProjectTeam, find_state
from workbench.errors import ServerUnreachable, StoreBusy, StoreError, UsageError, WorkbenchError

if TYPE_CHECKING:
    from workbench.entry.project import ProjectState, TeamServer

SWITCH: Final = "WORKBENCH_TEAM"
_POLL: Final = 0.25
"""Seconds between two looks of a long-lived face at the own journals; their files are looked at."""
_LISTEN: Final = 0.2
"""Seconds of waiting for others between them."""
_REST: Final = 30.0
"""Seconds after which what rules were used for is sent without anything else."""
_RETRY: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds until a server that did not answer is asked again by a long-lived face."""
_TURN: Final = 60.0
"""Seconds between two exchanges that hooks start."""
_BRIEFLY: Final = 1.0
"""Seconds that a command waits for the server after its answer."""
_NICENESS: Final = 5
_LATER: Final = "What you do is kept here and sent later."


def is_asked(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a team's server is asked beside the work: not where WORKBENCH_TEAM=0 says so, as on a train."""
    return environment.get(SWITCH, "") != "0"


def exchange_briefly(root: Path) -> Sequence[str]:
    """Send and receive what is new, for at most a second, and return what a person should know of it.

    Not where everything was exchanged a moment ago, nor soon after a server did not answer. Raises nothing
    that concerns the team: it is in `workbench store status`.
    """
    if not is_asked():
        return ()
    project = find_state(root)
    team, connected, found = ProjectTeam(project), threading.Event(), list[str]()

    def exchange() -> None:
        try:
            with closing(team.connect()) as server:
                connected.set()
                found.extend(team.sync(0, server=server).notes)
        except StoreBusy:
            return  # another process of this machine sends and receives
        except WorkbenchError as error:
            _note_fault(team, error, found)

    try:
        if team.is_resting() or not team.has_news():
            return ()
        team.load()
    except WorkbenchError as error:
        _note_fault(team, error, found)
        return tuple(found)
    thread = threading.Thread(target=exchange, name="team", daemon=True)
    thread.start()
    thread.join(_BRIEFLY)
    if thread.is_alive() and not connected.is_set():
        silent = ServerUnreachable("the team's server did not answer within a second", hint=_LATER)
        _note_fault(team, silent, found)
    return tuple(found)


def exchange_beside(project: ProjectState) -> bool:
    """Let a process of its own exchange what is new, and return at once whether one was started.

    Not where all is exchanged, as where an app or a server listens, nor twice within a minute, nor soon after
    a server did not answer. Raises: StoreError.
    """
    from workbench.entry.os.background import run_in_background  # for hooks

    team = ProjectTeam(project)
    if not is_asked() or team.settings is None or team.is_resting() or not team.has_news():
        return False
    return team.begin_turn(_TURN) and run_in_background(project.root, "store", "sync")


def _note_fault(team: ProjectTeam, error: WorkbenchError, found: list[str]) -> None:
    """Keep what was wrong, and report it unless it was already."""
    if team.look.fault != error.message:
        found.append(". ".join(filter(None, (error.message, error.hint))))
    with suppress(StoreError):
        team.note_fault(error)


def _give_way() -> None:
    """Let whoever asks something have the processor before this thread.

    What one machine sends all others receive in one moment, and a processor may have many of them.
    """
    if sys.platform == "linux":  # where threads have priorities of their own
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class TeamListener:
    """Keeps a project's replicas up to date in a thread, while something long-lived works on it.

    What is written here is sent at once: after `notice` by this process, else with the next look at the
    journals. What others send is received within a second; a server that does not answer is asked again after
    a while.
    """

    def __init__(self, project: ProjectState) -> None:
        self._team = ProjectTeam(project)
        self._stop = threading.Event()
        self._server: TeamServer | None = None
        self._seen: object = None  # of the own journals, when they were last looked at
        self._thread = threading.Thread(target=self._run, name="team", daemon=True)
        self._thread.start()

    @property
    def is_listening(self) -> bool:
        """Whether it goes on: it ends by itself where the team was left."""
        return self._thread.is_alive() and not self._stop.is_set()

    def notice(self) -> None:
        """Let what was written be sent now, if anything was."""
        server = self._server
        if server is not None and self._team.written_sizes() != self._seen:
            server.wake()

    def stop(self) -> None:
        """End; whoever looks next goes on with what was being sent or received."""
        self._stop.set()
        if (server := self._server) is not None:
            server.wake()
        self._thread.join(2 * _LISTEN)

    def _run(self) -> None:
        _give_way()
        waits = iter(_RETRY)
        while not self._stop.is_set():
            try:
                with closing(self._team.connect()) as self._server:
                    for _ in self._exchanges(self._server):
                        waits = iter(_RETRY)
                return
            except UsageError:
                return  # the team was left, or its server cannot be asked without what is to be installed
            except StoreBusy:
                self._stop.wait(_POLL)
            except StoreError as error:
                with suppress(StoreError):
                    self._team.note_fault(error)
                self._stop.wait(next(waits, _RETRY[-1]))

    def _exchanges(self, server: TeamServer) -> Iterator[None]:
        self._seen = None
        news: Collection[str] | None = ()
        looked = 0.0
        while not self._stop.is_set() and (now := self._team.written_sizes()) is not None:
            rested = time.monotonic() - looked > _REST and self._team.has_news()
            if news is not None or now != self._seen or rested:
                asked = news if news is not None else () if rested else (self._team.machine,)
                self._team.sync(server=server, machines=asked)
                self._seen, looked = now, time.monotonic()
                yield
            news = server.wait(_LISTEN)
