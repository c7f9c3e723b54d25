"""What faces that stay open put aside: kept as a step, and embedded at once where that is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from workbench.entry.services.stash import collect_daily, stash_service
from workbench.errors import ConfigError, ModelError
from workbench.records.segments import ContextSegment

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject

AT_ONCE: Final = 64
"""Segments that are embedded when they are put aside; more of them would be waited for."""


def put_aside(
    project: OpenedProject, by: str, segments: Iterable[ContextSegment], reason: str = ""
) -> tuple[ContextSegment, ...]:
    """Put segments aside as one step, for a face that stays open; return them as they are kept.

    They are embedded at once where a model is loaded. Raises: as `StashService.add_many`.
    """
    service = stash_service(project, by)
    collect_daily(project, service)
    kept = service.add_many(segments, reason=reason).segments
    if project.loaded_vectors is not None:
        embed_at_once(project, kept)
    return kept


def embed_at_once(project: OpenedProject, segments: Sequence[ContextSegment]) -> None:
    """Embed segments that were just put aside, so that the next search has their vectors.

    Where this process has not loaded a model yet, or there are more than `AT_ONCE`, that search embeds them,
    as it does where a model fails, and says so.
    """
    vectors = project.loaded_vectors
    if vectors is None or len(segments) > AT_ONCE:
        return
    import numpy as np

    from workbench.entry.services.stash_models import model_by, segment_model
    from workbench.stash.chunking import embedded_text
    from workbench.stash.columns import TYPES
    from workbench.stash.segmenttail import segment_chunks

    texts: list[str] = []
    types: list[int] = []
    for one in segments:
        chunks = segment_chunks(one, one.text, project.counter.count, project.config.stash.chunk_tokens)
        texts += [embedded_text(one.text, chunk) for chunk in chunks]
        types += [TYPES.index(one.type)] * len(chunks)
    with suppress(ModelError, ConfigError):
        segment_model(project, model_by(vectors))[0].embed_segments(texts, np.array(types, np.int8))
