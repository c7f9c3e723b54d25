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

from workbench.curation.conflicts import ConflictSettled, RecordChanged
from workbench.curation.steps import BuiltUpon
from workbench.entry.http.answers import ErrorAnswer, FailureText
from workbench.entry.http.metrics import RequestCounts
from workbench.entry.web.access import refusal
from workbench.errors import (
    ModelError,
    ProjectError,
    StaleProject,
    StoreBusy,
    Unasked,
    UnknownRecord,
    UsageError,
    WorkbenchError,
)
from workbench.records.conversion import encode_whole

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

RETRY: Final = 1
"""Seconds after which a busy server is to be asked again."""

_STATUSES: Final[tuple[tuple[type[WorkbenchError], int, str], ...]] = (
    (UnknownRecord, 404, "not_found"),
    (RecordChanged, 409, "changed"),
    (ConflictSettled, 409, "settled"),
    (BuiltUpon, 409, "changed"),
    (UsageError, 400, "invalid_request"),
    (StaleProject, 409, "stale"),
    (Unasked, 409, "not_agreed"),
    (ProjectError, 409, "project"),
    (ModelError, 409, "model"),
    (StoreBusy, 503, "busy"),
    (WorkbenchError, 500, "failed"),
)
_CODES: Final = {404: "not_found", 405: "method_not_allowed"}


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
                await send_body(answer, *refused, close=True)
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


async def send_body(send: Send, status: int, body: bytes, *, close: bool = False) -> None:
    """Send JSON as a whole answer, after which the connection is closed if the client is to have none."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class RequestRefused(WorkbenchError):
    """What the server itself refuses, with the status it answers."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


def status_of(error: WorkbenchError) -> tuple[int, str]:
    """Return the status of an answer to what failed, and its code for programs."""
    if isinstance(error, RequestRefused):
        return error.status, error.code
    return next((status, code) for kind, status, code in _STATUSES if isinstance(error, kind))


def error_body(code: str, message: str, hint: str = "") -> bytes:
    """Return the body that every failure has."""
    return encode_whole(ErrorAnswer(FailureText(code, message, hint)))


def defect(error: BaseException) -> bytes:
    """Return the body for what should never happen."""
    return encode_whole(ErrorAnswer(defect_failure(error)))


def defect_failure(error: BaseException) -> FailureText:
    """Return how what should never happen is put: no trace, no path, no value of anybody."""
    hint = "This is a defect of the workbench; its stderr has the trace."
    return FailureText("defect", f"{type(error).__name__} in the server", hint)


def http_failure(status: int, method: str, path: str) -> bytes:
    """Return the body for an address that is not there, or not for this method."""
    what = f"{method} {path[:200]!r}" if status == 405 else f"{path[:200]!r}"
    return error_body(
        _CODES.get(status, "refused"), f"there is no {what} here", "GET /v1/openapi.json lists what there is."
    )
