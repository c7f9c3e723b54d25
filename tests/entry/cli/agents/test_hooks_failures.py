"""Hooks in the wrong place, with the wrong payload, or out of time: the agent goes on and notices nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.hooks import run as hooks
from workbench.entry.hooks.handlers import respond
from workbench.entry.hooks.log import hook_log, log_failure, read_failures
from workbench.entry.hooks.payloads import HookCall, HookEvent
from workbench.entry.hooks.sessions import transcript_files
from workbench.errors import StoreError, UsageError

HOOK = [sys.executable, "-c", "from workbench.entry.start import main; main()", "hook", "UserPromptSubmit"]


def ask_process(given: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a hook as an agent does."""
    return subprocess.run(
        HOOK, input=given, capture_output=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'["prompt"]', "not a JSON object"),
        (b'{"prompt": "' + b"x" * hooks.MAX_PAYLOAD + b'"}', "more than"),
    ],
)
def test_garbage_is_answered_by_silence(given: bytes, reason: str) -> None:
    """Whatever is on stdin, the exit code is 0, nothing is printed, and the log says why."""
    done = ask_process(given, WORKBENCH_HOOKS_DEADLINE="60")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [failure] = read_failures(hook_log(), 0.0)
    assert reason in failure.reason
    assert (failure.agent, failure.event) == ("claude", "UserPromptSubmit")


def test_a_hook_that_is_late_ends_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody ends what is on stdin: the deadline ends the hook with 0, and the log says so."""
    del monkeypatch
    reading, writing = os.pipe()
    try:
        done = subprocess.run(HOOK, stdin=reading, capture_output=True, check=False)
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "not done after" in read_failures(hook_log(), 0.0)[0].reason


def test_one_variable_turns_all_hooks_off(indexed: Any) -> None:
    """WORKBENCH_HOOKS=0: nothing is answered, recorded or logged, and `doctor` says that they are off."""
    payload = {"session_id": "s", "cwd": str(indexed.root), "prompt": "refresh the jwt token"}
    done = ask_process(json.dumps(payload).encode(), WORKBENCH_HOOKS="0")
    assert (done.returncode, done.stdout) == (0, b"")
    assert not (indexed.root / ".workbench" / "journal" / "handovers.jsonl").exists()
    assert not hook_log().exists()


@pytest.mark.parametrize(
    "event", ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionEnd"]
)
def test_a_project_that_nobody_uses_is_left_alone(project: Any, event: str) -> None:
    """Without anything recorded before nothing is said, and no state is made."""
    given = {"session_id": "s", "cwd": str(project.root), "prompt": "refresh it", "tool_name": "Bash"}
    given["tool_input"] = {"command": "git push --force"}  # type: ignore[assignment]
    reply = respond(json.dumps(given).encode(), event, "claude")
    reply.then()
    assert reply.output == b""
    assert not (project.root / ".workbench").exists()


def test_what_is_not_indexed_gets_no_context(project: Any, run: Run) -> None:
    """A project with rules and no index is not indexed by a prompt; its session is recorded all the same."""
    assert run("rules", "list").code == 0
    given = {"session_id": "s", "cwd": str(project.root), "prompt": "refresh the jwt token after a 401"}
    reply = respond(json.dumps(given).encode(), "UserPromptSubmit", "claude")
    reply.then()
    assert reply.output == b""
    assert not list((project.root / ".workbench" / "index").glob("project-*"))
    assert [one["session_id"] for one in run("episode", "list", "--json").json()["sessions"]] == ["s/1"]


@pytest.mark.parametrize("cwd", ["", "nowhere", "/nowhere/at/all", "/dev/null", "\0"])
def test_a_directory_that_is_none_is_no_project(cwd: str) -> None:
    """A payload decides nothing about where the hook looks unless it names a directory."""
    given = json.dumps({"session_id": "s", "cwd": cwd, "prompt": "refresh it"}).encode()
    assert respond(given, "UserPromptSubmit", "claude").output == b""


def test_an_event_the_agent_does_not_have_is_refused() -> None:
    """Each agent has its own names; what is none of them is a failure for the log."""
    with pytest.raises(UsageError, match="cursor has no hook 'SessionStart'"):
        respond(b"{}", "SessionStart", "cursor")


def test_only_a_transcript_of_the_session_is_archived(tmp_path: Path) -> None:
    """A payload cannot have other files copied: no link, no other place, no other session, no other name."""
    base = tmp_path / ".claude" / "projects" / "shop"
    base.mkdir(parents=True)
    good, secret = base / "s-1.jsonl", tmp_path / "s-1.jsonl"
    helper = base / "s-1" / "subagents" / "agent-7.jsonl"
    helper.parent.mkdir(parents=True)
    for path in (good, secret, helper, base / "s-2.jsonl", base / "s-1.txt"):
        path.write_text("{}\n", encoding="utf-8")
    (base / "link-s-1.jsonl").symlink_to(secret)

    def found(path: object) -> list[Path]:
        call = HookCall("claude", "SessionEnd", HookEvent.SESSION_END, session="s-1", transcript=str(path))
        return transcript_files(call, {"HOME": str(tmp_path)})

    assert found(good) == [good, helper]
    elsewhere = (secret, base / "link-s-1.jsonl", base / "s-2.jsonl", base / "s-1.txt", "", "/dev/null", "\0")
    assert [found(path) for path in elsewhere] == [[]] * len(elsewhere)
    assert found(base / ".." / ".." / ".." / "s-1.jsonl") == []


def test_a_full_log_is_put_aside(tmp_path: Path) -> None:
    """The log never grows beyond its limit, and lines that are none are left out."""
    path = tmp_path / "hooks.log"
    path.write_bytes(b"x" * 300_000)
    log_failure(path, "claude", "Stop", "", "first")
    log_failure(path, "claude", "Stop", "", "second")
    assert [one.reason for one in read_failures(path, 0.0)] == ["first", "second"]
    assert (tmp_path / "hooks.log.1").stat().st_size == 300_000


def test_doctor_says_why_hooks_failed(project: Any, run: Run) -> None:
    """The last failure and how many there were are a note, with what to do."""
    del project
    log_failure(hook_log(), "codex", "PreToolUse", "", "the disk is full")
    found = {one["name"]: one for one in run("doctor", "--json").json()["findings"]}
    assert found["hooks"]["state"] == "note"
    assert (
        "1 failure in the last 7 days, the last: codex PreToolUse: the disk is full" in found["hooks"]["text"]
    )


def test_a_damaged_index_is_a_reason_for_the_log(indexed: Any) -> None:
    """No context comes of it, and the log says why; the session is recorded all the same."""
    for path in (indexed.root / ".workbench" / "index").glob("project-*/*"):
        path.write_bytes(b"junk")
    given = {"session_id": "s", "cwd": str(indexed.root), "prompt": "refresh the jwt token after a 401"}
    reply = respond(json.dumps(given).encode(), "UserPromptSubmit", "claude")
    assert reply.output == b""
    with pytest.raises(StoreError, match="cannot be used"):
        reply.then()


def test_a_session_that_is_no_name_is_recorded_of_none(indexed: Any, run: Run) -> None:
    """Whatever a payload calls its session, nothing is searched or written by a name that cannot be one."""
    for session in ("a b", "\0", "\ud800", "../x", '"', "x" * 500, 7, None):
        given = {"session_id": session, "cwd": str(indexed.root), "prompt": "refresh the jwt token"}
        reply = respond(json.dumps(given).encode(), "UserPromptSubmit", "claude")
        reply.then()
        assert b"refresh_token" in reply.output
    assert run("episode", "list", "--json").json()["sessions"] == []
