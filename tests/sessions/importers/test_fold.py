"""Sessions become tasks: prompts with what was read and changed until the next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sessions.importers.made import (
    NOON,
    call,
    clock,
    codex,
    codex_did,
    codex_said,
    did,
    edited,
    group,
    ran,
    result,
    user,
)
from workbench.records.episodes import ChangeKind
from workbench.sessions.importers.fold import PromptTask, seconds
from workbench.sessions.importers.readers import SessionReading, read_session


def read(*lines: Any, agents: Any = ()) -> SessionReading:
    return read_session(group(*lines, agents=agents))


def tasks(*lines: Any, agents: Any = ()) -> list[PromptTask]:
    return read(*lines, agents=agents).story.tasks


def test_prompts_divide_a_session() -> None:
    """What happens after a prompt is its, until the next; times are those of records."""
    first, second = tasks(
        user("fix the login", "u1", 0),
        *did("a", "Read", 1, file_path="/p/a.py"),
        *edited("b", "/p/b.py", 5),
        user("now the logout", "u2", 60),
        *edited("c", "/p/c.py", 61),
    )
    assert (first.text, list(first.reads), list(first.edits)) == ("fix the login", ["/p/a.py"], ["/p/b.py"])
    assert (first.started, first.ended) == (NOON, NOON + 5)
    assert (second.id, second.index, list(second.edits)) == ("claude_code:u2", 1, ["/p/c.py"])


def test_what_did_not_run_is_left_out() -> None:
    """Failed, rejected and unanswered calls change nothing."""
    (task,) = tasks(
        user("fix the login", "u1"),
        call("a", "Edit", file_path="/p/a.py", new_string="x"),
        result("a", "String not found", error=True),
        call("b", "Edit", file_path="/p/b.py", new_string="x"),
        result("b", "The user doesn't want to proceed with this tool use.", error=True),
        call("c", "Edit", file_path="/p/c.py", new_string="x"),
    )
    assert (list(task.edits), task.calls) == ([], 3)


def test_files_that_were_made_are_known() -> None:
    """Claude Code tells a file written anew from one written over."""
    (task,) = tasks(
        user("add a page", "u1"),
        call("a", "Write", file_path="/p/a.py", content="x"),
        result("a", toolUseResult={"type": "create", "filePath": "/p/a.py"}),
        *edited("b", "/p/a.py"),
    )
    assert (
        task.edits["/p/a.py"].kind,
        task.edits["/p/a.py"].added,
        task.edits["/p/a.py"].removed,
    ) == (ChangeKind.ADDED, 2, 1)


def test_meta_and_side_chains_are_no_prompts() -> None:
    """Nor are summaries of compactions and sub-agents' tasks; work goes on for the prompt before."""
    found = tasks(
        user("fix the login", "u1"),
        user("Caveat of the agent", "u2", isMeta=True),
        user("Look for the form", "u3", isSidechain=True),
        user("A summary", "u4", isCompactSummary=True),
        {"type": "system", "subtype": "compact_boundary", "timestamp": clock(2)},
        *edited("a", "/p/a.py"),
    )
    assert [(task.text, list(task.edits)) for task in found] == [("fix the login", ["/p/a.py"])]


def test_what_is_told_twice_counts_once() -> None:
    """Prompts by their uuid, calls by their id, tokens by the message's."""
    usage: dict[str, Any] = {"input_tokens": 10, "cache_read_input_tokens": 1000, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": "m",
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}],
        "usage": usage,
    }
    told = [user("fix the login", "u1"), *edited("a", "/p/a.py"), {"type": "assistant", "message": message}]
    grown = {**message, "usage": {**usage, "output_tokens": 9}}
    reading = read(*told, *told, {"type": "assistant", "message": grown})
    (task,) = reading.story.tasks
    assert (task.calls, task.edits["/p/a.py"].added, task.tokens, reading.story.repeated) == (1, 1, 19, 2)


