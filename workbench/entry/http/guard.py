"""What every request passes: who may ask, how much may be sent, and that every failure has one form.

Over TCP a bearer token is needed, and the request has to name this server, so that no page of another site
can make a browser ask (DNS rebinding). The unix socket can be opened by its owner alone.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Any, Final

from workbench.entry.http.failures import defect, error_body
from workbench.entry.http.metrics import RequestCounts
from workbench.entry.web.access import refusal

MAX_BODY: Final = 16 << 20  # bytes
PATH: Final = "workbench.path"
"""The key of a request's scope under which its address is noted as it is published."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'"),
)


@dataclass(eq=False)
class Guard:
    """Lets requests through to an application, or answers them itself.

    `host` is where it listens, empty for a unix socket; `token` what a request over TCP has to bear.
    """

    inner: Application
    host: str = ""
    token: str = ""
    counts: RequestCounts = field(default_factory=RequestCounts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started, status = time.perf_counter(), 0

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            refused = self._refusal(scope)
            if refused is not None:
                await send_body(answer, *refused)
            else:
                await self.inner(scope, receive, answer)
        except Exception as error:  # the outermost boundary: a client gets an answer, stderr the trace
            traceback.print_exc(file=sys.stderr)
            if not status:
                await send_body(answer, 500, defect(error))
        finally:
            path = scope.get(PATH, "other")
            self.counts.add(path, status, time.perf_counter() - started)

    def _refusal(self, scope: Scope) -> tuple[int, bytes] | None:
        """Return the status and body of a refusal, None where the request may pass."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get(b"origin")
        if self.host:
            reason = refusal(headers.get(b"host", ""), origin, self.host)
            if reason:
                return 403, error_body("forbidden", reason, f"Ask http://{self.host}, from no page.")
            if not self._is_known(headers.get(b"authorization", "")):
                hint = "Send `Authorization: Bearer …` with the token of the file that `serve` names."
                return 401, error_body("unauthorized", "the bearer token is missing or wrong", hint)
        elif origin is not None:
            return 403, error_body("forbidden", "the request comes from a page", "Ask from no page.")
        if not scope["path"].isprintable():
            return 400, error_body("invalid_request", "the address has control characters", "Correct it.")
        length = headers.get(b"content-length", "")
        if length.isdigit() and int(length[:20]) > MAX_BODY:
            return 413, too_large()
        return None

    def _is_known(self, authorization: str) -> bool:
        kind, _, given = authorization.partition(" ")
        return kind.lower() == "bearer" and compare_digest(given.strip().encode(), self.token.encode())


def too_large() -> bytes:
    """Return the body of the refusal of what is too large."""
    return error_body("too_large", f"the body has more than {MAX_BODY >> 20} MB", "Send less at once.")


async def send_body(send: Send, status: int, body: bytes) -> None:
    """Send JSON as a whole answer."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
