"""`workbench stash merge`: what is taken back, what comes along, what is recorded and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits


def add(run: Run, text: str, *options: str) -> str:
    return str(
        run("stash", "add", text, "--session", "s1", *options, "--json").json()["segment"]["segment_id"]
    )


def test_segments_are_merged_with_what_is_linked_and_beside(empty: object, run: Run) -> None:
    """References go in both directions, neighbours are of the session; the use of all of them counts."""
    first = add(run, "Sessions are in Redis", "--at", "2023-01-01")
    second = add(run, "Postgres was too slow", "--at", "2023-01-02", "--reference", first)
    third = add(run, "The port is 6379", "--at", "2023-01-03")
    alone = run("stash", "merge", second[:12])
    assert "Postgres was too slow" in alone.out
    assert "Sessions are in Redis" not in alone.out
    assert "1 segment, " in alone.err
    linked = run("stash", "merge", first, "--references", "1", "--json").json()
    assert [one["segment_id"] for one in linked["segments"]] == [first, second]
    assert [one["beside"] for one in linked["segments"]] == ["", f"linked with {first}"]
    beside = run("stash", "merge", third, "--neighbours", "1", "--json").json()
    assert [one["segment_id"] for one in beside["segments"]] == [second, third]
    assert beside["merged_count"] == 2
    assert "merged 3" in run("stash", "show", second).out


def test_what_is_merged_can_leave_the_stash_and_come_back(empty: object, run: Run, tmp_path: Path) -> None:
    """Removing is a step, protected segments stay, the clipboard gets the text that is printed."""
    one = add(run, "Sessions are in Redis")
    kept = add(run, "Keep me", "--protect")
    ran = run("stash", "merge", one, "--remove", "--copy", "--json")
    assert json.loads(ran.out)["removed"] is True
    assert "1 of 1 segment" in run("stash", "list").err
    refused = run("stash", "merge", kept, "--remove")
    assert (refused.code, refused.out) == (exits.USAGE, "")
    assert run("stash", "merge", one).code == exits.USAGE
    assert run("stash", "merge").code == exits.USAGE


def test_a_summary_stands_in_for_the_segments(
    empty: object, run: Run, ollama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What did not fit into the question comes as it is; where the model fails all of them do."""
    first = add(run, "Sessions are in Redis", "--at", "2023-01-01")
    long = [add(run, f"part{number} " * 6_000, "--at", f"2023-01-{number + 2:02}") for number in range(6)]
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "tiny")
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    ollama.answers = ["I cannot help with that."]
    asked = ("stash", "merge", first, *long, "--summary", "--task", "move them")
    failed = run(*asked, "--json").json()
    assert failed["summary"]["degraded"] == ["summary"]
    assert failed["text"] == run("stash", "merge", first, *long).out
    ollama.answers = [json.dumps({"sentences": [{"segments": ["s1"], "text": "Redis has them."}]})]
    found = run(*asked, "--json").json()
    assert f"- Redis has them. [{first}]" in found["text"]
    assert json.loads(ollama.requests[-1][1]["messages"][1]["content"])["query"] == "move them"
    assert found["merged_count"] == 7
    assert found["tokens_added"] < failed["tokens_added"]
    left_out = found["summary"]["left_out"]
    assert 0 < len(left_out) < len(long)
    shown = [one for one in (first, *long) if f"[{one}: " in found["text"]]
    assert shown == left_out
    ran = run(*asked)
    assert "in no sentence of the summary: " in ran.err
    assert "answered the same before: ollama:tiny" in ran.err
