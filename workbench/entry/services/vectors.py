"""Vectors on a server, for those who ask about them: what it has, what it finds, what is not needed there."""

from __future__ import annotations

from contextlib import closing
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from workbench.entry.project import (
    MEMORY,
    feature_collection,
    own_name,
    postgres_vectors,
    qdrant_server,
    rule_collection,
    segments_name,
)
from workbench.entry.services.vector_sync import Progress, away, clear_away, note_away, wanted_kinds
from workbench.errors import ConfigError, StoreError, UsageError
from workbench.memory.schema import collection_name, expected_collections
from workbench.ports import PointFilter
from workbench.records.answers.vectors import (
    StoredCollection,
    SyncedVectors,
    VectorHit,
    VectorSearchReport,
    VectorStatus,
)
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.entry.project import OpenedProject, VectorStore
    from workbench.rules.matching.relevance import Mode


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What is looked for in a collection of rules, or of the iterations of a feature.

    Without a text it is a page in the order of keys, from `cursor` on. `where` gives fields their values; of
    rules those of this project are searched unless it names another.
    """

    kind: str = "rules"
    feature: str = ""
    text: str = ""
    mode: Mode = "hybrid"
    limit: int = 10
    least: float | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cursor: str = ""


def sync_vectors(project: OpenedProject, progress: Progress | None = None) -> tuple[SyncedVectors, ...]:
    """Send the server what it lacks of each kind that it is to have. Raises: StoreError, ConfigError."""
    from workbench.entry.services.vector_kinds import sync_iterations, sync_rules

    done: list[SyncedVectors] = []
    kinds = wanted_kinds(project)
    if not kinds and project.config.vectors.store == "postgres":
        raise ConfigError(
            "vectors.store is postgres and this project has no team",
            hint="`workbench store use URL` gives it one; until then its vectors are searched here.",
        )
    if not kinds:
        raise ConfigError(
            "vectors.store is local: no server keeps vectors",
            hint="`workbench config set vectors.store qdrant`, or postgres in a team.",
        )
    clear_away(project)
    try:
        if "stash" in kinds and project.has_stash:
            done += _sync_stash(project, progress)
        if "rules" in kinds or "iterations" in kinds:
            server, vectors = qdrant_server(project.config), _vectors(project)
            if "rules" in kinds:
                done.append(sync_rules(project, server, vectors, progress))
            if "iterations" in kinds:
                done += sync_iterations(project, server, vectors, progress)
    except StoreError as error:
        note_away(project, error.message)
        raise
    return tuple(done)


def vector_status(project: OpenedProject) -> VectorStatus:
    """Return where vectors are and what the server has of this project; it is asked. Raises: ConfigError."""
    settings, kinds = project.config.vectors, wanted_kinds(project)
    place, fault = "", away(project)
    collections: tuple[StoredCollection, ...] = ()
    if kinds:
        try:
            place, collections = _stored_collections(project)
        except StoreError as error:
            fault = error.message
    segments, current = 0, False
    if project.has_stash:
        from workbench.entry.services.vector_kinds import serves_segments

        index = project.segment_index
        index.refresh()
        matrix = None if index.generation is None else index.generation.matrix
        segments = 0 if matrix is None else len(matrix)
        current = bool(kinds) and serves_segments(project, index)
    return VectorStatus(settings.store, place, kinds, collections, segments, settings.here, current, fault)


def clean_vectors(project: OpenedProject) -> tuple[str, ...]:
    """Remove collections of this project that belong to nothing any more, or to a model that no longer
    serves; return their names. Raises: StoreError, ConfigError."""
    if project.config.vectors.store == "local":
        raise UsageError("no server keeps vectors", hint="vectors.store is local.")
    if project.config.vectors.store == "postgres":
        with closing(postgres_vectors(project, _vectors(project).model, 0)) as kept:
            return kept.drop_others()
    _, found = _stored_collections(project)
    former = [one.name for one in found if one.kind == "orphan" or (one.kind != "rules" and not one.serving)]
    server = qdrant_server(project.config)
    for name in former:
        server.drop(name)
    return tuple(former)


def search_vectors(project: OpenedProject, asked: VectorQuery) -> VectorSearchReport:
    """Return what a collection of the Qdrant of the settings has for a query, or a page of all.

    Raises: UsageError, StoreError, ConfigError.
    """
    if project.config.vectors.store != "qdrant":
        raise UsageError(
            "rules and iterations are searched in Qdrant only, and vectors.store is another",
            hint="`workbench rules search` and `workbench memory search` search them here.",
        )
    server, vectors = qdrant_server(project.config), _vectors(project)
    where = dict(asked.where)
    if asked.kind == "rules":
        where.setdefault("project_id", (project.project_id,))
        collection = rule_collection(server, vectors.model, vectors.dimensions)
    else:
        name = collection_name(str(project.root), asked.feature)
        collection = feature_collection(server, name, vectors.model, vectors.dimensions)
    if collection.is_serving() is None:
        raise StoreError(f"{collection.place} is not there yet", hint="Run `workbench vectors sync`.")
    only = PointFilter(where)
    if not asked.text:
        page, cursor = collection.page(asked.limit, asked.cursor, only)
        return VectorSearchReport(collection.name, "", tuple(VectorHit(0.0, one) for one in page), cursor)
    query = None if asked.mode == "sparse" else vectors.embed([asked.text])[0]
    found = collection.find(
        asked.text, query, mode=asked.mode, only=only, limit=asked.limit, least=asked.least
    )
    hits = tuple(VectorHit(round(one.score, 4), one.fields) for one in found)
    return VectorSearchReport(collection.name, asked.mode, hits)


def _sync_stash(project: OpenedProject, progress: Progress | None) -> list[SyncedVectors]:
    from workbench.entry.services.stash_search import open_stash_index
    from workbench.entry.services.vector_kinds import sync_segments

    report = None if progress is None else partial(progress, "embedding segments")
    if project.config.vectors.store == "postgres":
        with closing(postgres_vectors(project, "", 0)) as kept:
            kept.prepare()
    open_stash_index(project, progress=report)  # writes the next generation if it is due
    vectors = sync_segments(project, project.segment_index, progress)
    return [] if vectors is None else [vectors]


def _vectors(project: OpenedProject) -> VectorStore:
    vectors, missing = project.text_vectors
    if vectors is None:
        raise StoreError(f"nothing can be embedded: {missing}", hint="`workbench model prepare`")
    return vectors


def _stored_collections(project: OpenedProject) -> tuple[str, tuple[StoredCollection, ...]]:
    """Return the server, and what it has of this project and of rules. Raises: StoreError, ConfigError."""
    from workbench.entry.services.memory import feature_streams, read_stream

    vectors, _ = project.text_vectors
    if project.config.vectors.store == "postgres":
        model = "" if vectors is None else vectors.model
        with closing(postgres_vectors(project, model, 0)) as kept:
            found = [
                StoredCollection(kind, kind, by, count, by == model)
                for kind, by, count in kept.stored_models()
            ]
            return kept.place, tuple(found)
    server, root = qdrant_server(project.config), str(project.root)
    features = [read_stream(project, stream).feature for stream in feature_streams(project)]
    kinds = dict.fromkeys(expected_collections(root, features), "iterations")
    kinds |= {segments_name(project): "stash", MEMORY: "rules"}
    serving, mine = server.serving(), f"{collection_name(root, '').partition('-')[0]}-"
    found = []
    for name in server.names():
        base = name.rpartition("-")[0]
        if base in kinds or name.startswith(mine):
            known = vectors is not None and name == own_name(base, vectors.model)
            model = vectors.model if vectors is not None and known else ""
            kind = kinds.get(base, "orphan")
            found.append(StoredCollection(name, kind, model, server.count(name), serving.get(base) == name))
    return server.place, tuple(found)
