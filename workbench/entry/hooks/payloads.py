"""What agents report to their hooks, as one kind of call: which event, of which session, where and what.

Each agent has its own names for the same moments and its own spelling of the same fields. What is here is all
that the workbench knows of them; what it does with a call does not depend on who reported it. A payload is
data from outside: whatever is missing or of another type is empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from workbench.errors import UsageError
from workbench.records.dataclass import dataclass


class HookEvent(StrEnum):
    """The moments of a session that agents report."""

    SESSION_START = "session start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before a tool"
    AFTER_TOOL = "after a tool"
    INSTRUCTIONS = "instructions loaded"
    COMPACTION = "compaction"
    SUBAGENT_STOP = "sub-agent stop"
    STOP = "stop"
    SESSION_END = "session end"


_CLAUDE: Final = {
    "SessionStart": HookEvent.SESSION_START,
    "UserPromptSubmit": HookEvent.PROMPT,
    "PreToolUse": HookEvent.BEFORE_TOOL,
    "PostToolUse": HookEvent.AFTER_TOOL,
    "InstructionsLoaded": HookEvent.INSTRUCTIONS,
    "PreCompact": HookEvent.COMPACTION,
    "SubagentStop": HookEvent.SUBAGENT_STOP,
    "Stop": HookEvent.STOP,
    "SessionEnd": HookEvent.SESSION_END,
}
EVENTS: Final[Mapping[str, Mapping[str, HookEvent]]] = {
    "claude": _CLAUDE,
    "codex": {name: event for name, event in _CLAUDE.items() if name != "InstructionsLoaded"},
    "cursor": {
        "sessionStart": HookEvent.SESSION_START,
        "beforeSubmitPrompt": HookEvent.PROMPT,
        "beforeShellExecution": HookEvent.BEFORE_TOOL,
        "beforeMCPExecution": HookEvent.BEFORE_TOOL,
        "beforeReadFile": HookEvent.BEFORE_TOOL,
        "afterFileEdit": HookEvent.AFTER_TOOL,
        "subagentStop": HookEvent.SUBAGENT_STOP,
        "stop": HookEvent.STOP,
        "sessionEnd": HookEvent.SESSION_END,
    },
    "gemini": {
        "SessionStart": HookEvent.SESSION_START,
        "BeforeAgent": HookEvent.PROMPT,
        "BeforeTool": HookEvent.BEFORE_TOOL,
        "AfterTool": HookEvent.AFTER_TOOL,
        "AfterAgent": HookEvent.STOP,
        "SessionEnd": HookEvent.SESSION_END,
    },
    "copilot": {
        "sessionStart": HookEvent.SESSION_START,
        "userPromptSubmitted": HookEvent.PROMPT,
        "preToolUse": HookEvent.BEFORE_TOOL,
        "postToolUse": HookEvent.AFTER_TOOL,
        "subagentStop": HookEvent.SUBAGENT_STOP,
        "agentStop": HookEvent.STOP,
        "sessionEnd": HookEvent.SESSION_END,
    },
}
"""The events of each agent by the names that it gives them."""

_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@#+-]{0,150}")
_SHELL: Final = {"beforeShellExecution": "Shell", "beforeReadFile": "Read", "afterFileEdit": "Edit"}
_STARTERS: Final = frozenset({"Task", "Agent"})
"""Tools that start a sub-agent with a prompt of its own."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One report of an agent. `name` is the event as the agent calls it; what is not reported is empty.

    `given` is the tool's input, `source` why a session starts or instructions were loaded, `loaded` the path
    of a file of instructions, `key` the agent's own id of the tool call, `transcript` where it says that the
    session's transcript is. `failed` is set where a tool is reported to have failed.
    """

    agent: str
    name: str
    event: HookEvent
    session: str = ""
    cwd: str = ""
    prompt: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    loaded: str = ""
    key: str = ""
    transcript: str = ""
    failed: bool = False

    @property
    def starts_agent(self) -> bool:
        """Whether the tool starts a sub-agent that is given a prompt."""
        prompt = self.given.get("prompt")
        return self.tool in _STARTERS and isinstance(prompt, str) and bool(prompt.strip())


def read_call(data: bytes, name: str, agent: str) -> HookCall:
    """Read what an agent reports of an event, as the agent calls it; empty: the payload names it.

    Raises: UsageError for what is not a JSON object, and for an event that the agent does not have.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the payload is not JSON: {str(error)[:200]}") from None
    if not isinstance(value, dict):
        raise UsageError("the payload is not a JSON object")
    known = EVENTS[agent]
    name = name or _text(value, "hook_event_name", "hookEventName")
    event = known.get(name)
    if event is None:
        raise UsageError(f"{agent} has no hook {name[:60]!r}", hint=f"One of {', '.join(known)}.")
    roots = value.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    response = value.get("tool_response", value.get("toolResult"))
    return HookCall(
        agent=agent,
        name=name,
        event=event,
        session=_session(_text(value, "session_id", "conversation_id", "sessionId")),
        cwd=_text(value, "cwd") or root,
        prompt=_text(value, "prompt", "initialPrompt"),
        tool=_text(value, "tool_name", "toolName") or _SHELL.get(name, ""),
        given=_input(value, name),
        source=_text(value, "source", "load_reason", "trigger", "reason"),
        loaded=_text(value, "file_path") if event is HookEvent.INSTRUCTIONS else "",
        key=_text(value, "tool_use_id", "toolUseId"),
        transcript=_text(value, "transcript_path"),
        failed=_has_failed(response),
    )


def _text(value: Mapping[str, Any], *names: str) -> str:
    found = (value.get(name) for name in names)
    return next((one for one in found if isinstance(one, str) and one), "")


def _session(given: str) -> str:
    """Return the id of a session, empty for what cannot be one, which is then recorded of none."""
    return given if _SESSION.fullmatch(given) else ""


def _input(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a tool's input; some agents write it as a text of JSON, some beside the other fields."""
    given = value.get("tool_input", value.get("toolArgs"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {"input": given}
    if isinstance(given, dict):
        return given
    fields = ("command", "file_path") if name in _SHELL else ()
    return {one: value[one] for one in fields if isinstance(value.get(one), str)}


def _has_failed(response: object) -> bool:
    if not isinstance(response, dict):
        return False
    failed = response.get("is_error") is True or bool(response.get("error"))
    return failed or response.get("success") is False or response.get("resultType") in ("failure", "denied")
