"""Embedders that load their model late: whichever is first asked for a text, and any that fastembed knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import ModelError
from workbench.ports import Embedder

if TYPE_CHECKING:
    from workbench.ports import Float32


class LazyEmbedder:
    """An embedder whose identity is known and whose model is loaded by the first text."""

    def __init__(self, model: str, load: Callable[[], Embedder], dimensions: int | None = None) -> None:
        self.model = model
        self._load = load
        self._dimensions = dimensions
        self._loaded: Embedder | None = None

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    @property
    def dimensions(self) -> int:
        """Length of a vector. Loads the model where that is the only way to know."""
        if self._dimensions is None:
            self._dimensions = self._embedder().dimensions
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, dimensions], rows of length 1. Raises ModelError."""
        return self._embedder().embed(texts)

    def _embedder(self) -> Embedder:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded


class FastembedEmbedder:
    """Any model fastembed knows, one text at a time (see `store.onnx_embedder`). Raises: ModelError."""

    def __init__(
        self, name: str, *, path: Path | None = None, cache: Path | None = None, download: bool = False
    ) -> None:
        from loguru import logger

        logger.disable("fastembed")
        import fastembed

        from store.onnx_embedder import runtime_errors

        self.model = fastembed_id(name)
        try:
            self._model = fastembed.TextEmbedding(
                name,
                cache_dir=str(cache) if cache else None,
                specific_model_path=str(path) if path else None,
                local_files_only=not download,
            )
            self.dimensions = int(self._model.embedding_size)
        except runtime_errors() as error:
            raise ModelError(
                f"fastembed cannot load {name}: {error}",
                hint="See `workbench model list`; models.download = true allows fetching it.",
            ) from error

    @property
    def directory(self) -> Path:
        """Where the model's files are."""
        return Path(getattr(self._model.model, "_model_dir", ""))

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, dimensions], rows of length 1. Raises ModelError."""
        import numpy as np

        from store.onnx_embedder import runtime_errors
        from store.wordpiece import clean

        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        try:
            vectors = list(self._model.embed([clean(text) for text in texts], batch_size=1))
        except runtime_errors() as error:
            raise ModelError(f"the model {self.model} failed: {error}") from error
        matrix: Float32 = np.asarray(vectors, np.float32)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        return matrix


def fastembed_id(name: str) -> str:
    """Return the id of a model loaded by name through fastembed."""
    return f"{name}@fastembed"
