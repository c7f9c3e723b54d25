"""Stage-1 ranking [img 7.4]: a deterministic score, and the chance that follows from it.

A linear model orders all candidates; trees, where the model has any, order the first of these again.

The model's probability of a file considers no other file. Where all of them are small, as in a project with
little past or for a task in other words than the code's, it is far too small for the first ones. A task that
is given to an agent needs some files, two on average over public histories whatever the sum of their
probabilities was: so the log-odds of all are raised alike until the sum is two. They are never lowered.

The weights are in files shipped with the program, as are those that choose chunks of files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.models.documents import read_document
from workbench.plan.features import (
    CandidateMatrix,
    CandidateRows,
    NamedRow,
    candidates_for,
    feature_matrix,
    feature_names,
)
from workbench.plan.places import LINEAR, ChunkModel
from workbench.plan.semantics import QueryAdapter
from workbench.plan.signals import prepare_query
from workbench.plan.trees import ReadModel, Trees, parse_trees
from workbench.plan.view import RankingView
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, RankedFile

Float32 = NDArray[np.float32]

NEEDED: Final = 2.0  # files a task needs at least: the likeliest value on public histories
SUMMED: Final = 100  # files whose chances are summed: the long tail of a large project is as good as zero
FIRST: Final = 50  # candidates that trees look at
_STEPS: Final = 40


@dataclass(frozen=True, slots=True)
class RankingModel:
    """Weights by feature name, and the trees that order the first files again.

    `seeds` weigh the first look; `relevance` = (slope, offset) of a logistic that turns a score into the
    probability that the file is needed; `trained_on` names the repositories it has seen. `confidence` is the
    logistic of `plan/confidence.py`: slopes of both inputs and the offset. `correction` are weights of a
    project's own, added to what the first files score; `adapter` maps a task's vector before it is compared.
    `reading` has added to the scores of files that were read (`plan/reading.py`).
    """

    model_id: str
    weights: Mapping[str, float]
    seeds: Mapping[str, float]
    relevance: tuple[float, float]
    trained_on: tuple[str, ...] = ()
    trees: Trees | None = None
    confidence: tuple[float, float, float] | None = None
    correction: Mapping[str, float] = field(default_factory=dict)
    adapter: QueryAdapter | None = None
    reading: Trees | None = None

    @property
    def reorders(self) -> bool:
        """Whether the first files are ordered again, by trees or a correction."""
        return self.trees is not None or bool(self.correction)


def rank_files(
    view: RankingView,
    intent: Intent,
    model: RankingModel,
    *,
    semantic: Callable[[], Float32 | None] | None = None,
    limit: int | None = None,
    also: Sequence[str] = (),
) -> tuple[RankedFile, ...]:
    """Rank the files of a project for a task, best first; ties by path; the paths `also` are among them.

    semantic: returns float32 [tasks], cosines of the task to past ones, or None.
    """
    extra = [view.index.positions[path] for path in also if path in view.index.positions]
    candidates = candidates_for(view, prepare_query(intent), model.seeds, semantic, also=extra)
    return score_candidates(view, candidates, model)[:limit]


def score_candidates(
    view: RankingView, candidates: CandidateMatrix, model: RankingModel
) -> tuple[RankedFile, ...]:
    """Apply the model to a feature matrix and order the candidates."""
    names = feature_names(candidates.names)
    matrix = feature_matrix(candidates)
    paths = [view.index.paths[position] for position in candidates.positions.tolist()]
    scores, given = score_rows(model, names, matrix, paths)
    rounded = np.round(scores, 6).tolist()
    rows = CandidateRows(view, candidates, names, matrix, given.of)
    return tuple(
        RankedFile(
            path,
            -score,
            NamedRow(rows.features, row, rows),
            NamedRow(rows.contributions, row),
            candidates.sources[row],
        )
        for score, path, row in sorted(
            zip([-score for score in rounded], paths, range(len(paths)), strict=True)
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """What each of f features gave the scores of c candidates.

    weights: float64 [f], of the linear score; matrix: float32 [c, f]. `first` are the places by row of the
    candidates that are ordered again; own: float64 [f], what weighs these beside the trees; leaves: int64
    [t, n], where in the trees they are, None without trees.
    """

    weights: NDArray[np.float64]
    matrix: Float32
    first: Mapping[int, int]
    own: NDArray[np.float64]
    names: Sequence[str]
    trees: Trees | None
    leaves: NDArray[np.int64] | None

    def of(self, row: int) -> NDArray[np.float64]:
        """Return float64 [f], what each feature gave one candidate."""
        place = self.first.get(row)
        if place is None:
            return np.asarray(self.matrix[row] * self.weights, dtype=np.float64)
        parts = np.asarray(self.matrix[row] * self.own, dtype=np.float64)
        if self.trees is None or self.leaves is None:
            return parts
        return np.asarray(self.trees.contributions_of(self.names, self.leaves[:, [place]])[0] + parts)


def score_rows(
    model: RankingModel, names: Sequence[str], matrix: Float32, paths: Sequence[str]
) -> tuple[NDArray[np.float64], GivenRows]:
    """Return the scores float64 [c] of c candidates, and what each feature gave them.

    Trees and a correction look at the FIRST of the linear order; the others follow these, as far apart as
    they were.
    """
    weights = _weigh(names, model.weights)
    scores = matrix.astype(np.float64) @ weights if len(names) else np.zeros(len(paths))
    own, trees = _own_weights(model, names), model.trees
    if not model.reorders or not len(paths):
        return scores, GivenRows(weights, matrix, {}, own, names, trees, None)
    rounded = np.round(-scores, 6).tolist()
    order = [row for _, _, row in sorted(zip(rounded, paths, range(len(paths)), strict=True))]
    first, behind = np.asarray(order[:FIRST]), np.asarray(order[FIRST:], dtype=np.int64)
    leaves = None if trees is None else trees.find_leaves(names, matrix[first])
    again = np.asarray(matrix[first] * own, dtype=np.float64).sum(axis=1)
    if trees is not None and leaves is not None:
        again += trees.sum_leaves(names, leaves) - trees.mean
    scores[behind] += again.min() - scores[first[-1]]
    scores[first] = again
    places = {row: place for place, row in enumerate(order[:FIRST])}
    return scores, GivenRows(weights, matrix, places, own, names, trees, leaves)


def _weigh(names: Sequence[str], weights: Mapping[str, float]) -> NDArray[np.float64]:
    return np.asarray([weights.get(name, 0.0) for name in names], dtype=np.float64)


def _own_weights(model: RankingModel, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights float64 [f] by which the FIRST candidates are scored beside the trees."""
    return _weigh(
        names, model.correction if model.trees is not None else _sum(model.weights, model.correction)
    )


