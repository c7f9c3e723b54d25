"""The models of a project [img 6, 9, 11]: a fold of the journal `models`, in which they lie whole.

A model is named by the digest of its parameters and never changes. One of each kind is active at most; where
none is, what comes with the program ranks. Activating appends one line, so that there is no moment with two.
A canary is tried on a share of plans until it is settled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

import msgspec

from workbench.ports import Entry
from workbench.records.answers.models import ModelProvenance
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass

STREAM: Final = "models"
REGISTERED: Final = "model.registered"
ACTIVATED: Final = "model.activated"
DEACTIVATED: Final = "model.deactivated"
CANARY: Final = "model.canary"
SERVED: Final = "model.served"
SETTLED: Final = "model.settled"
TRAINED: Final = "model.trained"


@dataclass(frozen=True, slots=True)
class RegisteredParams:
    """A model of the registry: `params` is its document, as its kind reads it (`kinds`)."""

    model_id: str
    model_kind: str
    version: str
    created_at: int
    params: Any
    provenance: ModelProvenance


@dataclass(frozen=True, slots=True)
class ServedPlan:
    """The first files of a plan, as the canary and as the active model order them."""

    session: str
    at: str
    task: str
    canary: tuple[str, ...]
    active: tuple[str, ...]


@dataclass(slots=True)
class RunningCanary:
    """A model that is tried on a `share` of plans in (0, 1], and the plans since."""

    model_id: str
    share: float
    served: list[ServedPlan] = field(default_factory=list)


@dataclass(slots=True)
class ModelRegistry:
    """What the journal says of models: all by id, the active one and the ones before it by kind.

    `trained` is what came of the last training or of its canary.
    """

    models: dict[str, RegisteredParams] = field(default_factory=dict)
    active: dict[str, str] = field(default_factory=dict)
    before: dict[str, list[str]] = field(default_factory=dict)
    canary: RunningCanary | None = None
    trained: str = ""
    notes: list[str] = field(default_factory=list)

    def former(self, kind: str) -> str:
        """Return the model that was active before the active one of a kind, empty for the packaged one."""
        past = self.before.get(kind, [])
        return past[-1] if past else ""


class _Registered(msgspec.Struct):
    model_id: str
    model_kind: str
    version: str = ""
    created_at: int = 0
    params: Any = None
    provenance: ModelProvenance = ModelProvenance()


class _Named(msgspec.Struct):
    model_id: str = ""
    model_kind: str = ""
    share: float = 0.0
    rollback: bool = False
    verdict: str = ""
    reason: str = ""


class _Trained(msgspec.Struct):
    reason: str


class _Served(msgspec.Struct):
    model_id: str
    session_id: str
    task: str
    canary: tuple[str, ...]
    active: tuple[str, ...]


def params_digest(kind: str, params: object) -> str:
    """Return the digest that names parameters of a kind, the same for equal ones."""
    text = json.dumps([kind, params], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def model_name(kind: str, params: object) -> str:
    """Return the id of a model of this project: `own-linear-1a2b3c4d5e6f`."""
    return f"own-{kind.replace('_', '-')}-{params_digest(kind, params)[:12]}"


def fold_registry(entries: Iterable[Entry]) -> ModelRegistry:
    """Return what entries of the stream say, in their order; what is malformed is noted and left out."""
    found = ModelRegistry()
    for entry in entries:
        try:
            _take(found, entry)
        except (ValueError, TypeError) as error:
            found.notes.append(f"an entry {entry.kind} of {entry.at} is malformed: {error}")
    return found


def _take(found: ModelRegistry, entry: Entry) -> None:
    if entry.kind == REGISTERED:
        body = convert(entry.body, _Registered)
        found.models[body.model_id] = RegisteredParams(
            body.model_id, body.model_kind, body.version, body.created_at, body.params, body.provenance
        )
    elif entry.kind == SERVED:
        served = convert(entry.body, _Served)
        if found.canary is not None and found.canary.model_id == served.model_id:
            found.canary.served.append(
                ServedPlan(served.session_id, entry.at, served.task, served.canary, served.active)
            )
    elif entry.kind == TRAINED:
        found.trained = f"{entry.at[:10]}: {convert(entry.body, _Trained).reason}"
    elif entry.kind in (ACTIVATED, DEACTIVATED, CANARY, SETTLED):
        named = convert(entry.body, _Named)
        _switch(found, entry.kind, named)
        if named.verdict:
            found.trained = f"{entry.at[:10]}: {named.model_id} was {named.verdict}, {named.reason}"


def _switch(found: ModelRegistry, kind: str, body: _Named) -> None:
    model = found.models.get(body.model_id)
    if kind == ACTIVATED and model is not None:
        _activate(found, model.model_kind, body.model_id, body.rollback)
    elif kind == DEACTIVATED:
        _activate(found, body.model_kind, "", body.rollback)
    elif kind == CANARY and model is not None:
        found.canary = RunningCanary(body.model_id, min(max(body.share, 0.0), 1.0))
    elif kind == SETTLED and found.canary is not None and found.canary.model_id == body.model_id:
        found.canary = None


def _activate(found: ModelRegistry, kind: str, model_id: str, rollback: bool) -> None:
    now, past = found.active.get(kind, ""), found.before.setdefault(kind, [])
    if found.canary is not None and found.canary.model_id == model_id:
        found.canary = None
    if model_id == now:
        return
    if rollback:
        if past:
            past.pop()
    else:
        past.append(now)
    if model_id:
        found.active[kind] = model_id
    else:
        found.active.pop(kind, None)


def live_models(found: ModelRegistry, canary: bool = False) -> Mapping[str, RegisteredParams]:
    """Return the models in use by kind; with the canary in the place of the active one of its kind."""
    ids = dict(found.active)
    if canary and found.canary is not None:
        ids[found.models[found.canary.model_id].model_kind] = found.canary.model_id
    return {kind: found.models[one] for kind, one in sorted(ids.items())}
