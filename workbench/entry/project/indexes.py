"""The indexes of a project that are searched by meaning, and the stores of what is found in them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.entry.project.models import embedding_settings, ready_embedder
from workbench.entry.project.tables import ProjectTables

if TYPE_CHECKING:
    from store.vector_store import VectorStore
    from workbench.ports import Embedder
    from workbench.stash.segmentindex import SegmentIndex
    from workbench.stash.stashstore import StashStore


class ProjectIndexes(ProjectTables):
    """A project whose vectors can be compared."""

    @cached_property
    def text_vectors(self) -> tuple[VectorStore | None, str]:
        """What embeds texts and knows the vectors of those here, None without a model; and what is missing.

        Where vectors are stored of another model than the configured one, that one serves until those of the
        configured one are prepared.
        """
        from store import embedding
        from store.vector_store import stored_model

        settings = embedding_settings(self.config)
        embedder, missing = ready_embedder(self.config)
        former = None if settings.model.lower() in embedding.OFF else stored_model(self.latest)
        note = ""
        if former is not None and (embedder is None or embedder.model != former.model):
            other, _ = embedding.ready_embedder(replace(settings, model=former.setting, download=False))
            if other is not None and other.model == former.model:
                wanted = settings.model or "the packaged model"
                missing = note = (
                    f"{former.model} compares texts until `workbench model prepare` is done by {wanted}"
                )
                embedder, settings = other, replace(settings, model=former.setting)
        return (None if embedder is None else self.vectors_by(embedder, settings.model, note)), missing

    def vectors_by(self, embedder: Embedder, setting: str, note: str = "") -> VectorStore:
        """Return what knows the vectors of texts here by a model, which was opened by a setting."""
        from store.embedding_cache import cached
        from store.vector_store import VectorStore

        return VectorStore(
            cached(embedder, self.home / "embeddings"), self.latest, self.publish, setting=setting, note=note
        )

    @property
    def loaded_vectors(self) -> VectorStore | None:
        """What embeds texts where this process has asked for it before, None where it has not."""
        found: tuple[VectorStore | None, str] = vars(self).get("text_vectors", (None, ""))
        return found[0]

    def vectors_by_setting(self, setting: str, *, prepare: bool = False) -> tuple[VectorStore | None, str]:
        """Return what embeds by just the model of a setting, and what is missing if it is not ready."""
        from store import embedding

        settings = replace(embedding_settings(self.config), model=setting)
        embedder, missing = embedding.configured_embedder(settings, prepare=prepare)
        return (None if embedder is None else self.vectors_by(embedder, setting)), missing

    def vectors_of(self, model: str, setting: str) -> VectorStore | None:
        """Return what embeds by a model that was opened by a setting before, None where it is gone."""
        from store import embedding

        former = replace(embedding_settings(self.config), model=setting, download=False)
        embedder, _ = embedding.ready_embedder(former)
        return (
            self.vectors_by(embedder, setting) if embedder is not None and embedder.model == model else None
        )

    @cached_property
    def stash_store(self) -> StashStore:
        """Where the segments of the project come from and go to; what was folded once stays folded."""
        from workbench.stash.stashstore import StashStore

        return self.curated(
            StashStore,
            texts=self.segment_texts,
            referring=self.referring_segments,
            of_session=self.session_segments,
        )

    @cached_property
    def segment_index(self) -> SegmentIndex:
        """The index of the stash, not opened yet; `refresh` does."""
        from store.vectors import build_index, load_index
        from workbench.stash.segmentindex import IndexPlaces, SegmentIndex

        return SegmentIndex(
            IndexPlaces(
                journal=self.journal,
                texts=self.segment_texts,
                latest=self.latest,
                publish=self.publish,
                build=build_index,
                load=load_index,
                count_tokens=lambda text: self.counter.count(text),
                chunk_tokens=self.config.stash.chunk_tokens,
            )
        )
