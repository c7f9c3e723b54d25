"""`model`: what is registered for a project, switched, taken along and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.entry.cli import exits
from workbench.entry.os import background
from workbench.entry.project import find_state
from workbench.entry.services import model_training
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.handovers import SESSION_VARIABLE
from workbench.entry.services.models import register_model
from workbench.entry.services.past_project import ReplayOptions, open_past
from workbench.entry.services.replay import replay_past
from workbench.errors import UsageError
from workbench.models.registry import STREAM, model_name
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, RankingModel, load_model
from workbench.records.answers.models import ModelProvenance
from workbench.replay.fitting import TaskSample
from workbench.replay.systems import parse_systems
from workbench.replay.tasks import TaskSource

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
    assert f"plans rank with files-v4+{known}" in run("model", "status").out
    assert f"* {known}" in run("model", "list").out
    assert run("status", "--json").json()["ranking_model"] == f"files-v4+{known}"
    assert run("model", "rollback", "--json").json() == {"from": known, "to": "files-v4"}
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


def poisoned(base: RankingModel, count: int = 120) -> list[TaskSample]:
    """Past tasks of somebody who claims that the files the ranking puts last were right."""
    names = tuple(sorted(base.weights))
    samples = []
    for number in range(count):
        features = np.random.default_rng(number).random((10, len(names))).astype(np.float16)
        features[:, names.index(FEATURE)] = np.arange(10) / 10
        relevant, scores = np.arange(10) == 9, np.arange(10.0)[::-1] / 4
        at = 1_700_000_000 + number
        samples.append(TaskSample(names, features, scores, relevant, 1, at, f"s{number}", f"t{number}", True))
    return samples


def test_a_canary_trained_on_poisoned_feedback_is_rolled_back(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes every test on the feedback that made it; what sessions edit rolls it back without anybody."""
    base = load_model(LEXICAL_MODEL)
    monkeypatch.setattr(model_training, "require_samples", lambda *_: None)
    monkeypatch.setattr(model_training, "collect_samples", lambda *_: poisoned(base))
    project.write("big.py", "x = 1\n" * 5000)
    project.commit("Data")
    report = run("model", "train", "--min-samples", "100", "--json").json()
    name = report["model_id"]
    assert (report["better"], report["state"]) == (True, "canary")
    run("model", "activate", name, "--canary", "99")
    state = find_state(project.root)
    recording = episode_service(project.root, state.config, "test")
    verdicts = []
    for number in range(8):
        session = f"session-{number}"
        monkeypatch.setenv(SESSION_VARIABLE, session)
        recording.start(TASK, session_id=f"{session}/1")
        assert run("plan", f"{TASK} {number}").code == exits.OK
        recording.event(f"{session}/1", "edit", files=["pkg/auth.py"])
        verdicts.append(run("model", "status", "--json").json())
    assert verdicts[0]["canary"]["scored"] == 1
    assert verdicts[0]["canary"]["gain"] < 0
    assert verdicts[-1]["canary"] is None
    assert verdicts[-1]["active"] == {}
    assert f"{name} was rolled back, nDCG@10 -" in verdicts[-1]["training"]
    assert [one["canary"] for one in run("model", "list", "--json").json()["own"]] == [0]


def test_training_says_what_is_missing_and_changes_nothing(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tasks of this small project are too few: refused with the count, also from a process of its own."""
    before = run("model", "status", "--json").json()
    done = run("model", "train")
    assert done.code == exits.USAGE
    assert (
        "500 past tasks with a right and a wrong file are needed and there are 1: 499 are missing" in done.err
    )
    assert run("model", "status", "--json").json() == before
    started: list[tuple[str, ...]] = []

    def start(_: Path, *words: str) -> bool:
        started.append(words)
        return True

    monkeypatch.setattr(background, "run_in_background", start)
    refused = run("model", "train", "--async")
    assert "there are 1: 499 are missing" in refused.err
    monkeypatch.setattr(model_training, "require_samples", lambda *_: None)
    assert run("model", "train", "--async", "--since", "2020-01-01T00:00:00+00:00", "--json").json()[
        "running"
    ]
    assert started[0][:8] == ("model", "train", "--kind", "linear", "--seed", "7", "--min-samples", "500")
    assert started[0][8:] == ("--since", "2020-01-01T00:00:00+00:00")


def test_a_replay_ranks_with_the_models_of_the_project(project: Any, run: Any) -> None:
    """`hybrid` ranks as plans do now, `hybrid+ID` with one model, and the packaged one can be named."""
    against = linear(bm25_body=-20.0)
    known = register_model(find_state(project.root), "linear", against, ModelProvenance(), by="cli")
    run("model", "activate", known)
    packaged, past = f"hybrid+{LEXICAL_MODEL}", open_past(project.root)

    def replay(*names: str) -> Any:
        wanted = ReplayOptions(TaskSource.COMMITS, 10, parse_systems(names), 3000, packs=0)
        return replay_past(past, past.place.config, wanted, workers=1)

    found = replay("hybrid", f"hybrid+{known}", packaged)
    orders = {name: did.ranking for name, did in found.replayed.rows[0].systems.items()}
    assert orders["hybrid"] == orders[f"hybrid+{known}"]
    assert orders["hybrid"] != orders[packaged]
    assert found.settings["ranking"] == f"{DEFAULT_MODEL}+{known}"
    with pytest.raises(UsageError, match="no model 'own-linear-x'"):
        replay("hybrid+own-linear-x")
