"""A real Chromium without a window, driven by its debugging protocol, for tests of pages."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
REASON = "there is no chromium in the PATH"
_SECONDS = 90.0
_UNTIL = """
(async () => {
  while (!(%s)) await new Promise(requestAnimationFrame);
  return true;
})()
"""


class Page:
    """One page. `requested` are the URLs it asked for, `complaints` what the browser logged about it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session = ""
        self._loaded = False
        self.requested: list[str] = []
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; events meanwhile are kept."""
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(request | ({"sessionId": self._session} if self._session else {}))
        while True:
            message = await self._socket.receive_json()
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._keep(message)

    def _keep(self, message: dict[str, Any]) -> None:
        given = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(given["request"]["url"])
            case "Network.webSocketCreated":
                self.requested.append(given["url"])
            case "Page.loadEventFired":
                self._loaded = True
            case "Log.entryAdded":
                self.complaints.append(given["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(given["exceptionDetails"]))

    async def open(self, url: str) -> None:
        """Open a URL and wait until the page is loaded."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Log", "Runtime", "Page"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)
        while not self._loaded:
            self._keep(await self._socket.receive_json())

    async def until(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        answer = await self.call("Runtime.evaluate", expression=_UNTIL % condition, awaitPromise=True)
        assert answer["result"].get("value") is True, answer

    async def grant(self, *permissions: str) -> None:
        """Let pages do what a person would be asked about."""
        await self.call("Browser.grantPermissions", permissions=list(permissions))

    async def type(self, text: str) -> None:
        """Type letters and digits, as a person does."""
        for letter in text:
            code = f"Key{letter.upper()}" if letter.isalpha() else f"Digit{letter}"
            key = {"key": letter, "code": code, "windowsVirtualKeyCode": ord(letter.upper())}
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=letter, **key)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    async def close(self) -> None:
        self._session = ""
        await self.call("Browser.close")

    async def picture(self) -> bytes:
        return b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])


@asynccontextmanager
async def page_of(url: str, profile: Path, *, width: int = 960, height: int = 600) -> AsyncIterator[Page]:
    """Open a URL in a Chromium of its own, in a window of so many pixels, for `_SECONDS` at most."""
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        "--headless",
        "--no-sandbox",  # tests may run as root, where there is none
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(_SECONDS), aiohttp.ClientSession() as session:
            said = b""
            while not (found := re.search(rb"DevTools listening on (ws://\S+)\n", said)):
                line = await process.stderr.readline()
                assert line, said.decode()
                said += line
            reading = asyncio.create_task(process.stderr.read())
            async with session.ws_connect(found[1].decode(), max_msg_size=0) as socket:
                page = Page(socket)
                await page.open(url)
                yield page
                await page.close()
            await reading
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
