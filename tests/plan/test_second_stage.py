"""What models and other programs may change of a ranking, and that nothing they return changes more."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.test_grepai import make_grepai
from workbench.config import Config, GrepaiConfig, ModelsConfig, RerankConfig
from workbench.entry.cli.project.own_models import status_lines
from workbench.entry.project import OpenedProject, open_project
from workbench.entry.services.gates import without_models
from workbench.entry.services.models import activate_model, model_status, register_reranker, roll_back
from workbench.errors import ModelError, UsageError
from workbench.plan.own_models import check_params
from workbench.plan.pipeline import Plan, plan
from workbench.plan.second_stage import HEAD, add_hits, blend, budget_factor
from workbench.records.plan import MlMode, PlanRequest, QueryType, RankedFile

TASK = "the login is not refreshed on 401"
SCORES = st.lists(st.floats(-5, 5).map(lambda value: round(value, 6)), min_size=1, max_size=30)


def ranked(scores: list[float]) -> tuple[RankedFile, ...]:
    return tuple(
        RankedFile(f"{number:02}.py", score, {}) for number, score in enumerate(sorted(scores, reverse=True))
    )


@given(SCORES, st.data(), st.floats(0, 6), st.floats(0.1, 3))
def test_a_lead_larger_than_the_bound_is_kept(
    scores: list[float], data: st.DataObject, weight: float, slope: float
) -> None:
    """Whatever a model returns: no file passes one that is further ahead than ratings can move."""
    files = ranked(scores)
    rated = data.draw(st.dictionaries(st.sampled_from([one.path for one in files]), st.floats(0, 1)))
    after = {one.path: (place, one) for place, one in enumerate(blend(files, rated, weight, slope))}
    assert len(after) == len(files)
    for better, worse in pairwise(files):
        if (better.score - worse.score) * slope > weight + 1e-4:
            assert after[better.path][0] < after[worse.path][0]
    for one in files:
        assert abs(after[one.path][1].score - one.score) * slope <= weight + 1e-4
        assert (one.path in rated) == ("reranking" in after[one.path][1].features)


def test_ratings_move_files_around_their_mean() -> None:
    """Alike ratings change nothing, a better one lifts; what it gave is among the contributions."""
    files = ranked([2.0, 1.8, 1.0])
    assert [one.score for one in blend(files, dict.fromkeys(("00.py", "01.py"), 0.7), 2.0, 1.0)] == [
        2.0,
        1.8,
        1.0,
    ]
    moved = blend(files, {"00.py": 0.2, "01.py": 0.8}, 1.0, 2.0)
    assert [(one.path, one.score) for one in moved] == [("01.py", 1.95), ("00.py", 1.85), ("02.py", 1.0)]
    assert moved[0].contributions == {"reranking": 0.15}
    assert moved[0].features == {"reranking": 0.8}


def test_ratings_count_more_where_few_files_fit() -> None:
    """[img §7.4]: the smaller the token budget, the more of the order is the second stage's."""
    found = [budget_factor(tokens) for tokens in (1, 1_000, 4_000, 9_000, 1_000_000)]
    assert found[2] == 1.0
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (1.5, 0.5)


@given(SCORES, st.data())
def test_hits_of_another_program_never_touch_the_head(scores: list[float], data: st.DataObject) -> None:
    """The first files stay as they are and where they are; others rise, and fall behind nobody of theirs."""
    files = ranked(scores)
    shares = data.draw(st.dictionaries(st.sampled_from([one.path for one in files]), st.floats(0.01, 1)))
    after = add_hits(files, shares, 1.3)
    assert after[:HEAD] == files[:HEAD]
    before = {one.path: one for one in files}
    for one in after[HEAD:]:
        assert one.score >= before[one.path].score - 1e-9
        assert (one.path in shares) == ("grepai" in one.features) == ("grepai" in one.sources)


@pytest.fixture
def opened(work: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenedProject]:
    """Open a project with two files about the task and one about nothing."""
    monkeypatch.setenv("PATH", os.environ["PATH"])
    for name in ("auth", "token"):
        work.write(f"src/{name}.py", f"def refresh_{name}(status):\n    return status == 401\n")
    work.write("src/lunch.py", "def eat():\n    return 'lunch'\n")
    work.commit("init")

    def open_with(
        rerank: RerankConfig | None = None, *, url: str = "", grepai: bool = False
    ) -> OpenedProject:
        models = ModelsConfig(embedding="none", llm="tiny" if url else "", llm_url=url)
        settings = Config(models=models, rerank=rerank or RerankConfig(), grepai=GrepaiConfig(search=grepai))
        return open_project(work.root, settings)

    return open_with


