"""The disposable search index of a project's iterations: built from the journals when it is searched.

Each feature has a generation of its own, with the journal's revision and the model in it: one that is behind,
of another model, damaged or gone is built again, and vectors come from the cache of everything ever embedded.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from workbench.config import MemoryConfig
from workbench.curation.folding import read_ledger
from workbench.entry.project import OpenedProject, build_search_index, load_search_index
from workbench.entry.services.memory import feature_streams, read_stream
from workbench.errors import StoreError
from workbench.memory.journal import feature_stream
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.schema import (
    MemoryPayload,
    RagStatus,
    collection_name,
    embedding_text,
    expected_collections,
    payload_of,
    snapshot_of,
    snapshot_text,
)
from workbench.places import user_cache
from workbench.ports import Damaged
from workbench.records.conversion import decode_json
from workbench.text.fusion import fuse, fuse_lexical

if TYPE_CHECKING:
    from workbench.entry.project import SearchIndex
    from workbench.ports import Float32

KIND: Final = "memory"
_FORMAT: Final = 2
_POINTS = "points.json"
_DECIMALS = 4

Embed = Callable[[Sequence[str]], "Float32"]


class _Points(msgspec.Struct):
    format: int
    revision: str
    model: str
    points: list[MemoryPayload]


@dataclass(frozen=True, slots=True)
class Embedding:
    """A model that embeds texts to unit vectors float32 [n, dimensions]."""

    model: str
    embed: Embed


@dataclass(frozen=True, slots=True)
class Collection:
    """A feature's index: its points and what they are searched by; `built` if it was not on disk."""

    name: str
    points: tuple[MemoryPayload, ...]
    index: SearchIndex
    built: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A point that a search found, its score in [0, 1] and the parts of it; `cosine` None without a model."""

    payload: MemoryPayload
    score: float
    words: float
    cosine: float | None


def search(
    project: OpenedProject,
    settings: MemoryConfig,
    query: str,
    embedding: Embedding | None,
    features: Sequence[str] = (),
    limit: int | None = None,
) -> list[Hit]:
    """Return the iterations and what learnings say that a query is about, best first. Raises: StoreError.

    Of all features or of some; a feature's learnings together are one point.
    """
    streams = [feature_stream(name) for name in features] or feature_streams(project)
    asked = None if embedding is None else embedding.embed([query])[0]
    hits: list[Hit] = []
    for stream in streams:
        collection = open_collection(project, stream, embedding)
        if collection is not None:
            hits += _search(collection, query, asked)
    found = [hit for hit in hits if hit.score >= settings.search_threshold]
    found.sort(key=lambda hit: (-hit.score, -hit.payload.iteration_number, hit.payload.point_id))
    return found[: limit or settings.search_limit]


def _search(collection: Collection, query: str, asked: Float32 | None) -> list[Hit]:
    index = collection.index
    words = index.words.scores(query)
    bound = index.words.upper_bound(query)
    cosines = np.full(len(collection.points), np.nan, np.float32)
    if asked is None or index.meanings is None:
        scores = fuse_lexical(words, bound)
    else:
        cosines = index.meanings.cosines(asked)
        scores = fuse(cosines, words, bound, names=index.words.names(query))
    return [
        Hit(
            payload,
            round(float(scores[row]), _DECIMALS),
            round(float(words[row]), _DECIMALS),
            None if np.isnan(cosines[row]) else round(float(cosines[row]), _DECIMALS),
        )
        for row, payload in enumerate(collection.points)
        if scores[row] > 0
    ]


def open_collection(project: OpenedProject, stream: str, embedding: Embedding | None) -> Collection | None:
    """Return a feature's index as its journal has it now, built again if need be; None without iterations."""
    revision = project.journal.revision(stream)
    journal = read_stream(project, stream)
    if not journal.entries:
        return None
    model = "" if embedding is None else embedding.model
    name = collection_name(str(project.root), journal.feature)
    found = project.usable(_kind(name))
    if found is not None:
        loaded = _load(found, name, revision, model)
        if loaded is not None:
            return loaded
    records = [entry.record for entry in journal.entries]
    points = [payload_of(record, str(project.root), model) for record in records]
    texts = [embedding_text(record) for record in records]
    ledger = read_ledger(LearningLedger, ((project.journal, False),))
    learnings = [one for one in ledger.live() if feature_stream(one.feature) == stream]
    if learnings:
        points.append(snapshot_of(records[-1], learnings, str(project.root), model))
        texts.append(snapshot_text(learnings))
    vectors = None if embedding is None else embedding.embed(texts)
    index = build_search_index(texts, vectors, model, user_cache())

    def write(directory: Path) -> None:
        stored = _Points(_FORMAT, revision, model, points)
        (directory / _POINTS).write_bytes(msgspec.json.encode(stored))
        index.save(directory)

    project.publish(_kind(name), write)
    return Collection(name, tuple(points), index, built=True)


def _load(path: Path, name: str, revision: str, model: str) -> Collection | None:
    """Return a stored index, None if it is behind, of another model or cannot be read."""
    try:
        stored = decode_json((path / _POINTS).read_bytes(), _Points)
        if (stored.format, stored.revision, stored.model) != (_FORMAT, revision, model):
            return None
        index = load_search_index(path, embedded=bool(model))
    except (OSError, msgspec.MsgspecError, StoreError):
        return None  # disposable: whatever is wrong with it, it is built again
    return Collection(name, tuple(stored.points), index)


def status(project: OpenedProject, embedding_model: str, note: str = "") -> RagStatus:
    """Return what the index holds and what of it is behind; nothing is made. Raises: StoreError."""
    iterations = points = behind = count = 0
    faults: list[str] = []
    features: list[str] = []
    for stream in feature_streams(project):
        journal = read_stream(project, stream)
        if not journal.entries:
            continue
        features.append(journal.feature)
        iterations += len(journal.entries)
        name = collection_name(str(project.root), journal.feature)
        found = project.latest(_kind(name))
        if isinstance(found, Damaged):
            faults.append(f"{name}: {found.reason}")
        loaded = None
        if isinstance(found, Path):
            count += 1
            loaded = _load(found, name, project.journal.revision(stream), embedding_model)
        points += 0 if loaded is None else len(loaded.points)
        behind += loaded is None
    return RagStatus(
        features=len(features),
        iterations=iterations,
        collections=count,
        points=points,
        behind=behind,
        orphans=tuple(orphans(project, features)),
        faults=tuple(faults),
        embedding_model=embedding_model,
        embedding_note=note,
    )


def orphans(project: OpenedProject, features: Iterable[str]) -> list[str]:
    """Return the collections here that belong to no feature any more, sorted."""
    expected = expected_collections(str(project.root), features)
    return sorted(name for name in _present(project.state) if name not in expected)


def drop_orphans(project: OpenedProject) -> list[str]:
    """Remove the collections that belong to no feature any more, and return their names."""
    features = [
        journal.feature
        for stream in feature_streams(project)
        if (journal := read_stream(project, stream)).entries
    ]
    gone = orphans(project, features)
    for name in gone:
        kind = _kind(name)
        (project.state / "index" / f"{kind}.current").unlink(missing_ok=True)
        for path in sorted((project.state / "index").glob(f"{kind}-*")):
            shutil.rmtree(path, ignore_errors=True)
    return gone


def _kind(name: str) -> str:
    return f"{KIND}_{name.replace('-', '_')}"


def _present(state: Path) -> set[str]:
    paths = (state / "index").glob(f"{KIND}_*_*-*")
    return {path.name.rpartition("-")[0].removeprefix(f"{KIND}_").replace("_", "-") for path in paths}
