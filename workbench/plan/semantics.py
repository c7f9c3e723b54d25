"""Past tasks by meaning: the cosine of a task to the heads of finished ones.

Whether embeddings pay is measured (`make bench`): over past tasks they do, over file outlines too little to
be worth embedding a repository. Only vectors already in the cache are used: a plan never waits for the past
to be embedded. They count once nearly all are there, so that plans do not wander while they arrive.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import WorkbenchError
from workbench.records.dataclass import dataclass
from workbench.records.plan import TaskText

if TYPE_CHECKING:
    from workbench.ports import Float32, TextVectors, VectorIndex

TASKS = "tasks"
"""The kind of past tasks' vectors."""

ENOUGH = 0.95
MAX_HEAD = 300
MAX_TASK = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class QueryAdapter:
    """A linear map of query vectors that was fitted to a project's past [img 9]: v + (v @ down) @ up.

    embedding: identity of the model whose vectors it maps; down float32 [d, r], up float32 [r, d].
    """

    embedding: str
    down: Float32
    up: Float32

    def adapt(self, vector: Float32, embedding: str) -> Float32:
        """Return a unit vector float32 [d], the given one where another model made it."""
        if embedding != self.embedding or len(vector) != len(self.down):
            return vector
        moved = vector + (vector @ self.down) @ self.up
        length = float(np.linalg.norm(moved))
        return vector if not length or not np.isfinite(length) else np.asarray(moved / length, np.float32)


@dataclass(frozen=True, slots=True)
class KnownPast:
    """The index of past tasks' vectors; or None and why, empty where nothing is missing."""

    index: VectorIndex | None
    missing: str = ""

    def cosines(self, vector: TaskVector, adapter: QueryAdapter | None = None) -> Float32 | None:
        """Return the task's cosines to the past ones, float32 [tasks], 0 where unknown or far; or None."""
        query = vector.get() if self.index is not None else None
        if query is None or self.index is None:
            return None
        if adapter is not None:
            query = adapter.adapt(query, vector.model)
        return np.nan_to_num(self.index.cosines(query))


def head_texts(heads: Sequence[str]) -> list[str]:
    """Return the texts under which past tasks are in the embedding cache."""
    return [head[:MAX_HEAD] or "." for head in heads]


class TaskVector:
    """The embedding of a task, computed in a thread beside everything that does not need it.

    Loading a model takes longer than everything else in a cold plan and needs little of the interpreter. The
    thread is not a daemon: the interpreter must not end while the model's own threads are at work.
    """

    def __init__(self, embedder: TextVectors | None, task: TaskText) -> None:
        self.failure = ""
        self.model = "" if embedder is None else embedder.model
        self._vector: Float32 | None = None
        self._thread: threading.Thread | None = None
        if embedder is not None:
            self._thread = threading.Thread(target=self._embed, args=(embedder, task_text(task)))
            self._thread.start()

    def _embed(self, embedder: TextVectors, text: str) -> None:
        try:
            self._vector = embedder.embed([text])[0]
        except WorkbenchError as error:
            self.failure = error.message

    def get(self) -> Float32 | None:
        """Return the unit vector float32 [d], or None; `failure` is what went wrong, if anything did."""
        if self._thread is not None:
            self._thread.join()
        return self._vector


def task_text(task: TaskText) -> str:
    """Return what of a task is embedded."""
    return f"{task.head}\n{task.body}".strip()[:MAX_TASK] or "."


def known_past(embedder: TextVectors | None, heads: Sequence[str]) -> KnownPast:
    """Look up the vectors of past tasks, newest first as the history has them; nothing is embedded."""
    if embedder is None or not heads:
        return KnownPast(None)
    index, known = embedder.known_vectors(TASKS, head_texts(heads))
    if int(known.sum()) < ENOUGH * len(heads):
        return KnownPast(None, "run `workbench index` to embed them")
    return KnownPast(index)
