"""Hooks that would take forever: their process ends in time whatever it does, and the session is recorded."""

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
from workbench.entry.hooks.handlers import records, respond
from workbench.entry.hooks.log import hook_log, read_failures
from workbench.entry.hooks.payloads import read_call
from workbench.entry.services import plan
from workbench.errors import StoreError

PROMPT = "the jwt token is not refreshed after a 401"

STUCK = """
import os, re, signal
from pathlib import Path

def stuck(*given, **options):
    Path(os.environ["REACHED"]).touch()
    {first}
    re.fullmatch("(x+x+)+y", "x" * 64)  # one call into C, which keeps the interpreter's lock for years
"""
HOOK = "from workbench.entry.start import main; main()"

EVENTS = {
    "claude": ("UserPromptSubmit", "PostToolUse", "Stop"),
    "codex": ("UserPromptSubmit", "PostToolUse", "Stop"),
    "cursor": ("beforeSubmitPrompt", "afterFileEdit", "stop"),
    "gemini": ("BeforeAgent", "AfterTool", "AfterAgent"),
    "copilot": ("userPromptSubmitted", "postToolUse", "agentStop"),
}
"""What each agent calls a prompt, a tool that ran, and the end of a turn."""


def payload(root: Path, **given: Any) -> bytes:
    """Return what an agent reports of a session."""
    return json.dumps({"session_id": "h77", "cwd": str(root), **given}).encode()


