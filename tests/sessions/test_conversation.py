"""What a line of a transcript says is told as people read it, in every format, without secrets."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.importers.made import call, codex, codex_did, codex_said, result, user
from workbench.sessions.conversation import (
    AGENT,
    CALL,
    MOST_TEXT,
    NOTE,
    RESULT,
    THOUGHT,
    USER,
    Turn,
    turns_of,
)
from workbench.sessions.importers.lines import TranscriptLine
from workbench.sessions.importers.transcripts import TranscriptRecord, Unreadable


def read_turns(value: Any, cut: int = 0) -> list[Turn]:
    return turns_of(TranscriptLine(7, 8, 3, TranscriptRecord(3, value), cut))


def test_claude_code_is_a_conversation() -> None:
    """Prompts, words, thoughts, calls and their results have roles; calls name their tool and file."""
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/p/a.py", "limit": 3}},
    ]
    said = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    made = (
        read_turns(user("fix the login", "u1"))
        + read_turns(said)
        + read_turns(result("a", "no\nfile", error=True))
    )
    assert [turn.role for turn in made] == [USER, THOUGHT, AGENT, CALL, RESULT]
    assert [turn.prompt for turn in made] == [True, False, False, False, False]
    assert made[3].head == "Read /p/a.py"
    assert made[3].text == "file_path: /p/a.py\nlimit: 3"
    assert made[3].paths == ("/p/a.py",)
    assert made[4].failed
    assert {(turn.offset, turn.line) for turn in made} == {(7, 3)}


def test_what_hooks_put_in_is_no_prompt() -> None:
    """Words in the user's name that are not the user's are notes."""
    reminder = user("<system-reminder>be brief</system-reminder>", "u1")
    meta = user("Caveat: nothing", "u2", isMeta=True)
    helper = user("find all callers of it", "u3", isSidechain=True)
    assert [turn.role for value in (reminder, meta, helper) for turn in read_turns(value)] == [NOTE] * 3


def test_codex_is_a_conversation_told_once() -> None:
    """What the model sees is shown, what the screen repeats is not; a failed command is marked."""
    lines = [
        codex("session_meta", 0, id="c", cwd="/p"),
        *codex_said("make it faster", 1),
        codex("response_item", 2, type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        *codex_did("a", "exec_command", {"cmd": "sed -i s/a/b/ x.py"}, "Process exited with code 1\nno", 3),
        codex("response_item", 4, type="message", role="assistant", content=[{"text": "Done."}]),
    ]
    made = [turn for value in lines for turn in read_turns(value)]
    assert [turn.role for turn in made] == [USER, THOUGHT, CALL, RESULT, AGENT]
    assert made[2].head == "exec_command sed -i s/a/b/ x.py"
    assert made[3].failed


def test_secrets_are_masked_and_long_texts_cut() -> None:
    """Nothing that looks like a secret is shown; what is left out of a text is counted."""
    key = "ghp_" + "a1B2" * 9
    [prompt] = read_turns(user(f"use {key} for it " + "x" * MOST_TEXT, "u1"), cut=5)
    assert key not in prompt.text
    assert "[secret:" in prompt.text
    assert prompt.cut > 5
    [tool] = read_turns(call("a", "Bash", command=f"curl -H 'Authorization: token {key}'"))
    assert key not in tool.head + tool.text


def test_a_line_that_is_no_record_is_a_note() -> None:
    """It is told with its reason; an empty line says nothing."""
    [note] = turns_of(TranscriptLine(0, 5, 1, Unreadable(1, "it is not JSON")))
    assert (note.role, note.text) == (NOTE, "it is not JSON")
    assert turns_of(TranscriptLine(0, 1, 1, None)) == []


WORDS = st.sampled_from(
    "type message content text role payload input name id output arguments tool_use_id thinking".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from("user assistant response_item message tool_use tool_result system result".split())


@given(st.dictionaries(WORDS, JSON, max_size=6), KINDS)
def test_any_record_is_told_or_passed_over(value: dict[str, Any], kind: str) -> None:
    """No shape of a record breaks the reader."""
    for turn in read_turns({**value, "type": kind}):
        assert turn.line == 3
