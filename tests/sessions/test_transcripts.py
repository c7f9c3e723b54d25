"""Transcripts of agents are read as events, line by line, whatever is in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.sessions.importers import transcripts
from workbench.sessions.importers.readers import read_events
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    Event,
    ToolResult,
    ToolUse,
    Unreadable,
    find_transcripts,
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a writer of JSONL files: objects as JSON, bytes as they are."""

    def make(*lines: Any, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        raw = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
        path.write_bytes(b"\n".join(raw) + b"\n")
        return path

    return make


def events(path: Path) -> list[Event]:
    found = read_events(path)
    return [] if found is None else list(found)


def use(identifier: str, name: str = "Bash", **fields: Any) -> dict[str, Any]:
    """Return a record of Claude Code with a call."""
    block = {"type": "tool_use", "id": identifier, "name": name, "input": {"command": "ls"}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "x"}, block]}
    base = {"type": "assistant", "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"}
    return {**base, "message": message, **fields}


def result(identifier: str, content: Any, *, error: bool) -> dict[str, Any]:
    """Return a record of Claude Code with a call's result."""
    block = {"type": "tool_result", "tool_use_id": identifier, "content": content, "is_error": error}
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [block]}}


def test_calls_of_claude_code_are_read(write: Write) -> None:
    """A call has its tool, input, time, session and directory."""
    assert events(write({"type": "summary", "summary": "x"}, use("a"))) == [
        ToolUse("a", "Bash", {"command": "ls"}, "2026-01-01T00:00:00Z", "s", "/p", "claude", line=2)
    ]


@pytest.mark.parametrize(
    ("content", "error", "outcome"),
    [
        ("ok", False, "ran"),
        ("Exit code 1", True, "failed"),
        ([{"type": "text", "text": "Exit code 1"}], True, "failed"),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", True, "rejected"),
        ("Permission to use Bash with command rm has been denied.", True, "rejected"),
        ("PreToolUse hook blocked the call", True, "rejected"),
        (None, True, "failed"),
    ],
)
def test_results_say_what_became_of_a_call(write: Write, content: Any, error: bool, outcome: str) -> None:
    """Run, failed, or kept from running by the user, a permission or a hook."""
    assert events(write(use("a"), result("a", content, error=error)))[1] == ToolResult(
        "a", CallOutcome(outcome), 2
    )


def test_calls_of_subagents_are_marked(write: Write) -> None:
    """In a file of their own, or told as progress of the session that started them."""
    told = {
        "type": "progress",
        "sessionId": "s",
        "cwd": "/q",
        "data": {"message": use("b", cwd="", sessionId="")},
    }
    first, second = events(write(use("a", isSidechain=True, agentId="x"), told))
    assert isinstance(first, ToolUse)
    assert isinstance(second, ToolUse)
    assert (first.subagent, second.subagent) == (True, True)
    assert (second.session, second.cwd) == ("s", "/q")


CODEX = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "c", "cwd": "/p"}}


def item(**payload: Any) -> dict[str, Any]:
    """Return a record of Codex that the model sees."""
    return {"timestamp": "2026-01-01T00:00:01Z", "type": "response_item", "payload": payload}


@pytest.mark.parametrize(
    ("payload", "tool", "given"),
    [
        (
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}'},
            "exec_command",
            {"cmd": "ls"},
        ),
        ({"type": "function_call", "name": "x", "arguments": "{"}, "x", {"input": "{"}),
        ({"type": "function_call", "name": "x", "arguments": "[1]"}, "x", {"input": [1]}),
        (
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin"},
            "apply_patch",
            {"input": "*** Begin"},
        ),
        (
            {"type": "local_shell_call", "action": {"command": ["ls"], "working_directory": "/q"}},
            "local_shell",
            {"command": ["ls"], "working_directory": "/q", "workdir": "/q"},
        ),
    ],
)
def test_calls_of_codex_are_read(write: Write, payload: dict[str, Any], tool: str, given: Any) -> None:
    """Functions, free-form tools and shell calls; the screen's log is passed over."""
    screen = {"type": "event_msg", "payload": payload}
    found = events(write(CODEX, item(**payload, call_id="a"), screen))
    assert found == [ToolUse("a", tool, given, "2026-01-01T00:00:01Z", "c", "/p", "codex", line=2)]


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Process exited with code 0\nOutput:\nrejected by user", "ran"),
        ("Process exited with code 2\n", "failed"),
        ("Exit code: 1\nOutput:\n", "failed"),
        ('{"output": "x", "metadata": {"exit_code": 1}}', "failed"),
        ({"output": "x", "metadata": {"exit_code": 0}}, "ran"),
        ("exec command rejected by user", "rejected"),
        ([{"type": "input_text", "text": "Exit code: 3"}], "failed"),
        ("Plan updated", "ran"),
        (None, "ran"),
    ],
)
def test_outputs_of_codex_say_what_became_of_a_call(write: Write, output: Any, outcome: str) -> None:
    """By the exit code, or the words of a rejection."""
    found = events(write(CODEX, item(type="function_call_output", call_id="a", output=output)))
    assert found == [ToolResult("a", CallOutcome(outcome), 2)]


