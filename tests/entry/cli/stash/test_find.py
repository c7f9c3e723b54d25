"""`workbench stash search|references`: one query or many, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits
from workbench.records.answers.stash import RetrieveResponse


@pytest.fixture
def talk(empty: object, run: Run) -> list[str]:
    texts = ("We keep sessions in Redis", "The login test fails with E0308", "Decided: rotate tokens daily")
    made = [run("stash", "add", text, "--session", "s1", "--json").json()["segment"] for text in texts]
    return [one["segment_id"] for one in made]


def test_a_query_is_answered_with_reasons(talk: list[str], run: Run) -> None:
    """As lines, with what the score is made of, as JSON by its schema."""
    ran = run("stash", "search", "which error has the login test?", "--top-k", "1", "--explain")
    assert ran.out.startswith(talk[1][:12])
    assert "lexical" in ran.out
    asked = run("stash", "search", "--task", "E0308", "--min-similarity", "0.4", "--json")
    answer = msgspec.json.decode(asked.out.encode(), type=RetrieveResponse)
    assert [segment.segment_id for segment in answer.segments] == [talk[1]]
    nothing = run("stash", "search", "E0308", "--session", "another")
    assert (nothing.code, nothing.out) == (exits.OK, "")


def test_many_queries_are_answered_in_their_order(talk: list[str], run: Run, tmp_path: Path) -> None:
    """A line each; an invalid one is answered in its place and fails the command at its end."""
    lines: list[object] = [
        {"query": "rotate tokens", "top_k": 1, "id": 7},
        "nonsense",
        {"query": "sessions", "filters": {"tpe": "decision"}},
        {"query": "sessions", "filters": {"type": "decision", "until": "2000-01-01"}},
        {"query": "sessions", "top_k": 0},
        {"top_k": 1},
        {"task": "where are sessions kept?", "messages": ["Redis"], "min_similarity": 0, "top_k": 1},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + "\n{not json\n\n" + '"' + "x" * (1 << 20) + '"\n'
    (tmp_path / "queries.jsonl").write_text(text)
    ran = run("stash", "search", "--queries", str(tmp_path / "queries.jsonl"), "--format", "jsonl")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == exits.USAGE
    assert "6 of 9 queries failed" in ran.err
    found = [[one["segment_id"] for one in answer.get("segments", ())] for answer in answers]
    assert found == [[talk[2]], [], [], [], [], [], [talk[0]], [], []]
    assert ["error" in answer for answer in answers] == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
        True,
        True,
    ]
    assert [answer["line"] for answer in answers if "error" in answer] == [2, 3, 5, 6, 8, 9]


def test_what_makes_no_sense_is_refused(talk: list[str], run: Run) -> None:
    """A time that is none, and a query besides a file of them."""
    for arguments in (("x", "--since", "whenever"), ("x", "--queries", "-")):
        assert run("stash", "search", *arguments).code == exits.USAGE


def test_references_are_listed(talk: list[str], run: Run) -> None:
    """Those that refer to a segment and those it refers to, with the way."""
    linked = run("stash", "add", "See above", "--reference", talk[0], "--json").json()["segment"][
        "segment_id"
    ]
    ran = run("stash", "references", talk[0])
    assert linked[:12] in ran.out
    found = run("stash", "references", linked, "--direction", "to", "--json").json()["references"]
    assert [(one["segment"]["segment_id"], one["hops"], one["via"]) for one in found] == [
        (talk[0], 1, linked)
    ]
    assert run("stash", "references", linked, "--direction", "from").out == ""


def test_what_is_found_is_condensed_only_when_asked(
    talk: list[str], run: Run, ollama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --summary the sentences come first, whom that asked and what it took go to stderr, once."""
    degraded = run("stash", "search", "Redis", "--summary", "--json").json()
    assert degraded["degraded"][-1] == "summary"
    assert "models.llm and models.llm_url are not both set" in degraded["notes"][-1]
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "tiny")
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    ollama.answers = [json.dumps({"sentences": [{"segments": ["s1"], "text": "Redis holds sessions."}]})]
    ollama.extra |= {"prompt_eval_count": 4000, "eval_count": 20}
    ollama.handle = lambda handler: ollama.send_bytes(handler, 500, b"")
    failed = run("stash", "search", "Redis", "--summary")
    assert failed.out == run("stash", "search", "Redis").out
    assert "the segments are as they were, not condensed: " in failed.err
    ollama.handle = None
    ollama.requests.clear()
    plain = run("stash", "search", "Redis", "--json").json()
    assert plain["summary"] is None
    assert ollama.requests == []
    ran = run("stash", "search", "Redis", "--summary", "--top-k", "1")
    assert f"\n- Redis holds sessions. [{talk[0]}]\n" in ran.out
    assert ran.out.rindex(talk[0][:12]) > ran.out.index("</workbench-memory>")
    assert "asking ollama:tiny about 1 segment" in ran.err
    assert "asked: ollama:tiny, 4,000 tokens sent, 20 received" in ran.err
    again = run("stash", "search", "Redis", "--summary", "--top-k", "1", "--json")
    answer = msgspec.json.decode(again.out.encode(), type=RetrieveResponse)
    assert answer.summary is not None
    assert answer.summary.cached
    assert len(ollama.requests) == 1
    nothing = run("stash", "search", "Redis", "--session", "none", "--summary", "--json").json()
    assert (nothing["segments"], nothing["summary"]) == ([], None)
    both = run("stash", "search", "--queries", "-", "--summary")
    assert both.code == exits.USAGE
