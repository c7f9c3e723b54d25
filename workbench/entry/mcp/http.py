"""The server over HTTP: the SDK's streamable transport behind the guard of `workbench serve`.

The SDK takes longer to import than anything else here, so it is imported by the first message.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from workbench.entry.mcp.project import ServedProject
from workbench.entry.mcp.wire import MAX_MESSAGE

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from workbench.entry.http.projects import OpenProject
    from workbench.entry.services.opening import ProjectHost

_MOST_SESSIONS: Final = 256
_IDLE: Final = 1800.0
"""Seconds after which a session of the earlier protocol is forgotten, and its client begins another."""


class McpEndpoint:
    """Answers agents for a project; started by its first message."""

    def __init__(self) -> None:
        self._served = ServedProject("", {}, self._host, self._plan)
        self._project: OpenProject | None = None
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    def _host(self) -> ProjectHost:
        assert self._project is not None
        return self._project.host()

    def _plan(self, name: str, arguments: bytes, agent: str, connection: str) -> bytes:
        assert self._project is not None
        return self._project.planner.ask("tool", name, arguments, agent=agent, connection=connection)

    async def answer(self, project: OpenProject, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Answer a message by ASGI, for a project that is kept open."""
        self._project = project
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
