"""Running sessions: what hooks and growing transcripts say of them, and what they were given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.importers.made import codex, codex_did, codex_said, did, edited, raw, result, user
from workbench.config_layers import load
from workbench.entry.project import open_workspace
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.handovers import record_breach, record_handover, record_instructions
from workbench.entry.services.running import RunningSessions
from workbench.ports import Entry
from workbench.records.rules import Rule
from workbench.records.usage import Handover
from workbench.sessions.running import (
    QUIET,
    WAITING,
    WORKING,
    SessionGifts,
    TranscriptTail,
    read_activity,
    running_session,
)


def entries(*told: tuple[str, Mapping[str, Any]], by: str = "hook") -> list[Entry]:
    return [
        Entry(str(number), "2026-01-01T00:00:00Z", kind, by, dict(body))
        for number, (kind, body) in enumerate(told)
    ]


def test_what_hooks_recorded_adds_up_to_a_session() -> None:
    """Prompts are counted, the last one is what it is for; what is malformed or of others is left out."""
    started = {"parent_session": "s", "task_text": "first", "started_at": 100}
    told = entries(
        ("episode.started", {**started, "session_id": "s/1"}),
        ("episode.event", {"session_id": "s/1", "event_type": "read", "file_path": "a.py", "timestamp": 110}),
        ("episode.ended", {"session_id": "s/1", "ended_at": 120}),
        ("episode.started", {**started, "session_id": "s/2", "task_text": "second", "started_at": 200}),
        ("episode.event", {"session_id": "s/2", "event_type": "edit", "file_path": "b.py", "timestamp": 210}),
        (
            "episode.event",
            {"session_id": "other/1", "event_type": "edit", "file_path": "c.py", "timestamp": 9},
        ),
        ("episode.event", {"session_id": "s/2", "event_type": "edit", "timestamp": "soon"}),
        ("feedback.given", {"session_id": "s/2", "outcome": "splendid"}),
    )
    found = read_activity(told, "s")
    assert (found.episode, found.task, found.prompts, found.ended) == ("s/2", "second", 2, False)
    assert found.touched == {"a.py": (110, -1), "b.py": (-1, 210)}
    assert (found.now, found.last_at, found.outcome, found.known_by) == (
        "edit b.py",
        210,
        "unknown",
        {"hooks"},
    )
    states = [running_session(found, SessionGifts(), (), now).state for now in (220, 2_000)]
    assert states == [WORKING, QUIET]
    over = read_activity([*told, *entries(("episode.ended", {"session_id": "s/2", "ended_at": 220}))], "s")
    assert running_session(over, SessionGifts(), (), 2_000).state == WAITING


def test_files_and_rules_are_told_apart() -> None:
    """Needed and not given, given and not opened; broken, kept, and unknown where there is no check."""
    touched = {"a.py": (5, -1), "b.py": (-1, 7)}
    activity = read_activity((), "s")
    activity.touched.update(touched)
    given = Handover(
        "s", "claude", "UserPromptSubmit", {"a.py": "full", "z.py": "path"}, ("r1", "r2"), tokens=30
    )
    rules = [Rule(id=f"r{number}", name="", rule=f"rule {number}") for number in range(4)]
    gifts = SessionGifts((given, given), broken={"r2": 9, "r3": 10})
    session = running_session(activity, gifts, rules, 10)
    assert [(file.path, file.given, file.read_at, file.edited_at) for file in session.files] == [
        ("b.py", "", -1, 7),
        ("a.py", "full", 5, -1),
        ("z.py", "path", -1, -1),
    ]
    assert [(rule.rule_id, rule.by, rule.verdict) for rule in session.rules] == [
        ("r3", "", "broken"),
        ("r2", "given", "broken"),
        ("r1", "given", "unknown"),
    ]
    assert (session.tokens, session.calls, session.agent) == (60, 2, "claude")


def write(path: Path, lines: Iterable[object], *, start: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb" if start else "ab") as file:
        file.write(raw(list(lines)))


def test_a_transcript_is_read_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lines only, each once; calls that did not run touch nothing; a file in its place is another."""
    path = tmp_path / "s.jsonl"
    refused = [edited("d", "/p/no.py", 4)[0], result("d", "denied", 4, error=True)]
    write(path, [user("fix it", "u1", 0), *did("a", "Read", 1, file_path="/p/a.py")])
    tail = TranscriptTail(path)
    assert tail.read()
    assert not tail.read()
    assert [task.text for task in tail.story.tasks] == ["fix it"]
    with path.open("ab") as file:
        whole = raw([*edited("b", "/p/b.py", 2), *refused])
        file.write(whole[:-30])
    tail.read()
    assert set(tail.touched) == {"/p/a.py", "/p/b.py"}
    with path.open("ab") as file:
        file.write(whole[-30:])
    tail.read()
    assert set(tail.touched) == {"/p/a.py", "/p/b.py"}
    assert tail.last_call is not None
    assert tail.last_call.id == "d"
    write(path, [user("else", "u9", 0)], start=True)
    tail.read()
    assert (tail.touched, [task.text for task in tail.story.tasks]) == ({}, ["else"])
    monkeypatch.setattr("workbench.sessions.running.FIRST_READ", 700)
    long = tmp_path / "rollout-c.jsonl"
    head = [codex("session_meta", 0, id="c", cwd="/p"), *codex_said("first words " * 200, 1)]
    write(
        long,
        [*head, *codex_said("last words", 2), *codex_did("x", "exec_command", {"cmd": "cat a.py"}, "ok", 3)],
    )
    end = TranscriptTail(long)
    end.read()
    assert [task.text for task in end.story.tasks] == ["last words"]
    assert (end.story.session, list(end.touched)) == ("c", ["/p/a.py"])


