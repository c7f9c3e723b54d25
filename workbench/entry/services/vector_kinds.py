"""What a server of vectors gets of each kind: segments, to search them there, rules and iterations.

The latter are on Qdrant as other programs find them there [rules] [ralph].
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec
import numpy as np

from workbench.entry.project import feature_collection, rule_collection, segment_collection, server_identity
from workbench.entry.services.vector_sync import (
    BATCH,
    KEY_BYTES,
    Points,
    Progress,
    join_keys,
    sent_state,
    sync_points,
)
from workbench.records.conversion import encode_lossless
from workbench.text.redact import redact_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.entry.project import OpenedProject, QdrantCollection, QdrantServer, VectorStore
    from workbench.ports import Float32, Int64, PointKeys, VectorCollection
    from workbench.records.answers.vectors import SyncedVectors
    from workbench.records.rules import Rule
    from workbench.stash.segmentindex import SegmentIndex
    from workbench.stash.segmentparts import SegmentPart
    from workbench.stash.segmentserver import SegmentServer

EMBEDDED: Final = "embedding_text"
"""The field of a rule's point with the text that was embedded, from which another model embeds it again."""


def sync_rules(
    project: OpenedProject, server: QdrantServer, vectors: VectorStore, progress: Progress | None
) -> SyncedVectors:
    """Send the project's own rules, with the payload of [rules]; those of the user's home stay here."""
    from workbench.records.rules import match_text
    from workbench.rules.matching.texts import MAX_TEXT

    book, _ = project.workspace.sync_rules()
    rules = [rule for rule in book.rules if rule.project_id is not None and not _is_of_home(rule)]
    payloads = [
        redact_values({**rule_payload(rule), EMBEDDED: match_text(rule)[:MAX_TEXT] or "."}) for rule in rules
    ]
    collection = rule_collection(server, vectors.model, vectors.dimensions)
    _take_over(project, collection, vectors)
    write = partial(_write_rules, collection, vectors, payloads)
    points = Points("rules", "rules", _rule_keys(payloads), _payload_digests(payloads), write)
    return sync_points(project, collection, points, progress)


def rule_payload(rule: Rule) -> dict[str, Any]:
    """Return what a point says of a rule [rules]: what it is about and what it is filtered by."""
    found: dict[str, Any] = msgspec.to_builtins(rule)
    for name in ("provenance", "check", "cooldown", "version"):
        found.pop(name)
    return found


def _write_rules(
    collection: QdrantCollection, vectors: VectorStore, payloads: Sequence[Mapping[str, Any]], rows: Int64
) -> None:
    chosen = [payloads[row] for row in rows.tolist()]
    words = ["\n".join((one["name"], one[EMBEDDED], *one["examples"])) for one in chosen]
    embedded = vectors.embed([one[EMBEDDED] for one in chosen])
    collection.put(_rule_keys(chosen), embedded, chosen, words)


def _take_over(project: OpenedProject, collection: QdrantCollection, vectors: VectorStore) -> None:
    """Copy other projects' rules from the collection of another model, which serves, before this one does."""
    if collection.is_serving() is not False:
        return
    cursor, more = "", True
    while more:
        page, cursor = collection.page(BATCH, cursor)
        others = [one for one in page if one.get("project_id") != project.project_id and one.get(EMBEDDED)]
        if others:
            _write_rules(collection, vectors, others, np.arange(len(others)))
        more = bool(cursor)


def sync_iterations(
    project: OpenedProject, server: QdrantServer, vectors: VectorStore, progress: Progress | None
) -> Iterator[SyncedVectors]:
    """Send what is remembered of each feature to its collection [ralph]."""
    from workbench.entry.services.memory import feature_streams
    from workbench.entry.services.memory_index import Embedding, open_collection

    for stream in feature_streams(project):
        found = open_collection(project, stream, Embedding(vectors.model, vectors.embed))
        if found is None or found.index.meanings is None:
            continue
        payloads = [redact_values(msgspec.to_builtins(point)) for point in found.points]
        keys = join_keys([UUID(point.point_id).bytes for point in found.points])
        collection = feature_collection(server, found.name, vectors.model, vectors.dimensions)
        matrix = found.index.meanings.vectors
        write = partial(_write_iterations, collection, keys, matrix, payloads)
        name = found.name.replace("-", "_")
        points = Points("iterations", name, keys, _payload_digests(payloads), write)
        yield sync_points(project, collection, points, progress)


