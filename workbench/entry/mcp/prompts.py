"""What a person may choose in a client to begin with: the pack for a task, what was learned, what to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.entry.mcp.project import ServedProject
from workbench.errors import UsageError

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


def prompt_text(served: ServedProject, name: str, arguments: Mapping[str, str], agent: str) -> str:
    """Return what a prompt says in the user's place. Raises: UsageError for an unknown one."""
    if name == "stash":
        return _STASH
    if name not in ("plan", "recall"):
        known = ", ".join(str(one["name"]) for one in PROMPTS)
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
    found = call_tool(served, "recall", {"query": task}, agent)
    assert isinstance(found, RecallResult)
    lines = [f"- {one.text}\n" for one in found.learnings]
    return f"{task}\n\n{found.note}\n{''.join(lines)}" if lines else task
