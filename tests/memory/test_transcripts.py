"""Iterations out of streams and transcripts: where they begin and end, and what is known of them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.made import SESSION, answered, init, lines_of, result, run_of, said, used
from workbench.memory.extraction.extract import extract, outcome_of
from workbench.memory.transcripts import LineFeeder, TranscriptReading, read_iterations
from workbench.records.iterations import FileAction, IterationOutcome, ModelTier, RawIterationOutput
from workbench.sessions.importers.transcripts import TranscriptRecord


def read(data: bytes) -> tuple[list[RawIterationOutput], TranscriptReading]:
    reading = TranscriptReading()
    return list(read_iterations(io.BytesIO(data), reading)), reading


def test_a_run_is_an_iteration() -> None:
    """From its first record to its result: words, calls with their answers, tokens, duration, model."""
    found, reading = read(lines_of([*run_of(), *run_of(message="msg_9", text="Again.")]))
    assert [raw.anchor for raw in found] == ["msg_1", "msg_9"]
    iteration = extract(found[0], ["/srv/app"])
    assert (
        iteration.outcome,
        iteration.summary,
        iteration.tokens_used,
        iteration.duration_ms,
    ) == (IterationOutcome.SUCCESS, "Done.", 127, 1200)
    assert [(one.path, one.action) for one in iteration.files_touched] == [
        ("pkg/auth.py", FileAction.MODIFIED)
    ]
    assert [error.message for error in iteration.errors] == ["test_refresh: AssertionError: assert 1 == 2"]
    assert [(decision.description, decision.rationale) for decision in iteration.decisions] == [
        ("I'll use httpx", "requests has no async client")
    ]
    assert (iteration.model_tier, iteration.model) == (ModelTier.HAIKU, "claude-haiku-4-5")
    assert (reading.source, reading.seen.reasons) == ("claude_stream", {})


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (result("No."), IterationOutcome.SUCCESS),
        (result("Boom", "error_during_execution"), IterationOutcome.FAILURE),
        (result("", "error_max_turns"), IterationOutcome.PARTIAL),
        (result("Claude AI usage limit reached|1767000000", is_error=True), IterationOutcome.RATE_LIMITED),
        (result("API Error: 429 Too Many Requests", is_error=True), IterationOutcome.RATE_LIMITED),
        (result("API Error: Request timed out.", is_error=True), IterationOutcome.TIMEOUT),
    ],
)
def test_outcomes(last: dict[str, Any], outcome: IterationOutcome) -> None:
    """A run's own word decides; a refusal for reasons of rate is told from a failure."""
    (raw,), _ = read(lines_of([init(), said("x"), last]))
    assert outcome == outcome_of(raw)


def test_a_stream_that_breaks_off_is_partial() -> None:
    """What was seen is kept, whatever the byte it ended at."""
    data = lines_of(run_of())
    (raw,), reading = read(data[: data.index(b'"type": "result"') + 9])
    assert outcome_of(raw) == IterationOutcome.PARTIAL
    assert len(raw.tool_uses) == 3
    assert sum(reading.seen.reasons.values()) == 1


def test_unknown_events_are_counted_and_survived() -> None:
    """Kinds nobody knows, lines that are no JSON and values of other types change nothing else."""
    odd: list[dict[str, Any]] = [
        {"type": "aurora", "session_id": SESSION},
        {"type": 7},
        {"type": "assistant", "message": 3},
    ]
    data = lines_of([init(), *odd, *run_of()[1:]]) + b"not json\n[1]\n\n"
    found, reading = read(data)
    assert len(found) == 1
    assert {
        reason: count for reason, count in reading.seen.reasons.items() if reason.startswith("events")
    } == {"events of type aurora": 1, "events of type int": 1}
    assert sum(count for reason, count in reading.seen.reasons.items() if "JSON" in reason) == 2


def test_words_put_in_the_user_s_mouth_do_not_part_a_run() -> None:
    """From its first record to its result a run is one iteration; announcing itself twice makes no other."""
    records = run_of()
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "Base directory for this skill: see below"}],
    }
    records.insert(4, {"type": "user", "session_id": SESSION, "message": message})
    (raw,), _ = read(lines_of([init(), *records]))
    assert (len(raw.tool_uses), raw.anchor) == (3, "msg_1")


def test_a_run_that_died_before_its_first_word_is_an_iteration() -> None:
    """Its record says that it came to nothing; a transcript's prompt without an answer waits for one."""
    (raw,), _ = read(lines_of([init()]))
    assert (outcome_of(raw), raw.model) == (IterationOutcome.PARTIAL, "claude-haiku-4-5")
    asked = {"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": "Fix the login"}}
    assert read(lines_of([asked]))[0] == []


