"""The application of the server: requests are checked, worked on in threads, and answered as JSON."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.telemetry import TelemetryConfig
from msgspec import DecodeError, ValidationError, structs
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from workbench import __version__
from workbench.entry.hooks.client import NAMELESS
from workbench.entry.hooks.handlers import OWN_SECONDS, HookReply, record_prompt, respond, takes_plan
from workbench.entry.hooks.log import hook_log, log_failure
from workbench.entry.hooks.payloads import HookCall, HookEvent, read_call
from workbench.entry.hooks.run import AGENTS, SECONDS, explain
from workbench.entry.http import messages
from workbench.entry.http.answers import Health
from workbench.entry.http.guard import (
    MAX_BODY,
    PATH,
    RETRY,
    Guard,
    Receive,
    RequestRefused,
    Scope,
    Send,
    defect,
    error_body,
    http_failure,
    send_body,
    status_of,
    too_large,
)
from workbench.entry.http.metrics import metrics_text, project_figures
from workbench.entry.http.openapi import document
from workbench.entry.http.operations import OPERATIONS, HttpOperation
from workbench.entry.http.projects import OpenProject, ServedProjects, Workers
from workbench.entry.mcp.http import McpEndpoint
from workbench.entry.services.opening import CallEnded
from workbench.errors import StoreError, UsageError, WorkbenchError
from workbench.records.conversion import convert, decode_json, encode_lossless, encode_whole, explain_refusal

JSON: Final = "application/json"
_SILENT: Final[TelemetryConfig] = {"auto_configure": False, "tracing": False, "metrics": False, "logs": False}
"""What was asked leaves this machine for nobody, whatever the environment says of exporters."""

MCP: Final = "/mcp"
"""Where agents ask by the Model Context Protocol."""

HANG_UP: Final = 499
"""The status that is counted where the client is gone before its answer."""

Given = TypeVar("Given", bound=messages.Request)
Endpoint = Callable[[Request], Awaitable[Response]]


class Service:
    """What the requests share: the projects, the threads, and the guard in front."""

    def __init__(self, projects: ServedProjects, *, host: str = "", token: str = "") -> None:
        """Take the projects; `host` and `token` as `Guard` takes them."""
        self.projects = projects
        self.workers = Workers()
        self.started = time.monotonic()
        self.mcp = McpEndpoint()
        self.application = FastAPI(
            title="Context workbench",
            version=__version__,
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            telemetry=_SILENT,
            lifespan=self._lifespan,
        )
        self.application.openapi = document  # type: ignore[method-assign]
        self.guard = Guard(self.application, host, token)
        self._add_routes()

    @asynccontextmanager
    async def _lifespan(self, application: FastAPI) -> AsyncIterator[None]:
        yield
        self.workers.end()
        await asyncio.to_thread(self.projects.close_planners)
        await self.mcp.close()

    def _add_routes(self) -> None:
        for path, own in (
            ("/v1/health", self._health),
            ("/v1/metrics", self._metrics),
            ("/v1/openapi.json", self._openapi),
        ):
            self._route("GET", path, own)
        self._route("POST", "/v1/hooks/{event}", self._hook)
        self.application.router.routes.append(Route(MCP, AgentRoute(self.projects, self.mcp)))
        for operation in OPERATIONS:
            self._route(operation.method, operation.path, partial(self._operate, operation))
        self.application.add_exception_handler(HTTPException, _unknown_address)

    def _route(self, method: str, path: str, answer: Endpoint) -> None:
        async def endpoint(request: Request) -> Response:
            request.scope[PATH] = path
            return await answer_request(answer, request)

        deep = path.replace("/sessions/{id}", "/sessions/{id:path}")  # prompts are `session/1`
        self.application.add_api_route(deep, endpoint, methods=[method], response_model=None)

    async def _operate(self, operation: HttpOperation, request: Request) -> Response:
        given = await read_request(operation, request)
        project = self.projects.find(given.project_root)
        patience = getattr(given, "latency_budget_ms", None)
        came = time.monotonic()

        def call() -> bytes:
            left = given
            if patience is not None:  # of which it waited for its turn
                waited = int((time.monotonic() - came) * 1000)
                left = structs.replace(given, latency_budget_ms=max(1, patience - waited))
            if operation.plans:
                return project.planner.ask("operate", operation.id, encode_lossless(left))
            return encode_whole(operation.call(project.host(), left))

        result = await self.workers.run(
            call,
            project=project if operation.turn else None,
            plans=operation.plans,
            patience=None if patience is None else patience / 1000,
            gone=partial(hang_up, request),
        )
        return Response(result, operation.status, media_type=JSON)

    async def _health(self, request: Request) -> Response:
        health = Health(
            status="ok",
            version=__version__,
            pid=os.getpid(),
            seconds=round(time.monotonic() - self.started, 3),
            projects=self.projects.open_count,
            running=self.workers.running,
        )
        return Response(encode_whole(health), media_type=JSON)

    async def _openapi(self, request: Request) -> Response:
        return Response(encode_whole(await self.workers.run(document)), media_type=JSON)

    async def _metrics(self, request: Request) -> Response:
        projects: dict[Path, dict[str, float]] = {}
        usual = () if self.projects.usual is None else (self.projects.find(""),)
        for one in dict.fromkeys((*usual, *self.projects.opened_projects())):
            try:
                projects[one.root] = await self.workers.run(partial(_figures, one), project=one)
            except WorkbenchError as error:
                if not isinstance(error, StoreError):
                    raise
                print(f"metrics of {one.root}: {error.message}", file=sys.stderr)
        planners = sum(one.planner.memory for one in self.projects.opened_projects())
        server = self.guard.counts.lines(self.workers.running, self.projects.open_count, planners)
        return Response(metrics_text(server, projects), media_type="text/plain; version=0.0.4")

    async def _hook(self, request: Request) -> Response:
        """Answer a hook as `workbench hook` does, of a project that is loaded; record what follows later."""
        event, agent = request.path_params["event"], request.query_params.get("agent", AGENTS[0])
        if agent not in AGENTS:
            raise UsageError(f"{agent[:40]!r} is not an agent", hint=f"One of {', '.join(AGENTS)}.")
        data, name = await read_body(request), "" if event == NAMELESS else event
        call = read_call(data, name, agent)
        project = self.projects.find(call.cwd)
        plans = takes_plan(call)
        if plans:  # what is recorded waits for no plan, and not for the client either
            await self.workers.run(partial(_record_prompt, project, call))

        def work() -> HookReply:
            if plans:
                return HookReply(project.planner.ask("hook", name, data, agent=agent))
            with project.host().turn() as opened:
                if call.event is HookEvent.SESSION_START and opened.is_indexed:
                    with suppress(WorkbenchError):  # the first prompt says why
                        project.planner.start()
                return respond(data, name, agent, opened=opened)

        patience = OWN_SECONDS.get(call.event, SECONDS)
        reply = await self.workers.run(
            work, project=project, plans=plans, patience=patience, gone=partial(hang_up, request)
        )
        then = BackgroundTask(self._record, project, call, reply)
        return Response(reply.output, media_type="application/octet-stream", background=then)

    async def _record(self, project: OpenProject, call: HookCall, reply: HookReply) -> None:
        try:
            await self.workers.run(reply.then, project=project)
        except (WorkbenchError, OSError) as error:
            log_failure(hook_log(), call.agent, call.name, call.cwd, explain(error))


@dataclass(frozen=True, eq=False)
class AgentRoute:
    """What is at `MCP`: agents are answered for the server's own project."""

    projects: ServedProjects
    endpoint: McpEndpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an agent for the server's own project."""
        scope[PATH] = MCP
        try:
            project = self.projects.find("")
        except UsageError:
            hint = "Start the server in a project, or with --project."
            await send_body(send, 404, error_body("not_found", "this server has no project of its own", hint))
            return
        await self.endpoint.answer(project, scope, receive, send)


