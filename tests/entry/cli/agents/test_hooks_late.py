"""Prompts whose plan is late: files by name in time, the pack with the next hook; the user is told once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from tests.processes import LONG
from workbench.entry.hooks.handlers import respond
from workbench.entry.hooks.log import hook_log, read_failures
from workbench.entry.hooks.payloads import read_call
from workbench.entry.hooks.stopgap import (
    INDEX_FILE,
    LATE_HEAD,
    NOTICE,
    answer_by_name,
    find_by_name,
    keep_late,
    order_for,
)
from workbench.project import index

PROMPT = "refresh_token does not return the jwt token after a 401"
ANSWER = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "the pack\n"}}
EVENTS = {"claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
WAITING = """
import os
from workbench.entry.services import plan
parent, real = os.getpid(), plan.preview_for

def when_nobody_waits(*given, **options):
    while os.getppid() == parent:
        os.sched_yield()
    return real(*given, **options)

plan.preview_for = when_nobody_waits
from workbench.entry.start import main
main()
"""


def payload(root: Path, session: str = "late", **given: Any) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(root), **given}).encode()


def order(root: Path, agent: str = "claude", **given: Any) -> bytes:
    data = payload(root, **{"prompt": PROMPT, **given})
    return order_for(read_call(data, EVENTS[agent], agent))


def test_a_late_plan_is_answered_by_names_and_kept(indexed: Any) -> None:
    """The agent gets names when the time is over; the finished pack comes with the next prompt, once."""
    late = subprocess.run(
        [sys.executable, "-c", WAITING, "hook", "UserPromptSubmit"],
        input=payload(indexed.root, prompt=PROMPT),
        capture_output=True,
        check=True,
        timeout=LONG,
        env={**os.environ, "WORKBENCH_HOOKS_DEADLINE": "5"},
    )
    answer = json.loads(late.stdout)
    assert "pkg/auth.py: refresh_token" in answer["hookSpecificOutput"]["additionalContext"]
    assert answer["systemMessage"] == NOTICE
    assert "answered by names" in read_failures(hook_log(), 0.0)[0].reason
    limit = time.monotonic() + LONG
    while not [*indexed.root.glob(".workbench/hooks/*.late")]:
        assert time.monotonic() < limit
        os.sched_yield()
    again = payload(indexed.root, prompt="login returns the user")
    given = respond(again, "UserPromptSubmit", "claude").output.decode()
    assert json.loads(given)["hookSpecificOutput"]["additionalContext"].startswith(LATE_HEAD)
    assert "Brief" in given
    assert given.count(LATE_HEAD.strip()) == 1
    assert LATE_HEAD[:20] not in respond(again, "UserPromptSubmit", "claude").output.decode()


def test_a_kept_pack_comes_after_a_tool(indexed: Any) -> None:
    """Whichever hook is next gives it, in that event's form, to its own session alone."""
    call = read_call(payload(indexed.root, prompt=PROMPT), "UserPromptSubmit", "claude")
    keep_late(call, json.dumps(ANSWER).encode())
    edit: dict[str, Any] = {"tool_name": "Edit", "tool_input": {"file_path": f"{indexed.root}/pkg/auth.py"}}
    other = respond(payload(indexed.root, "other", **edit), "PostToolUse", "claude")
    assert other.output == b""
    given = json.loads(respond(payload(indexed.root, **edit), "PostToolUse", "claude").output)
    assert given["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert given["hookSpecificOutput"]["additionalContext"] == f"{LATE_HEAD}the pack\n\n"
    assert respond(payload(indexed.root, **edit), "PostToolUse", "claude").output == b""


def test_what_is_late_again_is_kept_again(indexed: Any) -> None:
    """A tool's hook that is too late to give the pack leaves it to the next; Cursor takes none."""
    call = read_call(payload(indexed.root, prompt=PROMPT), "UserPromptSubmit", "claude")
    assert keep_late(call, json.dumps(ANSWER).encode())
    edit = payload(indexed.root, tool_name="Edit", tool_input={"file_path": f"{indexed.root}/pkg/auth.py"})
    call = read_call(edit, "PostToolUse", "claude")
    assert keep_late(call, respond(edit, "PostToolUse", "claude").output)
    given = json.loads(respond(edit, "PostToolUse", "claude").output)
    assert given["hookSpecificOutput"]["additionalContext"].count("What the workbench chose") == 1
    assert not keep_late(read_call(payload(indexed.root, prompt=PROMPT), "beforeSubmitPrompt", "cursor"), b"")


@pytest.mark.parametrize("agent", EVENTS)
def test_the_user_is_told_once(agent: str, indexed: Any) -> None:
    """The first answer by names of a session says why, in the agent's own form, the second does not."""
    first, second = (json.loads(answer_by_name(order(indexed.root, agent))) for _ in range(2))
    assert first["systemMessage"] == NOTICE
    assert "systemMessage" not in second
    assert first["hookSpecificOutput"] == second["hookSpecificOutput"]
    assert first["hookSpecificOutput"]["hookEventName"] == EVENTS[agent]


def test_names_are_those_of_the_index(project: Any, run: Run) -> None:
    """Definitions and paths with rare words of the task; nothing for words that are nowhere, or one alone."""
    project.write("pkg/hostile.py", "def refresh_token_\u202eevil(): pass\n")
    assert run("index").code == 0
    file = Path(json.loads(order(project.root))["index"])
    assert (file.name, index.FILE) == (INDEX_FILE, INDEX_FILE)
    lines = find_by_name(file, PROMPT)
    assert any(line.startswith("pkg/auth.py: refresh_token") for line in lines)
    assert all(line.endswith("\n") and line.count("\n") == 1 and "\u202e" not in line for line in lines)
    for task in ("translate this sentence", "zzz", "thanks", ""):
        assert find_by_name(file, task) == []


def test_nothing_is_left_where_nothing_would_be_added(project: Any, run: Run, tmp_path: Path) -> None:
    """No index, no project, another event, an agent that takes no context: the work has its time alone."""
    assert order(project.root) == b""
    assert run("index").code == 0
    assert order(project.root)
    assert order(tmp_path) == b""
    assert order_for(read_call(payload(project.root), "Stop", "claude")) == b""
    assert order_for(read_call(payload(project.root, prompt=PROMPT), "beforeSubmitPrompt", "cursor")) == b""
    assert answer_by_name(order(project.root, prompt="yes, do it")) == b""
    (project.root / ".workbench/index/project.current").write_text('{"generation": "x"}')
    assert order(project.root) == b""


BUSY = """
import os, sys, time
from pathlib import Path
from workbench.entry.hooks import deadline

deadline._is_busy = lambda: True
place, seconds = Path(sys.argv[1]), float(sys.argv[3])

def work(given):
    given.allow(seconds)
    given.leave(b"order")
    (place / "work.new").write_text(str((place / "names").exists()))
    (place / "work.new").rename(place / "work")
    given.answer(b"the pack")

def names(order):
    (place / "names").write_text(order.decode())
    while sys.argv[2] == "endless":
        time.sleep(0.05)
    return b"names"

deadline.run_within(seconds, work, lambda reason: None, names)
"""


@pytest.mark.parametrize(
    ("kind", "seconds", "expected"), [("short", "60", {b"the pack"}), ("endless", "2", {b"", b"the pack"})]
)
def test_on_a_busy_machine_names_come_first(
    tmp_path: Path, kind: str, seconds: str, expected: set[bytes]
) -> None:
    """The work waits for the names, which it would slow down, and goes on when they are there or late.

    What comes just as the time is over is printed, too.
    """
    done = subprocess.run(
        [sys.executable, "-c", BUSY, str(tmp_path), kind, seconds],
        capture_output=True,
        check=True,
        timeout=LONG,
    )
    assert done.stdout in expected
    limit = time.monotonic() + LONG
    while not (tmp_path / "work").exists():
        assert time.monotonic() < limit
        os.sched_yield()
    assert (tmp_path / "work").read_text() == "True"
