"""The weights of stage 1 and of chunks: packaged, read and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any, Final, TypeVar

from workbench.errors import ModelError
from workbench.places import data_file
from workbench.plan.representations import Shares
from workbench.plan.semantics import QueryAdapter
from workbench.plan.snippets import FEATURES, ChunkModel
from workbench.plan.trees import Trees, parse_trees
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RankingModel:
    """Weights by feature name, and the trees that order the first files again.

    `seeds` weigh the first look; `relevance` = (slope, offset) of a logistic that turns a score into the
    probability that the file is needed; `trained_on` names the repositories it has seen. `confidence` is the
    logistic of `plan/confidence.py`: slopes of both inputs and the offset. `correction` are weights of a
    project's own, added to what the first files score; `adapter` maps a task's vector before it is compared.
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

    @property
    def reorders(self) -> bool:
        """Whether the first files are ordered again, by trees or a correction."""
        return self.trees is not None or bool(self.correction)


DEFAULT_MODEL: Final = "files-v3"
CHUNK_MODEL: Final = "chunks-v2"
_HINT: Final = "reinstall, or name another model"
Model = TypeVar("Model")


@lru_cache(maxsize=4)
def load_model(model_id: str = DEFAULT_MODEL) -> RankingModel:
    """Load a ranking model. Raises: ModelError if it is unknown or malformed."""
    return parse_model(_read("ranking model", model_id), source=model_id)


@lru_cache(maxsize=4)
def load_chunk_model(model_id: str = CHUNK_MODEL) -> tuple[ChunkModel, Shares]:
    """Load the weights of chunks, and the worth of path and outline.

    Raises: ModelError if the model is unknown or malformed.
    """
    return parse_chunk_model(_read("chunk model", model_id), source=model_id)


def parse_model(text: str, *, source: str) -> RankingModel:
    """Parse a ranking model. Raises: ModelError naming what is wrong."""
    name = f"the ranking model {source!r}"
    model = _parse(text, name, _linear_model)
    numbers = (*model.weights.values(), *model.seeds.values(), *model.relevance, *(model.confidence or ()))
    _check_finite(name, numbers)
    return model


def parse_chunk_model(text: str, *, source: str) -> tuple[ChunkModel, Shares]:
    """Parse a chunk model. Raises: ModelError naming what is wrong."""
    name = f"the chunk model {source!r}"
    model, worth = _parse(text, name, _chunk_model)
    unknown = sorted(model.weights.keys() - FEATURES.keys())
    if unknown:
        raise ModelError(f"{name} weighs unknown features: {', '.join(unknown)}", hint=_HINT)
    _check_finite(name, model.weights.values())
    if not (0.0 <= worth.path <= worth.outline <= 1.0 and 0.0 < worth.depth <= 1.0):
        raise ModelError(f"{name} has worths outside 0 <= path <= outline <= 1, 0 < depth <= 1", hint=_HINT)
    return model, worth


def _read(kind: str, model_id: str) -> str:
    resource = data_file("workbench.models", f"{model_id}.json")
    try:
        return resource.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"there is no {kind} {model_id!r}", hint="see `workbench model list`") from error


def _parse(text: str, name: str, build: Callable[[dict[str, Any]], Model]) -> Model:
    try:
        return build(decode_json(text, dict[str, Any]))
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


def _chunk_model(document: dict[str, Any]) -> tuple[ChunkModel, Shares]:
    model = ChunkModel(
        weights=_weights(document["weights"]),
        model_id=str(document["model_id"]),
        trained_on=tuple(map(str, document.get("trained_on", ()))),
    )
    return model, Shares(**{name: float(document["worth"][name]) for name in ("path", "outline", "depth")})


def _weights(values: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items()}


def _check_finite(name: str, values: Iterable[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ModelError(f"{name} holds a weight that is not a number", hint=_HINT)
