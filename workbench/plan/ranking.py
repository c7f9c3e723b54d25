"""Stage-1 ranking [img 7.4]: a linear, deterministic score whose weights come from a versioned model file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.plan.features import Candidates, candidates_for, feature_matrix, feature_names
from workbench.plan.signals import prepare_query
from workbench.plan.view import ProjectView
from workbench.records.plan import Intent, RankedFile

Float32 = NDArray[np.float32]

DEFAULT_MODEL = "files-v1"
LEXICAL_MODEL = "files-v1-lexical"  # for where no embedding model is at hand


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights by feature name.

    `seeds` weigh the first look; `relevance` = (slope, offset) of a logistic that turns a score into the
    probability that the file is needed; `trained_on` names the repositories it has seen.
    """

    model_id: str
    weights: Mapping[str, float]
    seeds: Mapping[str, float]
    relevance: tuple[float, float]
    trained_on: tuple[str, ...] = ()


def load_model(model_id: str = DEFAULT_MODEL) -> LinearModel:
    """Load a model shipped with the program. Raises ModelError if it is unknown or malformed."""
    resource = files("workbench.models") / "data" / f"{model_id}.json"
    try:
        text = resource.read_text(encoding="utf-8")
    except (FileNotFoundError, OSError) as error:
        raise ModelError(
            f"there is no ranking model {model_id!r}", hint="see `workbench model list`"
        ) from error
    return parse_model(text, source=model_id)


def parse_model(text: str, *, source: str) -> LinearModel:
    """Read a model file. Raises ModelError naming what is wrong."""
    try:
        document = json.loads(text)
        slope, offset = document["relevance"]
        model = LinearModel(
            model_id=str(document["model_id"]),
            weights={str(name): float(value) for name, value in document["weights"].items()},
            seeds={str(name): float(value) for name, value in document["seeds"].items()},
            relevance=(float(slope), float(offset)),
            trained_on=tuple(document.get("trained_on", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the ranking model {source!r} is malformed: {error}", hint="reinstall, or name another model"
        ) from error
    if not all(
        np.isfinite(value) for value in (*model.weights.values(), *model.seeds.values(), *model.relevance)
    ):
        raise ModelError(f"the ranking model {source!r} holds a weight that is not a number")
    return model


def rank_files(
    view: ProjectView,
    intent: Intent,
    model: LinearModel,
    *,
    semantic: Callable[[], Float32 | None] | None = None,
    limit: int | None = None,
    also: Sequence[str] = (),
) -> tuple[RankedFile, ...]:
    """Rank the files of a project for a task, best first; ties by path; the paths `also` are among them.

    semantic: gives float32 [tasks], cosines of the task to past ones, or None.
    """
    extra = [view.index.positions[path] for path in also if path in view.index.positions]
    candidates = candidates_for(view, prepare_query(intent), model.seeds, semantic, also=extra)
    return score_candidates(view, candidates, model)[:limit]


def score_candidates(view: ProjectView, candidates: Candidates, model: LinearModel) -> tuple[RankedFile, ...]:
    """Apply the linear model to a feature matrix and order the candidates."""
    names = feature_names(candidates.names)
    matrix = feature_matrix(candidates)
    weights = np.asarray([model.weights.get(name, 0.0) for name in names], dtype=np.float64)
    scores = matrix.astype(np.float64) @ weights if len(names) else np.zeros(len(candidates.positions))
    paths = [view.index.paths[position] for position in candidates.positions.tolist()]
    rounded = np.round(scores, 6).tolist()
    order = sorted(range(len(paths)), key=lambda row: (-rounded[row], paths[row]))
    shares = specified(view, candidates)
    values = _nonzero(names, np.round(matrix.astype(np.float64), 4))
    parts = _nonzero(names, np.round(matrix * weights, 4))
    return tuple(
        RankedFile(
            path=paths[row],
            score=rounded[row],
            features={**shares[row], **values[row]},
            contributions=parts[row],
            sources=candidates.sources[row],
        )
        for row in order
    )


def _nonzero(names: Sequence[str], matrix: NDArray[np.floating[Any]]) -> list[dict[str, float]]:
    """Return what is not zero in each row, by the names of the columns."""
    rows, columns = np.nonzero(matrix)
    found = [names[column] for column in columns.tolist()]
    values = matrix[rows, columns].tolist()
    bounds = np.searchsorted(rows, np.arange(len(matrix) + 1)).tolist()
    return [dict(zip(found[start:stop], values[start:stop], strict=True)) for start, stop in pairwise(bounds)]


def specified(view: ProjectView, candidates: Candidates) -> list[dict[str, float]]:
    """Return the seven features of [img 7.3] of every candidate, under their names there.

    Each is in [0, 1], relative to the best candidate of the task, but `f_token_cost`, which estimates tokens.
    `f_semantic_score` compares past tasks by meaning, or without embeddings the content by its terms.
    """
    columns = {name: column for column, name in enumerate(candidates.names)}

    def share(*signals: str) -> list[float]:
        found = np.zeros(len(candidates.positions))
        for name in signals:
            column = columns.get(name)
            if column is not None and candidates.best[column] > 0:
                found = np.maximum(found, candidates.values[:, column] / float(candidates.best[column]))
        return list(np.round(found, 4).tolist())

    by_meaning = "affinity_semantic" if "affinity_semantic" in columns else "coverage_body"
    table = {
        "f_structural_relevance": share("layer_match"),
        "f_semantic_score": share(by_meaning),
        "f_affinity_score": share("affinity", "affinity_head"),
        "f_recency_score": share("recency_12"),
        "f_risk_score": share("risk", "fix_share"),
        "f_test_proximity": share("tests_seed", "tested_by_seed"),
        "f_token_cost": np.ceil(view.index.size[candidates.positions] / 4.0).tolist(),
    }
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def log_odds(model: LinearModel, scores: Sequence[float]) -> NDArray[np.float64]:
    """Turn scores into the log-odds that the task needs the file, each file looked at by itself."""
    slope, offset = model.relevance
    return np.asarray(np.clip(slope * np.asarray(scores, dtype=np.float64) + offset, -30.0, 30.0))