def _record_prompt(project: OpenProject, call: HookCall) -> None:
    try:
        record_prompt(project.host().project, call)
    except (WorkbenchError, OSError) as error:
        log_failure(hook_log(), call.agent, call.name, call.cwd, explain(error))


def _figures(project: OpenProject) -> dict[str, float]:
    with project.host().turn() as opened:
        return project_figures(opened)


async def read_request(operation: HttpOperation, request: Request) -> Any:  # noqa: ANN401 - what it takes
    """Return what was sent, checked. Raises: UsageError, RequestRefused."""
    placed = {name: request.path_params[name] for name in operation.in_path}
    try:
        if not operation.has_body:
            query = request.query_params
            if len(query.multi_items()) != len(query):
                raise UsageError("a parameter is there twice", hint="Give each one once.")
            return convert({**query, **placed}, operation.takes, strict=False)
        body = await read_body(request)
        if not placed:
            return decode_json(body or b"{}", operation.takes)
        values = decode_json(body or b"{}", dict)
        return convert({**values, **placed}, operation.takes)
    except (ValidationError, DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = "parameters" if not operation.has_body else "body"
        fields = ", ".join(name for name in operation.takes.__struct_fields__ if name not in placed)
        reason = explain_refusal(error, operation.takes)
        raise UsageError(f"the {what} cannot be taken: {reason}", hint=f"It has {fields}.") from error


async def read_body(request: Request) -> bytes:
    """Return the body of a request. Raises: RequestRefused for one that is too large or is not JSON."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON and not kind.endswith("+json"):
        raise RequestRefused(
            415, "not_json", f"a body is {JSON}, not {kind[:80]!r}", f"Send `Content-Type: {JSON}`."
        )
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


class TooLarge(Exception):
    """A body that does not say how long it is goes on for too long."""


async def hang_up(request: Request) -> None:
    """Return when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def answer_request(answer: Endpoint, request: Request) -> Response:
    """Return the answer to a request; every failure becomes an answer, too."""
    try:
        return await answer(request)
    except TooLarge:
        return Response(too_large(), 413, media_type=JSON, headers={"Connection": "close"})
    except WorkbenchError as error:
        status, code = status_of(error)
        headers = {"Retry-After": str(RETRY)} if status == 503 else {}
        return Response(error_body(code, error.message, error.hint), status, headers, JSON)
    except (CallEnded, ClientDisconnect):
        return Response(status_code=HANG_UP)
    except Exception as error:  # the boundary of a request: whatever happens, the client gets an answer
        traceback.print_exc(file=sys.stderr)
        return Response(defect(error), 500, media_type=JSON)


async def _unknown_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = http_failure(error.status_code, request.method, request.url.path)
    return Response(body, error.status_code, error.headers, JSON)
