"""The app in a browser: a real server in its own process, real clients, Chromium where there is one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import pytest
from textual_serve.download_manager import DownloadManager

from tests.chromium import PROGRAM, REASON, page_of
from tests.processes import LONG, end
from workbench.entry.web.serving import AppProcess, Serving, app_command, serve
from workbench.errors import UsageError

APP = """
import os
from textual.app import App
from textual.widgets import Static
from workbench.config import ClipboardConfig
from workbench.entry.os.clipboard import copy

class Small(App):
    CSS = "Static { background: #225588; color: white; width: 100%; height: 100%; }"
    BINDINGS = [("x", "exit", "Leave"), ("c", "copy", "Copy")]
    def compose(self):
        yield Static(f"hello {os.environ.get('TMUX', 'browser')} pid={os.getpid()}.", id="greeting")
    def on_key(self, event):
        self.query_one("#greeting", Static).update(f"pressed {event.key}")
    def on_resize(self, event):
        if event.size.width == 100:
            self.query_one("#greeting", Static).update("resized 100")
    def action_copy(self):
        copied = copy("copied in é", ClipboardConfig(), os.environ, self._driver.write)
        self.query_one("#greeting", Static).update(copied.message)
    def action_exit(self):
        self.exit()

Small().run()
"""
SERVE = """
import sys
from workbench.entry.web.serving import Serving, serve
serving = Serving(tuple(sys.argv[2:]), "127.0.0.1", int(sys.argv[1]), "<shop> & co")
serve(serving, lambda url: print(url, flush=True))
print("ended")
"""


@dataclass
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str

    @property
    def url(self) -> str:
        return self.address.partition("?")[0]

    def session(self) -> aiohttp.ClientSession:
        name = f"workbench-{urlsplit(self.address).port}"
        token = self.address.partition("?token=")[2]
        return aiohttp.ClientSession(headers={"Cookie": f"{name}={token}"})

    @property
    def websocket(self) -> str:
        return self.url.replace("http", "ws", 1) + "ws"

    def stop(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Send a signal and return the code and the rest of both streams."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=LONG)
        return self.process.returncode, out, err


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers of a small app, which is also given arguments."""
    app = tmp_path / "small.py"
    app.write_text(APP, encoding="utf-8")
    started: list[Running] = []

    def begin(*arguments: str, command: tuple[str, ...] = ()) -> Running:
        served = command or (sys.executable, str(app), *arguments)
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, "0", *served],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMUX": "a tmux around the server", "PYTHONPATH": str(Path.cwd())},
        )
        assert process.stdout is not None
        started.append(Running(process, process.stdout.readline().strip()))
        return started[-1]

    yield begin
    for running in started:
        end(running.process)


async def seen(visit: aiohttp.ClientWebSocketResponse, text: str) -> str:
    """Read what the app draws until a text is on the screen; return all of it without its escapes."""
    shown = ""
    async with asyncio.timeout(LONG):
        while text not in shown:
            message = await visit.receive()
            assert message.type == aiohttp.WSMsgType.BINARY, message
            shown += re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", message.data).decode()
    return shown


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_the_page_comes_from_this_server_alone(start: Start) -> None:
    """It is whole, its title is text, and everything it names is served by this server."""
    running = start()
    async with running.session() as session:
        async with session.get(running.url) as answer:
            page = await answer.text()
            assert (answer.status, answer.content_type) == (200, "text/html")
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "<title>&lt;shop&gt; &amp; co</title>" in page
        assert f'data-session-websocket-url="{running.websocket}"' in page
        named = re.findall(r'(?:src|href)="([^"]+)"|url\("([^"]+)"\)', page)
        paths = [first or second for first, second in named]
        paths.remove("data:,")
        assert len(paths) == 5
        assert all(path.startswith("/") for path in paths)
        for path in paths:
            async with session.get(running.url + path[1:]) as answer:
                assert answer.status == 200
    assert "//" not in page.replace(running.websocket, "")
    assert running.stop() == (0, "ended\n", "")