def ask_stuck(where: str, first: str, given: bytes, reached: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the hook of a prompt as an agent does, with a function that never returns to Python."""
    program = f"{STUCK.format(first=first)}\n{where} = stuck\n{HOOK}"
    module = where.rpartition(".")[0]
    return subprocess.run(
        [sys.executable, "-c", f"import {module}\n{program}", "hook", "UserPromptSubmit"],
        input=given,
        capture_output=True,
        check=False,
        timeout=LONG,
        env={**os.environ, "REACHED": str(reached), "WORKBENCH_HOOKS_DEADLINE": "60"},
    )


def test_the_deadline_holds_whatever_c_does(tmp_path: Path) -> None:
    """C that keeps the interpreter's lock from the first line on: exit code 0, no word, a line in the log."""
    reached = tmp_path / "reached"
    done = ask_stuck("workbench.entry.hooks.run.read_payload", "pass", b"{}", reached)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert reached.exists()
    assert "not done after" in read_failures(hook_log(), 0.0)[0].reason


def test_a_signal_that_is_ignored_or_blocked_does_not_undo_the_deadline(tmp_path: Path) -> None:
    """Who starts the hook decides nothing about the timer."""
    program = "import os, signal, sys; signal.signal(signal.SIGALRM, signal.SIG_IGN); "
    program += (
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM}); os.execv(sys.argv[1], sys.argv[1:])"
    )
    reading, writing = os.pipe()
    command = [sys.executable, "-c", program, sys.executable, "-c", HOOK, "hook", "UserPromptSubmit"]
    try:
        done = subprocess.run(
            command, stdin=reading, capture_output=True, check=False, timeout=LONG, cwd=tmp_path
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_crash_in_c_is_no_failure_of_the_hook(tmp_path: Path) -> None:
    """A segmentation fault ends the work alone, and the log names the signal."""
    first = "signal.raise_signal(signal.SIGSEGV)"
    done = ask_stuck("workbench.entry.hooks.run.read_payload", first, b"{}", tmp_path / "reached")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "ended by signal 11" in read_failures(hook_log(), 0.0)[0].reason


def test_a_prompt_is_recorded_before_its_plan(indexed: Any, run: Run, tmp_path: Path) -> None:
    """The plan is not done in time: prompt, edit and end of the session are all there."""
    now = "signal.setitimer(signal.ITIMER_REAL, 0.01)"
    late = ask_stuck(
        "workbench.entry.services.plan.preview_for",
        now,
        payload(indexed.root, prompt=PROMPT),
        tmp_path / "reached",
    )
    assert (late.returncode, late.stdout, late.stderr) == (0, b"", b"")
    assert (tmp_path / "reached").exists()
    edit = payload(indexed.root, tool_name="Edit", tool_input={"file_path": f"{indexed.root}/pkg/auth.py"})
    for event, given in (("PostToolUse", edit), ("Stop", payload(indexed.root))):
        respond(given, event, "claude").then()
    shown = run("episode", "show", "h77", "--json").json()
    assert shown["task_text"] == PROMPT
    assert [(one["event_type"], one["file_path"]) for one in shown["events"]] == [("edit", "pkg/auth.py")]
    assert shown["state"] != "open"


@pytest.mark.parametrize("agent", EVENTS)
def test_every_agents_session_is_recorded_without_its_plan(
    agent: str, project: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever becomes of the plan, a prompt begins the episode that edits and the end go to."""

    def fail(*given: Any, **options: Any) -> Any:
        raise StoreError("the plan was ended")

    assert run("index").code == 0
    monkeypatch.setattr(plan, "preview_for", fail)
    prompt, tool, stop = EVENTS[agent]
    try:
        respond(payload(project.root, prompt=PROMPT), prompt, agent).then()
    except StoreError:
        assert agent not in ("cursor", "copilot")  # whose prompts get no context, so none is planned for
    file = {"file_path": f"{project.root}/pkg/auth.py"}
    name = "replace" if agent == "gemini" else "Edit"
    respond(payload(project.root, tool_name=name, tool_input=file, **file), tool, agent).then()
    respond(payload(project.root), stop, agent).then()
    shown = run("episode", "show", "h77/1", "--json").json()
    assert (shown["task_text"], len(shown["changes"]), shown["state"] != "open") == (PROMPT, 1, True)


@pytest.mark.parametrize("agent", EVENTS)
def test_no_deadline_is_too_short_for_a_session(agent: str, indexed: Any, run: Run) -> None:
    """The agent waits for nothing: prompt, edit and end are recorded by what goes on after its hooks."""
    file = {"file_path": f"{indexed.root}/pkg/auth.py"}
    name = "replace" if agent == "gemini" else "Edit"
    fields: tuple[dict[str, Any], ...] = (
        {"prompt": PROMPT},
        {"tool_name": name, "tool_input": file, **file},
        {},
    )
    journal = indexed.root / ".workbench/journal/sessions.jsonl"
    environment = {**os.environ, "WORKBENCH_HOOKS_DEADLINE": "0"}
    for event, given, kind in zip(EVENTS[agent], fields, ("started", "event", "ended"), strict=True):
        subprocess.run(
            [sys.executable, "-c", HOOK, "hook", event, "--agent", agent],
            input=payload(indexed.root, **given),
            capture_output=True,
            check=True,
            timeout=LONG,
            env=environment,
        )
        limit = time.monotonic() + LONG
        while f'"episode.{kind}"' not in journal.read_text("utf-8"):
            assert time.monotonic() < limit
            os.sched_yield()
    shown = run("episode", "show", "h77/1", "--json").json()
    assert (shown["task_text"], len(shown["changes"]), shown["state"] != "open") == (PROMPT, 1, True)


def test_what_only_answers_ends_with_its_time() -> None:
    """Before a tool and at a start nothing is recorded; a start after a compaction has lost its context."""
    answers = [("PreToolUse", {}), ("SessionStart", {"source": "startup"})]
    later = [("SessionStart", {"source": "compact"}), ("PostToolUse", {}), ("Stop", {})]
    for events, expected in ((answers, False), (later, True)):
        for event, given in events:
            assert records(read_call(payload(Path("/"), **given), event, "claude")) is expected
    assert not records(read_call(b'{"cwd": "/"}', "Stop", "claude"))


def test_an_edit_or_a_stop_begins_a_session_that_nobody_began(indexed: Any, run: Run) -> None:
    """The prompt's own hook never came: edits and the end are recorded all the same, of an empty task."""
    inside, outside = f"{indexed.root}/pkg/auth.py", "/etc/passwd"
    for file in (outside, inside):
        given = payload(indexed.root, tool_name="Edit", tool_input={"file_path": file})
        respond(given, "PostToolUse", "claude").then()
    respond(payload(indexed.root), "Stop", "claude").then()
    shown = run("episode", "show", "h77", "--json").json()
    assert (shown["session_id"], shown["task_text"]) == ("h77/1", "")
    assert ([one["path"] for one in shown["changes"]], shown["traced"]) == (["pkg/auth.py"], False)
    assert "the prompt was not recorded" in run("episode", "show", "h77").out
    respond(payload(indexed.root, prompt=PROMPT), "UserPromptSubmit", "claude").then()
    other = {"session_id": "h78", "cwd": str(indexed.root)}
    respond(json.dumps(other).encode(), "SessionEnd", "claude").then()
    respond(json.dumps({**other, "session_id": "h79"}).encode(), "Stop", "claude").then()
    listed = run("episode", "list", "--json").json()["sessions"]
    assert {one["session_id"] for one in listed} == {"h77/1", "h77/2", "h79/1"}


def test_what_cannot_be_recorded_still_gets_its_context(
    project: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer does not depend on the journal; the log says what is missing."""
    from workbench.entry.hooks import sessions

    def refuse(*given: Any) -> Any:
        raise StoreError("the disk is full")

    assert run("index").code == 0
    monkeypatch.setattr(sessions, "recorder", refuse)
    reply = respond(payload(project.root, prompt=PROMPT), "UserPromptSubmit", "claude")
    assert b"refresh_token" in reply.output
    with pytest.raises(StoreError, match="the disk is full"):
        reply.then()
