"""Lists of rules, conflicts and learnings with the filter, orders and cursors of every face."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.entry.cli import exits

Run = Callable[..., Any]


def add_rule(run: Run, text: str, *options: str) -> str:
    done = run("rules", "add", text, *options, "--json")
    assert done.code == exits.OK, done.err
    return str(done.json()["rules"][0]["id"])


def texts(answer: Any) -> list[str]:
    assert answer.code == exits.OK, answer.err
    return [rule["rule"] for rule in answer.json()["rules"]]


def test_rules_are_filtered_sorted_and_paged(empty: Any, run: Run) -> None:
    """Words rank, facets narrow, options and filter both hold, and a cursor goes on where the page ended."""
    add_rule(run, "Run the token tests first.", "--priority", "80", "--tag", "language:python")
    add_rule(run, "Never log a refresh_token.", "--priority", "90", "--authority", "absolute")
    add_rule(run, "Use tabs.", "--priority", "10")

    assert texts(run("rules", "list", "token", "--json")) == [
        "Run the token tests first.",
        "Never log a refresh_token.",
    ]
    assert texts(run("rules", "list", "rtok", "--json")) == ["Never log a refresh_token."]
    assert texts(run("rules", "list", "token", "--authority", "absolute", "--json")) == [
        "Never log a refresh_token."
    ]
    assert texts(run("rules", "list", "!token", "tag:python", "--json")) == []
    first = run("rules", "list", "--sort", "priority", "--limit", "2", "--json")
    assert texts(first) == ["Never log a refresh_token.", "Run the token tests first."]
    cursor = first.json()["next_cursor"]
    rest = run("rules", "list", "--sort", "priority", "--limit", "2", "--cursor", cursor, "--json")
    assert (texts(rest), rest.json()["next_cursor"], rest.json()["total_count"]) == (["Use tabs."], None, 3)
    assert "go on with --cursor" in run("rules", "list", "--sort", "id", "--limit", "1").err


def test_what_is_no_filter_is_refused_with_its_place(empty: Any, run: Run) -> None:
    """Unknown fields, orders and cursors exit as bad usage and name what there is."""
    add_rule(run, "Use tabs.")
    unknown = run("rules", "list", "colour:red")
    assert unknown.code == exits.USAGE
    assert "'colour:red'" in unknown.err
    order = run("memory", "list", "--sort", "confidance")
    assert order.code == exits.USAGE
    assert "confidence" in order.err
    assert run("rules", "list", "tabs", "--cursor", "x").code == exits.USAGE
    assert run("rules", "list", "tabs", "--as-of", "2026-01-01").code == exits.USAGE
    long = run("memory", "list", *["a"] * 1_000)
    assert (long.code, "at most 50 terms" in long.err) == (exits.USAGE, True)


def test_learnings_are_filtered_as_in_the_app(empty: Any, run: Run) -> None:
    """Filter, options and order hold together; those that are gone are listed where they are asked for."""
    for text in ("The api listens on port 8080", "Staging has its own port", "Never push on Fridays"):
        assert run("memory", "add", text, "--feature", "auth", "--reason", "seen").code == exits.OK

    def said(*words: str) -> list[str]:
        answer = run("memory", "list", *words, "--json")
        assert answer.code == exits.OK, answer.err
        return [one["text"] for one in answer.json()["learnings"]]

    assert said("port", "!staging") == ["The api listens on port 8080"]
    assert said("--sort", "text", "--feature", "auth", "--grep", "port") == [
        "Staging has its own port",
        "The api listens on port 8080",
    ]
    gone = run("memory", "list", "fridays", "--json").json()["learnings"][0]["id"]
    assert run("memory", "reject", gone).code == exits.OK
    assert said("fridays") == []
    assert said("fridays", "--all") == said("fridays", "--state", "rejected") == ["Never push on Fridays"]


def test_conflicts_are_filtered_and_paged(empty: Any, run: Run) -> None:
    """The filter's conflicts alone are listed, with their rules; the next page follows."""
    for package in ("pnpm", "yarn"):
        add_rule(run, f"Always install packages with {package}.")
        add_rule(run, f"Never install packages with {package}.")
    every = run("rules", "conflicts", "list", "--json").json()
    assert every["total_count"] >= 2

    found = run("rules", "conflicts", "list", "yarn", "!pnpm", "--json").json()
    assert [one["left_words"] for one in found["conflicts"]]
    assert all("yarn" in rule["rule"] for rule in found["rules"])
    assert found["total_count"] < every["total_count"] or found["total_count"] == 1
    page = run("rules", "conflicts", "list", "--sort", "kind", "--limit", "1", "--json").json()
    assert len(page["conflicts"]) == 1
    again = ("--sort", "kind", "--limit", "100", "--cursor", page["next_cursor"], "--json")
    rest = run("rules", "conflicts", "list", *again).json()
    ids = [one["id"] for one in (*page["conflicts"], *rest["conflicts"])]
    assert sorted(ids) == sorted(one["id"] for one in every["conflicts"])
