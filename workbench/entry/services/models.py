"""The models of a project as every face lists, registers and switches them [img 6, 8.3, 9, 11]."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs, to_builtins

from workbench import __version__
from workbench.beneath import open_plain
from workbench.errors import ModelError, UnknownRecord, UsageError
from workbench.models.registry import (
    ACTIVATED,
    CANARY,
    DEACTIVATED,
    REGISTERED,
    SETTLED,
    STREAM,
    ModelRegistry,
    RegisteredParams,
    model_name,
)
from workbench.plan.own_models import BASES, LINEAR, OLLAMA_RERANK, SCHEMA, check_model, check_params
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model
from workbench.records.answers.models import ModelEntry, ModelProvenance, ModelStatus
from workbench.records.conversion import convert
from workbench.suggest import did_you_mean

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject

FORMAT: Final = "context-workbench-model"
MOST_BYTES: Final = 16 << 20
_LOCK: Final = "models"
TRAINING_LOCK: Final = "training"
_LIST: Final = "See `workbench model list`."


def register_model(
    project: OpenedProject, kind: str, params: Mapping[str, Any], provenance: ModelProvenance, *, by: str
) -> str:
    """Register a model and return its id, which follows from its parameters; it is not used yet.

    One that is registered already stays as it is. Raises: ModelError for parameters that cannot be used.
    """
    check_params(kind, params)
    name = model_name(kind, params)
    with project.lock(_LOCK):
        if name not in project.own_models.registry().models:
            body = {
                "model_id": name,
                "model_kind": kind,
                "version": __version__,
                "created_at": int(project.clock.now()),
                "params": dict(params),
                "provenance": to_builtins(provenance),
            }
            project.journal.append(STREAM, REGISTERED, [body], by=by)
    return name


def activate_model(project: OpenedProject, name: str, *, share: float = 1.0, by: str) -> RegisteredParams:
    """Let plans rank with a model from now on, in all processes; below a `share` of 1 it is a canary.

    Raises: UsageError for an unknown model; ModelError for one that cannot be used. Nothing changes then.
    """
    with project.lock(_LOCK):
        model = find_model(project.own_models.registry(), name)
        check_model(model)
        if share >= 1:
            project.journal.append(STREAM, ACTIVATED, [{"model_id": model.model_id}], by=by)
        else:
            if model.model_kind not in ORDERING:
                raise UsageError(
                    f"{model.model_kind} changes no order of files", hint="Activate it as it is."
                )
            body = {"model_id": model.model_id, "share": round(share, 4)}
            project.journal.append(STREAM, CANARY, [body], by=by)
    return model


def roll_back(project: OpenedProject, kind: str = LINEAR, *, by: str) -> tuple[str, str]:
    """Stop the canary of a kind, or else go back to the model before the active one; return (from, to).

    An empty `to` is what comes with the program. Raises: UsageError where nothing of the kind is in use.
    """
    with project.lock(_LOCK):
        registry = project.own_models.registry()
        canary = registry.canary
        if canary is not None and registry.models[canary.model_id].model_kind == kind:
            body = {"model_id": canary.model_id, "reason": "stopped"}
            project.journal.append(STREAM, SETTLED, [body], by=by)
            return canary.model_id, registry.active.get(kind, "")
        if kind not in registry.active:
            tried = [] if canary is None else [registry.models[canary.model_id].model_kind]
            others = sorted({*registry.active, *tried})
            raise UsageError(
                f"no {kind} model of this project is in use",
                hint=f"In use: {', '.join(others)}; `workbench model rollback --kind {others[0]}`."
                if others
                else "Plans rank with what comes with the program.",
            )
        now, former = registry.active[kind], registry.former(kind)
        if former:
            entry, named = ACTIVATED, {"model_id": former}
        else:
            entry, named = DEACTIVATED, {"model_kind": kind}
        project.journal.append(STREAM, entry, [{**named, "rollback": True}], by=by)
    return now, former


ORDERING: Final = frozenset({"linear", "trees", "adapter"})
"""Kinds that order files: these can be tried on a share of plans."""


def register_reranker(
    project: OpenedProject, name: str, *, candidates: int | None = None, weight: float | None = None, by: str
) -> str:
    """Register a language model of Ollama as a second stage and return its id; it is not used yet.

    What is not given is as the settings say. Raises: ModelError for values that cannot be used.
    """
    from workbench.models.rerank import PROMPT

    settings = project.config.rerank
    params = {
        "schema": SCHEMA,
        "model": name,
        "prompt": PROMPT,
        "candidates": settings.top if candidates is None else candidates,
        "weight": settings.weight if weight is None else weight,
    }
    provenance = ModelProvenance(code_version=__version__)
    return register_model(project, OLLAMA_RERANK, params, provenance, by=by)


def find_model(registry: ModelRegistry, name: str) -> RegisteredParams:
    """Return the model with an id, or the only one whose id holds it. Raises: UsageError."""
    if name in registry.models:
        return registry.models[name]
    found = [one for key, one in sorted(registry.models.items()) if name and name in key]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name!r} names {len(found)} models", hint="Give the whole id.")
    raise UnknownRecord(
        f"there is no model {name!r} of this project", hint=did_you_mean(name, registry.models, _LIST)
    )


def packaged_ranking(project: OpenedProject) -> str:
    """Return the ranking model of the settings, without what is the project's own."""
    return project.config.models.ranking or DEFAULT_MODEL


