"""Searching the stash of a project, as every face does it: the index, the model, the settings' weights.

What was stashed since the index was written is embedded first. A search may also write the next index, which
is where a first search takes long; a plan never does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from workbench.entry.services.stash_models import former_model, model_by, models_by_type, segment_model
from workbench.errors import ConfigError, ModelError, StoreError, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment, FoundSegment, SegmentFilters, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.scoring import OrderWeights
from workbench.stash.segmentindex import SegmentIndex
from workbench.stash.segmentmodels import EmbeddingModel, Progress

if TYPE_CHECKING:
    from workbench.config import StashConfig
    from workbench.entry.project import OpenedProject, VectorStore

AT_ONCE: Final = 64
"""Segments that a search embeds before it answers, where it is not to write the next index."""

LEXICAL: Final = "stash"
"""What is degraded where the stash is searched by words alone."""


@dataclass(slots=True)
class StashSearcher:
    """Finds segments. `notes` say what was found amiss, `lexical` that words alone decide.

    `fault` is why the server that is to compare vectors did not, "" where there is none or it did.
    """

    project: OpenedProject
    index: SegmentIndex
    notes: list[str] = field(default_factory=list)
    model: EmbeddingModel | None = None
    fault: str = ""

    @property
    def lexical(self) -> bool:
        """Whether there are no vectors to search."""
        return self.model is None or not self.index.model

    def query(
        self,
        text: str = "",
        *,
        task: str = "",
        messages: Sequence[str] = (),
        files: Sequence[str] = (),
        top_k: int | None = None,
        min_similarity: float | None = None,
        filters: SegmentFilters | None = None,
    ) -> StashQuery:
        """Return a query with what the settings say where nothing is given."""
        return StashQuery(
            text=text,
            task=task,
            messages=tuple(messages),
            files=tuple(files),
            top_k=self.project.config.stash.top_k if top_k is None else top_k,
            min_similarity=self.project.config.stash.min_similarity
            if min_similarity is None
            else min_similarity,
            filters=filters or SegmentFilters(),
        )

    def find(self, query: StashQuery) -> tuple[FoundSegment, ...]:
        """Return the segments that a query finds, best first. Raises: StoreError, ModelError."""
        segments = retrieve(
            self.index,
            query,
            embed=None if self.model is None else self.model.embed_query,
            now=self.project.clock.now(),
            weights=order_weights(self.project.config.stash),
            per_session=self.project.config.stash.per_session,
        )
        if self.index.server is not None and self.index.server.fault:
            from workbench.entry.services.vector_sync import note_away

            self._without(self.index.server.fault)
            note_away(self.project, self.index.server.fault)
        return segments

    def serve(self) -> None:
        """Let the server of the settings search the vectors, where they are many and it has all of them."""
        from workbench.entry.services import vector_kinds  # only where the settings name a server
        from workbench.entry.services.vector_sync import away

        index, settings = self.index, self.project.config.vectors
        part, index.server = index.generation, None
        matrix = None if part is None else part.matrix
        if self.model is None or part is None or matrix is None or len(matrix) <= settings.here:
            return
        if reason := away(self.project):
            self._without(reason)
        elif not vector_kinds.serves_segments(self.project, index):
            self._without("it does not have all of them yet: `workbench vectors sync`")
        else:
            index.server = vector_kinds.segment_server(self.project, index.model, matrix.shape[1], part)

    def _without(self, reason: str) -> None:
        self.fault = reason
        note = f"the vectors of the stash are compared here, not by the server: {reason}"
        if note not in self.notes:
            self.notes.append(note)

    def ids(self) -> Collection[str]:
        """Return the ids of all segments that are there."""
        return [self.index.record(row).id for row in self.index.columns.alive.nonzero()[0].tolist()]

    def segments(self, identifiers: Collection[str]) -> tuple[ContextSegment, ...]:
        """Return segments by their whole ids with their texts; those that are gone are left out."""
        rows = [self.index.row(identifier) for identifier in identifiers]
        return tuple(self.index.segment(row) for row in rows if row >= 0)


def open_stash_search(
    project: OpenedProject, *, progress: Progress | None = None, write: bool = True
) -> StashSearcher:
    """Open the index of the stash, brought up to its journal; with `write` the next one is written if due,
    and a server that keeps its vectors gets them.

    Raises: StoreError.
    """
    searcher = open_stash_index(project, progress=progress, write=write)
    if project.config.vectors.store != "local":
        from workbench.entry.services.vector_sync import wanted_kinds

        try:
            if "stash" in wanted_kinds(project):
                if write:
                    _send(searcher, progress)
                searcher.serve()
        except ConfigError as error:
            searcher.notes.append(f"no server searches the stash: {error.message}")
    return searcher


def open_stash_index(
    project: OpenedProject, *, progress: Progress | None = None, write: bool = True
) -> StashSearcher:
    """Do what `open_stash_search` does on this machine; nothing is sent. Raises: StoreError."""
    index = project.segment_index
    index.refresh(write=write)
    vectors, missing = project.text_vectors if len(index) else (None, "")
    searcher = StashSearcher(project, index)
    if vectors is not None:
        searcher.model, notes = segment_model(project, model_by(vectors))
        searcher.notes += notes
    elif len(index):
        searcher.notes.append(": ".join(filter(None, ("the stash is searched by words alone", missing))))
    try:
        _bring_up(searcher, progress, write)
    except (ModelError, StoreError) as error:
        searcher.notes.append(f"the index of the stash is not up to date: {error.message}")
    searcher.notes += [note for note in index.notes if note not in searcher.notes]
    return searcher


def search_stash(
    project: OpenedProject,
    text: str = "",
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **asked: Any,
) -> tuple[tuple[FoundSegment, ...], tuple[str, ...]]:
    """Return what a query finds, of `asked` as `StashSearcher.query` takes it, and notes.

    Raises: UsageError for an empty query; StoreError, ModelError.
    """
    if not any((text, asked.get("task"), asked.get("messages"), asked.get("files"))):
        raise UsageError("there is nothing to look for", hint="Give a text, a task, messages or files.")
    embedding = None if progress is None else partial(progress, "embedding segments")
    searcher = open_stash_search(project, progress=embedding)
    return searcher.find(searcher.query(text, **asked)), tuple(searcher.notes)


def renew_stash_index(
    project: OpenedProject, vectors: VectorStore, progress: Progress | None = None
) -> tuple[int, tuple[str, ...]]:
    """Write the index of the stash with vectors by a model, and by those of types, which are made ready.

    Return how many segments it has, and notes. Raises: ModelError, StoreError, ConfigError.
    """
    index = project.segment_index
    index.refresh(write=True)
    if not len(index):
        return 0, ()
    model, notes = segment_model(project, model_by(vectors), prepare=True)
    if index.is_behind(model.model) or index.stored < len(index):
        _publish(project, model, progress)
    return len(index), notes


def order_weights(settings: StashConfig) -> OrderWeights:
    """Return the weights of the formula that orders what was found."""
    return OrderWeights(
        similarity=settings.similarity_weight,
        temporal=settings.temporal_weight,
        recency=settings.recency_weight,
        temporal_days=settings.temporal_days,
        recency_days=settings.recency_days,
        feedback=settings.feedback_weight,
    )


def _bring_up(searcher: StashSearcher, progress: Progress | None, write: bool) -> None:
    """Embed what was stashed since, and write the next index where it is due."""
    project, index, model = searcher.project, searcher.index, searcher.model
    if model is not None and index.model not in ("", model.model):
        former = former_model(project, index)
        if former is not None or not write:
            searcher.notes.append(
                f"the vectors of the stash are by {index.model} until `workbench model prepare` is done"
            )
            searcher.model = model = former
    if write and index.is_behind("" if model is None else model.model):
        _publish(project, model, progress)
    elif model is not None and (write or len(index) - index.stored <= AT_ONCE):
        index.embed_tail(model, progress)


def _send(searcher: StashSearcher, progress: Progress | None) -> None:
    """Send the server the vectors that it lacks, unless it failed a moment ago. Raises: ConfigError."""
    from workbench.entry.services.vector_kinds import serves_segments, sync_segments
    from workbench.entry.services.vector_sync import away, note_away

    project, index = searcher.project, searcher.index
    if searcher.model is None or away(project) or serves_segments(project, index):
        return
    try:
        sync_segments(project, index, None if progress is None else lambda _, at, of: progress(at, of))
    except StoreError as error:
        note_away(project, error.message)


def _fetch(project: OpenedProject) -> None:
    """Take vectors that the server has and this machine lacks, which takes less than embedding."""
    from workbench.entry.services.vector_kinds import fetch_segments
    from workbench.entry.services.vector_sync import away, note_away, wanted_kinds

    vectors, _ = project.text_vectors
    try:
        if vectors is not None and "stash" in wanted_kinds(project) and not away(project):
            fetch_segments(project, vectors, project.segment_index)
    except ConfigError:
        return  # as is said once, by whoever searches
    except StoreError as error:
        note_away(project, error.message)


def _publish(project: OpenedProject, model: EmbeddingModel | None, progress: Progress | None) -> None:
    """Write the next index, and note by which models."""
    if project.config.vectors.store != "local" and model is not None and not model.parts:
        _fetch(project)
    project.segment_index.publish(model, progress)
    if model is not None:
        from workbench.entry.services.stash import stash_service  # plans publish nothing

        stash_service(project, "index").note_embedded(models_by_type(model))