def test_hooks_and_transcripts_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By session; excluded paths and secrets stay out; only what was written to a moment ago is looked at."""
    root, home = tmp_path / "shop", tmp_path / "home"
    (root / ".git").mkdir(parents=True)
    for name in ("HOME", "WORKBENCH_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    config = load(project=root).config
    project = open_workspace(root, config)
    desk = episode_service(root, config, "hook")
    desk.start("mend the login", session_id="s/1", parent_session="s", prompt_index=1)
    desk.event("s/1", "read", files=["login.py"])
    record_handover(project, Handover("s", "claude", "UserPromptSubmit", {"login.py": "full"}, (), tokens=12))
    record_instructions(project, "s", "claude", "CLAUDE.md", "session_start")
    record_breach(project, "s", ["gone"], call="t", decision="deny")
    place = home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(root))
    there = {"cwd": str(root)}
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    write(place / "s.jsonl", [user("mend the login", "u1", 0, **there), *edited("a", f"{root}/token.py", 1)])
    write(place / "t.jsonl", [
        user(f"use {secret} for it", "u1", 0, **there, sessionId="t"),
        *did("a", "Read", 1, file_path=f"{root}/.env"),
        *did("b", "Bash", 2, command="cat .env"),
    ])  # fmt: skip
    write(place / "elsewhere.jsonl", [user("not here", "u1", 0, cwd="/q", sessionId="e")])
    write(place / "old.jsonl", [user("long ago", "u1", 0, **there, sessionId="o")])
    os.utime(place / "old.jsonl", (1, 1))
    running = RunningSessions(project)
    before = running.traces()
    found = {one.session_id: one for one in running.look()}
    assert set(found) == {"s", "t"}
    both, alone = found["s"], found["t"]
    assert (both.known_by, both.episode, both.task) == ("hooks, transcript", "s/1", "mend the login")
    assert {file.path: file.given for file in both.files} == {"login.py": "full", "token.py": ""}
    assert (both.now, both.tokens) == ("Edit token.py", 12)
    assert (alone.episode, alone.known_by, alone.files) == ("", "transcript", ())
    assert secret not in alone.task
    assert alone.now == "Bash"
    assert running.traces() == before
    write(place / "s.jsonl", did("c", "Read", 3, file_path=f"{root}/more.py"))
    assert running.traces() != before
    assert "more.py" in {file.path for session in running.look() for file in session.files}


def test_a_name_is_made_of_the_words_of_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is free, has no secret, and there is one where no word is in Latin letters."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    desk = episode_service(tmp_path, load(project=tmp_path).config, "tui")
    task = "Fix the réfund of stuck orders (#7)\nand more of it"
    assert desk.free_name(task) == "fix-the-refund-stuck-orders-7"
    desk.start(task, session_id=desk.free_name(task))
    assert desk.free_name(task) == "fix-the-refund-stuck-orders-7-2"
    assert desk.free_name("注文を直す") == "task"
    assert "iosf" not in desk.free_name("use AKIA" + "IOSFODNN7EXAMPLE")
