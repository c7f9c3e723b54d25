"""What models of a project change in its ranking: their documents, checked, and applied to a packaged model.

Kinds: `linear` adds a few weights to the score of the first files, `trees` is a ranking model of its own,
`calibration` turns scores into chances, `adapter` maps the vector of a task before it is compared with past
ones, `ollama_rerank` configures the second stage. A document is checked
whenever it is loaded: one that is damaged, or of a later version, is refused and nothing else changes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.models.registry import (
    STREAM,
    ModelRegistry,
    RegisteredParams,
    RunningCanary,
    fold_registry,
    live_models,
    model_name,
)
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, RankingModel, load_model, parse_model
from workbench.plan.semantics import QueryAdapter

if TYPE_CHECKING:
    from workbench.ports import Journal

Float32 = NDArray[np.float32]

SCHEMA: Final = 1
LINEAR: Final = "linear"
TREES: Final = "trees"
CALIBRATION: Final = "calibration"
ADAPTER: Final = "adapter"
OLLAMA_RERANK: Final = "ollama_rerank"
_MOST: Final = 20.0  # a larger weight would be all that counts
_HINT: Final = "Train another: `workbench model train`."
_REGISTER: Final = "Register it again: `workbench model register`."
BASES: Final = (DEFAULT_MODEL, LEXICAL_MODEL)


def known_features(model: RankingModel) -> frozenset[str]:
    """Return the features that a model knows."""
    return frozenset((*model.weights, *(model.trees.names if model.trees is not None else ()))) - {""}


def check_params(kind: str, params: object) -> None:
    """Check the document of a model. Raises: ModelError with the reason why it cannot be used."""
    check = _CHECKS.get(kind)
    if check is None:
        kinds = ", ".join(sorted(_CHECKS))
        raise ModelError(f"there are no models of the kind {kind!r} in this version", hint=f"Known: {kinds}.")
    if not isinstance(params, Mapping):
        raise ModelError("its parameters are no object", hint=_HINT)
    schema = params.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise ModelError(
            f"it was made by a later version of the program (schema {schema})", hint="Upgrade the program."
        )
    if schema != SCHEMA:
        raise ModelError(f"its schema is {schema!r}, not {SCHEMA}", hint=_HINT)
    try:
        check(params)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"its parameters are malformed: {error!r}", hint=_HINT) from error


def check_model(model: RegisteredParams) -> None:
    """Check a registered model, its name included. Raises: ModelError."""
    if model.model_id.startswith("own-") and model.model_id != model_name(model.model_kind, model.params):
        raise ModelError("its parameters are not those it was registered with", hint=_HINT)
    check_params(model.model_kind, model.params)


def _number(value: object, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ModelError(f"{name} is not a number: {value!r}", hint=_HINT)
    if not low <= value <= high:
        raise ModelError(f"{name} is {value:g}, not between {low:g} and {high:g}", hint=_HINT)
    return float(value)


def _by_base(values: object) -> list[tuple[RankingModel, Any]]:
    if not isinstance(values, Mapping) or not values:
        raise ModelError("it is for no ranking model", hint=_HINT)
    unknown = sorted(set(map(str, values)) - set(BASES))
    if unknown:
        raise ModelError(f"it is for ranking models that are not here: {', '.join(unknown)}", hint=_HINT)
    return [(load_model(str(base)), value) for base, value in sorted(values.items())]


def _check_linear(params: Mapping[str, Any]) -> None:
    for base, weights in _by_base(params["weights"]):
        unknown = sorted(set(map(str, weights)) - known_features(base))
        if unknown:
            raise ModelError(f"it weighs unknown features: {', '.join(unknown[:5])}", hint=_HINT)
        for name, value in weights.items():
            _number(value, f"the weight of {name}", -_MOST, _MOST)


def _check_calibration(params: Mapping[str, Any]) -> None:
    for _, pair in _by_base(params["relevance"]):
        slope, offset = pair
        _number(slope, "the slope", 1e-3, _MOST)
        _number(offset, "the offset", -30.0, 30.0)


def _check_trees(params: Mapping[str, Any]) -> None:
    for base, document in _by_base(params["models"]):
        model = _parse(document)
        unknown = sorted(known_features(model) - known_features(base))
        if unknown:
            raise ModelError(f"it asks for unknown features: {', '.join(unknown[:5])}", hint=_HINT)


def adapter_params(adapter: QueryAdapter) -> dict[str, object]:
    """Return the document of an adapter: its matrices as base64 of float16, row by row."""
    parts = {name: _encode_matrix(matrix) for name, matrix in (("down", adapter.down), ("up", adapter.up))}
    return {"schema": SCHEMA, "embedding": adapter.embedding, "rank": adapter.down.shape[1], **parts}


def _encode_matrix(matrix: Float32) -> str:
    return base64.b64encode(matrix.astype("<f2").tobytes()).decode("ascii")


def read_adapter(params: Mapping[str, Any]) -> QueryAdapter:
    """Return the adapter of a document. Raises: ModelError; KeyError, TypeError, ValueError if malformed."""
    if not isinstance(params["embedding"], str) or not params["embedding"]:
        raise ModelError("it does not say which embeddings it maps", hint=_HINT)
    rank = int(_number(params["rank"], "the rank", 1, 1024))
    down, up = (
        np.frombuffer(base64.b64decode(params[name], validate=True), "<f2").astype(np.float32)
        for name in ("down", "up")
    )
    if not down.size or down.size != up.size or down.size % rank:
        raise ModelError("its matrices do not fit each other", hint=_HINT)
    if not (np.isfinite(down).all() and np.isfinite(up).all()):
        raise ModelError("its matrices hold what is not a number", hint=_HINT)
    return QueryAdapter(params["embedding"], down.reshape(-1, rank), up.reshape(rank, -1))


def _check_rerank(params: Mapping[str, Any]) -> None:
    if not isinstance(params["model"], str) or not params["model"].strip():
        raise ModelError("it names no model to ask", hint=_HINT)
    _number(params["candidates"], "candidates", 1, 30)
    _number(params["weight"], "the weight", 0.0, 6.0)
    from workbench.models.rerank import PROMPT  # only where a model is asked

    if params["prompt"] != PROMPT:
        raise ModelError("it was made for other questions than this version asks", hint=_REGISTER)


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    LINEAR: _check_linear,
    TREES: _check_trees,
    CALIBRATION: _check_calibration,
    ADAPTER: read_adapter,
    OLLAMA_RERANK: _check_rerank,
}


def _parse(document: object) -> RankingModel:
    return parse_model(json.dumps(document), source="a model of the project")


def apply_models(base: RankingModel, models: Mapping[str, RegisteredParams]) -> RankingModel:
    """Return a packaged ranking model as the active models of a project change it; itself without any.

    Its id then names both: `files-v4+own-linear-…`. Raises: ModelError.
    """
    made, used = base, []
    for kind in (TREES, LINEAR, CALIBRATION, ADAPTER):
        found = models.get(kind)
        if found is None:
            continue
        check_model(found)
        before = made
        if kind == TREES and base.model_id in found.params["models"]:
            made = _parse(found.params["models"][base.model_id])
        elif kind == LINEAR and base.model_id in found.params["weights"]:
            made = replace(made, correction=dict(found.params["weights"][base.model_id]))
        elif kind == CALIBRATION and base.model_id in found.params["relevance"]:
            slope, offset = found.params["relevance"][base.model_id]
            made = replace(made, relevance=(float(slope), float(offset)))
        elif kind == ADAPTER and base.model_id == DEFAULT_MODEL:
            made = replace(made, adapter=read_adapter(found.params))
        if made is not before:
            used.append(found.model_id)
    return replace(made, model_id="+".join((base.model_id, *used))) if used else base


class OwnModels:
    """The models of a project as its journal has them now, applied to the packaged ones; for any face."""

    def __init__(self, journal: Journal) -> None:
        """Take the project's journals; nothing is read before the first question."""
        self._journal = journal
        self._revision: str | None = None
        self._registry = ModelRegistry()
        self._made: dict[tuple[str, bool], tuple[RankingModel, str]] = {}

    def registry(self) -> ModelRegistry:
        """Return what is registered and active now, whoever changed it."""
        revision = self._journal.revision(STREAM)
        if revision != self._revision:
            self._registry = fold_registry(entry for _, entry in self._journal.read(STREAM))
            self._made.clear()
            self._revision = revision
        return self._registry

    def ranking(self, base: RankingModel, task: str) -> tuple[RankingModel, str]:
        """Return what ranks a task with a fingerprint, and why active models are left out, if they are.

        The share of tasks that a canary ranks follows from the fingerprint, so that equal requests get equal
        answers.
        """
        found = self.registry()
        return self.apply(base, canary=found.canary is not None and is_tried(found.canary, task))

    def apply(self, base: RankingModel, *, canary: bool) -> tuple[RankingModel, str]:
        """Return a packaged model as the active models, or those with the canary, change it; and why not."""
        found, key = self.registry(), (base.model_id, canary)
        if key not in self._made:
            try:
                self._made[key] = apply_models(base, live_models(found, canary)), ""
            except ModelError as error:
                self._made[key] = base, f"the project's own model is not used: {error.message}"
        return self._made[key]


def is_tried(canary: RunningCanary, task: str) -> bool:
    """Whether a canary ranks a task with a fingerprint."""
    digest = hashlib.sha256(f"{canary.model_id}\0{task}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4], "big") < canary.share * 2**32
