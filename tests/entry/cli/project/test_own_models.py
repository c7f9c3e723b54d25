"""`model`: what is registered for a project, switched, taken along and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.cli import exits
from workbench.entry.project import find_state
from workbench.entry.services.models import register_model
from workbench.models.registry import STREAM, model_name
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model
from workbench.records.answers.models import ModelProvenance

FEATURE = "size"
TASK = "jwt token is not refreshed on 401"


def linear(**weights: float) -> dict[str, Any]:
    """The document of a linear model, with embeddings and without."""
    return {"schema": 1, "weights": dict.fromkeys((DEFAULT_MODEL, LEXICAL_MODEL), weights)}


@pytest.fixture
def known(project: Any) -> str:
    """A model that ranks large files first, registered and not used."""
    assert FEATURE in load_model(LEXICAL_MODEL).weights
    made = ModelProvenance(base=LEXICAL_MODEL, samples=3, metrics={"before": 0.5, "after": 0.75})
    return register_model(find_state(project.root), "linear", linear(**{FEATURE: 9.0}), made, by="cli")


def first(run: Any) -> list[str]:
    """The order of the files."""
    return [one["path"] for one in run("rank", TASK, "--json").json()["files"]]


def test_a_model_is_listed_shown_activated_and_rolled_back(project: Any, run: Any, known: str) -> None:
    """Plans rank with it from its activation to the rollback, and then as before, byte for byte."""
    monkey = ("plan", TASK, "--format", "json")
    before, order = run(*monkey).json(), first(run)
    assert run("model", "list", "--json").json()["own"][0]["model_id"] == known
    assert run("model", "status", "--json").json()["active"] == {}
    told = run("model", "show", known).out
    assert "3 tasks, nDCG@10 0.500 -> 0.750 on later tasks" in told
    assert f"+9.000 {FEATURE}" in told
    assert run("model", "activate", known[-6:]).out == f"{known} is active\n"
    assert first(run) != order
    assert f"plans rank with files-v2+{known}" in run("model", "status").out
    assert f"* {known}" in run("model", "list").out
    assert run("status", "--json").json()["ranking_model"] == f"files-v2+{known}"
    assert run("model", "rollback", "--json").json() == {"from": known, "to": "files-v2"}
    after = run(*monkey).json()
    for one in (before, after):
        del one["timing"], one["cache_status"]
    assert (after, first(run)) == (before, order)
    assert "no linear model of this project is in use" in run("model", "rollback").err


def test_a_model_is_taken_to_another_project(project: Any, run: Any, known: str, tmp_path: Path) -> None:
    """What is exported can be imported; what was changed on the way is refused, and nothing is registered."""
    document = run("model", "export", known).json()
    path = tmp_path / "model.json"
    project.write("../other/README", "")

    def take(**changes: Any) -> Any:
        path.write_text(json.dumps({**document, **changes}), encoding="utf-8")
        return run("model", "import", str(path))

    assert take().out == f"{known} is registered\n"
    for changes, reason in (
        ({"params": linear(**{FEATURE: 8.0})}, "is damaged"),
        ({"params": {**document["params"], "schema": 9}}, "later version"),
        ({"params": linear(**{FEATURE: float("nan")})}, "it holds NaN"),
        ({"params": linear(nothing=1.0)}, "unknown features"),
        ({"model_kind": "forest"}, "no models of the kind"),
        ({"format": "other"}, "is not a model"),
    ):
        done = take(**changes)
        assert (done.code, reason in done.err) == (exits.ERROR, True), done.err
    path.write_text("[" * 100_000, encoding="utf-8")
    assert "is not a model" in run("model", "import", str(path)).err
    assert run("model", "import", "nowhere.json").code == exits.USAGE
    assert len(run("model", "list", "--json").json()["own"]) == 1
    assert run("model", "show", "nothing").code == exits.USAGE


def test_a_damaged_active_model_costs_no_plan(project: Any, run: Any, known: str) -> None:
    """Plans say why it is not used; activating it is refused, and the list names the fault."""
    order, journal = first(run), find_state(project.root).journal
    body = {"model_kind": "linear", "version": "1", "created_at": 1, "params": linear(**{FEATURE: 9.0})}
    name = model_name("linear", linear(**{FEATURE: 1.0}))
    journal.append(STREAM, "model.registered", [{**body, "model_id": name}], by="cli")
    assert "not those it was registered with" in run("model", "activate", name).err
    journal.append(STREAM, "model.activated", [{"model_id": name}], by="cli")
    assert first(run) == order
    notes = run("plan", TASK, "--format", "json").json()["decision_trace"]
    assert any("the project's own model is not used" in note for note in notes)
    assert "cannot be used: its parameters" in run("model", "list").out
    assert "note: the project's own model is not used" in run("model", "status").out
