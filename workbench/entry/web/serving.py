"""Serves the app to browsers: a page, a websocket for each visit, a process of the app behind it.

textual-serve brings the page's script, the fonts and the protocol. What it leaves open is decided here: who
may connect (`access`, and a token that only the printed address has), that nothing comes from another
server, that a port in use is reported, and that every process ends with its visit, at the latest with the
server.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server, to_int

from workbench.entry.web.access import refusal, url_of
from workbench.entry.web.connections import (
    ACCEPTED_AT_ONCE,
    IDLE,
    ConnectionGuard,
    GuardedConnection,
    report_shortage,
    usual_limits,
)
from workbench.errors import UsageError, WorkbenchError

_QUIT_SECONDS = 5.0  # an app that was asked to quit is ended after that
_LARGEST = 1000  # columns or lines
# A multiplexer, a display or an SSH session around the server says nothing about the browser.
_NOT_INHERITED = ("TMUX", "TMUX_PANE", "STY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DRIVER = "workbench.entry.web.web_driver:LeashedDriver"  # named, not imported: it is the app's
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' {websocket}; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Serving:
    """What to serve where: `command` starts the app, port 0 means any free one."""

    command: tuple[str, ...]
    host: str
    port: int
    title: str


def app_command(project: Path) -> tuple[str, ...]:
    """Return the command that starts the app on a project."""
    # -P: the directory it runs in may hold a module of any name, and must not be imported from.
    return (sys.executable, "-P", "-m", "workbench", "--project", str(project), "app")


def serve(serving: Serving, ready: Callable[[str], object]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` gets the URL once it can be visited.

    Raises: UsageError if the port is taken or the host is none of this machine's.
    """
    stdout = sys.stdout

    def announce(url: str) -> None:
        with redirect_stdout(stdout):
            ready(url)

    # What an app that failed has said goes to stderr: stdout is for the URL.
    with redirect_stdout(sys.stderr):
        asyncio.run(_serve(serving, announce))


