"""`model`: what ranks and embeds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import store.embedding
from store.embedding import EmbedderReport
from workbench.entry.cli import exits
from workbench.entry.cli.project.models import ranking_models
from workbench.plan.ranking import DEFAULT_MODEL, load_model


def test_models_are_listed_and_the_ones_in_use_marked(project: Any, run: Any) -> None:
    """Every ranking model that ships can be loaded; exactly one is in use."""
    answer = run("model", "list", "--json").json()
    assert [one["model_id"] for one in answer["ranking"] if one["in_use"]] == [DEFAULT_MODEL]
    assert [load_model(model["model_id"]).model_id for model in ranking_models()] == [
        model["model_id"] for model in ranking_models()
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


class Numbers:
    """An embedding model whose vectors follow from the text, and that notes what it was asked."""

    dimensions = 8

    def __init__(self, model: str) -> None:
        self.model = model
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        """Give unit vectors made from the texts' hashes."""
        self.asked.extend(texts)
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], np.uint8) for text in texts]
        matrix = np.array(rows, np.float32).reshape(len(texts), 8) - 99
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture
def two_models(monkeypatch: pytest.MonkeyPatch) -> dict[str, Numbers]:
    """Two models that are ready: the usual one, and `other` for those who set it."""
    models = {"": Numbers("usual@1"), "other": Numbers("other@2")}

    def ready(settings: Any) -> tuple[Numbers | None, str]:
        return models.get(settings.model), ""

    def resolved(settings: Any) -> tuple[Numbers | None, EmbedderReport]:
        found = models[settings.model]
        return found, EmbedderReport("configured", found.model, "", ())

    monkeypatch.setattr(store.embedding, "ready_embedder", ready)
    monkeypatch.setattr(store.embedding, "resolve_embedder", resolved)
    monkeypatch.setenv("WORKBENCH_MODELS_EMBEDDING", "")
    return models


def stored(run: Any) -> dict[str, tuple[int, str, str]]:
    """What the status says of vector indexes: records, method and model by kind."""
    found = run("status", "--json").json()["indexes"]
    return {
        part["records"]: (part["count"], part["method"], part["model"])
        for one in found
        for part in one["parts"]
        if one["name"].startswith("vectors_")
    }


def test_vectors_are_stored_and_status_and_doctor_say_how(
    project: Any, run: Any, two_models: dict[str, Numbers]
) -> None:
    """Each index says what it holds, how it is searched, by which model, its size and age."""
    project.write("CLAUDE.md", "- Always use tabs.\n- Never push to main.\n")
    project.commit("Rules")
    answer = run("model", "prepare", "--json").json()
    tasks = run("status", "--json").json()["episodes"]

    assert (answer["embedded_rules"], answer["embedded_learnings"]) == (2, 0)
    assert stored(run) == {"tasks": (tasks, "exact", "usual@1"), "rules": (2, "exact", "usual@1")}
    assert f"vectors_tasks-1: {tasks} past tasks, exact by usual@1; 0.0 MB, " in run("status").out
    doctor = [one["text"] for one in run("doctor", "--json").json()["findings"] if one["name"] == "indexes"]
    assert any(text.startswith("vectors_rules-1 is as it was written: 2 texts of rules") for text in doctor)
    assert run("model", "prepare", "--json").json()["embedded"] == 0
    assert "written" not in run("index").err


