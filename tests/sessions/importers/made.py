"""Made-up transcripts: records of each format, written as their agents write them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from workbench.sessions.importers.places import SessionFiles, TranscriptFile

ROOT = "/p"


def clock(second: int) -> str:
    """Return a time as transcripts write it, so many seconds after noon."""
    return f"2026-01-01T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


NOON = 1_767_268_800


def user(text: str, uuid: str, second: int = 0, **fields: Any) -> dict[str, Any]:
    """Return what a user says to Claude Code."""
    base = {"type": "user", "sessionId": "s", "cwd": ROOT, "timestamp": clock(second), "uuid": uuid}
    return {**base, "message": {"role": "user", "content": text}, **fields}


def call(
    identifier: str, tool: str, second: int = 0, /, *, record: Any = None, **given: Any
) -> dict[str, Any]:
    """Return a call of a tool by Claude Code; `record` has more fields of the record."""
    block = {"type": "tool_use", "id": identifier, "name": tool, "input": given}
    base = {"type": "assistant", "sessionId": "s", "cwd": ROOT, "timestamp": clock(second)}
    return {**base, "message": {"role": "assistant", "content": [block]}, **(record or {})}


def result(
    identifier: str, told: Any = "ok", second: int = 0, *, error: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a call's result in Claude Code."""
    block = {"type": "tool_result", "tool_use_id": identifier, "content": told, "is_error": error}
    base = {"type": "user", "sessionId": "s", "cwd": ROOT, "timestamp": clock(second)}
    return {**base, "message": {"role": "user", "content": [block]}, **more}


def did(
    identifier: str, tool: str, second: int = 0, /, told: Any = "ok", **given: Any
) -> list[dict[str, Any]]:
    return [call(identifier, tool, second, **given), result(identifier, told, second)]


def edited(identifier: str, path: str, second: int = 0) -> list[dict[str, Any]]:
    """Return an edit that ran, one line for another."""
    return did(identifier, "Edit", second, file_path=path, old_string="a", new_string="b")


def ran(identifier: str, command: str, told: str = "", second: int = 0) -> list[dict[str, Any]]:
    return did(identifier, "Bash", second, told, command=command)


def codex(kind: str, second: int = 0, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": clock(second), "type": kind, "payload": payload}


def codex_said(text: str, second: int = 0) -> list[dict[str, Any]]:
    """Return a prompt as Codex tells it: to the model, and on the screen."""
    content = [{"type": "input_text", "text": text}]
    return [
        codex("response_item", second, type="message", role="user", content=content),
        codex("event_msg", second, type="user_message", message=text),
    ]


def codex_did(identifier: str, name: str, arguments: Any, told: str, second: int = 0) -> list[dict[str, Any]]:
    text = json.dumps(arguments)
    return [
        codex("response_item", second, type="function_call", name=name, arguments=text, call_id=identifier),
        codex("response_item", second, type="function_call_output", call_id=identifier, output=told),
    ]


def raw(lines: Iterable[Any]) -> bytes:
    """Return JSON lines: objects as JSON, bytes as they are."""
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )


def held(data: bytes, name: str = "s.jsonl", changed: int = NOON * 1_000_000_000) -> TranscriptFile:
    opened: Callable[[], Any] = lambda: io.BytesIO(data)  # noqa: E731 - a named function says no more
    return TranscriptFile(Path("/transcripts") / name, len(data), changed, opened)


def group(*lines: Any, agents: Iterable[tuple[str, Iterable[Any]]] = ()) -> SessionFiles:
    files = tuple(held(raw(told), f"s/subagents/agent-{name}.jsonl") for name, told in agents)
    return SessionFiles(held(raw(lines)), files)
