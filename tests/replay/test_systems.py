"""The systems of a replay are what they claim to be: above all, hybrid is what plans rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from store.git_repository import find_repository
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.entry.services.replay_engine import past_reader
from workbench.errors import ModelError, UsageError
from workbench.plan.baseline import baseline_files
from workbench.plan.intent import parse_intent
from workbench.plan.planner import rank as plan_rank
from workbench.plan.ranking import load_chunk_model
from workbench.plan.representations import content_of
from workbench.plan.semantics import QueryAdapter
from workbench.project.manifests import parse_manifest
from workbench.replay.systems import (
    GROUPS,
    FileReading,
    Situation,
    leave_out,
    load_models,
    parse_systems,
    rank,
)
from workbench.replay.timeline import RepositoryTimeline
from workbench.text.tokens import token_counter

NAMES = ["baseline", "bm25", "vector", "hybrid", "hybrid-affinity", "hybrid-history", "hybrid+files-v3"]
SYSTEMS = {system.name: system for system in parse_systems(NAMES)}
MODELS = load_models("files-v4", "files-v4-lexical", SYSTEMS.values())
TASK = "the jwt token is not refreshed in src/auth.py"


@pytest.fixture
def project(work: Any) -> Any:
    for name in ("auth", "store", "cache", "theme"):
        work.write(f"src/{name}.py", f"import src.store\n\n\ndef {name}_token():\n    return 1\n")
    work.write("tests/test_auth.py", "from src import auth\n")
    work.write("pyproject.toml", '[project]\nname = "p"\ndependencies = ["httpx"]\n')
    work.commit("Add the project")
    for number, name in enumerate(("auth", "store", "auth", "theme")):
        work.write(f"src/{name}.py", f"import src.store\n\n\ndef {name}_token():\n    return {number + 5}\n")
        work.commit(f"fix: refresh the token of {name} (#{number})")
    return work


def situation(project: Any, semantic: Any = None) -> Situation:
    repository = find_repository(project.root)
    assert repository is not None
    with past_reader(repository) as reader:
        moment = RepositoryTimeline(reader).at(reader.tip, project.time)
        data = reader.read(moment.blobs["pyproject.toml"]) or b""
        contents = {
            path: content_of(
                path,
                reader.read(sha) or b"",
                moment.view.index.record(moment.view.index.positions[path])[0],
                token_counter(),
            )
            for path, sha in moment.blobs.items()
        }
    manifest = parse_manifest("pyproject.toml", data.decode())
    files = load_chunk_model().files
    assert manifest is not None
    assert files is not None
    reading = FileReading(files, contents.__getitem__)
    return Situation(parse_intent(TASK), moment, lambda: [manifest], semantic, reading=reading)


def test_hybrid_is_what_plans_rank(project: Any) -> None:
    """As of now a replay's hybrid has the files, scores and reasons of `workbench rank`."""
    opened = open_project(project.root, Config())
    planned = plan_rank(opened.workspace, opened.planner, TASK)
    replayed = rank(SYSTEMS["hybrid"], situation(project), MODELS)
    assert replayed is not None
    assert replayed.files == planned.files
    assert replayed.fallback


def test_baseline_is_what_plans_compare_with(project: Any) -> None:
    """As of now a replay's baseline is that of `workbench plan --baseline`."""
    opened = open_project(project.root, Config())
    opened.workspace.sync()
    now = situation(project)
    kind = now.intent.predicted
    replayed = rank(SYSTEMS["baseline"], now, MODELS)
    assert replayed is not None
    assert replayed.files == baseline_files(opened.workspace, kind, MODELS.by_id["files-v4-lexical"])
    assert not replayed.weighed


def test_an_ablation_looks_at_the_same_candidates_without_its_group(project: Any) -> None:
    """The candidates are those of hybrid, and no feature of the group adds anything."""
    now = situation(project)
    whole, cut = rank(SYSTEMS["hybrid"], now, MODELS), rank(SYSTEMS["hybrid-affinity"], now, MODELS)
    assert whole is not None
    assert cut is not None
    assert {file.path for file in cut.files} == {file.path for file in whole.files}
    added = {name.split(".")[0] for file in cut.files for name in file.contributions}
    assert added
    assert not added & GROUPS["affinity"]
    assert [file.score for file in cut.files] != [file.score for file in whole.files]


def test_every_group_takes_weights_from_a_model() -> None:
    """No group is empty talk: each names features that the models weigh, or candidates by."""
    main = MODELS.by_id["files-v4"]
    for name, signals in GROUPS.items():
        left = leave_out(main, signals)
        assert len(left.weights) + len(left.seeds) < len(main.weights) + len(main.seeds), name


def test_vector_goes_by_past_tasks_of_like_meaning(project: Any) -> None:
    """Without embeddings it is absent; with them the files of the likest past task come first."""
    assert rank(SYSTEMS["vector"], situation(project), MODELS) is None
    alike = np.asarray([0.9, 0.0, 0.0, 0.0, 0.0], dtype=np.float32)
    found = rank(SYSTEMS["vector"], situation(project, alike), MODELS)
    assert found is not None
    assert [file.path for file in found.files] == ["src/theme.py"]
    hybrid = rank(SYSTEMS["hybrid"], situation(project, alike), MODELS)
    assert hybrid is not None
    assert (hybrid.model.model_id, hybrid.fallback) == ("files-v4", False)


def test_an_adapter_compares_the_task_otherwise(project: Any) -> None:
    """A model with one ranks by its cosines; the plain model beside it does not notice."""
    alike, other = (np.asarray(row, np.float32) for row in ([0.9, 0, 0, 0, 0], [0, 0, 0.9, 0, 0]))
    now = replace(situation(project, alike), adapted=lambda adapter: other)
    main = MODELS.by_id["files-v4"]
    nothing = np.zeros((1, 1), np.float32)
    with_own = replace(main, model_id="files-v4+own", adapter=QueryAdapter("m", nothing, nothing))
    before, after = now.candidates(main), now.candidates(with_own)
    column = before.names.index("affinity_semantic")
    expected = situation(project, other).candidates(main).values[:, column]
    assert after.values[:, column].tolist() == expected.tolist()
    assert before.values[:, column].tolist() != expected.tolist()


def test_bm25_goes_by_the_words_of_files(project: Any) -> None:
    """Only files that share a word with the task are ranked, the one with most of them first."""
    found = rank(SYSTEMS["bm25"], situation(project), MODELS)
    assert found is not None
    assert found.files[0].path == "src/auth.py"
    assert "pyproject.toml" not in [file.path for file in found.files]


@pytest.mark.parametrize(
    ("name", "error"),
    [("hybird", UsageError), ("hybrid-nothing", UsageError), ("hybrid+nothing", ModelError)],
)
def test_unknown_names_are_refused(name: str, error: type[Exception]) -> None:
    """Systems, groups and models that do not exist are errors, with a hint."""
    with pytest.raises(error) as caught:
        parse_systems([name])
    assert getattr(caught.value, "hint", "")
