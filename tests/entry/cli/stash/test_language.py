"""Expansion, feedback and summaries beside a language model over HTTP: who asks one, and what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.entry.cli.conftest import Run


@pytest.fixture
def talk(empty: object, run: Run, ollama: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stash with four segments, and a language model that is set up."""
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "tiny")
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    texts = (
        "We keep sessions in Redis",
        "Sessions end after a day",
        "Rotate tokens daily, says the audit",
        "The cart is stored with sessions",
    )
    made = [run("stash", "add", text, "--session", "s1", "--json").json()["segment"] for text in texts]
    return [one["segment_id"] for one in made]


def scores(run: Run, *words: str) -> dict[str, tuple[float, dict[str, float]]]:
    """Return what is found: (similarity, its parts) by id."""
    found = run("stash", "search", *words, "--min-similarity", "0", "--explain", "--json").json()["segments"]
    return {one["segment_id"]: (one["similarity"], one["parts"]) for one in found}


def test_expansion_asks_no_model(talk: list[str], run: Run, ollama: Any) -> None:
    """A task, messages and files lead to what the words alone do not, without a request."""
    alone = scores(run, "where is it kept?")
    wider = scores(run, "where is it kept?", "--task", "rotate tokens", "--message", "the audit")
    assert wider[talk[2]][0] > alone.get(talk[2], (0.0, {}))[0]
    assert ollama.requests == []


def test_feedback_asks_no_model(talk: list[str], run: Run, ollama: Any) -> None:
    """What was merged back comes higher the next time, and the part that it gained is named."""
    before = scores(run, "sessions")
    assert run("stash", "merge", talk[3]).code == 0
    after = scores(run, "sessions")
    assert after[talk[3]][1]["feedback"] > before[talk[3]][1].get("feedback", 0.0)
    assert after[talk[3]][0] > before[talk[3]][0]
    assert ollama.requests == []


def test_a_summary_is_one_request_of_the_protocol(talk: list[str], run: Run, ollama: Any) -> None:
    """One chat, not streamed, held to a schema; the segments are data in it, and the answer names them."""
    ollama.answers = [json.dumps({"sentences": [{"segments": ["s1"], "text": "Redis has them."}]})]
    ran = run("stash", "search", "Redis", "--summary", "--top-k", "1")
    assert f"- Redis has them. [{talk[0]}]" in ran.out
    ((path, body),) = [request for request in ollama.requests if request[0] == "/api/chat"]
    assert (path, body["model"], body["stream"]) == ("/api/chat", "tiny", False)
    assert [one["role"] for one in body["messages"]][-1] == "user"
    assert body["format"]["required"] == ["sentences"]
    assert body["options"]["temperature"] == 0
    assert "We keep sessions in Redis" in body["messages"][-1]["content"]
    assert ollama.refused == []


@pytest.mark.parametrize(
    "answer",
    ["Redis, I think.", '{"sentences": "none"}', "", '{"sentences": [{"segments": ["s9"], "text": "x"}]}'],
)
def test_an_answer_of_another_form_leaves_the_segments(
    talk: list[str], run: Run, ollama: Any, answer: str
) -> None:
    """Prose, another form, nothing, or a segment that nobody sent: what was found comes as it is."""
    plain = run("stash", "search", "Redis", "--top-k", "1").out
    ollama.answers = [answer]
    ran = run("stash", "search", "Redis", "--summary", "--top-k", "1")
    assert (ran.code, ran.out) == (0, plain)
    assert "not condensed" in ran.err
