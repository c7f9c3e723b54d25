"""What a turn left is remembered beside the hook that ends it; prompts do not wait for that."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from workbench.config_layers import load
from workbench.entry.hooks import run as hook_run
from workbench.entry.hooks.handlers import HookReply, respond
from workbench.entry.os import background
from workbench.entry.project import OpenedProject, find_state

Ask = Callable[..., HookReply]


@pytest.fixture
def project(indexed: Any) -> Any:
    """An indexed project."""
    return indexed


@pytest.fixture
def ask(project: Any) -> Ask:
    """Ask a hook and record what follows."""

    def hook(name: str, /, **given: Any) -> HookReply:
        payload = {"session_id": "s", "cwd": str(project.root), "hook_event_name": name, **given}
        reply = respond(json.dumps(payload).encode(), name, "claude")
        reply.then()
        return reply

    return hook


def opened(project: Any, *, may_lag: bool) -> OpenedProject:
    state = find_state(project.root, load(project=project.root).config)
    state.past_may_lag = may_lag
    return state


def heads(project: Any, *, may_lag: bool) -> tuple[str, ...]:
    """Return the first lines of the past tasks that another process plans from, of sessions."""
    workspace = opened(project, may_lag=may_lag).workspace
    workspace.sync()
    return tuple(head for head in workspace.task_heads if "refreshed" in head)


def turn(ask: Ask) -> HookReply:
    """Have a session do something, and return the reply to the hook that ends the turn."""
    ask("UserPromptSubmit", prompt="the jwt token is not refreshed")
    ask("PostToolUse", tool_name="Edit", tool_input={"file_path": "pkg/auth.py"}, tool_use_id="a")
    return ask("Stop")


def test_a_prompt_has_the_past_of_before_until_it_is_ready(ask: Ask, project: Any) -> None:
    """A turn that ended is missing in the next prompt until the child of its hook is done."""
    reply = turn(ask)
    assert reply.beside is not None
    assert heads(project, may_lag=True) == ()
    reply.beside()
    assert heads(project, may_lag=True) == ("the jwt token is not refreshed",)


def test_a_plan_does_not_wait_for_a_child(ask: Ask, project: Any) -> None:
    """Where no hook asks the past is of now, whether a child lives or not."""
    turn(ask)
    assert heads(project, may_lag=False) == ("the jwt token is not refreshed",)


def test_two_children_are_never_at_it(ask: Ask, project: Any) -> None:
    """Where another process does so already, nothing happens."""
    reply = turn(ask)
    assert reply.beside is not None
    with opened(project, may_lag=True).lock("past"):
        reply.beside()
    assert heads(project, may_lag=True) == ()


def test_only_what_ends_a_turn_leaves_something(ask: Ask) -> None:
    """A session's first prompt and a tool leave nothing to a child; the next prompt does."""
    assert ask("UserPromptSubmit", prompt="the jwt token is not refreshed").beside is None
    assert ask("PostToolUse", tool_name="Read", tool_input={"file_path": "pkg/auth.py"}).beside is None
    assert ask("UserPromptSubmit", prompt="where does login keep it?").beside is not None
    assert ask("SessionEnd").beside is not None


def test_a_project_without_an_index_gets_none(empty: Any) -> None:
    """A turn in a project that nothing was planned in imports no history."""
    payload = {"session_id": "s", "cwd": str(empty.root)}
    (empty.root / ".workbench").mkdir(exist_ok=True)
    assert respond(json.dumps(payload).encode(), "Stop", "claude").beside is None


def test_a_child_is_started_after_all_is_recorded(
    ask: Ask, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook's process answers, records, and then leaves the rest to a child, for a minute."""
    ask("UserPromptSubmit", prompt="the jwt token is not refreshed")
    steps: list[str] = []
    payload = {"session_id": "s", "cwd": str(project.root), "hook_event_name": "Stop"}
    data = io.BytesIO(json.dumps(payload).encode())
    monkeypatch.setattr(hook_run, "read_payload", data.read)

    class Deadline:
        def allow(self, seconds: float) -> None:
            pass

        def answer(self, output: bytes) -> bool:
            steps.append("answered")
            return True

    def fork_beside(work: Callable[[], None], seconds: float) -> bool:
        episodes = (project.root / ".workbench" / "journal").rglob("*")
        recorded = any(b"episode.ended" in episode.read_bytes() for episode in episodes if episode.is_file())
        steps.append(f"{recorded} {seconds:g}")
        return True

    monkeypatch.setattr(background, "fork_beside", fork_beside)
    deadline: Any = Deadline()
    hook_run._answer("Stop", "claude", deadline, lambda reason: steps.append(reason))
    assert steps == ["answered", "True 60"]


if not hasattr(os, "fork"):  # where the next prompt reads on itself
    pytest.skip("children are forked", allow_module_level=True)
