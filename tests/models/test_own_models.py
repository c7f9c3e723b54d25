"""The models of a project: what the journal says of them, and what of a model is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store.clock import SystemClock
from store.journal import FileJournal
from workbench.errors import ModelError
from workbench.models.registry import STREAM, fold_registry, model_name
from workbench.plan.own_models import OwnModels, apply_models, check_params, is_tried
from workbench.plan.ranking import DEFAULT_MODEL, FIRST, LEXICAL_MODEL, load_model, score_rows

BASE = load_model(LEXICAL_MODEL)
NAME = sorted(BASE.weights)[0]


def linear(**weights: float) -> dict[str, Any]:
    """The document of a linear model for the ranking without embeddings."""
    return {"schema": 1, "weights": {LEXICAL_MODEL: weights or {NAME: 1.0}}}


@pytest.fixture
def journal(tmp_path: Path) -> FileJournal:
    return FileJournal(tmp_path, SystemClock())


def register(journal: FileJournal, params: Any, kind: str = "linear") -> str:
    """Register a model without any check, as a later version or a damaged disk may have."""
    name = model_name(kind, params)
    body = {"model_id": name, "model_kind": kind, "version": "1", "created_at": 1, "params": params}
    journal.append(STREAM, "model.registered", [body], by="test")
    return name


def activate(journal: FileJournal, name: str, **more: Any) -> None:
    journal.append(STREAM, "model.activated", [{"model_id": name, **more}], by="test")


def test_one_model_is_active_and_rolling_back_retraces_the_way(journal: FileJournal) -> None:
    """Activating replaces the former one of the kind; each step back names the one before it."""
    one, two = register(journal, linear()), register(journal, linear(**{NAME: 2.0}))
    activate(journal, one)
    activate(journal, two)
    activate(journal, "nobody")

    def found() -> Any:
        return fold_registry(entry for _, entry in journal.read(STREAM))

    assert (found().active, found().former("linear")) == ({"linear": two}, one)
    activate(journal, one, rollback=True)
    assert (found().active, found().former("linear")) == ({"linear": one}, "")
    journal.append(STREAM, "model.deactivated", [{"model_kind": "linear", "rollback": True}], by="test")
    assert found().active == {}
    journal.append(STREAM, "model.registered", [{"model_id": 7}], by="test")
    assert len(found().notes) == 1


def test_every_reader_sees_a_switch_at_its_next_question(journal: FileJournal) -> None:
    """A reader that was open before follows the journal; without an active model the packaged one ranks."""
    reader = OwnModels(journal)
    assert reader.ranking(BASE, "task") == (BASE, "")
    name = register(journal, linear())
    assert reader.ranking(BASE, "task")[0] is BASE
    activate(journal, name)
    found, note = reader.ranking(BASE, "task")
    assert (found.model_id, found.correction, note) == (f"{LEXICAL_MODEL}+{name}", {NAME: 1.0}, "")
    other = load_model(DEFAULT_MODEL)
    assert reader.ranking(other, "task")[0] is other  # it is for the other ranking only
    journal.append(STREAM, "model.deactivated", [{"model_kind": "linear"}], by="test")
    assert reader.ranking(BASE, "task")[0] is BASE


@pytest.mark.parametrize(
    ("kind", "params", "reason"),
    [
        ("linear", linear(**{NAME: math.nan}), "not a number"),
        ("linear", linear(**{NAME: 1e9}), "not between"),
        ("linear", linear(**{NAME: True}), "not a number"),
        ("linear", linear(no_such_feature=1.0), "unknown features: no_such_feature"),
        ("linear", {"schema": 1, "weights": {"files-v99": {}}}, "not here: files-v99"),
        ("linear", {"schema": 2, "weights": {}}, "later version"),
        ("linear", {"weights": {}}, "its schema is None"),
        ("linear", {"schema": 1}, "malformed"),
        ("linear", {"schema": 1, "weights": {LEXICAL_MODEL: [1]}}, "unknown features"),
        ("linear", "weights", "no object"),
        ("trees", {"schema": 1, "models": {LEXICAL_MODEL: {"model_id": "x"}}}, "malformed"),
        ("calibration", {"schema": 1, "relevance": {LEXICAL_MODEL: [-1, 0]}}, "slope"),
        ("adapter", {"schema": 1, "embedding": "m", "rank": 2, "down": "!", "up": ""}, "malformed"),
        (
            "adapter",
            {"schema": 1, "embedding": "m", "rank": 2, "down": "ADwAPA==", "up": "ADw="},
            "do not fit",
        ),
        ("adapter", {"schema": 1, "embedding": "m", "rank": 1, "down": "AHw=", "up": "ADw="}, "not a number"),
        (
            "adapter",
            {"schema": 1, "embedding": "", "rank": 1, "down": "ADw=", "up": "ADw="},
            "which embeddings",
        ),
        ("ollama_rerank", {"schema": 1, "model": ""}, "no model"),
        ("forest", {"schema": 1}, "no models of the kind"),
    ],
)
def test_what_cannot_be_used_is_refused_and_the_packaged_model_ranks(
    journal: FileJournal, kind: str, params: Any, reason: str
) -> None:
    """Whatever is wrong with a document is named; a plan goes on with what comes with the program."""
    with pytest.raises(ModelError, match=reason):
        check_params(kind, params)
    if kind in ("ollama_rerank", "forest", "adapter"):  # those change the order of files otherwise
        return
    body = {"model_id": "damaged", "model_kind": kind, "version": "1", "created_at": 1, "params": params}
    if params == linear(**{NAME: math.nan}):
        return  # a journal holds no NaN
    journal.append(STREAM, "model.registered", [body], by="test")
    activate(journal, "damaged")
    found, note = OwnModels(journal).ranking(BASE, "task")
    assert found is BASE
    assert "the project's own model is not used: " in note


def test_parameters_that_were_changed_are_refused(journal: FileJournal) -> None:
    """The id of a model is the digest of its parameters."""
    name, params = model_name("linear", linear()), linear(**{NAME: 3.0})
    body = {"model_id": name, "model_kind": "linear", "version": "1", "created_at": 1, "params": params}
    journal.append(STREAM, "model.registered", [body], by="test")
    activate(journal, name)
    found, note = OwnModels(journal).ranking(BASE, "task")
    assert found is BASE
    assert "not those it was registered with" in note


def test_kinds_change_what_they_are_for(journal: FileJournal) -> None:
    """A correction adds to the first files alone, and is part of what is explained; so do chances."""
    calibration = {"schema": 1, "relevance": {LEXICAL_MODEL: [0.5, -1.0]}}
    activate(journal, register(journal, linear(**{NAME: 2.0})))
    activate(journal, register(journal, calibration, "calibration"))
    registry = fold_registry(entry for _, entry in journal.read(STREAM))
    made = apply_models(BASE, {kind: registry.models[name] for kind, name in registry.active.items()})
    assert made.relevance == (0.5, -1.0)
    names = sorted(BASE.weights)
    matrix = np.random.default_rng(7).random((FIRST + 5, len(names)), dtype=np.float32)
    paths = [f"{row:03}" for row in range(len(matrix))]
    (before, old), (after, new) = (score_rows(one, names, matrix, paths) for one in (BASE, made))
    parts, own = (np.stack([given.of(row) for row in range(len(paths))]) for given in (old, new))
    changed = np.flatnonzero(np.abs(own - parts).sum(axis=1) > 1e-9)
    assert len(changed) == FIRST
    assert np.allclose((own - parts)[changed, 0], 2.0 * matrix[changed, 0])
    assert np.allclose(after[changed], own[changed].sum(axis=1))
    assert not np.array_equal(before, after)


def test_a_canary_ranks_its_share_of_tasks_always_the_same(journal: FileJournal) -> None:
    """Which tasks it ranks follows from the task and the model; what is active ranks all others."""
    name = register(journal, linear())
    journal.append(STREAM, "model.canary", [{"model_id": name, "share": 0.25}], by="test")
    reader = OwnModels(journal)
    canary = reader.registry().canary
    assert canary is not None
    tasks = [f"{number:016x}" for number in range(2000)]
    tried = [is_tried(canary, task) for task in tasks]
    assert 0.2 < np.mean(tried) < 0.3
    assert [reader.ranking(BASE, task)[0] is not BASE for task in tasks] == tried
    journal.append(STREAM, "model.settled", [{"model_id": name}], by="test")
    assert all(reader.ranking(BASE, task)[0] is BASE for task in tasks[:50])