async def test_a_visit_runs_the_app(start: Start) -> None:
    """It draws, takes keys and sizes, knows no tmux around the server, and ends with its page."""
    running = start()
    address = running.websocket + "?width=60&height=nonsense"
    async with running.session() as session, session.ws_connect(address) as visit:
        shown = await seen(visit, "pid=")
        assert "hello browser" in shown
        pid = int(re.findall(r"pid=(\d+)\.", shown)[0])
        await visit.send_json(["stdin", "k"])
        await seen(visit, "pressed k")
        await visit.send_json(["resize", {"width": 100, "height": 30}])
        await seen(visit, "resized 100")
        assert not ended(pid)
    assert running.stop(signal.SIGTERM)[:2] == (0, "ended\n")
    assert ended(pid)


async def test_an_app_that_ends_ends_the_visit(start: Start) -> None:
    """Leaving the app closes the websocket, by which the page says so."""
    running = start()
    async with running.session() as session, session.ws_connect(running.websocket) as visit:
        await seen(visit, "pid=")
        await visit.send_json(["stdin", "x"])
        async with asyncio.timeout(LONG):
            while (message := await visit.receive()).type == aiohttp.WSMsgType.BINARY:
                pass
        assert message.type == aiohttp.WSMsgType.CLOSE


async def test_an_app_that_cannot_start_says_why_on_stderr(start: Start) -> None:
    """The visit ends, the server goes on, and stdout has the URL only."""
    running = start(command=(sys.executable, "-c", "raise SystemExit('no such project')"))
    async with running.session() as session, session.ws_connect(running.websocket) as visit:
        async with asyncio.timeout(LONG):
            assert (await visit.receive()).type == aiohttp.WSMsgType.CLOSE
        async with session.get(running.url) as answer:
            assert answer.status == 200
    code, out, err = running.stop()
    assert (code, out) == (0, "ended\n")
    assert "no such project" in err


async def test_an_app_that_ended_before_it_is_read_ends_the_visit(capsys: pytest.CaptureFixture[str]) -> None:
    """However fast it fails, its reason is shown and its page is closed."""

    class Visit:
        closed = False

        async def close(self) -> None:
            self.closed = True

        async def send_bytes(self, data: bytes) -> None: ...

        async def send_str(self, data: str) -> None: ...

    visit = Visit()
    command = (sys.executable, "-S", "-c", "raise SystemExit('no such project')")
    app = AppProcess(command, cast("Any", visit), DownloadManager())
    process = await app._open_app_process()
    await process.wait()
    assert process.stdout is not None
    assert await process.stdout.read() == b""

    await app.run()

    assert visit.closed
    assert capsys.readouterr().out == "no such project\n"


async def test_ctrl_c_ends_open_visits(start: Start) -> None:
    """Stopping the server closes a page that is open, and its process is gone when the server is."""
    running = start()
    async with running.session() as session, session.ws_connect(running.websocket) as visit:
        pid = int(re.findall(r"pid=(\d+)\.", await seen(visit, "pid="))[0])
        running.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(LONG):
            while (message := await visit.receive()).type == aiohttp.WSMsgType.BINARY:
                pass
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1001)
    assert running.stop(signal.SIGTERM)[0] == 0
    assert ended(pid)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system tells nobody of a process's end")
async def test_an_app_does_not_outlive_a_killed_server(start: Start) -> None:
    """Without anyone to show itself to it ends by itself."""
    running = start()
    async with running.session() as session, session.ws_connect(running.websocket) as visit:
        pid = int(re.findall(r"pid=(\d+)\.", await seen(visit, "pid="))[0])
        app = os.pidfd_open(pid)
        try:
            running.process.kill()
            gone = asyncio.Event()
            asyncio.get_running_loop().add_reader(app, gone.set)
            async with asyncio.timeout(LONG):
                await gone.wait()
        finally:
            asyncio.get_running_loop().remove_reader(app)
            os.close(app)


