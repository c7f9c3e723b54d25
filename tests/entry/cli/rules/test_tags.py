"""`workbench rules tags` run in a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]


def test_tags_in_use_are_counted(run: Run, project: Any) -> None:
    """Tags of imported rules are listed with the number of their rules, the same as text and as JSON."""
    shown, told = run("rules", "tags"), run("rules", "tags", "--json").json()["tags"]
    assert shown.code == 0
    assert {use["tag"]: use["rules"] for use in told}["workflow:test"] == 1
    assert [use["problem"] for use in told] == [None] * len(told)
    assert [line.split() for line in shown.out.splitlines()] == [
        [str(use["rules"]), use["tag"]] for use in told
    ]


def test_known_tags_contain_those_of_the_settings(run: Run, project: Any, monkeypatch: Any) -> None:
    """`--known` lists the taxonomy with the user's additions; an odd addition is told and left out."""
    monkeypatch.setenv("WORKBENCH_RULES_TAGS", "team:payments,nonsense")
    shown = run("rules", "tags", "--known")
    assert "team: payments, …" in shown.out
    assert "priority: critical, important, optional\n" in shown.out
    assert "rules.tags: nonsense is left out" in shown.err
    told = run("rules", "tags", "--known", "--json").json()
    assert told["categories"]["team"] == ["payments"]
    assert told["categories"]["language"][:2] == ["python", "rust"]
    assert (told["closed"], told["free"]) == (["priority"], "custom")


def test_no_tags_are_no_output(run: Run, work: Any, monkeypatch: Any) -> None:
    """Without tagged rules stdout stays empty and stderr says so."""
    work.write("a.txt", "x\n")
    work.commit()
    monkeypatch.chdir(work.root)
    shown = run("rules", "tags")
    assert (shown.code, shown.out) == (0, "")
    assert "no rule has a tag" in shown.err
