"""Rollouts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

So far their tool calls, of the log that the model sees (`response_item`); the log that the screen replays
tells them a second time and is passed over. Older rollouts have the items without an envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.sessions.importers.transcripts import (
    Event,
    Outcome,
    Record,
    ToolResult,
    ToolUse,
    Unreadable,
    mapping,
    text,
)

AGENT = "codex"
TYPES = frozenset("session_meta turn_context response_item event_msg compacted".split())
_ITEMS = frozenset(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output "
    "local_shell_call".split()
)
_EXIT = re.compile(r"(?:exited with code|exit(?:ed)? code:?|\"exit_code\":)\s*(-?\d+)", re.IGNORECASE)
_REJECTED = re.compile(
    r"rejected by (?:the )?user|user rejected|denied by (?:the )?(?:user|policy|sandbox)|"
    r"(?:command|patch) (?:was )?(?:rejected|denied)|not allowed by policy|aborted by user",
    re.IGNORECASE,
)
_HEAD = 600


def belongs(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Codex'."""
    if "payload" in record:
        return record.get("type") in TYPES
    return record.get("type") in _ITEMS and "message" not in record


def events(records: Iterable[Record | Unreadable]) -> Iterator[Event]:
    """Yield the tool calls and their results, in the order of the file."""
    session, cwd = "", ""
    helper = False
    for record in records:
        if isinstance(record, Unreadable):
            yield record
            continue
        payload = mapping(record.value.get("payload")) or record.value
        kind = record.value.get("type")
        if kind == "session_meta":
            session = text(payload.get("id")) or session
            helper = (
                "subagent" in mapping(payload.get("source")) or payload.get("thread_source") == "subagent"
            )
        if kind in ("session_meta", "turn_context"):
            cwd = text(payload.get("cwd")) or cwd
        elif kind != "event_msg":
            at = text(record.value.get("timestamp"))
            yield from _item(payload, record.line, at, session, cwd, helper)


def _item(
    item: Mapping[str, Any], line: int, at: str, session: str, cwd: str, helper: bool
) -> Iterator[Event]:
    identifier = text(item.get("call_id")) or text(item.get("id"))
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
            name = text(item.get("name")) or ("local_shell" if kind == "local_shell_call" else "")
            if name:
                given = _input(item)
                yield ToolUse(identifier, name, given, at, session, cwd, AGENT, helper, line)
        case "function_call_output" | "custom_tool_call_output":
            yield ToolResult(identifier, _outcome(item.get("output")), line)


def _input(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a call's arguments: a JSON text, a free text, or the action of a shell call."""
    action = mapping(item.get("action"))
    if action:
        place = {"workdir": action["working_directory"]} if action.get("working_directory") else {}
        return {**action, **place}
    given = item.get("arguments", item.get("input"))
    if isinstance(given, dict):
        return given
    if isinstance(given, str) and item.get("type") == "function_call":
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
        return value if isinstance(value, dict) else {"input": value}
    return {"input": given}


def _outcome(output: object) -> Outcome:
    """Return what became of a call by its output: a text, a JSON text, or content blocks."""
    if isinstance(output, dict):
        output = json.dumps(output)
    if isinstance(output, list):
        output = " ".join(text(mapping(block).get("text")) for block in output[:4])
    told = text(output)
    head = told[:_HEAD]
    code = _EXIT.search(head) or _EXIT.search(told[-_HEAD:] if told.lstrip().startswith("{") else "")
    if code is None and _REJECTED.search(head):
        return Outcome.REJECTED
    return Outcome.FAILED if code is not None and int(code[1]) != 0 else Outcome.RAN