def made(project: OpenedProject, mode: MlMode = MlMode.FULL, task: str = TASK, **fields: Any) -> Plan:
    request = PlanRequest(str(project.root), task, ml_mode=mode, **fields)
    return plan(project.workspace, project.planner, request)


def order(found: Plan) -> list[str]:
    return [one.path for one in found.ranked]


def rating(ollama: Any, **ratings: int) -> None:
    """Let the server rate files by the stems of their names, others 0; any other question is about a kind."""

    def handle(handler: Any) -> None:
        if handler.path == "/api/tags":
            ollama.send(handler, 200, {"models": ollama.models})
            return
        asked = json.loads(ollama.requests[-1][1]["messages"][1]["content"])
        files = asked.get("files", {})
        found = {name: ratings.get(Path(one["path"]).stem, 0) for name, one in files.items()}
        content = json.dumps(found) if found else '{"kind": "refactor"}'
        message = {"role": "assistant", "content": content}
        ollama.send(handler, 200, {"message": message, **ollama.extra})

    ollama.handle = handle


def test_a_model_reorders_what_is_close(opened: Any, ollama: Any) -> None:
    """The plan says who rated what and what it took; the same request has the same bytes from the cache."""
    rating(ollama, token=10, auth=0)
    project = opened(url=ollama.url)
    first = made(project)
    assert order(first)[0] == "src/token.py"
    rating(ollama, token=0, auth=10)
    again = made(project)
    assert (first.answers, again.answers) == ((0, 1), (1, 0))
    assert again.response.context == first.response.context
    assert again.response.decision_trace == first.response.decision_trace
    note = "reranked: ollama:tiny rated the first 3 files, "
    assert any(line.startswith(note) and "tokens sent" in line for line in first.response.decision_trace)
    assert first.response.degraded == ("embeddings",)
    assert "reranking" in first.stages
    assert order(made(project, task=f"{TASK} again"))[0] == "src/auth.py"


def test_every_failure_falls_back_to_the_first_stage(opened: Any, ollama: Any) -> None:
    """Same files in the same bytes, the part is missing, and the trace says why."""
    quick = RerankConfig(timeout=0.3)
    plain = made(opened(), MlMode.FAST).response
    down = "http://127.0.0.1:9"
    cases: list[tuple[OpenedProject, Any, str]] = [
        (opened(), None, "no model is set up"),
        (opened(quick, url=down), None, "no Ollama runs at"),
        (opened(quick, url="ftp://x"), None, "is not an http"),
        (opened(quick, url="http://192.0.2.1:1"), None, "lines of files stay on this machine"),
        (opened(RerankConfig(cross_encoder="/nowhere")), None, "holds no model.onnx"),
        (opened(quick, url=ollama.url), lambda handler: ollama.stop.wait(), "did not answer within 0.3 s"),
        (opened(url=ollama.url), lambda handler: ollama.send(handler, 500, {}), "answered 500"),
        (opened(url=ollama.url), lambda handler: handler.connection.close(), "cannot be asked"),
    ]
    for project, handle, reason in cases:
        ollama.handle = handle
        found = made(project).response
        assert found.context == plain.context, reason
        assert found.selection == plain.selection
        assert found.degraded == ("embeddings", "reranking")
        note = found.decision_trace[-1]
        assert note.startswith("not reranked, files are in the order of the first stage: ")
        assert reason in note
    ollama.stop.set()


def test_the_latency_budget_bounds_the_waiting(opened: Any, ollama: Any) -> None:
    """What is left of it is waited for; with too little of it nothing is asked, and no stage is counted."""
    ollama.handle = lambda handler: ollama.stop.wait()
    project = opened(url=ollama.url)
    made(project, MlMode.FAST)  # so that the index is up to date
    late = made(project, latency_budget_ms=1_000)
    assert late.response.decision_trace[-1].endswith("no answer came within the latency budget")
    assert "reranking" in late.stages
    ollama.requests.clear()
    none = made(project, latency_budget_ms=1)
    assert none.response.decision_trace[-1].endswith("too little of the latency budget was left to ask")
    assert (none.response.degraded, ollama.requests) == (("embeddings", "reranking"), [])
    assert "reranking" not in none.stages
    ollama.stop.set()


