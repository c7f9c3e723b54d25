"""An adapter of query vectors: what it moves, what it leaves, and when it is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workbench.entry.services.model_fits import Measured, train_adapter
from workbench.errors import ModelError, UsageError
from workbench.plan.own_models import adapter_params, check_params, read_adapter
from workbench.plan.semantics import QueryAdapter
from workbench.records.episodes import ChangeKind, FileChange
from workbench.replay.adapter_fitting import RANK, fit_adapter
from workbench.replay.engine import Vectors
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import KnownTask
from workbench.sessions.history import PastTask

WIDTH = 48
TOPICS = 4


def past(count: int = 200) -> tuple[Any, list[frozenset[str]]]:
    """Tasks in two wordings a topic, whose vectors have nothing in common but the files they touched."""
    random = np.random.default_rng(5)
    words = np.linalg.qr(random.normal(size=(WIDTH, 2 * TOPICS)))[0].T
    rows, files = [], []
    for number in range(count):
        topic = number % TOPICS
        row = words[2 * topic + number // TOPICS % 2] + 0.05 * random.normal(size=WIDTH)
        rows.append(row / np.linalg.norm(row))
        files.append(frozenset({f"src/{topic}.py"}))
    return np.asarray(rows, np.float32), files


def test_wordings_of_one_file_come_together() -> None:
    """A task then is nearer to the other wording of its topic than to any other topic."""
    vectors, files = past()
    adapter = fit_adapter(vectors, files, "m", 10.0)
    assert adapter.down.shape == (WIDTH, RANK)
    moved = adapter.adapt(vectors[0], "m")
    before, after = vectors @ vectors[0], vectors @ moved
    other = np.asarray([number % TOPICS == 0 and number // TOPICS % 2 == 1 for number in range(200)])
    alien = np.asarray([number % TOPICS != 0 for number in range(200)])
    assert before[other].mean() < 0.2
    assert after[other].min() > after[alien].max()
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-5)


def test_vectors_of_another_model_are_left_alone() -> None:
    """Another embedding, another dimension, and a map to nowhere change nothing."""
    vectors, files = past()
    adapter = fit_adapter(vectors, files, "m", 10.0)
    first, short = vectors[0], vectors[0][:7]
    assert adapter.adapt(first, "other") is first
    assert adapter.adapt(short, "m") is short
    nowhere = QueryAdapter("m", -np.eye(WIDTH, dtype=np.float32), np.eye(WIDTH, dtype=np.float32))
    assert nowhere.adapt(first, "m") is first


def test_an_adapter_is_the_same_after_its_document() -> None:
    """Its matrices are of float16 already, so that writing and reading change nothing."""
    vectors, files = past()
    adapter = fit_adapter(vectors, files, "m", 100.0)
    params = adapter_params(adapter)
    check_params("adapter", params)
    again = read_adapter(params)
    assert again.adapt(vectors[3], "m").tobytes() == adapter.adapt(vectors[3], "m").tobytes()


def given(count: int = 100) -> tuple[list[ReplayTask], list[KnownTask], Vectors]:
    """Tasks a second apart, which are the past, too."""
    vectors, files = past(count)
    tasks = [ReplayTask(f"t{n}", f"s{n}", "commit", f"task {n}", "", "", n, ()) for n in range(count)]
    known = [
        KnownTask(
            PastTask(n, {}, tuple(FileChange(path, ChangeKind.MODIFIED) for path in sorted(files[n]))),
            f"task {n}",
            n,
        )
        for n in range(count)
    ]
    return tasks, known[::-1], Vectors({f"task {n}": n for n in range(count)}, vectors, "m")


@pytest.mark.parametrize(("gain", "better"), [(0.2, True), (0.0, False), (-0.2, False)])
def test_what_does_not_help_later_tasks_is_not_better(gain: float, better: bool) -> None:
    """Penalties are chosen by the later tasks and tested on the newest, which see only what was before."""
    tasks, known, vectors = given()
    asked: list[list[int]] = []

    def measure(wanted: Any, adapters: Any) -> Measured:
        asked.append([task.at for task in wanted])
        noise = np.random.default_rng(2)
        return [(one, (0.5, *(0.5 + gain * noise.random() for _ in adapters))) for one in wanted]

    adapter = train_adapter(tasks, known, vectors, measure)
    assert asked == [list(range(60, 80)), list(range(80, 100))]
    assert (adapter.better, adapter.penalty > 0) == (better, gain > 0)
    assert adapter.held_out == 20


def test_a_past_without_vectors_is_refused() -> None:
    """There is nothing to fit to."""
    tasks, known, vectors = given()
    with pytest.raises(UsageError, match="too few to fit an adapter"):
        train_adapter(tasks, known, replace(vectors, rows={}), lambda *_: [])


def test_a_fit_that_fails_is_refused_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """One penalty without a result leaves the others to choose from; none at all ends the training."""
    tasks, known, vectors = given()
    whole = np.linalg.svd
    failures = 1  # of the smallest penalty, which is tried first

    def svd(matrix: Any) -> Any:
        nonlocal failures
        if failures:
            failures -= 1
            raise np.linalg.LinAlgError("SVD did not converge")
        return whole(matrix)

    def measure(wanted: Any, adapters: Any) -> Measured:
        return [(one, (0.5, *(0.6 for _ in adapters))) for one in wanted]

    monkeypatch.setattr(np.linalg, "svd", svd)
    assert train_adapter(tasks, known, vectors, measure).penalty == 100.0
    failures = 99
    with pytest.raises(ModelError, match=r"no map fits the vectors of 60 past tasks.*did not converge"):
        train_adapter(tasks, known, vectors, measure)


def test_vectors_without_numbers_are_left_out() -> None:
    """A vector that a torn write left without numbers is no past task to fit to."""
    tasks, known, vectors = given()
    torn = vectors.matrix.copy()
    torn[3] = np.nan

    def measure(wanted: Any, adapters: Any) -> Measured:
        return [(one, (0.5,) * (1 + len(adapters))) for one in wanted]

    adapter = train_adapter(tasks, known, replace(vectors, matrix=torn), measure)

    assert np.isfinite(adapter.adapter.down).all()
    assert adapter.adapter.down.any()
