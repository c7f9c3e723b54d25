"""The segments of a project's stash on the server of the settings: sent, fetched, searched."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.entry.project import segment_collection, server_identity
from workbench.entry.services.vector_sync import Points, Progress, sent_state, sync_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.entry.project import OpenedProject, VectorStore
    from workbench.ports import Float32, Int64, PointKeys, VectorCollection
    from workbench.records.answers.vectors import SyncedVectors
    from workbench.stash.segmentindex import SegmentIndex
    from workbench.stash.segmentparts import SegmentPart
    from workbench.stash.segmentserver import SegmentServer


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
