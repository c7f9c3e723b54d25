"""Transcripts of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`, sub-agents beside them.

So far their tool calls. A sub-agent's calls are told twice, in its own file and as progress of the session
that started it, and messages repeat after a compaction: a call of the same id is one.
"""

from __future__ import annotations

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

AGENT = "claude"
TYPES = frozenset(
    "user assistant system summary progress file-history-snapshot queue-operation attachment pr-link "
    "custom-title agent-name tag mode permission-mode last-prompt".split()
)
_REJECTED = re.compile(
    r"user (?:doesn't|does not) want to (?:proceed|take this action)|tool use was rejected|"
    r"request interrupted by user|permission to use .{0,80} (?:has been |was )?denied|"
    r"(?:blocked|denied) by (?:a |the |your )?(?:\w+ )?hook|hook .{0,80}(?:blocked|denied)|"
    r"operation was (?:blocked|rejected)|requires approval|haven't granted",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = 600  # characters of a result that say what became of a call


def belongs(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Claude Code's."""
    return record.get("type") in TYPES and "payload" not in record


def events(records: Iterable[Record | Unreadable]) -> Iterator[Event]:
    """Yield the tool calls and their results, in the order of the file."""
    for record in records:
        if isinstance(record, Unreadable):
            yield record
        else:
            yield from _events(record.value, record.line, record.value, subagent=False)


def _events(
    value: Mapping[str, Any], line: int, outer: Mapping[str, Any], *, subagent: bool
) -> Iterator[Event]:
    if value.get("type") == "progress":
        told = mapping(mapping(value.get("data")).get("message"))
        if told and not subagent:
            yield from _events(told, line, value, subagent=True)
        return
    content = mapping(value.get("message")).get("content")
    if not isinstance(content, list):
        return
    helper = subagent or value.get("isSidechain") is True or bool(value.get("agentId"))
    for block in content:
        match mapping(block):
            case {"type": "tool_use", "name": str(name), **rest} if name:
                given = rest.get("input")
                yield ToolUse(
                    id=text(rest.get("id")),
                    tool=name,
                    input=given if isinstance(given, dict) else {"input": given},
                    at=text(value.get("timestamp")) or text(outer.get("timestamp")),
                    session=text(outer.get("sessionId")) or text(value.get("sessionId")),
                    cwd=text(value.get("cwd")) or text(outer.get("cwd")),
                    agent=AGENT,
                    subagent=helper,
                    line=line,
                )
            case {"type": "tool_result", "tool_use_id": str(identifier), **rest}:
                yield ToolResult(identifier, _outcome(rest), line)


def _outcome(result: Mapping[str, Any]) -> Outcome:
    if result.get("is_error") is not True:
        return Outcome.RAN
    return Outcome.REJECTED if _REJECTED.search(_head(result.get("content"))) else Outcome.FAILED


def _head(content: object) -> str:
    """Return the beginning of a result's text."""
    if isinstance(content, list):
        content = " ".join(text(mapping(block).get("text")) for block in content[:4])
    return text(content)[:_HEAD]
