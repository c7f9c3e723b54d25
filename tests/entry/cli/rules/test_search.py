"""`rules search`: rules found by a query, with filters, modes and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.entry.cli import exits


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_each_mode_finds_by_words_without_a_model(project: Any, run: Any, mode: str) -> None:
    """Without an embedding model every mode answers, by words, and dense and hybrid say so."""
    rule = run("rules", "list", "--json").json()["rules"][0]
    answer = run("rules", "search", rule["rule"], "--mode", mode, "--json").json()
    best = answer["rules"][0]
    assert best["rule"]["id"] == rule["id"]
    assert best["score"] >= 0.5
    assert (best["vector"], answer["mode"]) == (None, "sparse")
    assert bool(answer["notes"]) == (mode != "sparse")


def test_filters_limit_and_threshold(project: Any, run: Any) -> None:
    """What the filters keep out is not found; a threshold of 1 lets hardly anything in."""
    text = run("rules", "list", "--json").json()["rules"][0]["rule"]
    everything = run("rules", "search", text, "--threshold", "0", "--json").json()["rules"]
    assert everything
    assert (
        len(run("rules", "search", text, "--threshold", "0", "--limit", "1", "--json").json()["rules"]) == 1
    )
    assert run("rules", "search", text, "--authority", "default", "--json").json()["rules"] == []
    assert run("rules", "search", text, "--file", "AGENTS.md", "--json").json()["rules"] == []
    assert run("rules", "search", text, "--threshold", "1", "--json").json()["rules"] == []


def test_what_it_prints(project: Any, run: Any) -> None:
    """A line a rule with score and place; nothing found is said on stderr; a wrong mode is a mistake."""
    text = run("rules", "list", "--json").json()["rules"][0]["rule"]
    line = run("rules", "search", text).out.splitlines()[0]
    assert line.split()[1] == "CLAUDE.md:3"
    assert 0 < float(line.split()[0]) <= 1
    nothing = run("rules", "search", "qqqq zzzz")
    assert (nothing.code, nothing.out) == (exits.OK, "")
    assert "(2 rules searched)" in nothing.err
    assert run("rules", "search", "x", "--mode", "magic").code == exits.USAGE
    assert run("rules", "search").code == exits.USAGE