async def _serve(serving: Serving, ready: Callable[[str], object]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    report_shortage(loop)
    server = AppServer(serving)
    runner = web.AppRunner(
        server.application(),
        access_log=None,
        shutdown_timeout=3 * _QUIT_SECONDS,
        keepalive_timeout=IDLE,
    )
    await runner.setup()
    try:
        try:
            listening = await loop.create_server(
                lambda: server.accept(runner), serving.host, serving.port, backlog=ACCEPTED_AT_ONCE
            )
        except (OSError, OverflowError) as error:
            raise _address_error(serving, error) from error
        ready(f"{url_of(serving.host, listening.sockets[0].getsockname()[1])}?token={server.token}")
        await stopped.wait()
        listening.close()
    finally:
        await runner.cleanup()


def _address_error(serving: Serving, error: Exception) -> WorkbenchError:
    """Return the error for an address that cannot be listened at."""
    place = f"{serving.host}:{serving.port}"
    if isinstance(error, OSError) and error.errno == EADDRINUSE:
        return UsageError(
            f"{place} is taken by another program",
            hint="--port 0 takes a free one; --port N another.",
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(f"{place} cannot be listened at: {reason}", hint="Try --host 127.0.0.1 --port 0.")


class AppServer(Server):
    """The web server: one process of the app for each websocket."""

    def __init__(self, serving: Serving) -> None:
        super().__init__(" ".join(serving.command), serving.host, serving.port, serving.title)
        self.token = secrets.token_urlsafe(24)
        self._serving = serving
        self._machine = socket.gethostname()
        self._visits: set[web.WebSocketResponse] = set()
        self._connections = ConnectionGuard(usual_limits())
        self._page = Template(_read_packaged("page.html"))

    def application(self) -> web.Application:
        """Return the application with its routes and its guard."""
        application = web.Application(middlewares=[self._guard])
        application.add_routes(
            [
                web.get("/", self.handle_index),
                web.get("/focus.js", _focus_script),
                web.get("/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        application.on_shutdown.append(self.on_shutdown)
        application.on_response_prepare.append(_set_headers)
        return application

    def accept(self, runner: web.AppRunner) -> asyncio.Protocol:
        """Return the protocol of a new connection, which has to send a request that may pass."""
        assert runner.server is not None
        return GuardedConnection(runner.server(), self._connections)  # until `_guard` has its request

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what another page or another name for this machine brings here, and other users of it.

        The token of the printed address becomes a cookie, so that it stays in no history.
        """
        headers = request.headers
        reason = refusal(
            headers.get("Host", ""), headers.get("Origin"), self._serving.host, machine=self._machine
        )
        if reason:
            return web.Response(status=403, text=f"Refused: {reason}.\n")
        cookie = f"workbench-{request.url.port}"  # browsers give a name's cookies to all of its ports
        if request.path == "/" and self._knows(request.query.get("token", "")):
            found = web.Response(status=303, headers={"Location": "/"})
            found.set_cookie(cookie, self.token, httponly=True, samesite="Strict")
            return found
        if not self._knows(request.cookies.get(cookie, "")):
            return web.Response(status=401, text="Refused: open the address that serve-web printed.\n")
        connection = None if request.transport is None else request.transport.get_protocol()
        if isinstance(connection, GuardedConnection):
            connection.stop_waiting()
        return await handler(request)

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Answer with the page."""
        page = self._page.substitute(title=escape(self.title), websocket=escape(f"{_websocket(request)}/ws"))
        return web.Response(text=page, content_type="text/html", charset="utf-8")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run the app for a visit, until either ends."""
        visit = web.WebSocketResponse(heartbeat=15)
        await visit.prepare(request)
        width, height = (
            max(1, min(to_int(request.query.get(name, ""), usual), _LARGEST))
            for name, usual in (("width", 80), ("height", 24))
        )
        app = AppProcess(self._serving.command, visit, self.download_manager)
        self._visits.add(visit)
        try:
            await app.start(width, height)
            await self._process_messages(visit, app)
        finally:
            self._visits.discard(visit)
            await app.stop()
        return visit

    async def on_shutdown(self, app: web.Application) -> None:
        """Close every visit, by which its process ends."""
        closing = (visit.close(code=1001, message=b"the server was stopped") for visit in self._visits)
        await asyncio.gather(*closing)


class AppProcess(AppService):
    """A process of the app, started without a shell, that does not outlive its visit."""

    def __init__(
        self, command: Sequence[str], visit: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        async def close() -> None:
            await visit.close()

        super().__init__(
            " ".join(command),
            write_bytes=visit.send_bytes,
            write_str=visit.send_str,
            close=close,
            download_manager=downloads,
        )
        self._arguments = command

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width=width, height=height)
        environment["TEXTUAL_DRIVER"] = _DRIVER
        for name in _NOT_INHERITED:
            environment.pop(name, None)
        process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        self._process = process
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Pass on what the app shows and what it says on stderr; where it ends by itself the visit ends, too.

        Where the app has ended before this begins, textual-serve cancels its reader of stderr unstarted: that
        raises here, and the app's reason is unread.
        """
        with suppress(asyncio.CancelledError):
            await super().run()
        try:
            sys.stdout.write(await self._rest_of_stderr())
        finally:
            await self.remote_close()

    async def _rest_of_stderr(self) -> str:
        process = self._process
        if process is None or process.stderr is None:
            return ""
        with suppress(TimeoutError):  # what the app started may hold its stderr open
            return (await asyncio.wait_for(process.stderr.read(), _QUIT_SECONDS)).decode("utf-8", "replace")
        return ""

    async def stop(self) -> None:
        """Ask the app to quit, and end it if it does not."""
        with suppress(TimeoutError):
            await asyncio.wait_for(super().stop(), _QUIT_SECONDS)
        process = self._process
        if process is None:
            return
        try:
            await asyncio.wait_for(process.wait(), _QUIT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


def _read_packaged(name: str) -> str:
    return files("workbench.entry.web").joinpath(name).read_text("utf-8")


async def _focus_script(request: web.Request) -> web.Response:
    return web.Response(text=_read_packaged("focus.js"), content_type="text/javascript", charset="utf-8")


def _websocket(request: web.Request) -> str:
    """Return the address the page's script connects to: this server, by the name the browser knows it."""
    return f"{'wss' if request.scheme == 'https' else 'ws'}://{request.host}"


async def _set_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers[name] = value.format(websocket=_websocket(request))
