"""Rules come into a pack with their words or with a file of their scope that is in it."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import Work, make_repository
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.plan.pipeline import Plan, plan
from workbench.plan.relevance import FEW_TASKS
from workbench.plan.rule_evidence import MOST_TOKENS, only_about
from workbench.records.plan import PlanRequest
from workbench.rules.matching.selection import RuleSelection, SelectedRule

RULES = "# Rules\n\n- Never push to main.\n- Always write commit subjects in the imperative.\n"


@cache
def made(root: Path) -> Work:
    """Make a repository with a past, rules for all of it, and one for a folder that few tasks are about."""
    work = make_repository(root)
    for number in range(FEW_TASKS + 10):
        path = "src/parser.py" if number % 4 == 0 else f"src/part_{number % 40}.py"
        work.write(path, f"def parse_header(line):\n    return line[{number}:]\n")
        work.commit(f"{path.removesuffix('.py')}: header line starts at {number}")
    work.write("CLAUDE.md", RULES)
    work.write("vendor_notes/CLAUDE.md", "# Rules\n\n- Keep the upstream spelling of names.\n")
    work.write("vendor_notes/list.txt", "alpha\nbeta\n")
    work.commit("rules")
    return work


@pytest.fixture
def work(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Work:
    """A copy of that repository, never indexed."""
    return made(tmp_path_factory.getbasetemp() / "ruled").copy(tmp_path / "work")


def planned(work: Work, task: str) -> Plan:
    """Plan a task in a new process's project."""
    found = open_project(work.root, Config(), dict(os.environ))
    return plan(found.workspace, found.planner, PlanRequest(str(work.root), task))


def test_a_rule_is_evidence_for_a_task(work: Work) -> None:
    """A task that no file is about gets the rules that have its words, and no others."""
    result = planned(work, "plan push")
    assert result.response.known
    assert [one.rule for one in result.rules] == ["Never push to main."]
    assert not result.pack.files
    assert result.response.low_confidence


@pytest.mark.parametrize("task", ["thanks a lot", "zxqv asdf", "good morning everybody"])
def test_without_a_word_of_a_rule_nothing_is_known(work: Work, task: str) -> None:
    """Greetings and nonsense still get a line that says so, and how many absolute rules hold."""
    result = planned(work, task)
    assert not result.response.known
    assert not result.rules
    assert "2 absolute rules hold all the same" in result.pack.text
    assert result.pack.report.estimated_used < 80


def test_what_no_file_is_about_gets_a_few_rules(work: Work) -> None:
    """Of rules with its words the first that take little, whatever is pinned, and reasons for the others."""
    (rule,) = planned(work, "plan push").rules
    cost = MOST_TOKENS // 2
    chosen = tuple(SelectedRule(replace(rule, id=str(at), token_cost=cost), "") for at in range(5))
    left = only_about(RuleSelection(chosen, (), 5 * cost), {"1", "2", "3"}, {"4"})
    assert [one.rule.id for one in left.selected] == ["1", "2", "4"]
    assert [one.rule.id for one in left.dropped] == ["0", "3"]
    assert all("no file is about" in one.reason for one in left.dropped)


def test_a_scoped_rule_comes_with_a_file_of_the_pack(work: Work) -> None:
    """The rule of a folder is left out where no file of it is likely enough to be in the pack."""
    result = planned(work, "parse_header skips the first line")
    assert "src/parser.py" in result.response.context.files
    assert "Never push to main." in result.pack.text
    assert "upstream spelling" not in result.pack.text
    named = planned(work, "sort vendor_notes/list.txt")
    assert "upstream spelling" in named.pack.text
