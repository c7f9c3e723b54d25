"""`rules search`: rules found by a query, with filters, modes and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.entry.cli import exits
from workbench.rules.fetching.cache import RuleFetcher


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


def test_the_rules_of_a_context_are_absolute_ones_and_those_found(project: Any, run: Any) -> None:
    """Every absolute rule comes first, whatever the query; the others are default rules that it is about."""
    run("rules", "add", "Never push to main without a review", "--authority", "absolute")
    run("rules", "add", "Migrations of the database are reversible")
    absolute = [
        rule["id"]
        for rule in run("rules", "list", "--limit", "50", "--json").json()["rules"]
        if rule["authority"] == "absolute"
    ]
    asked = ("rules", "search", "reversible database migrations", "--with-absolute", "--threshold", "0.1")
    answer = run(*asked, "--json").json()
    assert [rule["id"] for rule in answer["absolute"]] == absolute
    assert [one["rule"]["rule"] for one in answer["rules"]] == ["Migrations of the database are reversible"]
    lines = run(*asked).out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["always"] * len(absolute)
    assert "reversible" in lines[-1]
    elsewhere = run(*asked, "--file", "AGENTS.md", "--json").json()
    assert (elsewhere["absolute"], elsewhere["rules"]) == ([], [])
    assert "absolute" not in run("rules", "search", "x", "--json").json()


def test_how_often_each_level_answered_is_in_the_statistics(project: Any, run: Any) -> None:
    """A command is a process of its own: its first level has nothing, the store has the answer."""
    page = run("rules", "list", "--limit", "1", "--json").json()
    run("rules", "list", "--limit", "1", "--cursor", page["next_cursor"])
    fresh = run("rules", "list", "--limit", "1", "--no-cache", "--json").json()
    assert fresh["rules"] == page["rules"]
    operations = {one["operation"]: one for one in run("stats", "--json").json()["operations"]}
    ratios = operations["rules"]["hit_ratio"]
    assert (ratios["rules.l1"], ratios["rules.l3"]) == (0, 1)


def test_a_rebuild_clears_what_processes_share(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a Redis may hold of the project's rules goes with the tables and indexes."""
    cleared: list[str] = []
    monkeypatch.setattr(RuleFetcher, "invalidate", lambda fetcher: cleared.append("all"))
    assert run("rebuild").code == exits.OK
    assert cleared == ["all"]
