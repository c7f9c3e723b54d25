"""`rules`: what rule files say, with their places."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits


def test_rules_are_listed_with_their_places(project: Any, run: Any) -> None:
    """In the order of file and line, absolute ones marked."""
    lines = run("rules", "list").out.splitlines()
    assert [line.split()[1:3] for line in lines] == [["absolute", "CLAUDE.md:3"], ["absolute", "CLAUDE.md:4"]]
    found = run("rules", "list", "--json").json()["rules"]
    assert [one["provenance"]["line"] for one in found] == [3, 4]
    assert run("rules", "list", "--file", "AGENTS.md", "--json").json()["rules"] == []


def test_match_shows_scores_and_reasons(project: Any, run: Any) -> None:
    """Every rule is either matched with its score or rejected with a reason."""
    answer = run("rules", "match", "run the tests after tokens are refreshed in auth", "--json").json()
    assert len(answer["matches"]) + len(answer["rejected"]) == 2
    assert all(one["why"] and one["final"] > 0 for one in answer["matches"])
    assert all(one["reason"] for one in answer["rejected"])
    text = run("rules", "match", "paint the bicycle shed", "--all")
    assert "CLAUDE.md:3" in text.out
    assert run("rules", "match", "").code == exits.USAGE


def test_show_takes_the_beginning_of_an_id(project: Any, run: Any) -> None:
    """A prefix that is unique is enough; an unknown one is a mistake with a hint."""
    rule = run("rules", "list", "--json").json()["rules"][0]
    assert run("rules", "show", rule["id"][:14], "--json").json()["rule"] == rule["rule"]
    assert run("rules", "show", rule["id"].removeprefix("rule-")).out.endswith(f"\n\n{rule['rule']}\n")
    done = run("rules", "show", "rule-zzzz")
    assert (done.code, done.out) == (exits.USAGE, "")
    several = run("rules", "show", "rule-")
    assert (several.code, "2 rules begin" in several.err) == (exits.USAGE, True)


def test_a_project_without_rules(make_work: Any, run: Any, monkeypatch: Any) -> None:
    """It says that there are none."""
    monkeypatch.chdir(make_work("bare-of-rules").root)
    done = run("rules", "list")
    assert (done.code, done.out) == (exits.OK, "")
    assert "no rules" in done.err


def test_state_that_cannot_be_written_is_shown_and_announced(
    project: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only project has the rules it had; every command says where additions go, and they come back."""
    assert run("rules", "add", "Never push to main.", "--authority", "absolute").code == exits.OK
    before = [rule["id"] for rule in run("rules", "list", "--json").json()["rules"]]
    access = os.access
    state = project.root / ".workbench"
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: access(path, mode) and Path(path) != state)
        for words in (
            ("rules", "list", "--json"),
            ("status", "--json"),
            ("plan", "push refresh_token", "--json"),
        ):
            done = run(*words)
            assert done.err.count(f"because {state} is read-only") == 1, words
        assert [rule["id"] for rule in run("rules", "list", "--json").json()["rules"]] == before
        assert "Never push to main." in run("plan", "push refresh_token").out
        assert run("rules", "add", "Added meanwhile.").code == exits.OK
    done = run("rules", "list")
    assert "brought back" in done.err
    assert "Added meanwhile." in done.out
    assert "brought back" not in run("rules", "list").err


def test_a_projects_wrong_setting_is_a_warning_and_told_once(project: Any, run: Run) -> None:
    """It stops no command and is not repeated for every time a command asks for the settings."""
    project.write(".workbench/config.toml", "[plan]\nbudgets = 1\n")
    done = run("rules", "list")
    assert done.code == exits.OK
    assert done.err.count("unknown setting 'plan.budgets'") == 1