def weigh_first(model: RankingModel, names: Sequence[str], matrix: Float32) -> NDArray[np.float64]:
    """Return float64 [c, f], what each of the f named features gives c of the FIRST candidates."""
    parts = np.asarray(matrix * _own_weights(model, names), dtype=np.float64)
    return parts if model.trees is None else model.trees.contribute(names, matrix) + parts


def _sum(weights: Mapping[str, float], more: Mapping[str, float]) -> Mapping[str, float]:
    return {name: weights.get(name, 0.0) + more.get(name, 0.0) for name in (*weights, *more)}


def log_odds(model: RankingModel, scores: Sequence[float]) -> NDArray[np.float64]:
    """Turn scores into the log-odds that the task needs the file, each file looked at by itself."""
    slope, offset = model.relevance
    return np.asarray(np.clip(slope * np.asarray(scores, dtype=np.float64) + offset, -30.0, 30.0))


def needed_chances(
    model: RankingModel, files: Sequence[RankedFile], pinned: Collection[str] = ()
) -> dict[str, float]:
    """Return the chance in (0, 1] that a task needs each file, by path; that of pinned ones is 1.

    Those of the others are what they are without pins: none gains from a file that is pinned.
    """
    ranked = sorted(files, key=lambda found: -found.score)
    raised = raise_chances(log_odds(model, [found.score for found in ranked])).tolist()
    chances = {found.path: chance for found, chance in zip(ranked, raised, strict=True)}
    return {found.path: 1.0 if found.path in pinned else chances[found.path] for found in files}


def own_chances(
    model: RankingModel, files: Sequence[RankedFile], pinned: Collection[str] = ()
) -> dict[str, float]:
    """Return the chance in (0, 1] that a task needs each file, not raised for a task that needs some.

    It tells a task of this project from a text about anything else, which chances that were raised do worse.
    """
    found = np.round(_probability(log_odds(model, [found.score for found in files])), 9).tolist()
    return {one.path: 1.0 if one.path in pinned else chance for one, chance in zip(files, found, strict=True)}


