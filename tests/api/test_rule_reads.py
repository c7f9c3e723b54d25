"""Rules fetched by an open project come through its caches, and how often they answered is measured."""

from __future__ import annotations

import json

import pytest

import workbench
from tests.conftest import Work
from workbench.entry.cli import main
from workbench.errors import UsageError


@pytest.fixture
def shop(work: Work) -> Work:
    work.write("CLAUDE.md", "# Rules\n\n- Never log a token.\n- Prefer small functions.\n")
    work.commit("Begin")
    return work


def ratios(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """Return the share of answers by level, as the statistics have it."""
    capsys.readouterr()
    assert main.run(["stats", "--json"]) == 0
    operations = json.loads(capsys.readouterr().out)["operations"]
    (found,) = [one for one in operations if one["operation"] == "rules"]
    return {level: ratio for level, ratio in found["hit_ratio"].items() if level.startswith("rules.")}


def test_what_is_fetched_again_comes_from_the_process(
    shop: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One miss and three hits of the first level are in the statistics of the program."""
    monkeypatch.chdir(shop.root)
    with workbench.open_project(shop.root) as project:
        project.rules.warm_up("claude")  # imports the file, which is a write
        project.rules.invalidate()
        pages = [project.rules.fetch(tags=["language:python"]) for _ in range(4)]
        assert all(page == pages[0] for page in pages)
        before = ratios(capsys)
        texts = [rule.rule for rule in project.rules.fetch().rows]
        assert sorted(texts) == ["Never log a token.", "Prefer small functions."]
    assert before["rules.l3"] == 1
    asked = 3 + 4  # three by the warm-up, which all missed
    assert before["rules.l1"] == pytest.approx(3 / asked, abs=1e-3)


def test_a_session_begins_warm(
    shop: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a warm-up the process has what is fetched for the agent, and every absolute rule of a context."""
    monkeypatch.chdir(shop.root)
    with workbench.open_project(shop.root) as project:
        project.rules.warm_up("claude")
        assert project.rules.fetch(authority="absolute", tool_targets=["claude"]).total == 1
        assert project.rules.fetch(category="behavior", tool_targets=["claude"]).total > 0
        assert len(project.rules.context("tokens", tool_targets=["claude"]).absolute) == 1
    assert ratios(capsys)["rules.l1"] == pytest.approx(3 / 6, abs=1e-3)


def test_edits_are_seen_at_once_and_files_with_a_look(shop: Work) -> None:
    """A write changes the key of every page; a file edited by hand waits for a look."""
    with workbench.open_project(shop.root) as project:
        project.rules.warm_up()
        assert project.rules.fetch().total == 2
        with workbench.open_project(shop.root) as other:
            other.rules.add("Use tabs.")
        assert project.rules.fetch().total == 3
        shop.write("CLAUDE.md", "# Rules\n\n- Never log a token.\n")
        assert project.rules.fetch().total == 3
        assert project.rules.fetch(bypass_cache=True).total == 2
        assert project.rules.fetch().total == 2
        with pytest.raises(UsageError, match="category"):
            project.rules.fetch(category="nonsense")


def test_the_rules_of_a_query_are_absolute_ones_and_those_it_is_about(shop: Work) -> None:
    """As the command line has them."""
    with workbench.open_project(shop.root) as project:
        project.rules.add("Migrations of the database are reversible")
        found = project.rules.context("reversible database migrations", k=2, threshold=0.1)
        assert [rule.rule for rule in found.absolute] == ["Never log a token."]
        assert [rule.rule for rule, _ in found.default] == ["Migrations of the database are reversible"]
        assert found.rules == (*found.absolute, *(rule for rule, _ in found.default))