def list_models(project: OpenedProject) -> tuple[ModelEntry, ...]:
    """Return the project's models from the tables, the active ones first. Raises: StoreError."""
    if not project.has_models:
        return ()
    with project.journal_tables() as tables:
        entries = tables.model_entries()
    faults = {name: _fault(model) for name, model in project.own_models.registry().models.items()}
    return tuple(structs.replace(entry, fault=faults.get(entry.model_id, "")) for entry in entries)


def _fault(model: RegisteredParams) -> str:
    try:
        check_model(model)
    except ModelError as error:
        return error.message
    return ""


def _running(project: OpenedProject) -> tuple[str, ...]:
    going = any(name == TRAINING_LOCK for name, *_ in project.held_locks())
    return ("a training goes on",) if going else ()


def model_status(project: OpenedProject) -> ModelStatus:
    """Return what plans rank with, how the canary does, and all models. Raises: StoreError."""
    if not project.has_models:
        packaged = packaged_ranking(project)
        return ModelStatus(packaged, {}, None, {packaged: packaged}, "", (), _running(project))
    from workbench.entry.services.model_canary import review_canary

    canary, notes = review_canary(project)
    registry = project.own_models.registry()
    base = load_model(packaged_ranking(project))
    applied = {
        name: project.own_models.apply(load_model(name), canary=False)
        for name in dict.fromkeys((base.model_id, LEXICAL_MODEL))
    }
    faults = dict.fromkeys(fault for _, fault in applied.values() if fault)
    notes = [*registry.notes, *faults, *notes, *_running(project)]
    if registry.active and base.model_id not in BASES:
        notes.append(f"models.ranking is {base.model_id}: the project's own models are not applied to it")
    return ModelStatus(
        packaged=base.model_id,
        active=dict(sorted(registry.active.items())),
        canary=canary,
        ranking={name: model.model_id for name, (model, _) in applied.items()},
        training=registry.trained,
        models=list_models(project),
        notes=tuple(notes),
    )


def largest_weights(model: RegisteredParams) -> dict[str, dict[str, float]]:
    """Return the weights of a linear model by packaged model, the largest first; empty for other kinds."""
    if model.model_kind != LINEAR or _fault(model):
        return {}
    return {
        base: dict(sorted(weights.items(), key=lambda pair: (-abs(pair[1]), pair[0])))
        for base, weights in model.params["weights"].items()
    }


def export_model(project: OpenedProject, name: str) -> str:
    """Return a model as a document that `import_model` takes. Raises: UsageError."""
    model = find_model(project.own_models.registry(), name)
    document = {
        "format": FORMAT,
        "model_id": model.model_id,
        "model_kind": model.model_kind,
        "version": model.version,
        "params": model.params,
        "provenance": to_builtins(model.provenance),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def import_model(project: OpenedProject, path: Path, *, by: str) -> str:
    """Register a model from a file and return its id; it is not used yet.

    A `model_id` has to be that of the parameters; one that is written by hand need not have any.

    Raises: ModelError where the file is not a model, is damaged or of a later version; UsageError where it
    cannot be read.
    """
    hint = "`workbench model export ID` writes one; docs/models.md has the form."
    try:
        with open_plain(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    if len(data) > MOST_BYTES:
        raise ModelError(f"{path} is larger than {MOST_BYTES >> 20} MB", hint=hint)
    try:
        document = json.loads(data, parse_constant=_refuse)
        kind, params, said = document["model_kind"], document["params"], document.get("model_id")
        provenance = convert(document.get("provenance", {}), ModelProvenance)
        if document["format"] != FORMAT or not isinstance(kind, str):
            raise ValueError("it is of another format")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{path} is not a model: {error}", hint=hint) from error
    check_params(kind, params)
    if said not in (None, model_name(kind, params)):
        raise ModelError(f"{path} is damaged: its parameters are not those of {said}", hint=hint)
    return register_model(project, kind, params, provenance, by=by)


def _refuse(constant: str) -> float:
    raise ValueError(f"it holds {constant}")
