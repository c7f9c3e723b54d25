"""The output of `claude -p --output-format stream-json`: the messages of Claude Code in another envelope.

It records neither times nor, unless asked to replay them, prompts. Where a run's prompt is missing the
agent's opening words replace it, marked as a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.sessions.importers import claude_code
from workbench.sessions.importers.transcripts import (
    Aside,
    Interrupted,
    Moment,
    Prompt,
    Setting,
    ToolUse,
    TranscriptRecord,
    Unknown,
    Unreadable,
    mapping,
    text,
)

SOURCE = "claude_stream"
TYPES = frozenset(
    "system assistant user result stream_event tool_progress auth_status rate_limit_event keep_alive "
    "control_request control_response control_cancel_request tool_use_summary prompt_suggestion".split()
)
_OPENING = 2_000  # characters of the agent's words that can replace a prompt


def belongs(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of the command's output, and not of a session's transcript."""
    return (
        record.get("type") in TYPES
        and isinstance(record.get("session_id"), str)
        and "sessionId" not in record
    )


def moments(records: Iterable[TranscriptRecord | Unreadable]) -> Iterator[Moment]:
    """Yield the moments of the records, at least one a record."""
    setting = Setting("", "", 0)
    prompted = False
    for record in records:
        if isinstance(record, Unreadable):
            yield record
            continue
        value, line = record.value, record.line
        session = text(value.get("session_id")) or setting.session
        if session != setting.session or (value.get("type"), value.get("subtype")) == ("system", "init"):
            prompted = prompted and session == setting.session
            setting = Setting(session, text(value.get("cwd")) or setting.cwd, line, root_session=session)
            yield setting
        match value.get("type"):
            case "user" | "assistant":
                opening = "" if prompted else _opening(value)
                if opening:
                    prompted = True
                    at = text(value.get("timestamp"))
                    yield Prompt(opening, "", at, session, setting.cwd, line, guessed=True)
                for moment in _message(value, line, setting):
                    prompted = prompted or isinstance(moment, Prompt)
                    yield moment
            case "result":
                prompted = False
                if value.get("is_error") is True:
                    yield Interrupted(line, text(value.get("timestamp")))
                else:
                    yield Aside(line, "result")
            case str(kind) if kind in TYPES:
                yield Aside(line, kind)
            case kind:
                yield Unknown(line, f"a record of type {text(kind) or type(kind).__name__}")


def _message(value: Mapping[str, Any], line: int, setting: Setting) -> Iterator[Moment]:
    helper = bool(value.get("parent_tool_use_id"))
    for moment in claude_code.record_moments(value, line, value, subagent=helper):
        if isinstance(moment, (ToolUse, Prompt)):
            moment = replace(moment, session=setting.session, cwd=moment.cwd or setting.cwd)
        yield moment


def _opening(value: Mapping[str, Any]) -> str:
    """Return the agent's words at the beginning of a run, empty where it has none or the user began."""
    content = mapping(value.get("message")).get("content")
    if value.get("type") != "assistant" or value.get("parent_tool_use_id") or not isinstance(content, list):
        return ""
    words = [text(mapping(block).get("text")) for block in content if mapping(block).get("type") == "text"]
    return "\n".join(words).strip()[:_OPENING]
