"""`rules violations`: breaches in transcripts, as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.config import Config
from workbench.entry.cli import exits
from workbench.entry.project import open_workspace
from workbench.records.rules import Authority, Check
from workbench.rules.curation.curator import Curator


@pytest.fixture
def enforced(project: Any) -> Any:
    """A project whose first rule forbids a forced push."""
    workspace = open_workspace(project.root, Config()).workspace
    book, _ = workspace.sync_rules()
    check = Check(command="git push --force")
    Curator(workspace.rule_store(), "test").edit(book.rules[0].id, check=check, authority=Authority.ABSOLUTE)
    return project


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """A directory with a session, a rollout, a broken line and a file that is neither."""
    place = tmp_path / "sessions"
    place.mkdir()
    block = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "git push -f \x1b[2J"}}
    refused = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": "Exit code 1"}
    session = [
        {
            "type": "assistant",
            "sessionId": "one",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"content": [block]},
        },
        {"type": "user", "sessionId": "one", "message": {"content": [refused]}},
    ]
    call = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": "b",
        "arguments": '{"cmd": "git push --force"}',
    }
    rollout = [
        {"type": "session_meta", "payload": {"id": "two", "cwd": "/p"}},
        {"type": "response_item", "timestamp": "2026-02-01T00:00:00Z", "payload": call},
    ]
    (place / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in session) + "{\n")
    (place / "two.jsonl").write_text("".join(json.dumps(line) + "\n" for line in rollout))
    (place / "other.jsonl").write_text("{}\n")
    return place


def test_breaches_are_told_by_rule(enforced: Any, run: Any, transcripts: Path) -> None:
    """Rule, count, sessions and fates; then each breach in order of time; narration on stderr."""
    done = run("rules", "violations", str(transcripts))
    assert done.code == exits.OK
    lines = done.out.splitlines()
    assert lines[1] == "  2 breaches in 2 sessions (1 failed, 1 unknown)"
    assert lines[2].startswith("  2026-01-01 00:00  one  Bash  failed: it runs `git push -f")
    assert lines[3] == "  2026-02-01 00:00  two  exec_command  unknown: it runs `git push --force`"
    assert "\x1b" not in done.out
    assert "2 breaches in 2 calls of 2 transcripts" in done.err
    assert "other.jsonl is not a transcript" in done.err
    assert "one.jsonl:3" in done.err


def test_json_has_everything(enforced: Any, run: Any, transcripts: Path) -> None:
    """Counts by rule and session, places, and what could not be read."""
    answer = run("rules", "violations", str(transcripts / "one.jsonl"), str(transcripts), "--json").json()
    assert (answer["files"], answer["calls"], answer["unreadable"]["lines"]) == (2, 2, 1)
    assert (answer["rules"][0]["count"], answer["rules"][0]["sessions"]) == (2, {"one": 1, "two": 1})
    assert [one["line"] for one in answer["rules"][0]["violations"]] == [1, 2]
    assert len(answer["not_transcripts"]) == 1


def test_since_takes_a_date_or_a_span(enforced: Any, run: Any, transcripts: Path) -> None:
    """Older calls are left out; nonsense is refused."""
    assert (
        run("rules", "violations", str(transcripts), "--since", "2026-01-15", "--json").json()["calls"] == 1
    )
    assert run("rules", "violations", str(transcripts), "--since", "1m", "--json").json()["calls"] in (
        0,
        1,
        2,
    )
    done = run("rules", "violations", str(transcripts), "--since", "soon")
    assert (done.code, "is not a time" in done.err) == (exits.USAGE, True)


def test_a_missing_place_is_refused_and_rules_without_checks_are_said(
    project: Any, run: Any, transcripts: Path
) -> None:
    """Nothing is counted for a typo; without checks the next step is named."""
    done = run("rules", "violations", str(transcripts / "none"))
    assert (done.code, "does not exist" in done.err) == (exits.USAGE, True)
    assert "--suggest" in run("rules", "violations", str(transcripts)).err
