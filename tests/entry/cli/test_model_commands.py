"""`model`: what ranks and embeds."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.entry.cli import exits
from workbench.entry.cli.model_commands import ranking_models
from workbench.plan.ranking import DEFAULT_MODEL, load_model


def test_models_are_listed_and_the_ones_in_use_marked(project: Any, run: Any) -> None:
    """Every ranking model that ships can be loaded; exactly one is in use."""
    answer = run("model", "list", "--json").json()
    assert [one["model_id"] for one in answer["ranking"] if one["in_use"]] == [DEFAULT_MODEL]
    assert [load_model(one["model_id"]).model_id for one in ranking_models()] == [
        one["model_id"] for one in ranking_models()
    ]
    assert sum(one["in_use"] for one in answer["embedding"]) <= 1
    assert f"* {DEFAULT_MODEL}" in run("model", "list").out


def test_prepare_without_any_model_says_why(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With embeddings turned off there is nothing to prepare."""
    monkeypatch.setenv("WORKBENCH_MODELS_EMBEDDING", "none")
    done = run("model", "prepare")
    assert (done.code, done.out) == (exits.ERROR, "")
    assert "turned off" in done.err