def test_the_kind_of_a_task_is_asked_where_words_leave_it_open(opened: Any, ollama: Any) -> None:
    """By setting alone, not where it was given; a failure leaves what the words say."""
    rating(ollama, token=10)
    vague = "token things"
    asking = opened(RerankConfig(intent=True), url=ollama.url)
    assert made(opened(url=ollama.url), task=vague).intent.predicted is not QueryType.REFACTOR
    found = made(asking, task=vague)
    assert found.intent.predicted is QueryType.REFACTOR
    assert "ollama:tiny says what kind of task it is: refactor" in found.response.decision_trace
    given = made(asking, task=vague, query_type=QueryType.BUGFIX)
    assert given.intent.predicted is QueryType.BUGFIX
    ollama.handle = lambda handler: ollama.send(handler, 500, {})
    failed = made(asking, task=f"{vague} and more")
    assert failed.response.degraded == ("embeddings", "intent", "reranking")
    assert failed.intent.predicted is not QueryType.REFACTOR


def test_grepai_adds_candidates(
    work: Any, opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file behind the first ten rises to be the next one; a failure says so and changes nothing."""
    for number in range(20):
        work.write(
            f"src/login_{number:02}.py", f"def refresh(status):\n    return status == {401 + number}\n"
        )
    work.commit("logins")
    project = opened(grepai=True)
    (project.root / ".grepai").mkdir()
    hits = [{"file_path": name, "score": 0.5} for name in ("src/lunch.py", "../outside.py", "gone.py")]
    program = make_grepai(tmp_path / "bin", f"echo '{json.dumps(hits)}'")
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{os.environ['PATH']}")
    found = made(project, MlMode.FAST)
    lunch = next(one for one in found.ranked if one.path == "src/lunch.py")
    plain = order(made(opened(), MlMode.FAST))
    assert ("grepai" in lunch.sources, lunch.contributions["grepai"] > 0) == (True, True)
    assert order(found)[:HEAD] == plain[:HEAD]
    assert HEAD <= order(found).index("src/lunch.py") < plain.index("src/lunch.py")
    assert "grepai found 1 file" in found.response.decision_trace[-1]
    assert "grepai" in found.stages
    make_grepai(tmp_path / "bin", """echo '{"error": "no index"}'""")
    failed = made(project, MlMode.FAST).response
    assert failed.degraded == ("embeddings", "grepai")
    assert failed.decision_trace[-1].startswith("grepai added no candidates: grepai: no index. Try")
    assert failed.context == made(opened(), MlMode.FAST).response.context
    assert made(project, MlMode.OFF).response.degraded == ("embeddings",)


def test_an_index_that_comes_with_the_repository_is_not_used(
    work: Any, opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the address that tasks are sent to."""
    work.write(".grepai/config.yaml", "embedder: {endpoint: http://192.0.2.1}\n")
    work.commit("index")
    program = make_grepai(tmp_path / "bin", "echo '[]'")
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{os.environ['PATH']}")
    found = made(opened(grepai=True), MlMode.FAST).response
    assert "git tracks .grepai/config.yaml" in found.decision_trace[-1]


def test_a_registered_model_is_the_second_stage(opened: Any, ollama: Any) -> None:
    """Activating one is what turns it on, in plans with full alone; one of other questions is refused."""
    rating(ollama, token=10)
    project = opened(RerankConfig(cross_encoder="/nowhere"))
    settings = replace(project.config, models=replace(project.config.models, llm_url=ollama.url))
    project = open_project(project.root, settings)
    name = register_reranker(project, "tiny", candidates=2, weight=3.0, by="test")
    assert "holds no model.onnx" in made(project).response.decision_trace[-1]
    activate_model(project, name, by="test")
    assert project.registered_reranker() == name
    assert f"{name} rates the first files again in ml_mode full" in status_lines(model_status(project))
    assert "ollama:tiny rated the first 2 files" in made(project).response.decision_trace[-1]
    assert made(project, MlMode.FAST).response.degraded == ("embeddings",)
    assert register_reranker(project, "tiny", candidates=2, weight=3.0, by="test") == name
    params = project.own_models.registry().models[name].params
    for change in ({"prompt": "other"}, {"candidates": 31}, {"weight": float("nan")}, {"model": " "}):
        with pytest.raises(ModelError):
            check_params("ollama_rerank", {**params, **change})
    with pytest.raises(UsageError) as refused:
        roll_back(project, by="test")
    assert "rollback --kind ollama_rerank" in refused.value.hint
    roll_back(project, "ollama_rerank", by="test")
    assert "holds no model.onnx" in made(project).response.decision_trace[-1]


def test_plans_answer_with_everything_off(opened: Any) -> None:
    """G6: all of the tasks are answered without embeddings, models and programs, though all are asked for."""
    assert without_models(opened(grepai=True), [TASK, "eat lunch", "refresh auth"]) == (3, 3)
