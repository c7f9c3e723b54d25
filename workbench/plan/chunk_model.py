"""The weights that decide which chunks and representations are worth their tokens, read from a model file."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib.resources import files

from workbench.errors import ModelError
from workbench.plan.representations import Shares
from workbench.plan.snippets import FEATURES, ChunkModel

DEFAULT_MODEL = "chunks-v1"


@lru_cache(maxsize=4)
def load_chunk_model(model_id: str = DEFAULT_MODEL) -> tuple[ChunkModel, Shares]:
    """Return the chunk weights and the worth of path and outline of a model shipped with the program.

    Raises: ModelError if it is unknown or malformed."""
    resource = files("workbench.models") / "data" / f"{model_id}.json"
    try:
        text = resource.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(
            f"there is no chunk model {model_id!r}", hint="see `workbench model list`"
        ) from error
    return parse_chunk_model(text, source=model_id)


def parse_chunk_model(text: str, *, source: str) -> tuple[ChunkModel, Shares]:
    """Read a model file. Raises: ModelError naming what is wrong."""
    hint = "reinstall, or name another model"
    try:
        document = json.loads(text)
        model = ChunkModel(
            weights={str(name): float(value) for name, value in document["weights"].items()},
            model_id=str(document["model_id"]),
            trained_on=tuple(map(str, document.get("trained_on", ()))),
        )
        worth = Shares(**{name: float(document["worth"][name]) for name in ("path", "outline", "depth")})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"the chunk model {source!r} is malformed: {error}", hint=hint) from error
    unknown = sorted(model.weights.keys() - FEATURES.keys())
    if unknown:
        raise ModelError(
            f"the chunk model {source!r} weighs unknown features: {', '.join(unknown)}", hint=hint
        )
    if not all(math.isfinite(value) for value in model.weights.values()):
        raise ModelError(f"the chunk model {source!r} holds a weight that is not a number", hint=hint)
    if not (0.0 <= worth.path <= worth.outline <= 1.0 and 0.0 < worth.depth <= 1.0):
        raise ModelError(
            f"the chunk model {source!r} has worths outside 0 <= path <= outline <= 1, 0 < depth <= 1",
            hint=hint,
        )
    return model, worth