def raise_chances(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities for log-odds, best first, raised as little as makes the first sum to enough."""
    first = odds[:SUMMED]
    wanted = min(NEEDED, len(first) / 2.0)
    rise = 0.0
    if _probability(first).sum() < wanted:
        low, high = 0.0, 60.0
        for _ in range(_STEPS):
            rise = (low + high) / 2.0
            low, high = (rise, high) if _probability(first + rise).sum() < wanted else (low, rise)
    return np.round(_probability(odds + rise), 9)


def _probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


DEFAULT_MODEL: Final = "files-v4"
LEXICAL_MODEL: Final = "files-v4-lexical"  # for where no embedding model is at hand
CHUNK_MODEL: Final = "chunks-v5"
_HINT: Final = "reinstall, or name another model"

Model = TypeVar("Model")


@lru_cache(maxsize=4)
def load_model(model_id: str = DEFAULT_MODEL) -> RankingModel:
    """Load a ranking model. Raises: ModelError if it is unknown or malformed."""
    return _ranking_model(partial(_read, "ranking model", model_id), model_id)


@lru_cache(maxsize=4)
def load_chunk_model(model_id: str = CHUNK_MODEL) -> ChunkModel:
    """Load what finds places in files. Raises: ModelError as `load_model`."""
    return _places_model(partial(_read, "chunk model", model_id), model_id)


def parse_model(text: str, *, source: str) -> RankingModel:
    """Parse a ranking model. Raises: ModelError naming what is wrong."""
    return _ranking_model(partial(decode_json, text, dict[str, Any]), source)


def _ranking_model(read: Callable[[], dict[str, Any]], source: str) -> RankingModel:
    name = f"the ranking model {source!r}"
    model = _build(read, name, _linear_model)
    numbers = (*model.weights.values(), *model.seeds.values(), *model.relevance, *(model.confidence or ()))
    _check_finite(name, numbers)
    return model


def parse_chunk_model(text: str, *, source: str) -> ChunkModel:
    """Parse a chunk model. Raises: ModelError naming what is wrong."""
    return _places_model(partial(decode_json, text, dict[str, Any]), source)


def _places_model(read: Callable[[], dict[str, Any]], source: str) -> ChunkModel:
    name = f"the chunk model {source!r}"
    model = _build(read, name, _chunk_model)
    if unknown := sorted(model.weights.keys() - {*LINEAR}):
        raise ModelError(f"{name} weighs unknown features: {', '.join(unknown)}", hint=_HINT)
    files = model.files
    _check_finite(name, (*model.weights.values(), *(files.relevance + files.confidence if files else ())))
    return model


def _read(kind: str, model_id: str) -> dict[str, Any]:
    try:
        return read_document(model_id)
    except OSError as error:
        raise ModelError(f"there is no {kind} {model_id!r}", hint="see `workbench model list`") from error


def _build(read: Callable[[], dict[str, Any]], name: str, build: Callable[[dict[str, Any]], Model]) -> Model:
    try:
        return build(read())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{name} is malformed: {error}", hint=_HINT) from error


def _linear_model(document: dict[str, Any]) -> RankingModel:
    slope, offset = document["relevance"]
    confidence = document.get("confidence")
    first, second, third = map(float, confidence or (0.0, 0.0, 0.0))
    return RankingModel(
        model_id=str(document["model_id"]),
        weights=_weights(document["weights"]),
        seeds=_weights(document["seeds"]),
        relevance=(float(slope), float(offset)),
        trained_on=tuple(document.get("trained_on", ())),
        trees=parse_trees(document["trees"], str(document["model_id"])) if "trees" in document else None,
        confidence=(first, second, third) if confidence else None,
    )


def _chunk_model(document: dict[str, Any]) -> ChunkModel:
    files = document.get("files")
    return ChunkModel(
        weights=_weights(document["weights"]),
        trees=parse_trees(document["trees"], str(document["model_id"])) if "trees" in document else None,
        files=_read_model(files, str(document["model_id"])) if files else None,
        model_id=str(document["model_id"]),
        trained_on=tuple(map(str, document.get("trained_on", ()))),
    )


def _read_model(document: dict[str, Any], model_id: str) -> ReadModel:
    slope, offset = map(float, document["relevance"])
    first, second, third = map(float, document["confidence"])
    return ReadModel(parse_trees(document["trees"], model_id), (slope, offset), (first, second, third))


def _weights(values: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items()}


def _check_finite(name: str, values: Iterable[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ModelError(f"{name} holds a weight that is not a number", hint=_HINT)
