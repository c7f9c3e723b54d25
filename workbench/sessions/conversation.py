"""The turns of a transcript: who spoke, which tool was called and what it returned.

Everything comes without secrets and cut to what can be read; records without content give no turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from workbench.sessions.importers import codex
from workbench.sessions.importers.lines import TranscriptLine
from workbench.sessions.importers.prompts import user_text
from workbench.sessions.importers.touches import touches
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unreadable,
    joined_text,
    mapping,
    text,
)
from workbench.text.redact import redact

USER: Final = "user"
AGENT: Final = "agent"
THOUGHT: Final = "thought"
CALL: Final = "call"
RESULT: Final = "result"
NOTE: Final = "note"

MOST_TEXT: Final = 20_000  # characters of a turn
_NAMES: Final = (
    "file_path",
    "path",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
)
_HEAD: Final = 300
_CALLS: Final = frozenset(
    "function_call custom_tool_call local_shell_call function_call_output custom_tool_call_output".split()
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message or action. `role` is one of the constants above, `at` ISO 8601 or empty.

    `head` is a call's tool and object, or a note's kind; `text` its content; `offset` and `line` (from 1)
    where its line begins; `failed` marks results of calls that did not do what they should; `prompt` what
    the user asked for.
    """

    role: str
    text: str
    offset: int
    line: int
    head: str = ""
    at: str = ""
    failed: bool = False
    prompt: bool = False
    cut: int = 0
    paths: tuple[str, ...] = ()


def turns_of(line: TranscriptLine) -> list[Turn]:
    """Return the turns of a line, without secrets."""
    record = line.record
    if record is None:
        return []
    if isinstance(record, Unreadable):
        return [Turn(NOTE, record.reason, line.offset, line.number, "not readable", cut=line.cut)]
    value = record.value
    made = _codex(value) if codex.belongs(value) else _claude(value)
    return [_safe(turn, line) for turn in made]


def _safe(turn: Turn, line: TranscriptLine) -> Turn:
    left = max(len(turn.text) - MOST_TEXT, 0)
    return replace(
        turn,
        offset=line.offset,
        line=line.number,
        text=redact(turn.text[:MOST_TEXT]).text,
        head=redact(turn.head[:_HEAD]).text,
        cut=line.cut + left,
    )


def _turn(role: str, words: str, at: str = "", **more: Any) -> Turn:
    return Turn(role, words, 0, 0, at=at, **more)


def _claude(value: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a record of Claude Code, of a transcript or of stream-json."""
    at = text(value.get("timestamp"))
    kind = text(value.get("type"))
    if kind not in ("user", "assistant"):
        yield from _aside(value, kind, at)
        return
    content = mapping(value.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    helper = value.get("isSidechain") is True or bool(value.get("parent_tool_use_id"))
    for block in blocks if isinstance(blocks, list) else ():
        part = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
        yield from _block(part, value, kind, at, helper=helper)


def _block(
    block: Mapping[str, Any], value: Mapping[str, Any], kind: str, at: str, *, helper: bool
) -> Iterator[Turn]:
    match block.get("type"):
        case "text" if kind == "assistant":
            yield _turn(AGENT, text(block.get("text")), at, head="sub-agent" if helper else "")
        case "text":
            yield _user_turn(text(block.get("text")), at, own=not helper and value.get("isMeta") is not True)
        case "thinking":
            yield _turn(THOUGHT, text(block.get("thinking")), at)
        case "tool_use":
            given = block.get("input")
            yield _call_turn(
                text(block.get("name")), given if isinstance(given, dict) else {"input": given}, at
            )
        case "tool_result":
            yield _turn(RESULT, joined_text(block.get("content")), at, failed=block.get("is_error") is True)
        case other:
            yield _turn(NOTE, "", at, head=text(other) or "a part of unknown form")


def _aside(value: Mapping[str, Any], kind: str, at: str) -> Iterator[Turn]:
    if kind == "summary":
        yield _turn(NOTE, text(value.get("summary")), at, head="summary")
    elif kind == "system" and text(value.get("content")):
        yield _turn(NOTE, text(value.get("content")), at, head="system")
    elif kind == "result":
        yield _turn(NOTE, text(value.get("result")), at, head="result", failed=value.get("is_error") is True)


def _codex(value: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a record of Codex: of what the model sees, so that nothing comes twice."""
    at = text(value.get("timestamp"))
    item = mapping(value.get("payload")) if "payload" in value else value
    kind = value.get("type")
    if kind == "compacted":
        yield _turn(NOTE, text(item.get("message")), at, head="summary")
    if kind in ("session_meta", "turn_context", "event_msg", "compacted"):
        return
    match item.get("type"):
        case "message":
            words = joined_text(item.get("content"))
            if item.get("role") == "assistant":
                yield _turn(AGENT, words, at)
            elif item.get("role") == "user":
                yield _user_turn(words, at, own=True)
            else:
                yield _turn(NOTE, words, at, head=text(item.get("role")) or "message")
        case "reasoning":
            words = joined_text(item.get("summary"))
            if words:
                yield _turn(THOUGHT, words, at)
        case str(name) if name in _CALLS:
            for moment in codex.moments([TranscriptRecord(0, {"type": "response_item", "payload": item})]):
                if isinstance(moment, ToolUse):
                    yield _call_turn(moment.tool, moment.input, at)
                elif isinstance(moment, ToolResult):
                    yield _turn(RESULT, moment.output, at, failed=moment.outcome is not CallOutcome.RAN)
        case _:
            return


def _user_turn(words: str, at: str, *, own: bool) -> Turn:
    prompt = user_text(words) if own else None
    if prompt is not None and prompt.text:
        return _turn(USER, prompt.text, at, prompt=True)
    return _turn(NOTE, words, at, head="put in for the agent")


def _call_turn(tool: str, given: Mapping[str, Any], at: str) -> Turn:
    use = ToolUse("", tool, given, at, "", "", "")
    paths = tuple(touch.path for touch in touches(use))
    named = next((given[name] for name in _NAMES if given.get(name)), "")
    what = " ".join(map(str, named)) if isinstance(named, list) else str(named)
    return _turn(CALL, _arguments(given), at, head=f"{tool} {what}".strip(), paths=paths)


def _arguments(given: Mapping[str, Any]) -> str:
    """Return a call's arguments to read: each with its name, texts of several lines as they are."""
    words = []
    for name, value in given.items():
        shown = value if isinstance(value, str) else _write_json(value)
        words.append(f"{name}:\n{shown}" if "\n" in shown else f"{name}: {shown}")
    return "\n".join(words)


def _write_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"
