"""What an agent may read by an address, and what a person may choose in a client to begin with.

By an address: the rules that hold for a file, what a session did. To begin with: the pack for a task, what
was learned, what to keep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import unquote

from workbench.entry.mcp.project import ServedProject
from workbench.errors import UsageError

JSON: Final = "application/json"
RULES: Final = "workbench://rules/"
SESSIONS: Final = "workbench://sessions/"

TEMPLATES: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "rules",
        "uriTemplate": f"{RULES}{{+path}}",
        "description": "The rules that hold for a file.",
        "mimeType": JSON,
    },
    {
        "name": "session",
        "uriTemplate": f"{SESSIONS}{{+id}}",
        "description": "What a session was for, was given, read and edited, and how it ended.",
        "mimeType": JSON,
    },
)
"""As `resources/templates/list` has them; there is no list of every address."""

_TASK: Final = {"name": "task", "description": "What is to be done.", "required": True}

PROMPTS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "plan",
        "description": "Begin a task with the files, rules and learnings that matter for it.",
        "arguments": [_TASK],
    },
    {
        "name": "recall",
        "description": "Show what was learned here that matters for a task.",
        "arguments": [_TASK],
    },
    {
        "name": "stash",
        "description": "Put aside what this conversation must not lose.",
    },
)
"""As `prompts/list` has them."""

_STASH: Final = (
    "Look through this conversation for what later work needs and nobody could look up: decisions and why "
    "they were made, what was tried and failed, findings, open ends. Put each aside with stash_context, word "
    "for word where words matter, with a topic; then say in one sentence what you put aside."
)


def read_resource(served: ServedProject, address: str, agent: str) -> str:
    """Return the JSON at an address. Raises: UsageError for an unknown one; WorkbenchError."""
    for beginning, read in _READERS.items():
        name = unquote(address.removeprefix(beginning))
        if address.startswith(beginning) and name:
            return json.dumps(read(served, name, agent), ensure_ascii=False, indent=2, default=str)
    known = " and ".join(str(template["uriTemplate"]) for template in TEMPLATES)
    raise UsageError(f"there is nothing at {address[:200]!r}", hint=f"There are {known}.")


def _rules(served: ServedProject, path: str, agent: str) -> object:
    from workbench.entry.services.rule_checks import current_rules, origin_of
    from workbench.project.scan import unsafe
    from workbench.rules.matching.context import left_out, make_context

    if unsafe(path):
        raise UsageError(
            f"{path[:200]!r} is no path inside the project", hint="Give it from the root, as src/main.py."
        )
    with served.host().turn() as project:
        rules, notes = current_rules(project.root, project.config)
        context = make_context(paths=[path], tool=agent or project.config.rules.tool)
    found = [
        {"id": rule.id, "rule": rule.rule, "origin": origin_of(rule), "authority": str(rule.authority)}
        for rule in rules
        if rule.enabled and not left_out(rule, context)
    ]
    return {"path": path, "rules": found, "notes": notes}


def _session(served: ServedProject, identifier: str, agent: str) -> object:
    from workbench.entry.services.episodes import recording_of

    return asdict(recording_of(served.host()).trace(identifier))


_READERS: Final[Mapping[str, Callable[[ServedProject, str, str], object]]] = {
    RULES: _rules,
    SESSIONS: _session,
}


def prompt_text(served: ServedProject, name: str, arguments: Mapping[str, str], agent: str) -> str:
    """Return what a prompt says in the user's place. Raises: UsageError for an unknown one."""
    if name == "stash":
        return _STASH
    if name not in ("plan", "recall"):
        known = ", ".join(str(prompt["name"]) for prompt in PROMPTS)
        raise UsageError(f"there is no prompt {name[:80]!r}", hint=f"There are {known}.")
    task = arguments.get("task", "")
    if not task.strip():
        raise UsageError("the task is empty", hint="Give it as the argument `task`.")
    from workbench.entry.mcp.calls import call_tool
    from workbench.entry.mcp.messages import PlanResult, RecallResult

    if name == "plan":
        plan = call_tool(served, "plan_context", {"task": task}, agent)
        assert isinstance(plan, PlanResult)
        return f"{plan.text}\n{task}" if plan.text else task
    answer = call_tool(served, "recall", {"query": task}, agent)
    assert isinstance(answer, RecallResult)
    lines = [f"- {learning.text}\n" for learning in answer.learnings]
    return f"{task}\n\n{answer.note}\n{''.join(lines)}" if lines else task