def test_work_of_subagents_belongs_to_the_prompt_that_started_them() -> None:
    """By the call that did, as progress or result tell it; the agent's file may come to an end much later."""
    lines = [
        user("fix the login", "u1", 0),
        call("t", "Task", 1, prompt="look"),
        {
            "type": "progress",
            "parentToolUseID": "t",
            "data": {"agentId": "x", "message": call("p", "Read", 2, file_path="/p/a.py")},
        },
        {"type": "progress", "parentToolUseID": "t", "data": {"agentId": "x", "message": result("p")}},
        user("now the logout", "u2", 3),
        call("v", "Task", 4, prompt="look"),
        result("v", toolUseResult={"agentId": "y"}),
    ]
    inner = [
        user("look", "i1", 5, isSidechain=True),
        *did("p", "Read", 5, file_path="/p/a.py"),
        *edited("q", "/p/b.py", 6),
    ]
    other = [user("look", "i2", 0, isSidechain=True), *edited("r", "/p/c.py", 0)]
    first, second = tasks(*lines, agents=[("x", inner), ("y", other)])
    assert (list(first.reads), list(first.edits)) == (["/p/a.py"], ["/p/b.py"])
    assert list(second.edits) == ["/p/c.py"]


def test_subagents_that_nobody_names_belong_by_their_time() -> None:
    """To the last prompt before they began."""
    lines = [user("fix the login", "u1", 0), user("now the logout", "u2", 100)]
    first, second = tasks(
        *lines, agents=[("x", [*edited("a", "/p/a.py", 50)]), ("y", [*edited("b", "/p/b.py", 150)])]
    )
    assert (list(first.edits), list(second.edits)) == (["/p/a.py"], ["/p/b.py"])


def test_commits_and_tests_are_evidence() -> None:
    """Of the prompt that made them; a commit that a later prompt asks for covers what was changed before."""
    first, second, third = tasks(
        user("fix the login", "u1", 0),
        *edited("a", "/p/a.py", 1),
        *ran("b", "pytest", "1 failed", 2),
        *ran("c", "pytest", "3 passed", 3),
        user("why so slow?", "u2", 4),
        user("commit", "u3", 5),
        *ran("d", "git commit -am x", "[main 0123abc] x", 6),
    )
    assert (first.commit, first.later, first.tests) == ("0123abc", True, True)
    assert (second.commit, second.tests) == (None, None)
    assert (third.commit, third.later) == ("0123abc", False)


def test_files_staged_by_name_count_when_nobody_was_seen_changing_them() -> None:
    """Such as those the user changed; others belong to the task that changed them."""
    first, second = tasks(
        user("fix the login", "u1"),
        *edited("a", "/p/a.py"),
        user("commit it together with the notes", "u2"),
        *ran("b", "git add a.py notes.md"),
        *ran("c", "git commit -m x", "[main 0123abc] x"),
    )
    assert (list(first.edits), list(second.edits)) == (["/p/a.py"], ["/p/notes.md"])


def test_corrections_and_interruptions_are_heard() -> None:
    """The next prompt corrects; an interruption counts unless the work went on."""
    first, second, third = tasks(
        user("fix the login", "u1"),
        user("no, the other one", "u2"),
        user("[Request interrupted by user]", "u3"),
        user("the third", "u4"),
        user("[Request interrupted by user for tool use]", "u5"),
        *edited("a", "/p/a.py"),
    )
    assert [(task.corrected, task.interrupted) for task in (first, second, third)] == [
        (True, False),
        (False, True),
        (False, False),
    ]


def test_rollouts_of_codex_are_read() -> None:
    """Prompts are told twice and count once, patches and shell calls touch files, tokens are differences."""
    patch = "*** Begin Patch\n*** Update File: /p/a.py\n@@\n-x\n+y\n*** End Patch"
    usage = {"total_tokens": 110, "cached_input_tokens": 10}
    reading = read(
        codex("session_meta", 0, id="c", cwd="/p", git={"repository_url": "https://github.com/o/n.git"}),
        codex("response_item", 0, type="message", role="developer", content=[]),
        codex(
            "response_item",
            0,
            type="message",
            role="user",
            content=[{"text": "<environment_context>x</environment_context>"}],
        ),
        codex("turn_context", 0, cwd="/p", workspace_roots=["/p"]),
        *codex_said("fix the login", 1),
        *codex_did("a", "exec_command", {"cmd": "cat b.py"}, "Process exited with code 0", 2),
        codex("response_item", 3, type="custom_tool_call", name="apply_patch", input=patch, call_id="b"),
        codex(
            "response_item",
            3,
            type="custom_tool_call_output",
            call_id="b",
            output="Exit code: 0\nOutput:\nok",
        ),
        codex("event_msg", 4, type="token_count", info={"total_token_usage": usage}),
        *codex_did(
            "c",
            "shell",
            {"command": ["bash", "-lc", "git commit -qm x"]},
            '{"output": "", "metadata": {"exit_code": 0}}',
            5,
        ),
        *codex_said("continue", 6),
        *codex_said("continue", 7),
        codex("event_msg", 8, type="turn_aborted", reason="interrupted"),
    )
    told = reading.story
    assert [task.text for task in told.tasks] == ["fix the login", "continue", "continue"]
    first = told.tasks[0]
    assert (
        list(first.reads),
        list(first.edits),
        first.tokens,
        first.commit,
    ) == (["/p/b.py"], ["/p/a.py"], 100, "")
    assert (reading.source, told.session, list(told.roots)) == ("codex", "c", ["/p"])
    assert told.tasks[2].interrupted
    assert 1.0 == reading.tally.share_of_events == reading.tally.share_of_lines


