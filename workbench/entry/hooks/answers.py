"""What a hook answers, in the form that the agent reads: context, a decision on a tool call, another input.

An agent gets only what its format has a place for. A decision is never `allow`: that would skip what the user
set up to be asked about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from workbench.entry.hooks.payloads import HookCall, HookEvent
from workbench.records.dataclass import dataclass
from workbench.records.rules import Decision


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What an agent is to be told: context to add, or a decision other than allow with its reason.

    `updated` is the whole input that a tool is to be called with instead, `notice` a line for the user, where
    the agent can show one.
    """

    context: str = ""
    decision: Decision = Decision.ALLOW
    reason: str = ""
    updated: Mapping[str, Any] | None = None
    notice: str = ""


Form = dict[str, Any]


def takes_context(call: HookCall) -> bool:
    """Whether the agent reads context that is answered to this event."""
    if call.event is HookEvent.PROMPT:
        return call.agent not in ("cursor", "copilot")
    return call.event is HookEvent.SESSION_START


def takes_late(call: HookCall) -> bool:
    """Whether the agent reads what comes late for a prompt, with the next prompt or after a tool ran."""
    takes = call.event in (HookEvent.PROMPT, HookEvent.AFTER_TOOL)
    return takes and bool(call.session) and call.agent in ("claude", "codex", "gemini")


def takes_input(call: HookCall) -> bool:
    """Whether the agent calls the tool with another input without skipping the user's permission."""
    return call.agent == "claude" and call.event is HookEvent.BEFORE_TOOL


def write_answer(call: HookCall, answer: HookAnswer) -> bytes:
    """Return the answer as the agent reads it, empty where there is nothing to say or no place for it."""
    form = _FORMS[call.agent](call, answer)
    return json.dumps(form, ensure_ascii=False).encode("utf-8", "replace") + b"\n" if form else b""


def _claude(call: HookCall, answer: HookAnswer) -> Form:
    form: Form = {}
    if answer.context:
        form["additionalContext"] = answer.context
    if answer.decision is not Decision.ALLOW:
        form |= {"permissionDecision": str(answer.decision), "permissionDecisionReason": answer.reason}
    if answer.updated is not None:
        form["updatedInput"] = dict(answer.updated)
    shown: Form = {"systemMessage": answer.notice} if answer.notice else {}
    return {**shown, "hookSpecificOutput": {"hookEventName": call.name, **form}} if form else shown


def _codex(call: HookCall, answer: HookAnswer) -> Form:
    """Return the answer in the form of Claude Code; Codex rejects `ask`, so its model is told instead."""
    if answer.decision is Decision.ASK:
        answer = HookAnswer(context=answer.reason)
    return _claude(call, answer)


def _cursor(call: HookCall, answer: HookAnswer) -> Form:
    if answer.context:
        return {"additional_context": answer.context}
    if answer.decision is Decision.ALLOW or (
        answer.decision is Decision.ASK and call.name == "beforeReadFile"  # which knows no such answer
    ):
        return {}
    return {
        "permission": str(answer.decision),
        "user_message": answer.reason,
        "agent_message": answer.reason,
    }


def _gemini(call: HookCall, answer: HookAnswer) -> Form:
    if answer.context:
        shown: Form = {"systemMessage": answer.notice} if answer.notice else {}
        context = {"hookEventName": call.name, "additionalContext": answer.context}
        return {**shown, "hookSpecificOutput": context}
    if answer.decision is Decision.DENY:
        return {"decision": "deny", "reason": answer.reason}
    return {"systemMessage": answer.reason} if answer.decision is Decision.ASK else {}


def _copilot(_: HookCall, answer: HookAnswer) -> Form:
    if answer.context:
        return {"additionalContext": answer.context}
    if answer.decision is Decision.ALLOW:
        return {}
    return {"permissionDecision": str(answer.decision), "permissionDecisionReason": answer.reason}


_FORMS: Final[Mapping[str, Callable[[HookCall, HookAnswer], Form]]] = {
    "claude": _claude,
    "codex": _codex,
    "cursor": _cursor,
    "gemini": _gemini,
    "copilot": _copilot,
}