def test_rollouts_without_an_envelope_are_read(write: Write) -> None:
    """Older files have the items at the top."""
    call = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "a"}
    first = events(write({"id": "c", "timestamp": "x"}, call))[0]
    assert isinstance(first, ToolUse)
    assert (first.tool, first.input) == ("shell", {"command": ["ls"]})


def test_broken_lines_are_named_and_the_rest_is_read(write: Write) -> None:
    """No JSON, no object, half a record, deep nesting: a place and a reason each; blank lines are none."""
    path = write(
        use("a"), b"{", b"", b"42", b'{"type": "assistant", "message": 3}', b"[" * 100_000, b"\xff", use("b")
    )
    found = events(path)
    assert [event.line for event in found if isinstance(event, Unreadable)] == [2, 4, 6, 7]
    assert [event.id for event in found if isinstance(event, ToolUse)] == ["a", "b"]


def test_odd_texts_are_read(write: Write) -> None:
    """A byte order mark and lone surrogates are no reason to lose a line."""
    raw = json.dumps(use("a", name="B\udc80sh")).encode()
    found = events(write(b"\xef\xbb\xbf" + raw.replace(b"\\\\", b"\\")))
    assert [event.id for event in found if isinstance(event, ToolUse)] == ["a"]


def test_a_line_beyond_the_bound_is_passed_over(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and the next line is read."""
    monkeypatch.setattr(transcripts, "MAX_LINE", 2_000)
    found = events(write(use("a"), b"x" * 10_000, use("b")))
    assert [type(event) for event in found] == [ToolUse, Unreadable, ToolUse]


def test_the_output_of_claude_p_has_events(write: Write) -> None:
    """Calls in the other envelope of Claude Code are calls, in the session and the directory of the run."""
    start = {"type": "system", "subtype": "init", "session_id": "run-1", "cwd": "/p"}
    call = {name: value for name, value in use("a").items() if name in ("type", "message")}
    found = events(write(start, {**call, "session_id": "run-1"}))
    assert [(one.id, one.tool, one.session, one.cwd) for one in found if isinstance(one, ToolUse)] == [
        ("a", "Bash", "run-1", "/p")
    ]


@pytest.mark.parametrize("lines", [[], [b"# notes"], [{"repo": "x"}], [b"1"] * 60])
def test_other_files_are_no_transcripts(write: Write, lines: list[Any]) -> None:
    """None is returned for a file that no known agent wrote."""
    assert read_events(write(*lines)) is None


def test_directories_are_searched_once(write: Write, tmp_path: Path) -> None:
    """Files given and files found below directories, in order, none twice."""
    first = write(use("a"))
    (tmp_path / "d").mkdir()
    second = write(use("b"), name="d/other.jsonl")
    (tmp_path / "d" / "notes.md").write_text("x")
    assert find_transcripts([second, tmp_path]) == (second, first)
    assert find_transcripts([tmp_path]) == (second, first)


@given(st.lists(st.binary(max_size=80), max_size=8))
def test_any_bytes_are_read(lines: list[bytes]) -> None:
    """Whatever stands in a file that begins like a transcript, reading it ends."""
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".jsonl") as handle:
        handle.write(json.dumps(use("a")).encode() + b"\n" + b"\n".join(lines))
        handle.flush()
        assert isinstance(events(Path(handle.name))[0], ToolUse)
