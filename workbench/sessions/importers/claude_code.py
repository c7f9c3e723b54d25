"""Transcripts of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`, sub-agents beside them.

A sub-agent's calls are recorded twice, in its own
file and as progress of the session that started it, and messages repeat after a compaction and in resumed
sessions: a call of the same id is one, as is a prompt of the same uuid.

`stream_moments` are those of `claude -p --output-format stream-json`: the same messages in another envelope.
It records neither times nor, unless asked to replay them, prompts. Where a run's prompt is missing the
agent's opening words replace it, marked as a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.sessions.importers.prompts import user_text
from workbench.sessions.importers.transcripts import (
    AGENT_TEXT,
    SUBAGENT_TASK,
    SUMMARY,
    Aside,
    CallOutcome,
    Interrupted,
    Moment,
    Prompt,
    Setting,
    Started,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unknown,
    Unreadable,
    Usage,
    joined_text,
    mapping,
    text,
)

AGENT = "claude"
SOURCE = "claude_code"
TYPES = frozenset(
    "user assistant system summary progress file-history-snapshot queue-operation attachment pr-link "
    "custom-title agent-name tag mode permission-mode last-prompt".split()
)
# Kinds of records that some version writes and that are not about tasks.
_QUIET = TYPES - {"user", "assistant", "progress"} | frozenset(
    "ai-title agent-color agent-setting saved_hook_context content-replacement marble-origami-commit "
    "speculation-accept task-summary attribution-snapshot worktree-state file-history-delta".split()
)
_QUIET_BLOCKS = frozenset(
    "thinking redacted_thinking text image document server_tool_use web_search_tool_result tool_reference "
    "web_fetch_tool_result code_execution_tool_result mcp_tool_use mcp_tool_result container_upload fallback "
    "search_result compaction".split()
)
_REJECTED = re.compile(
    r"user (?:doesn't|does not) want to (?:proceed|take this action)|tool use was rejected|"
    r"request interrupted by user|permission to use .{0,80} (?:has been |was )?denied|"
    r"(?:blocked|denied) by (?:a |the |your )?(?:\w+ )?hook|hook .{0,80}(?:blocked|denied)|"
    r"operation was (?:blocked|rejected)|requires approval|haven't granted",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = 600  # characters of a result that show what became of a call
_USAGE = ("input_tokens", "cache_creation_input_tokens", "output_tokens")


def belongs(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Claude Code's."""
    return text(record.get("type")) in TYPES and "payload" not in record


def moments(records: Iterable[TranscriptRecord | Unreadable]) -> Iterator[Moment]:
    """Yield the moments of the records, at least one a record."""
    for record in records:
        if isinstance(record, Unreadable):
            yield record
        else:
            yield from record_moments(record.value, record.line, record.value, subagent=False)


def record_moments(
    value: Mapping[str, Any], line: int, outer: Mapping[str, Any], *, subagent: bool
) -> Iterator[Moment]:
    """Yield the moments of a record; `outer` is the record it was in, itself if in none."""
    match value.get("type"):
        case "progress":
            yield from _progress(value, line, subagent=subagent)
        case "user" | "assistant" as role:
            message = mapping(value.get("message"))
            content = message.get("content")
            helper = subagent or value.get("isSidechain") is True or bool(value.get("agentId"))
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            if not isinstance(content, list):
                yield Unknown(line, f"a message of the {role} without content")
                return
            if role == "user":
                yield from _user(value, content, line, helper=helper)
            else:
                yield from _usage(value, message, line)
                yield from _calls(content, value, line, outer, helper=helper)
        case str(kind) if kind in _QUIET:
            yield Aside(line, kind, text(value.get("timestamp")))
        case kind:
            yield Unknown(line, f"a record of type {text(kind) or type(kind).__name__}")


def _progress(value: Mapping[str, Any], line: int, *, subagent: bool) -> Iterator[Moment]:
    data = mapping(value.get("data"))
    words = mapping(data.get("message"))
    agent, call = text(data.get("agentId")), text(value.get("parentToolUseID"))
    if agent and call:
        yield Started(agent, call, line)
    if words and not subagent:
        yield from record_moments(words, line, value, subagent=True)
    else:
        yield Aside(line, "progress", text(value.get("timestamp")))


