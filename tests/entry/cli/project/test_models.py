"""`model`: what ranks and embeds."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.entry.cli import exits
from workbench.entry.cli.project.models import ranking_models
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


def test_a_language_model_is_off_until_it_is_set_up(
    project: Any, run: Any, ollama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked without both settings; then one line says whether the model can be, and from where."""
    assert run("model", "list", "--json").json()["language"]["reason"] == "off"
    assert finding(run) == ("ok", "off", "")
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    assert "models.llm is not set" in run("model", "list").out
    assert finding(run)[0] == "note"
    assert ollama.requests == []
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "tiny")
    assert f"* tiny at {ollama.url}: ready\n" in run("model", "list").out
    assert run("model", "list", "--json").json()["language"]["available"] is True
    assert finding(run) == ("ok", f"tiny at {ollama.url}, on this machine", "")
    assert {path for path, _ in ollama.requests} == {"/api/tags"}


def test_a_language_model_that_cannot_be_asked_says_what_to_do(
    project: Any, run: Any, ollama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not pulled, running elsewhere, or an address that is none: each with its next step."""
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "huge")
    assert f"huge at {ollama.url}: not pulled (Run `ollama pull huge`.)" in run("model", "list").out
    assert finding(run) == ("note", f"huge at {ollama.url}: not pulled", "Run `ollama pull huge`.")
    ollama.models = [{"name": "huge", "remote_host": "https://far.example.org"}]
    assert "texts go to https://far.example.org" in run("model", "list").out
    state, text, step = finding(run)
    assert (state, text.partition(": ")[2]) == ("note", "what it is asked goes to https://far.example.org")
    assert step
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", "nowhere")
    assert finding(run)[0] == "broken"
    assert run("model", "list").code == exits.USAGE


def finding(run: Any) -> tuple[str, str, str]:
    """What doctor says about the language model: state, text, next step."""
    findings = {one["name"]: one for one in run("doctor", "--json").json()["findings"]}
    found = findings["language model"]
    return found["state"], found["text"], found["step"]
