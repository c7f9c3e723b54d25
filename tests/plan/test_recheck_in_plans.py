"""A language model's second look reaches plans: what it takes away is out, and what it missed is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.config import Config, RulesConfig
from workbench.entry.project import open_project
from workbench.plan.passages import match_task
from workbench.plan.pipeline import plan
from workbench.plan.planner import rank
from workbench.records.plan import PlanRequest
from workbench.rules.matching.match import RuleMatch
from workbench.rules.matching.recheck import Rechecked

TASK = "Run the tests after changing how tokens are refreshed"


def opened(tmp_path: Path, monkeypatch: Any) -> Any:
    """Open a directory with a rule that answers to the task."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    (root / "CLAUDE.md").write_text("- Prefer to run the tests after changing how tokens are refreshed.\n")
    (root / "main.py").write_text("def change_tokens(): pass  # tests run after\n")
    return open_project(root, Config(rules=RulesConfig(home=False)))


def test_nothing_is_asked_unless_wanted(tmp_path: Path, monkeypatch: Any) -> None:
    """The default has no second look."""
    assert opened(tmp_path, monkeypatch).planner.recheck is None


def test_what_the_model_takes_away_is_out(tmp_path: Path, monkeypatch: Any) -> None:
    """The match goes with its reason, the note and the degradation are in the plan's response."""
    project = opened(tmp_path, monkeypatch)

    def no(matches: Sequence[RuleMatch], message: str) -> Rechecked:
        assert TASK in message
        rejected = tuple((match.rule.id, "not about it") for match in matches)
        return Rechecked((), rejected, ("recheck",), "the model was slow")

    planner = replace(project.planner, recheck=no)
    ranking = rank(project.workspace, planner, TASK)
    _, before = match_task(project.workspace, project.planner, PlanRequest("", TASK), ranking)
    _, after = match_task(project.workspace, planner, PlanRequest("", TASK), ranking)
    assert (len(before.matches), len(after.matches)) == (1, 0)
    assert (before.matches[0].rule.id, "not about it") in after.rejected
    made = plan(project.workspace, planner, PlanRequest("", TASK, token_budget=1000))
    assert "recheck" in made.response.degraded
    assert "the model was slow" in str(made.response)


def test_settings_turn_it_on(tmp_path: Path, monkeypatch: Any) -> None:
    """With the setting and no model, matches stand and it is said."""
    project = opened(tmp_path, monkeypatch)
    planner = open_project(project.root, Config(rules=RulesConfig(home=False, recheck=True))).planner
    assert planner.recheck is not None
    made = plan(project.workspace, planner, PlanRequest("", TASK, token_budget=1000))
    assert "recheck" in made.response.degraded