def test_forked_rollouts_tell_the_same_tasks() -> None:
    """What a fork repeats of the session it comes from has the ids it has there."""
    begin = codex("session_meta", 0, id="c", cwd="/p")
    fork = codex("session_meta", 90, id="d", cwd="/p", forked_from_id="c")
    origin = tasks(begin, *codex_said("fix the login", 1), *codex_said("commit", 2))
    forked = tasks(fork, begin, *codex_said("fix the login", 91), *codex_said("and the logout", 92))
    assert origin[0].id == forked[0].id
    assert origin[1].id != forked[1].id


def test_output_of_the_command_is_read() -> None:
    """Without prompts the agent's opening words stand for them, a run each; with prompts those count."""
    base = {"session_id": "z"}
    said = {
        "type": "assistant",
        **base,
        "message": {"content": [{"type": "text", "text": "I'll fix the login."}]},
    }
    edit = {**call("a", "Edit", file_path="/p/a.py"), **base}
    edit.pop("sessionId")
    answer = {**result("a"), **base}
    answer.pop("sessionId")
    lines = [
        {"type": "system", "subtype": "init", "cwd": "/p", **base},
        said,
        edit,
        answer,
        {"type": "result", **base},
    ]
    reading = read(*lines)
    (task,) = reading.story.tasks
    assert (
        reading.source,
        task.text,
        task.guessed,
        list(task.edits),
    ) == ("claude_stream", "I'll fix the login.", True, ["/p/a.py"])
    prompt = {**user("fix the login", "u1"), **base}
    prompt.pop("sessionId")
    (task,) = tasks(lines[0], prompt, *lines[1:])
    assert (task.text, task.guessed) == ("fix the login", False)


def test_what_is_not_understood_is_counted_by_reason() -> None:
    """Every line is a line, every part of one an event."""
    odd = {"type": "assistant", "message": {"content": [{"type": "hologram"}, {"type": "text", "text": "x"}]}}
    reading = read(
        user("x y", "u1"), {"type": "novelty"}, b"{", odd, {"type": "user", "message": {"contenst": []}}
    )
    tally = reading.tally
    assert (tally.lines, tally.lines_understood, tally.events, tally.events_understood) == (5, 1, 6, 2)
    assert len(tally.reasons) == 4


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01T13:00:00+01:00", NOON),
        ("", -1),
        ("soon", -1),
        ("0001-01-01T00:00:00Z", -1),
    ],
)
def test_times_are_read(at: str, expected: int) -> None:
    """In seconds since the epoch, -1 for what is none."""
    assert expected == seconds(at)


def test_clocks_going_backwards_end_no_task_before_it_began() -> None:
    """The end is never before the beginning."""
    first, second = tasks(
        user("fix the login", "u1", 100), *edited("a", "/p/a.py", 5), user("go on then", "u2", 50)
    )
    assert (first.ended, second.started) == (NOON + 100, NOON + 50)
    assert all(task.ended >= task.started for task in (first, second))


def test_odd_ids_become_digests() -> None:
    """Whatever stands where an id should, a task has one that is safe to store."""
    (task,) = tasks(user("fix the login", "git:\n\udc80" * 40))
    assert task.id.startswith("claude_code:")
    assert task.id.isascii()
    assert json.loads(json.dumps(task.id)) == task.id
