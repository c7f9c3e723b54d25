"""Which models embed the segments of a project: the default one, and those that settings give to types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from workbench.errors import ConfigError
from workbench.records.segments import SegmentType
from workbench.stash.segmentmodels import EmbeddingModel, combine_models

if TYPE_CHECKING:
    from workbench.config import StashConfig
    from workbench.entry.project import OpenedProject, VectorStore
    from workbench.stash.segmentindex import SegmentIndex

_KINDS: Final = {one.value: one for one in SegmentType}


def models_of_types(settings: StashConfig) -> dict[SegmentType, str]:
    """Return the model that the settings give to each type, where they do. Raises: ConfigError."""
    found = {}
    for one in settings.models:
        kind, _, model = one.partition("=")
        if kind.strip() not in _KINDS or not model.strip():
            raise ConfigError(
                f"stash.models: {one!r} is not `type=MODEL`",
                hint=f"For example code_block=~/models/code. Types are {', '.join(_KINDS)}.",
            )
        found[_KINDS[kind.strip()]] = model.strip()
    return found


def segment_model(
    project: OpenedProject, default: EmbeddingModel, *, prepare: bool = False
) -> tuple[EmbeddingModel, tuple[str, ...]]:
    """Return what embeds the segments of a project by the settings, and notes on models that are not ready.

    `default` embeds all else, and the types whose own model is not ready; with `prepare` these are built or
    fetched where that is allowed. Raises: ConfigError.
    """
    others, notes = {}, []
    for kind, setting in models_of_types(project.config.stash).items():
        found, missing = project.vectors_by_setting(setting, prepare=prepare)
        if found is None:
            notes.append(f"{kind} is embedded by {default.model}, as {setting} is not ready: {missing}")
        else:
            others[kind] = model_by(found)
    return combine_models(default, others), tuple(notes)


def former_model(project: OpenedProject, index: SegmentIndex) -> EmbeddingModel | None:
    """Return what the vectors of an index are by, None where one of its models is gone."""
    openings = [(index.model, index.setting)]
    if index.blocks is not None:
        openings = list(zip(index.blocks.models, index.blocks.settings, strict=True))
    parts = []
    for model, setting in openings:
        found = project.vectors_of(model, setting)
        if found is None:
            return None
        parts.append(model_by(found))
    types = {} if index.blocks is None else index.blocks.types
    return combine_models(parts[0], {SegmentType(kind): parts[number] for kind, number in types.items()})


def models_by_type(model: EmbeddingModel) -> dict[str, str]:
    """Return the models by the types they embed, and the default one by ""."""
    return {kind: model.part(kind).model for kind in ("", *model.types)}


def model_by(vectors: VectorStore) -> EmbeddingModel:
    """Return what embeds texts here as what embeds segments."""
    return EmbeddingModel(vectors.model, vectors.setting, vectors.embed)
