"""Replay one repository's tasks and keep every candidate's signals: models and peers share one run."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.fit import Group
from bench.shapes import Shapes, as_they_are
from bench.timeline import Timeline
from workbench.plan.explanation import HAND_MIXTURE
from workbench.plan.features import CandidateMatrix, candidates_for, feature_matrix, feature_names
from workbench.plan.intent import parse_intent
from workbench.plan.semantics import head_texts, task_text
from workbench.plan.signals import prepare_query
from workbench.records.plan import Intent
from workbench.replay.systems import baseline_paths
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import Moment
from workbench.text.terms import parse_task
from workbench.text.vectors import cosines

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Row:
    """One replayed task. `peers` are the paths each peer puts first, `truth` the files that were modified."""

    task: ReplayTask
    names: tuple[str, ...]
    paths: tuple[str, ...]
    values: NDArray[np.float32]
    best: NDArray[np.float32]
    truth: frozenset[str]
    peers: Mapping[str, tuple[str, ...]]


def collect(
    timeline: Timeline,
    tasks: Sequence[ReplayTask],
    seeds: Mapping[str, float],
    *,
    embed: Embed | None = None,
    shapes: Shapes = as_they_are,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Return a row for each task whose modified files exist in the tree it started from."""
    rows = []
    for number, task in enumerate(tasks):
        moment = timeline.at(task.revision)
        positions = moment.view.index.positions
        truth = frozenset(path for path in task.modified if path in positions)
        if truth:
            rows += [_row(then, shape, truth, seeds, embed) for then, shape in shapes(number, moment, task)]
        if progress is not None:
            progress(number + 1, len(tasks))
    return rows


def _row(
    moment: Moment, task: ReplayTask, truth: frozenset[str], seeds: Mapping[str, float], embed: Embed | None
) -> Row:
    intent = parse_intent(task.text)
    tasks: NDArray[np.float32] | None = None
    if embed is not None and moment.past:
        heads = head_texts([known.head for known in moment.past])
        tasks = cosines(embed(heads), embed([task_text(parse_task(task.text))])[0])
    found = candidates_for(moment.view, prepare_query(intent), seeds, lambda: tasks)
    paths = tuple(moment.view.index.paths[position] for position in found.positions.tolist())
    return Row(
        task, found.names, paths, found.values, found.best, truth, _peers(moment, found, paths, intent)
    )


PEERS: dict[str, dict[str, float]] = {
    "bm25 on content": {"bm25_body": 1.0},
    "path match": {"bm25_path": 1.0},
    "history affinity": {"affinity": 1.0},
    "recency": {"recency_12": 1.0},
    "hand mixture": dict(HAND_MIXTURE),
}


def _peers(
    moment: Moment, found: CandidateMatrix, paths: Sequence[str], intent: Intent
) -> dict[str, tuple[str, ...]]:
    columns = {name: column for column, name in enumerate(found.names)}
    ranked = {"query_type routing": tuple(baseline_paths(moment, intent, ()))[:50]}
    for peer, weights in PEERS.items():
        scores = np.zeros(len(paths))
        for name, weight in weights.items():
            column = columns[name]
            scores += weight * found.values[:, column] / max(float(found.best[column]), 1e-9)
        order = np.lexsort((np.arange(len(paths)), -scores))
        ranked[peer] = tuple(paths[row] for row in order[:50].tolist() if scores[row] > 0)
    return ranked


def group(row: Row, repository: str, *, without: Sequence[str] = ()) -> tuple[tuple[str, ...], Group]:
    """Return (feature names, group) of a row for fitting, with some signals left out."""
    empty: tuple[tuple[str, ...], ...] = ((),) * len(row.paths)
    found = CandidateMatrix(row.names, np.arange(len(row.paths), dtype=np.int64), row.values, row.best, empty)
    names = feature_names(row.names)
    keep = [column for column, name in enumerate(names) if name.split(".")[0] not in without]
    matrix = feature_matrix(found)[:, keep]
    relevant = np.asarray([path in row.truth for path in row.paths], dtype=np.bool_)
    return tuple(names[column] for column in keep), Group(matrix, relevant, len(row.truth), repository)


def load_rows(path: Path) -> list[Row] | None:
    """Return rows saved before, None without any."""
    if not path.exists():
        return None
    rows: list[Row] = pickle.loads(path.read_bytes())
    return rows


def save_rows(path: Path, rows: Sequence[Row]) -> None:
    """Save rows for later runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(list(rows)))
