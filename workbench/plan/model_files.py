"""Model files shipped with the program: the weights that rank files, and those that choose chunks of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, TypeVar

from workbench.errors import ModelError
from workbench.plan.ranking import LinearModel
from workbench.plan.representations import Shares
from workbench.plan.snippets import FEATURES, ChunkModel

DEFAULT_MODEL: Final = "files-v1"
LEXICAL_MODEL: Final = "files-v1-lexical"  # for where no embedding model is at hand
CHUNK_MODEL: Final = "chunks-v1"
_HINT: Final = "reinstall, or name another model"

Model = TypeVar("Model")


def load_model(model_id: str = DEFAULT_MODEL) -> LinearModel:
    """Load a ranking model. Raises: ModelError if it is unknown or malformed."""
    return parse_model(_read("ranking model", model_id), source=model_id)


@lru_cache(maxsize=4)
def load_chunk_model(model_id: str = CHUNK_MODEL) -> tuple[ChunkModel, Shares]:
    """Load the weights of chunks, and the worth of path and outline.

    Raises: ModelError if the model is unknown or malformed.
    """
    return parse_chunk_model(_read("chunk model", model_id), source=model_id)


def parse_model(text: str, *, source: str) -> LinearModel:
    """Parse a ranking model. Raises: ModelError naming what is wrong."""
    name = f"the ranking model {source!r}"
    model = _parse(text, name, _linear_model)
    _check_finite(name, (*model.weights.values(), *model.seeds.values(), *model.relevance))
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
    resource = files("workbench.models") / "data" / f"{model_id}.json"
    try:
        return resource.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"there is no {kind} {model_id!r}", hint="see `workbench model list`") from error


def _parse(text: str, name: str, build: Callable[[dict[str, Any]], Model]) -> Model:
    try:
        return build(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{name} is malformed: {error}", hint=_HINT) from error


def _linear_model(document: dict[str, Any]) -> LinearModel:
    slope, offset = document["relevance"]
    return LinearModel(
        model_id=str(document["model_id"]),
        weights=_weights(document["weights"]),
        seeds=_weights(document["seeds"]),
        relevance=(float(slope), float(offset)),
        trained_on=tuple(document.get("trained_on", ())),
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
