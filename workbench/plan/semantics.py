"""Past tasks by meaning: the cosine of a task to the heads of finished ones.

Whether embeddings pay is measured (`make bench`): over past tasks they do, over file outlines too little to
be worth embedding a repository. Only vectors already in the cache are used: a plan never waits for the past
to be embedded. They count once nearly all are there, so that plans do not wander while they arrive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.records.plan import TaskText

Float32 = NDArray[np.float32]

ENOUGH = 0.95
MAX_HEAD = 300
MAX_TASK = 1_000


class CachingEmbedder(Protocol):
    """An embedder with a cache that can be asked without embedding anything."""

    @property
    def model(self) -> str:
        """Identity of the model."""
        ...

    def embed(self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> Float32:
        """Return float32 [n, d] unit vectors. Raises ModelError."""
        ...

    def known(self, texts: Sequence[str]) -> tuple[Float32, NDArray[np.bool_]]:
        """Return (float32 [n, d], known bool [n])."""
        ...


@dataclass(frozen=True, slots=True)
class KnownPast:
    """Vectors float32 [tasks, d] of past tasks; or None and why, empty where nothing is missing."""

    vectors: Float32 | None
    missing: str = ""

    def compared(self, vector: TaskVector) -> Float32 | None:
        """Return the task's cosines to the past ones, float32 [tasks], or None."""
        query = vector.get() if self.vectors is not None else None
        return None if query is None or self.vectors is None else cosines(self.vectors, query)


def head_texts(heads: Sequence[str]) -> list[str]:
    """Return the texts under which past tasks are in the embedding cache."""
    return [head[:MAX_HEAD] or "." for head in heads]


class TaskVector:
    """The embedding of a task, computed in a thread beside everything that does not need it.

    Loading a model takes longer than everything else in a cold plan and needs little of the interpreter. The
    thread is not a daemon: the interpreter must not end while the model's own threads are at work.
    """

    def __init__(self, embedder: CachingEmbedder | None, task: TaskText) -> None:
        self.failure = ""
        self._vector: Float32 | None = None
        self._thread: threading.Thread | None = None
        if embedder is not None:
            self._thread = threading.Thread(target=self._embed, args=(embedder, task_text(task)))
            self._thread.start()

    def _embed(self, embedder: CachingEmbedder, text: str) -> None:
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


def known_past(embedder: CachingEmbedder | None, heads: Sequence[str]) -> KnownPast:
    """Look up the vectors of past tasks, newest first as the history has them; nothing is embedded."""
    if embedder is None or not heads:
        return KnownPast(None)
    vectors, known = embedder.known(head_texts(heads))
    count = int(known.sum())
    if count < ENOUGH * len(heads):
        return KnownPast(None, "run `workbench model prepare` to embed them")
    return KnownPast(vectors)


def cosines(vectors: Float32, query: Float32) -> Float32:
    """Return float32 [n], rounded: the same whatever threads are free, which BLAS does not promise."""
    found: Float32 = np.round(np.einsum("ij,j->i", vectors, query), 5).astype(np.float32)
    return found
