"""The replayed day of rule requests: what it is made of, and that every request is counted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.rules_day import SHELL, Event, made_up_day, recorded_day
from bench.rules_fetch import Life, make_rules, replay


def line(at: str, kind: str, content: Any, **more: Any) -> str:
    entry = {"timestamp": f"2026-02-0{at}Z", "cwd": "/p", "type": kind, "message": {"content": content}}
    return json.dumps({**entry, **more})


def test_transcripts_become_one_day(tmp_path: Path) -> None:
    """Prompts and tool calls of several dates come by time of day; rubbish is skipped."""
    read = [{"type": "tool_use", "name": "Read", "input": {"file_path": "/p/src/a.py"}}, "odd"]
    bash = [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
    (tmp_path / "a.jsonl").write_text(
        "\n".join(
            [
                line("1T10:00:00", "user", "fix it"),
                line("1T10:00:05", "assistant", read),
                line("1T10:00:06", "user", [{"type": "tool_result", "content": "x"}]),
                line("1T10:00:07", "user", "a notice", isMeta=True),
                "no json",
                "[]",
                '{"timestamp": 3}',
            ]
        )
    )
    (tmp_path / "b.jsonl").write_text(line("2T09:00:00", "assistant", bash))
    (tmp_path / "c.jsonl").write_text('{"type":"summary"}\n')
    a, b = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    assert [(event.session, event.kind, event.file, event.at) for event in recorded_day(tmp_path)] == [
        (b, "start", "", 32400.0),
        (b, "tool", SHELL, 32400.0),
        (a, "prompt", "", 36000.0),
        (a, "start", "", 36000.0),
        (a, "tool", "src/a.py", 36005.0),
    ]


def test_a_made_up_day_is_the_same_every_time() -> None:
    """The same seed gives the same events, in order, of every kind."""
    day = made_up_day()
    assert day == made_up_day() == sorted(day)
    assert {event.kind for event in day} == {"start", "prompt", "tool"}
    assert (Event(1, "s", "tool", "p", "a/b.py").scope, Event(1, "s", "tool", "p", SHELL).scope) == (
        "py",
        SHELL,
    )
    assert Event(1, "s", "tool", "p", "a/b.py", by_path=True).scope == "path:a/b.py"


def test_every_request_is_answered_by_one_level() -> None:
    """Hits of the levels add up to the requests; without a cache that lasts all come from the store."""
    day = made_up_day()[:150]
    lives = [Life("all"), Life("session", shared=True), Life("event")]
    found = [replay(day, life) for life in lives]
    for counts in found:
        assert counts["l1"] + counts["l2"] + counts["l3"] == counts["requests"] > 0
    assert len({counts["requests"] for counts in found}) == 1
    assert (found[0]["l2"], found[1]["l2"] > 0) == (0, True)
    assert found[0]["l3"] < found[2]["l3"]
    assert replay(day, lives[0], edits=0)["l3"] <= found[0]["l3"] <= replay(day, lives[0], warm=False)["l3"]


def test_made_rules_are_the_same_every_time() -> None:
    """Sizes share their beginning, ids are sorted."""
    rules = make_rules(50)
    assert rules == make_rules(60)[:50] == sorted(rules, key=lambda rule: rule.id)