def _write_iterations(
    collection: QdrantCollection,
    keys: PointKeys,
    matrix: Float32,
    payloads: Sequence[Mapping[str, Any]],
    rows: Int64,
) -> None:
    chosen = [payloads[row] for row in rows.tolist()]
    words = ["\n".join((one["task_title"], one["summary"], *one["errors"], *one["files"])) for one in chosen]
    collection.put(keys[rows], matrix[rows], chosen, words)


def _is_of_home(rule: Rule) -> bool:
    return rule.provenance is not None and rule.provenance.home


def _rule_keys(payloads: Sequence[Mapping[str, Any]]) -> PointKeys:
    identities = (f"{payload['project_id']}\0rule\0{payload['id']}" for payload in payloads)
    return join_keys(
        [hashlib.sha256(one.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES] for one in identities]
    )


def _payload_digests(payloads: Sequence[Mapping[str, Any]]) -> NDArray[np.uint64]:
    digests = b"".join(hashlib.sha256(encode_lossless(payload)).digest()[:8] for payload in payloads)
    return np.frombuffer(digests, np.uint64)


def sync_segments(
    project: OpenedProject, index: SegmentIndex, progress: Progress | None = None
) -> SyncedVectors | None:
    """Send the vectors of the generation of the stash; None without any. Raises: StoreError, ConfigError."""
    from workbench.stash.segmentserver import field_rows, point_fields, point_keys, row_digests

    part, of = index.generation, _generation(project)
    matrix = None if part is None else part.matrix
    if part is None or matrix is None or not of:
        return None
    collection = segment_collection(project, index.model, matrix.shape[1])
    keys, fields = point_keys(part), field_rows(part, index.columns)

    def write(rows: Int64) -> None:
        assert matrix is not None
        collection.put(keys[rows], matrix[rows], point_fields(fields[rows]))

    points = Points("stash", "stash", keys, row_digests(fields), write, of)
    return sync_points(project, collection, points, progress)


def serves_segments(project: OpenedProject, index: SegmentIndex) -> bool:
    """Whether the server has all vectors of the generation of the stash."""
    state = sent_state(project, "stash")
    if state is None or state.server != server_identity(project):
        return False
    return state.model == index.model and state.of == _generation(project) != ""


def segment_server(project: OpenedProject, model: str, dimensions: int, part: SegmentPart) -> SegmentServer:
    """Return what searches the generation of the stash on the server, which is not connected to yet."""
    from workbench.stash.segmentserver import SegmentServer

    opened = partial(segment_collection, project, model, dimensions)
    return SegmentServer(opened, np.diff(part.chunks.starts), project.config.vectors.here)


def fetch_segments(project: OpenedProject, vectors: VectorStore, index: SegmentIndex) -> int:
    """Take the vectors of segments that are not embedded here from the server; return how many.

    Raises: StoreError, ConfigError.
    """
    from workbench.stash.segmentserver import point_keys

    fetched = 0
    for part in index.parts():
        if part.vectors is not None:
            continue
        keys = point_keys(part)
        collection = segment_collection(project, vectors.model, vectors.dimensions)

        def fetch(
            rows: Int64, collection: VectorCollection = collection, keys: PointKeys = keys
        ) -> tuple[Float32, NDArray[np.bool_]]:
            return collection.vectors(keys[rows])

        fetched += vectors.adopt(part.chunk_texts(), fetch)
    return fetched


def _generation(project: OpenedProject) -> str:
    found = project.latest("stash")
    return found.name if isinstance(found, Path) else ""
