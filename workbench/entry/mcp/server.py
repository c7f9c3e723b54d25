"""The server by the SDK: calls of tools go to threads, their progress and failures are put into words."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from workbench import __version__
from workbench.entry.mcp.calls import call_tool
from workbench.entry.mcp.messages import MergeResult, PlanResult
from workbench.entry.mcp.project import ServedProject
from workbench.entry.mcp.resources import JSON, PROMPTS, TEMPLATES, prompt_text, read_resource
from workbench.entry.mcp.tools import INSTRUCTIONS, NAME, listed_tools
from workbench.entry.mcp.wire import Wire, encode
from workbench.entry.services.opening import CALLER, ENDED, CallEnd
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

Result = TypeVar("Result")

AGENTS: Final = ("claude", "codex", "cursor", "gemini", "copilot")
_PAUSE: Final = 0.2  # seconds between two reports of progress
_WAITING: Final = 64  # messages read ahead


def make_server(served: ServedProject) -> Server[dict[str, Any]]:
    """Return the server of a project, on any transport."""

    def serve(context: ServerRequestContext) -> ServedProject:
        return served.for_connection(_transport_session(context))

    async def list_tools(context: ServerRequestContext, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listed_tools()])

    async def call(
        context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        agent = agent_of(_client(context))
        CALLER.set(_progress(context))
        return await in_thread(partial(answer, serve(context), params.name, params.arguments or {}, agent))

    async def list_prompts(context: ServerRequestContext, params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt.model_validate(prompt) for prompt in PROMPTS])

    async def get_prompt(
        context: ServerRequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        agent = agent_of(_client(context))
        try:
            named = partial(prompt_text, serve(context), params.name)
            text = await in_thread(partial(named, params.arguments or {}, agent))
        except WorkbenchError as error:
            raise MCPError(types.INVALID_PARAMS, _sentence(error)) from error
        content = types.TextContent(type="text", text=_sendable(text))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def list_resources(context: ServerRequestContext, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        context: ServerRequestContext, params: object
    ) -> types.ListResourceTemplatesResult:
        templates = [types.ResourceTemplate.model_validate(template) for template in TEMPLATES]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read(
        context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            text = await in_thread(partial(read_resource, served, params.uri, agent_of(_client(context))))
        except WorkbenchError as error:
            raise MCPError(types.INVALID_PARAMS, _sentence(error)) from error
        content = types.TextResourceContents(uri=params.uri, mime_type=JSON, text=_sendable(text))
        return types.ReadResourceResult(contents=[content])

    return Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


async def in_thread(call: Callable[[], Result]) -> Result:
    """Return what a call returns in a thread; where it is cancelled it ends at its turn or next progress."""
    ended = CallEnd()
    ENDED.set(ended)
    try:
        return await asyncio.to_thread(call)
    except asyncio.CancelledError:
        ended.set()
        raise


def answer(served: ServedProject, name: str, arguments: dict[str, Any], agent: str) -> types.CallToolResult:
    """Call a tool and return what the client is sent; a failure says what to do next."""
    try:
        result = call_tool(served, name, arguments, agent)
    except WorkbenchError as error:
        return _failure(_sentence(error))
    except Exception as error:  # the outermost boundary: whatever happens, the model gets a sentence
        traceback.print_exc(file=sys.stderr)
        defect = "This is a defect of the workbench: go on without this tool."
        return _failure(f"{type(error).__name__}: {error}. {defect}")
    values = msgspec.to_builtins(result)
    text = result.text if isinstance(result, PlanResult | MergeResult) and result.text else _json(values)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=_sendable(text))],
        structured_content=json.loads(_sendable(_json(values))),
    )


def agent_of(client: str) -> str:
    """Return the agent that a client's name is one of, empty for others: rules may be for one alone."""
    return next((agent for agent in AGENTS if agent in client.lower()), "")


def _client(context: ServerRequestContext) -> str:
    known = context.session.client_params
    return known.client_info.name if known is not None else ""


def _transport_session(context: ServerRequestContext) -> str:
    """Return a name for the session that streamable HTTP has with a client, empty where it has none."""
    session = "" if context.request is None else context.request.headers.get("mcp-session-id", "")
    return f"connection-{hashlib.sha256(session.encode()).hexdigest()[:16]}" if session else ""


def _sentence(error: WorkbenchError) -> str:
    return f"{error.message.rstrip('.')}. {error.hint}".rstrip()


def _failure(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=_sendable(text))], is_error=True)


def _json(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _sendable(text: str) -> str:
    """Return a text without halves of characters, which names of files may have and JSON has no bytes for."""
    return text.encode("utf-8", "replace").decode()


def _progress(context: ServerRequestContext) -> Any:  # noqa: ANN401 - a callback
    """Return what reports progress of a call, from any thread and seldom enough to be read."""
    loop = asyncio.get_running_loop()
    reports, last = 0, 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal reports, last
        now = time.monotonic()
        if now - last < _PAUSE:
            return
        reports, last = reports + 1, now
        words = f"{stage} {done:,} of {total:,}" if total else stage
        sending = context.session.report_progress(reports, None, words)
        asyncio.run_coroutine_threadsafe(sending, loop)

    return report


def whole_characters(line: bytes) -> bytes:
    """Return a message with `?` for halves of characters, over which the SDK would not answer at all."""
    if b"\\ud" not in line.lower():
        return line
    try:
        return encode(json.loads(line))
    except (ValueError, RecursionError):
        return line


class MessageLines:
    """What comes from the client as the SDK reads it: lines, first those that were read already."""

    def __init__(self, wire: Wire, first: Sequence[bytes]) -> None:
        self._first = deque(first)
        self._wire = wire
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        self._loop = asyncio.get_running_loop()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                line = self._wire.read()
                asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()
                if not line:
                    return
        except (OSError, RuntimeError):  # the pipe or the loop is closed
            return

    def __aiter__(self) -> MessageLines:
        return self

    async def __anext__(self) -> str:
        line = self._first.popleft() if self._first else await self._queue.get()
        if not line:
            raise StopAsyncIteration
        return whole_characters(line).decode("utf-8", "replace")


class MessageSink:
    """What goes to the client as the SDK writes it, without answers that the client has had already."""

    def __init__(self, wire: Wire, answered: Sequence[str | int]) -> None:
        self._wire = wire
        self._answered = set(answered)

    async def write(self, line: str) -> None:
        """Write a message in a thread, so that a client that reads slowly holds up nothing else."""
        if self._answered:
            message = json.loads(line)
            if message.get("id") in self._answered and "method" not in message:
                self._answered.discard(message["id"])
                return
        await asyncio.to_thread(self._wire.write, line.encode())

    async def flush(self) -> None:
        """Do nothing: every message is written at once."""


def serve_messages(wire: Wire, opening: Sequence[bytes], line: bytes, served: ServedProject) -> None:
    """Serve what follows an opening that was answered already, `line` first, until the client hangs up.

    Raises: OSError if nobody reads any more.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    messages = map(json.loads, opening)
    answered = [message["id"] for message in messages if "id" in message]
    asyncio.run(_serve(wire, [*opening, line], answered, served))


async def _serve(
    wire: Wire, first: Sequence[bytes], answered: Sequence[str | int], served: ServedProject
) -> None:
    server = make_server(served)
    incoming: Any = MessageLines(wire, first)
    outgoing: Any = MessageSink(wire, answered)
    try:
        async with stdio_server(incoming, outgoing) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    except* OSError as group:
        raise OSError("nobody reads any more") from group