def test_outside_of_projects_the_model_alone_is_made_ready(
    project: Any, run: Any, two_models: dict[str, Numbers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the home directory, which is no project: nothing is embedded, and no state is made there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    done = run("model", "prepare")
    assert done.code == exits.OK
    assert "usual@1 is ready" in done.out
    assert "is your home directory" in done.err
    assert run("model", "prepare", "--json").json()["embedded"] == 0
    assert not (home / ".workbench").exists()


def test_a_former_model_serves_until_the_new_one_is_prepared(
    project: Any, run: Any, two_models: dict[str, Numbers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan by a model that has no vectors yet is made by the one that has, and says so."""
    project.write("CLAUDE.md", "- Always use tabs.\n")
    project.commit("Rules")
    run("model", "prepare")
    monkeypatch.setenv("WORKBENCH_MODELS_EMBEDDING", "other")

    notes = run("plan", "--format", "json", "fix the tabs").json()["decision_trace"]

    assert any("usual@1 compares texts until `workbench model prepare`" in note for note in notes)
    assert two_models["other"].asked == []
    assert "fix the tabs" in two_models[""].asked
    assert run("status", "--json").json()["embedding_model"] == "usual@1"

    run("model", "prepare")
    notes = run("plan", "--format", "json", "fix the spaces").json()["decision_trace"]

    assert not any("compares texts until" in note for note in notes)
    assert "fix the spaces" in two_models["other"].asked
    assert {model for _, _, model in stored(run).values()} == {"other@2"}


def test_a_damaged_vector_index_costs_no_answer_and_is_built_again(
    project: Any, run: Any, two_models: dict[str, Numbers]
) -> None:
    """Plans say that it is damaged and go on; the next index builds it again, and rebuild one that lies."""
    run("model", "prepare")
    (vectors,) = (project.root / ".workbench" / "index").glob("vectors_tasks-*/vectors.npy")
    sound = vectors.read_bytes()
    vectors.write_bytes(sound[:-5])

    response = run("plan", "--format", "json", "fix the redirect").json()

    assert any("vector index of tasks is damaged" in note for note in response["decision_trace"])
    assert "vector indexes written: tasks" in run("index").err
    assert run("doctor").code == exits.OK
    (vectors,) = (project.root / ".workbench" / "index").glob("vectors_tasks-2/vectors.npy")
    vectors.write_bytes(bytes([*sound[:-5], 9, 9, 9, 9, 9]))
    assert run("doctor").code == exits.ERROR
    run("rebuild")
    assert run("doctor").code == exits.OK


def test_a_plan_without_vectors_of_past_tasks_says_so_until_the_index_has_them(
    project: Any, run: Any, two_models: dict[str, Numbers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ready model is not enough: answers, text, status, doctor say what is missing; `index` embeds it."""
    meaning = {"state": "note", "step": "Run `workbench index`."}
    for round_ in range(2):  # the plan that indexes, and the next one
        before = run("plan", "--format", "json", "fix the token").json()
        assert (round_, before["degraded"]) == (round_, ["embeddings"])
        assert {one["features"]["f_semantic_score"] for one in before["selection"]} == {0.0}
        assert any("past tasks are not compared by meaning" in line for line in before["decision_trace"])
    text = run("plan", "fix the token", "--why").out
    assert "\n  without: embeddings\n" in text
    assert "past tasks are not compared by meaning: run `workbench index`" in text
    assert "not compared by meaning" in run("rank", "fix the token").err
    assert run("status", "--json").json()["degraded"] == ["embeddings"]
    findings = run("doctor", "--json").json()["findings"]
    (found,) = [one for one in findings if one["name"] == "meaning"]
    assert found.items() >= meaning.items()
    assert "\nfallback_rate_ml_unavailable   1\n" in run("stats").out

    monkeypatch.setenv("WORKBENCH_INDEX_EMBED", "true")
    done = run("index")

    assert "embedded: 3 past tasks" in done.err
    assert "embedded" not in run("refresh").err
    after = run("plan", "--format", "json", "fix the token").json()
    assert after["degraded"] == []
    assert max(one["features"]["f_semantic_score"] for one in after["selection"]) > 0
    assert "without" not in run("plan", "fix the token", "--why").out
    assert run("status", "--json").json()["degraded"] == []
    off = run("plan", "--format", "json", "--ml-mode", "off", "fix the token").json()
    assert off["degraded"] == ["embeddings"]


def test_the_index_makes_the_model_ready_where_its_weights_are_here(
    project: Any, run: Any, two_models: dict[str, Numbers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh machine, a fresh clone: after `index` alone a plan is complete. Without a model it says why."""
    ready = store.embedding.ready_embedder
    built: list[str] = []

    def unprepared(settings: Any) -> tuple[Any, str]:
        return ready(settings) if built else (None, "not prepared yet: run `workbench model prepare`")

    def build(settings: Any) -> tuple[Numbers | None, EmbedderReport]:
        built.append(settings.model)
        return two_models[""], EmbedderReport("packaged", "usual@1", "", ())

    monkeypatch.setattr(store.embedding, "ready_embedder", unprepared)
    monkeypatch.setattr(store.embedding, "resolve_embedder", build)
    assert "not prepared yet" in run("plan", "fix the token", "--why").out
    run("index")
    assert built == []
    monkeypatch.setenv("WORKBENCH_INDEX_EMBED", "true")

    assert "embedded: 3 past tasks" in run("index").err
    assert run("plan", "--format", "json", "fix the token").json()["degraded"] == []
    built.clear()
    monkeypatch.setattr(store.embedding, "resolve_embedder", lambda settings: (None, None))
    assert "not prepared yet" in run("index").err
