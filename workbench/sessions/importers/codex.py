"""Rollouts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

`moments` yields everything: of the log that the model sees (`response_item`)
the calls and the prompts, of the log that the screen replays the prompts a second time, which
`Prompt.channel` distinguishes. Older rollouts have the items without an envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.sessions.importers.prompts import user_text
from workbench.sessions.importers.transcripts import (
    SUBAGENT_TASK,
    SUMMARY,
    Aside,
    CallOutcome,
    Interrupted,
    Moment,
    Prompt,
    Setting,
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

AGENT = "codex"
SOURCE = "codex"
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
        return text(record.get("type")) in TYPES
    return text(record.get("type")) in _ITEMS and "message" not in record


def moments(records: Iterable[TranscriptRecord | Unreadable]) -> Iterator[Moment]:
    """Yield the moments of the records, at least one a record."""
    setting = Setting("", "", 0)
    for record in records:
        if isinstance(record, Unreadable):
            yield record
            continue
        value, line = record.value, record.line
        payload = mapping(value.get("payload")) or ({} if "payload" in value else value)
        at = text(value.get("timestamp"))
        match value.get("type"):
            case "session_meta":
                if setting.session and text(payload.get("id")) != setting.session:
                    # A forked session begins with the records of the one it comes from.
                    setting = replace(setting, root_session=text(payload.get("id")) or setting.root_session)
                    yield setting
                else:
                    setting = _session(payload, setting, line)
                    yield setting
            case "turn_context":
                setting = _turn(payload, setting, line)
                yield setting
            case "event_msg":
                yield from _screen_moments(payload, setting, line, at)
            case "compacted":
                yield Aside(line, SUMMARY, at, text(payload.get("message")))
            case None if "id" in value and "timestamp" in value and "payload" not in value:
                setting = _session(value, setting, line)  # the first line of older rollouts
                yield setting
            case "response_item" | None:
                yield from _item(payload, setting, line, at)
            case str(kind) if "payload" not in value and kind in _ITEMS:
                yield from _item(payload, setting, line, at)
            case kind:
                yield Unknown(line, f"a record of type {text(kind) or type(kind).__name__}")


def _session(payload: Mapping[str, Any], before: Setting, line: int) -> Setting:
    source = mapping(payload.get("source")).get("subagent")
    spawned = mapping(mapping(source).get("thread_spawn"))
    helper = source is not None or payload.get("thread_source") == "subagent"
    session = text(payload.get("id")) or before.session
    return Setting(
        session=session,
        cwd=text(payload.get("cwd")) or before.cwd,
        line=line,
        roots=before.roots,
        repository=text(mapping(payload.get("git")).get("repository_url")),
        root_session=text(payload.get("forked_from_id")) or session,
        parent=(text(spawned.get("parent_thread_id")) or "unknown") if helper else "",
    )


def _turn(payload: Mapping[str, Any], before: Setting, line: int) -> Setting:
    roots = payload.get("workspace_roots")
    return replace(
        before,
        cwd=text(payload.get("cwd")) or before.cwd,
        roots=tuple(map(text, roots)) if isinstance(roots, list) else before.roots,
        line=line,
    )


def _screen_moments(payload: Mapping[str, Any], setting: Setting, line: int, at: str) -> Iterator[Moment]:
    match payload.get("type"):
        case "user_message":
            yield from _prompt_moments(text(payload.get("message")), setting, line, at, "screen")
        case "turn_aborted":
            yield Interrupted(line, at)
        case "token_count":
            totals = mapping(mapping(payload.get("info")).get("total_token_usage"))
            spent, cached = totals.get("total_tokens"), totals.get("cached_input_tokens", 0)
            if type(spent) is int and type(cached) is int and 0 <= cached <= spent < 1 << 40:
                yield Usage("", spent - cached, line, total=True)
            else:
                yield Aside(line, "count of tokens", at)
        case str(kind):
            yield Aside(line, f"screen: {kind}", at)
        case _:
            yield Unknown(line, "a line of the screen's log without a type")


def _prompt_moments(words: str, setting: Setting, line: int, at: str, channel: str) -> Iterator[Moment]:
    prompt = user_text(words)
    if prompt.interrupted and channel == "model":
        yield Interrupted(line, at)
    if prompt.text and not setting.parent:
        yield Prompt(prompt.text, "", at, setting.session, setting.cwd, line, channel)
    elif not prompt.interrupted or channel != "model":
        what = SUBAGENT_TASK if prompt.text else prompt.why_not or "interruption"
        yield Aside(line, what, at, words if what in (SUBAGENT_TASK, SUMMARY) else "")


def _item(item: Mapping[str, Any], setting: Setting, line: int, at: str) -> Iterator[Moment]:
    identifier = text(item.get("call_id")) or text(item.get("id"))
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
            name = text(item.get("name")) or ("local_shell" if kind == "local_shell_call" else "")
            if name:
                given = _input(item)
                helper = bool(setting.parent)
                yield ToolUse(identifier, name, given, at, setting.session, setting.cwd, AGENT, helper, line)
            else:
                yield Unknown(line, "a call of a tool without a name")
        case "function_call_output" | "custom_tool_call_output":
            words = _output_text(item.get("output"))
            yield ToolResult(identifier, _outcome(item.get("output")), line, output=words, at=at)
        case "message" if item.get("role") == "user":
            yield from _message(item.get("content"), setting, line, at)
        case "message":
            role = text(item.get("role")) or "agent"
            words = joined_text(item.get("content")) if role == "assistant" else ""
            yield Aside(line, f"message of the {role}", at, words)
        case str(kind) if kind:
            yield Aside(line, kind, at)
        case _:
            yield Unknown(line, "an item without a type")


def _message(content: object, setting: Setting, line: int, at: str) -> Iterator[Moment]:
    """Yield the moments of a message in the user's name: others' words are in parts of their own."""
    if isinstance(content, str):
        content = [{"text": content}]
    if not isinstance(content, list):
        yield Unknown(line, "a message of the user without content")
        return
    own, others = [], []
    for part in content:
        words = mapping(part).get("text")
        prompt = user_text(words) if isinstance(words, str) else None
        if prompt is not None and prompt.text:
            own.append(words)
        else:
            others.append(prompt.why_not or "interruption" if prompt is not None else "picture of the user")
            if prompt is not None and prompt.interrupted:
                yield Interrupted(line, at)
    yield from (Aside(line, why, at) for why in others)
    if own:
        yield from _prompt_moments("\n".join(map(str, own)), setting, line, at, "model")
    elif not others:
        yield Aside(line, "empty message", at)


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


def _output_text(output: object) -> str:
    """Return an output's text: a text, a JSON text, or content blocks."""
    if isinstance(output, dict):
        return text(output.get("output")) or text(output.get("content"))
    if isinstance(output, list):
        return joined_text(output)
    words = text(output)
    if words.startswith("{"):
        try:
            inner = json.loads(words)
        except (ValueError, RecursionError):
            return words
        return text(mapping(inner).get("output")) or words
    return words


def _outcome(output: object) -> CallOutcome:
    """Return what became of a call by its output: a text, a JSON text, or content blocks."""
    if isinstance(output, dict):
        try:
            output = json.dumps(output)
        except RecursionError:
            return CallOutcome.UNKNOWN
    if isinstance(output, list):
        output = " ".join(text(mapping(block).get("text")) for block in output[:4])
    words = text(output)
    head = words[:_HEAD]
    code = _EXIT.search(head) or _EXIT.search(words[-_HEAD:] if words.lstrip().startswith("{") else "")
    if code is None and _REJECTED.search(head):
        return CallOutcome.REJECTED
    return CallOutcome.FAILED if code is not None and int(code[1]) != 0 else CallOutcome.RAN