async def test_other_pages_get_nothing(start: Start) -> None:
    """Neither the page nor a websocket nor a file, and no app is started for them."""
    running = start()
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        async with aiohttp.ClientSession(headers=headers) as session:
            for path in ("", "ws", "static/js/textual.js", "download/x"):
                async with session.get(running.url + path) as answer:
                    assert answer.status == 403
                    assert (await answer.text()).startswith("Refused: ")
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(running.websocket)
            assert caught.value.status == 403


async def test_nobody_gets_in_without_the_printed_address(start: Start) -> None:
    """Another user of the machine gets neither page nor app; the token becomes a cookie of this port."""
    running = start()
    async with aiohttp.ClientSession() as session:
        for path in ("", "ws", "static/js/textual.js", "?token=guess", "?token=%C3%A9"):
            async with session.get(running.url + path) as answer:
                assert answer.status == 401
                assert "serve-web printed" in await answer.text()
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await session.ws_connect(f"{running.websocket}?{running.address.partition('?')[2]}")
        assert caught.value.status == 401
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(running.address) as answer:
            assert (answer.status, str(answer.url)) == (200, running.url)
            kept = answer.history[0].headers["Set-Cookie"]
        assert "HttpOnly" in kept
        assert "SameSite=Strict" in kept
        async with session.ws_connect(running.websocket) as visit:
            await seen(visit, "hello browser")


def test_a_port_that_is_taken_is_told() -> None:
    """The error names the address and what to try; a port and a host that cannot be are errors, too."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"127\.0\.0\.1:{port} is taken") as caught:
            serve(Serving(("true",), "127.0.0.1", port, "x"), print)
        assert "--port 0" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be listened at"):
        serve(Serving(("true",), "192.0.2.1", 0, "x"), print)


def test_the_app_is_started_on_the_project(tmp_path: Path) -> None:
    """By the interpreter that runs the server, importing nothing from the directory it runs in."""
    command = app_command(tmp_path)
    assert command[:4] == (sys.executable, "-P", "-m", "workbench")
    assert command[4:] == ("--project", str(tmp_path), "app")


async def test_the_program_serves_its_own_app(work: Any, tmp_path: Path) -> None:
    """`workbench --serve-web` tells its URL as JSON, the project's app answers there, Ctrl-C ends both."""
    work.write("pkg/auth.py", "def login(): pass\n")
    work.commit("Add login")
    command = [sys.executable, "-P", "-m", "workbench", "--project", str(work.root), "--serve-web"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    try:
        assert process.stdout is not None
        running = Running(process, json.loads("".join(process.stdout.readline() for _ in range(3)))["url"])
        async with running.session() as session:
            async with session.get(running.url) as answer:
                assert answer.status == 200
                assert work.root.name in await answer.text()
            async with session.ws_connect(running.websocket) as visit:
                await seen(visit, "Commands")
        assert running.stop() == (0, "", "open it in a browser; Ctrl-C ends it\nstopped serving\n")
    finally:
        end(process)


@pytest.mark.skipif(PROGRAM is None, reason=REASON)
async def test_a_browser_shows_the_app(start: Start, tmp_path: Path) -> None:
    """Chromium loads nothing from elsewhere, draws the app, passes on keys, and says when it ended."""
    running = start()
    async with page_of(running.address, tmp_path / "profile") as page:
        await page.until("document.body.classList.contains('-first-byte')")
        await page.grant("clipboardReadWrite", "clipboardSanitizedWrite")
        await page.type("c")
        await page.until("await navigator.clipboard.readText() === 'copied in é'")
        await page.type("x")
        await page.until("document.body.classList.contains('-closed')")
        await page.until("document.querySelector('.ended').checkVisibility()")
        asked = [url for url in page.requested if not url.startswith(("data:", "blob:"))]
        assert running.address in asked
        assert any(url.startswith(running.websocket) for url in asked)
        assert all(url.startswith((running.url, running.websocket)) for url in asked)
        usual = ("WebGL", "Slow network")  # of a browser without a graphics card, and without a network
        assert [text for text in page.complaints if not any(word in text for word in usual)] == []