def test_prompts_part_a_transcript() -> None:
    """In a transcript of Claude Code each prompt of the user begins an iteration."""

    def record(kind: str, content: Any, at: str, **more: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "sessionId": SESSION,
            "cwd": "/srv/app",
            "gitBranch": "feature/auth",
            "timestamp": f"2026-01-01T10:00:{at}Z",
            "message": {"role": kind, "content": content, **more},
        }

    asked = [
        record("user", "Fix the login of users", "00"),
        record("assistant", [{"type": "text", "text": "Fixed."}], "05", id="msg_a", model="claude-opus-4-6"),
        record("user", "Now the logout as well", "10"),
        record(
            "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}], "12"
        ),
    ]
    found, _ = read(lines_of(asked))
    assert [raw.prompt for raw in found] == ["Fix the login of users", "Now the logout as well"]
    assert [raw.branch for raw in found] == ["feature/auth", "feature/auth"]
    iteration = extract(found[0], ["/srv/app"])
    assert (
        iteration.outcome,
        iteration.duration_ms,
        iteration.model_tier,
    ) == (IterationOutcome.SUCCESS, 5_000, ModelTier.OPUS)
    assert outcome_of(found[1]) == IterationOutcome.PARTIAL


def test_rollouts_of_codex() -> None:
    """Prompts, words, calls and their exit codes are read from a rollout."""

    def item(kind: str, **more: Any) -> dict[str, Any]:
        return {
            "timestamp": "2026-01-01T10:00:00Z",
            "type": "response_item",
            "payload": {"type": kind, **more},
        }

    meta = {"id": SESSION, "cwd": "/srv/app", "git": {"branch": "fix"}}
    output = "Exit code: 1\nOutput:\nsrc/a.ts(1,2): error TS1005: ';' expected."
    rollout = [
        {"timestamp": "2026-01-01T10:00:00Z", "type": "session_meta", "payload": meta},
        {"timestamp": "2026-01-01T10:00:00Z", "type": "turn_context", "payload": {"model": "gpt-5.4"}},
        item("message", role="user", content=[{"type": "input_text", "text": "Build the app"}]),
        item(
            "function_call", name="exec_command", arguments=json.dumps({"cmd": "npm run build"}), call_id="c1"
        ),
        item("function_call_output", call_id="c1", output=output),
        item("message", role="assistant", content=[{"type": "output_text", "text": "It does not build."}]),
    ]
    (raw,), reading = read(lines_of(rollout))
    iteration = extract(raw, ["/srv/app"])
    assert (reading.source, raw.prompt, raw.branch, raw.model) == ("codex", "Build the app", "fix", "gpt-5.4")
    assert [(error.file_path, error.line) for error in iteration.errors] == [("src/a.ts", 1)]
    assert iteration.summary == "It does not build."


def test_files_of_an_iteration() -> None:
    """What was done in the end counts; what is outside is counted, what failed did not happen."""
    calls = [
        used("Write", {"file_path": "/srv/app/new.py", "content": "x"}, "1"),
        answered("1", "File created successfully at: /srv/app/new.py"),
        used("Read", {"file_path": "/etc/passwd"}, "2"),
        answered("2", "root"),
        used("Edit", {"file_path": "/srv/app/b.py", "old_string": "a", "new_string": "b"}, "3"),
        answered("3", "<tool_use_error>String to replace not found in file.</tool_use_error>", failed=True),
        used("Bash", {"command": "rm old.py && mv a.py c.py"}, "4"),
        answered("4", ""),
    ]
    calls[1]["toolUseResult"] = {"type": "create", "filePath": "/srv/app/new.py"}
    (raw,), _ = read(lines_of([init(), *calls, result()]))
    iteration = extract(raw, ["/srv/app"])
    assert {one.path: one.action for one in iteration.files_touched} == {
        "new.py": FileAction.CREATED,
        "old.py": FileAction.DELETED,
        "a.py": FileAction.DELETED,
        "c.py": FileAction.CREATED,
    }
    assert iteration.dropped == {"paths outside of the project": 1}


def test_a_line_of_fifty_megabytes_is_held_in_part() -> None:
    """Its long text is cut while it is read; everything around it counts."""
    huge = lines_of([answered("msg_1-1", "A" * (50 << 20))])
    data = lines_of(run_of()[:3]) + huge + lines_of(run_of()[4:])
    feeder = LineFeeder()
    records = [one for at in range(0, len(data), 65_536) for one in feeder.feed(data[at : at + 65_536])]
    assert len(records) == 9
    assert all(isinstance(record, TranscriptRecord) for record in records)
    assert feeder.bytes_cut > 49 << 20
    (raw,), reading = read(data)
    assert outcome_of(raw) == IterationOutcome.SUCCESS
    assert reading.bytes_cut == feeder.bytes_cut
    assert len(raw.tool_uses[0].result or "") < 70_000


@given(st.lists(st.sampled_from([lines_of([one]) for one in run_of()] + [b"\n", b"{", b"\xff\n"])), st.data())
def test_chunks_change_nothing(parts: list[bytes], data: Any) -> None:
    """However a stream is cut into chunks, the lines that come out are the same."""
    whole = b"".join(parts)
    at, chunks = 0, []
    while at < len(whole):
        size = data.draw(st.integers(1, 200))
        chunks.append(whole[at : at + size])
        at += size

    def fed(pieces: list[bytes]) -> list[Any]:
        feeder = LineFeeder()
        found = [one for piece in pieces for one in feeder.feed(piece)]
        last = feeder.finish()
        return found if last is None else [*found, last]

    assert fed([whole] if whole else []) == fed(chunks)


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    """Whatever a file holds, reading it ends."""
    read(data)
    read(lines_of([init()]) + data)
