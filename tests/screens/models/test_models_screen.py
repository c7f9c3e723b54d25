"""The section of models: what ranks, how it was trained, and the keys that switch it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from screens.app import WorkbenchApp
from screens.models.lines import (
    headline,
    kind_to_roll_back,
    model_cells,
    model_lines,
    progress_line,
    story,
    training_minimum,
)
from screens.models.screen import ModelsScreen
from screens.widgets.table import VirtualTable
from store.clock import SystemClock
from tests.conftest import Work
from tests.screens.conftest import settle
from tests.screens.golden import SIZES, check_every_size
from workbench.entry.project import find_state
from workbench.entry.services.models import register_model
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL
from workbench.records.answers.models import CanaryState, ModelEntry, ModelProvenance, ModelStatus

MADE = ModelProvenance(
    base=LEXICAL_MODEL,
    since=1_600_000_000,
    until=1_700_000_000,
    samples=560,
    sessions=12,
    metrics={"before": 0.71, "after": 0.73, "p": 0.004},
    code_version="0.1",
    seed=7,
)


def entry(name: str, **more: Any) -> ModelEntry:
    given = {"model_kind": "linear", "active": False, "canary": 0.0, "provenance": MADE, **more}
    return ModelEntry(model_id=name, version="1", created_at=1_790_000_000, **given)


def status(*models: ModelEntry, **more: Any) -> ModelStatus:
    active = {one.model_kind: one.model_id for one in models if one.active}
    given = {"canary": None, "ranking": {"files-v4": "files-v4"}, "training": "", "notes": (), **more}
    return ModelStatus(packaged="files-v4", active=active, models=models, **given)


def test_rows_say_which_model_ranks_and_which_cannot() -> None:
    """Active, tried, faulty and unused models have signs of their own; the packaged one is always there."""
    found = status(
        entry("a", active=True), entry("b", canary=0.2), entry("c", fault="its schema is 9"), entry("d")
    )
    cells = [[cell.plain for cell in model_cells(line)] for line in model_lines(found)]
    assert [row[0] for row in cells] == ["●", "◐", "✗", "", ""]
    assert [row[-1] for row in cells] == [
        "in use",
        "tried on 20% of plans",
        "cannot be used: its schema is 9",
        "",
        "",
    ]
    assert cells[0][4:6] == ["560", "+0.020"]
    assert [model_cells(one)[0].plain for one in model_lines(status())] == ["●"]
    assert story(model_lines(found)[0], {"files-v4": {"bm25_body": 0.4}}).endswith("  +0.400 bm25_body")
    told = story(model_lines(found)[0], {}, {"schema": 1, "model": "tiny", "candidates": 20, "weights": {}})
    assert ("candidates   20" in told, "model        tiny" in told, "schema" in told) == (True, True, False)


def test_only_what_is_in_use_can_be_given_up() -> None:
    """Of the packaged model alone nothing goes back; a tried one comes first, then the kind of the row."""
    none = status()
    [packaged] = model_lines(none)
    assert kind_to_roll_back(none, packaged) == ""
    assert "goes back" not in story(packaged, {})
    ranked = status(entry("a", active=True), entry("r", active=True, model_kind="ollama_rerank"))
    first, second, packaged = model_lines(ranked)
    assert [kind_to_roll_back(ranked, line) for line in (first, second, packaged, None)] == [
        "linear",
        "ollama_rerank",
        "linear",
        "linear",
    ]
    assert "goes back" in story(packaged, {})
    tried = status(entry("b", canary=0.2), canary=CanaryState("b", 0.2, 9, 4, 20, 0.0))
    assert kind_to_roll_back(tried, None) == "linear"


def test_a_training_is_asked_for_what_there_is() -> None:
    """The usual minimum where there are as many tasks, else the fewest that a model takes; 0 below."""
    assert [training_minimum(tasks) for tasks in (49, 50, 149, 500, 9_000)] == [0, 50, 50, 500, 500]


def test_the_lines_above_say_what_happens() -> None:
    """How a canary does comes before what came of the last training."""
    canary = CanaryState("b", 0.2, 9, 4, 20, -0.012)
    tried = status(entry("b", canary=0.2), canary=canary, training="2026-01-01: no gain")
    assert "4 of 20 sessions scored, nDCG@10 -0.012" in progress_line(tried)
    assert progress_line(status(training="x: no gain")) == "last training, x: no gain"
    assert headline(tried) == "plans rank with files-v4"


async def test_a_model_is_activated_and_rolled_back(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys do what the command line does; the log has it; the screen fits at every size."""
    work.write("a.py", "x = 1\n")
    work.commit("Add a file")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(SystemClock, "now", lambda self: 1_790_000_000.0)
    weights = {one: {"bm25_body": 0.5, "cochange": -0.25} for one in (DEFAULT_MODEL, LEXICAL_MODEL)}
    params = {"schema": 1, "weights": weights}
    name = register_model(find_state(work.root), "linear", params, MADE, by="cli")
    app = WorkbenchApp(Path(work.root), watch=False, section="models")
    async with app.run_test(size=SIZES[1]) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, ModelsScreen)
        await pilot.press("a")
        await settle(pilot)
        assert find_state(work.root).own_models.registry().active == {"linear": name}
        assert f"files-v4+{name}" in str(screen.query_one("#models-headline", Static).render())
        await check_every_size(pilot, "models")
        await pilot.resize_terminal(*SIZES[1])
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert find_state(work.root).own_models.registry().active == {}
        assert screen.query_one(VirtualTable).cursor_key == name
        done = [one.command for one in app.log_of_actions.actions]
        assert done[-2:] == [f"workbench model activate {name}", "workbench model rollback"]