def _user(value: Mapping[str, Any], content: list[Any], line: int, *, helper: bool) -> Iterator[Moment]:
    at = text(value.get("timestamp"))
    texts: list[str] = []
    for block in content:
        match mapping(block):
            case {"type": "tool_result", "tool_use_id": str(identifier), **rest}:
                yield _result(identifier, rest, value, line)
            case {"type": "text", "text": str(words)}:
                texts.append(words)
            case {"type": str(kind)} if kind in _QUIET_BLOCKS:
                yield Aside(line, f"{kind} of the user", at)
            case _ if isinstance(block, str):
                texts.append(block)
            case _:
                yield Unknown(line, "a part of a user's message of unknown form")
    if not texts:
        if not content:
            yield Aside(line, "empty message", at)
        return
    whole = "\n".join(texts)
    if helper:
        yield Aside(line, SUBAGENT_TASK, at, whole)
    elif value.get("isCompactSummary") is True or value.get("isVisibleInTranscriptOnly") is True:
        yield Aside(line, SUMMARY, at, whole)
    else:
        prompt = user_text(whole)
        if prompt.interrupted:
            yield Interrupted(line, at)
        if value.get("isMeta") is True:
            yield Aside(line, "put in by the agent or a hook", at)
        elif prompt.text:
            session = text(value.get("sessionId")) or text(value.get("session_id"))
            yield Prompt(prompt.text, text(value.get("uuid")), at, session, text(value.get("cwd")), line)
        elif not prompt.interrupted:
            yield Aside(line, prompt.why_not, at, whole if prompt.why_not == SUMMARY else "")


def _result(identifier: str, block: Mapping[str, Any], value: Mapping[str, Any], line: int) -> ToolResult:
    more = mapping(value.get("toolUseResult"))
    words = joined_text(block.get("content"))
    return ToolResult(
        identifier,
        _outcome(block),
        line,
        output=words,
        created=more.get("type") == "create" and bool(more.get("filePath")),
        at=text(value.get("timestamp")),
        agent_id=text(more.get("agentId")),
    )


def _usage(value: Mapping[str, Any], message: Mapping[str, Any], line: int) -> Iterator[Moment]:
    usage = mapping(message.get("usage"))
    numbers = [usage.get(name) for name in _USAGE]
    tokens = sum(number for number in numbers if type(number) is int and 0 <= number < 1 << 40)
    if tokens:
        yield Usage(text(message.get("id")) or text(value.get("uuid")), tokens, line)


def _calls(
    content: list[Any], value: Mapping[str, Any], line: int, outer: Mapping[str, Any], *, helper: bool
) -> Iterator[Moment]:
    at = text(value.get("timestamp")) or text(outer.get("timestamp"))
    if not content:
        yield Aside(line, "empty message", at)
    for block in content:
        match mapping(block):
            case {"type": "tool_use", "name": str(name), **rest} if name:
                given = rest.get("input")
                yield ToolUse(
                    id=text(rest.get("id")),
                    tool=name,
                    input=given if isinstance(given, dict) else {"input": given},
                    at=at,
                    session=text(outer.get("sessionId")) or text(value.get("sessionId")),
                    cwd=text(value.get("cwd")) or text(outer.get("cwd")),
                    agent=AGENT,
                    subagent=helper,
                    line=line,
                )
            case {"type": "tool_result", "tool_use_id": str(identifier), **rest}:
                yield _result(identifier, rest, value, line)
            case {"type": str(kind), **rest} if kind in _QUIET_BLOCKS:
                yield Aside(line, f"{kind} of the agent", at, text(rest.get("text")))
            case _ if isinstance(block, str):
                yield Aside(line, AGENT_TEXT, at, block)
            case _:
                yield Unknown(line, "a part of an agent's message of unknown form")


def _outcome(result: Mapping[str, Any]) -> CallOutcome:
    if result.get("is_error") is not True:
        return CallOutcome.RAN
    return (
        CallOutcome.REJECTED
        if _REJECTED.search(_text_of(result.get("content"))[:_HEAD])
        else CallOutcome.FAILED
    )


def _text_of(content: object) -> str:
    """Return a result's text; of many blocks the first."""
    if isinstance(content, list):
        content = " ".join(text(mapping(block).get("text")) for block in content[:16])
    return text(content)


STREAM_SOURCE = "claude_stream"
STREAM_TYPES = frozenset(
    "system assistant user result stream_event tool_progress auth_status rate_limit_event keep_alive "
    "control_request control_response control_cancel_request tool_use_summary prompt_suggestion".split()
)
_OPENING = 2_000  # characters of the agent's words that can replace a prompt


def belongs_to_stream(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of the command's output, and not of a session's transcript."""
    return (
        text(record.get("type")) in STREAM_TYPES
        and isinstance(record.get("session_id"), str)
        and "sessionId" not in record
    )


def stream_moments(records: Iterable[TranscriptRecord | Unreadable]) -> Iterator[Moment]:
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
                for moment in _stream_message(value, line, setting):
                    prompted = prompted or isinstance(moment, Prompt)
                    yield moment
            case "result":
                prompted = False
                if value.get("is_error") is True:
                    yield Interrupted(line, text(value.get("timestamp")))
                else:
                    yield Aside(line, "result")
            case str(kind) if kind in STREAM_TYPES:
                yield Aside(line, kind)
            case kind:
                yield Unknown(line, f"a record of type {text(kind) or type(kind).__name__}")


def _stream_message(value: Mapping[str, Any], line: int, setting: Setting) -> Iterator[Moment]:
    helper = bool(value.get("parent_tool_use_id"))
    for moment in record_moments(value, line, value, subagent=helper):
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
