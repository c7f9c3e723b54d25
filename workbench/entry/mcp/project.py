"""The project that the server answers for: found when it starts to be asked, opened at the first call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from workbench.entry.services.handovers import agent_session
from workbench.errors import ProjectError, UsageError

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.opening import ProjectHost

BY: Final = "mcp"
"""What journals name as the face that acted."""

PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"


class ServedProject:
    """The project of a server, opened once. `session` is that of the agent, empty where none is known.

    What a client was given is remembered for its `connection`: the session, else the process that serves it,
    or the session of the transport where one process serves many.
    """

    def __init__(
        self,
        given: str,
        environment: Mapping[str, str] = os.environ,
        opened: Callable[[], ProjectHost] | None = None,
        plan_elsewhere: Callable[[str, bytes, str, str], bytes] | None = None,
    ) -> None:
        """Take a directory, or what gives a project that is kept open by somebody else.

        `plan_elsewhere` returns the answer of a tool that plans, by its name, arguments, agent and
        connection, where another process does that.
        """
        self._opened = opened
        self.plan_elsewhere = plan_elsewhere
        self._given = given or environment.get(PROJECT_VARIABLE, "")
        self._host: ProjectHost | None = None
        self._opening = Lock()
        self.session = agent_session(environment)
        alone = "" if opened is not None else f"connection-{os.urandom(8).hex()}"
        self.connection = self.session or alone

    def for_connection(self, connection: str) -> ServedProject:
        """Return what serves a connection of its own, which an agent's session goes before."""
        if self.session or not connection:
            return self
        served = copy(self)
        served.connection = connection
        return served

    def host(self) -> ProjectHost:
        """Return the project, kept open. Raises: WorkbenchError, and the next call tries again."""
        if self._opened is not None:
            return self._opened()
        with self._opening:
            if self._host is None:
                from workbench.entry.services.opening import find_project, host_project, report_progress

                root = find_project(self._given) if self._given else Path.cwd()
                self._host = host_project(root, {}, BY, report_progress)
            return self._host

    def close(self) -> None:
        """Free what is held, once nobody asks any more."""
        with self._opening:
            if self._host is not None:
                self._host.close()
            self._host = None

    def session_or(self, given: str) -> str:
        """Return the session given, else the agent's. Raises: UsageError where there is neither."""
        if given or self.session:
            return given or self.session
        raise UsageError("no session is known", hint="Give session_id, as you gave it to plan_context.")


def require_index(project: OpenedProject) -> None:
    """Raise ProjectError unless a project has an index: an agent's question is no wish to make one."""
    if not project.is_indexed:
        state = f"has an index that cannot be used: {project.index_fault}" if project.index_fault else ""
        raise ProjectError(
            f"{project.root} {state or 'is not indexed'}",
            hint="Ask the user to run `workbench index` there, once. Until then search for yourself; the "
            "stash, remember and recall work.",
        )
