"""Output of an agent made for tests: records of stream-json, one dict a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

SESSION = "0b6b2f3e-0000-4000-8000-000000000001"


def init(session: str = SESSION, cwd: str = "/srv/app", model: str = "claude-haiku-4-5") -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "session_id": session,
        "cwd": cwd,
        "model": model,
        "tools": [],
    }


def said(text: str, message: str = "msg_1", session: str = SESSION) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": 10, "output_tokens": 5}
    told = {
        "role": "assistant",
        "id": message,
        "model": "claude-haiku-4-5",
        "content": content,
        "usage": usage,
    }
    return {"type": "assistant", "session_id": session, "message": told}


def used(
    name: str, given: dict[str, Any], call: str, message: str = "msg_2", session: str = SESSION
) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": name, "input": given}]
    told = {"role": "assistant", "id": message, "model": "claude-haiku-4-5", "content": content}
    return {"type": "assistant", "session_id": session, "message": told}


def answered(call: str, text: str, *, failed: bool = False, session: str = SESSION) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
    return {"type": "user", "session_id": session, "message": {"role": "user", "content": [block]}}


def result(
    text: str = "Done.", subtype: str = "success", session: str = SESSION, **more: Any
) -> dict[str, Any]:
    told = {"type": "result", "subtype": subtype, "is_error": subtype != "success", "session_id": session}
    usage = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 9,
        "output_tokens": 7,
    }
    return {**told, "duration_ms": 1200, "num_turns": 3, "result": text, "usage": usage, **more}


def run_of(session: str = SESSION, message: str = "msg_1", text: str = "Done.") -> list[dict[str, Any]]:
    """Return a whole run: a decision, a read, an edit, a failing test, a result."""
    failing = "FAILED tests/test_auth.py::test_refresh - AssertionError: assert 1 == 2\n"
    return [
        init(session),
        said("I'll use httpx because requests has no async client.", message, session),
        used("Read", {"file_path": "/srv/app/pkg/auth.py"}, f"{message}-1", message, session),
        answered(f"{message}-1", "1\tx", session=session),
        used(
            "Edit",
            {"file_path": "/srv/app/pkg/auth.py", "old_string": "x", "new_string": "y"},
            f"{message}-2",
        ),
        answered(f"{message}-2", "The file was updated", session=session),
        used("Bash", {"command": "pytest -q"}, f"{message}-3", message, session),
        answered(f"{message}-3", f"Exit code 1\n{failing}", failed=True, session=session),
        result(text, session=session),
    ]


def lines_of(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
