"""The project that the server answers for: found when it starts to be asked, opened at the first call.

Over HTTP the SDK's streamable transport answers behind the guard of `workbench serve`. It takes longer to
import than anything else here, so it is imported by the first message.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from workbench.entry.mcp.wire import MAX_MESSAGE
from workbench.entry.services.handovers import agent_session
from workbench.errors import ProjectError, UsageError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from workbench.entry.project import OpenedProject
    from workbench.entry.services.opening import ProjectHost

BY: Final = "mcp"
"""What journals name as the face that acted."""

PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"

_MOST_SESSIONS: Final = 256
_IDLE: Final = 1800.0
"""Seconds after which a session of the earlier protocol is forgotten, and its client begins another."""


class ServedProject:
    """The project of a server, opened once. `session` is that of the agent, empty where none is known."""

    def __init__(
        self,
        given: str,
        environment: Mapping[str, str] = os.environ,
        opened: Callable[[], ProjectHost] | None = None,
    ) -> None:
        """Take a directory, or what gives a project that is kept open by somebody else."""
        self._opened = opened
        self._given = given or environment.get(PROJECT_VARIABLE, "")
        self._host: ProjectHost | None = None
        self._opening = Lock()
        self.session = agent_session(environment)

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


class McpEndpoint:
    """Answers agents for a project; started by its first message."""

    def __init__(self) -> None:
        self._served = ServedProject("", {}, self._host)
        self._open: Callable[[], ProjectHost] | None = None
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    def _host(self) -> ProjectHost:
        assert self._open is not None
        return self._open()

    async def answer(self, host: Callable[[], ProjectHost], scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Answer a message by ASGI; `host` gives the project, kept open."""
        self._open = host
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._manager))
        manager = await asyncio.shield(self._manager)
        await manager.handle_request(scope, receive, send)

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            manager = await asyncio.to_thread(_manager, self._served)
            async with manager.run():
                ready.set_result(manager)
                await self._over.wait()
        except BaseException as error:
            if not ready.done():
                self._manager = None
                ready.set_exception(error)
            raise

    async def close(self) -> None:
        """End all sessions."""
        self._over.set()
        if self._running is not None:
            with suppress(asyncio.CancelledError):
                await self._running


def _manager(served: ServedProject) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from workbench.entry.mcp.server import make_server

    return StreamableHTTPSessionManager(
        make_server(served),
        session_idle_timeout=_IDLE,
        max_request_body_size=MAX_MESSAGE,
        max_sessions=_MOST_SESSIONS,
    )
