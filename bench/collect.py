"""Replay one repository's tasks and keep every candidate's signals: models and peers share one run."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.fit import Group
from bench.shapes import Shapes, as_they_are
from bench.timeline import Timeline
from workbench.plan.explanation import HAND_MIXTURE
from workbench.plan.features import CandidateMatrix, candidates_for, feature_matrix, feature_names
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import RankingModel, score_rows
from workbench.plan.reading import READ, SIGNALS, describe_read
from workbench.plan.representations import Content
from workbench.plan.semantics import head_texts, task_text
from workbench.plan.signals import prepare_query
from workbench.plan.trees import ReadModel
from workbench.records.plan import Intent
from workbench.records.project import Skipped, Symbol
from workbench.replay.packs import BlobContents
from workbench.replay.systems import baseline_paths
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import Moment
from workbench.text.terms import parse_task
from workbench.text.tokens import token_counter
from workbench.text.vectors import cosines

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The first k files of a model: their places in a row's paths, and `file_signals`, float32 [k, s]."""

    places: tuple[int, ...]
    signals: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """One replayed task. `peers` are the paths each peer puts first, `truth` the files that were modified.

    `read` is what was found in the first files, by the id of the model that ranked them.
    """

    task: ReplayTask
    names: tuple[str, ...]
    paths: tuple[str, ...]
    values: NDArray[np.float32]
    best: NDArray[np.float32]
    truth: frozenset[str]
    peers: Mapping[str, tuple[str, ...]]
    read: Mapping[str, ReadFiles] = field(default_factory=dict)


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
    rows: list[Row] = []
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


def read_rows(timeline: Timeline, rows: Sequence[Row], model: RankingModel) -> list[ReadFiles]:
    """Read the first files of each row as a model ranks them."""
    contents = BlobContents(timeline.reader.read, token_counter())
    moments: dict[str, Moment] = {}
    found = []
    for row in rows:
        revision = row.task.revision
        moment = moments[revision] if revision in moments else timeline.at(revision)
        moments = {revision: moment}
        found.append(_read(row, moment, model, contents))
    return found


def _read(row: Row, moment: Moment, model: RankingModel, contents: BlobContents) -> ReadFiles:
    index = moment.view.index

    def symbols(path: str) -> Sequence[Symbol]:
        return index.record(index.positions[path])[0]

    def read(path: str) -> Content | Skipped:
        return contents.get(path, moment.blobs.get(path, ""), lambda: symbols(path))

    order, scores = order_row(row, model)
    first = order[:READ]
    paths = [row.paths[place] for place in first]
    return ReadFiles(
        tuple(first), describe_read(parse_intent(row.task.text), paths, scores[first].tolist(), read)
    )


def order_row(
    row: Row, model: RankingModel, files: ReadModel | None = None
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the positions of a row's candidates, best first, and the score of each.

    With `files` the first are ordered again by what was read.
    """
    empty: tuple[tuple[str, ...], ...] = ((),) * len(row.paths)
    candidates = CandidateMatrix(
        row.names, np.arange(len(row.paths), dtype=np.int64), row.values, row.best, empty
    )
    names, matrix = feature_names(row.names), feature_matrix(candidates)
    scores = np.round(score_rows(model, names, matrix, row.paths)[0], 6)
    order = _best_first(scores)
    if files is None:
        return order, scores
    first, behind = order[:READ], order[READ:]
    assert row.read[model.model_id].places == (*first,), "the row was read for another model"
    features = np.hstack([np.round(matrix[first], 4), row.read[model.model_id].signals])
    before = scores[first[-1]]
    scores[first] += files.trees.contribute((*names, *SIGNALS), features).sum(axis=1)
    scores[behind] += scores[first].min() - before
    scores = np.round(scores, 6)
    return [*np.asarray(first)[_best_first(scores[first])].tolist(), *behind], scores


def _best_first(scores: NDArray[np.float64]) -> list[int]:
    order: list[int] = np.lexsort((np.arange(len(scores)), -scores)).tolist()
    return order


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


def load_rows(path: Path) -> list[Any] | None:
    """Return rows, or what was read of their files, saved before; None without any."""
    return pickle.loads(path.read_bytes()) if path.exists() else None


def save_rows(path: Path, rows: Sequence[Row | ReadFiles]) -> None:
    """Save rows, or what was read of their files, for later runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(list(rows)))
