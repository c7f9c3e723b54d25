"""A process's first few short texts are embedded without the library, and all but alike."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from store import minilm
from store.onnx_embedder import OnnxEmbedder
from store.short_texts import MOST_TEXTS, ShortTextEmbedder
from store.wordpiece import MOST_CHARACTERS

if TYPE_CHECKING:
    from workbench.ports import Embedder, Float32

LEAST_COSINE = 0.99  # quantising itself leaves 0.989 to 0.997


@pytest.fixture(scope="module")
def library(model_cache: Path) -> OnnxEmbedder:
    """MiniLM as the library runs it."""
    return OnnxEmbedder(minilm.model_directory(model_cache), minilm.MODEL_ID, threads=1)


class Counting:
    """An embedder that counts what it is asked for, and answers with zeros."""

    model, dimensions, texts = "counting", minilm.DIMENSIONS, 0

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return zeros."""
        self.texts += len(texts)
        return np.zeros((len(texts), self.dimensions), np.float32)


def short_embedder(directory: Path, load: Embedder) -> ShortTextEmbedder:
    """Return an embedder of short texts over a model directory."""
    return ShortTextEmbedder(minilm.MODEL_ID, lambda: load, minilm.DIMENSIONS, directory)


def test_vectors_are_the_librarys_within_quantisation(library: OnnxEmbedder) -> None:
    """Each short sentence of the reference has the library's vector, up to levels rounded the other way."""
    sentences = [sentence for sentence in minilm.reference() if len(sentence) < MOST_CHARACTERS]
    vectors = np.concatenate(
        [short_embedder(library.directory, Counting()).embed([sentence]) for sentence in sentences]
    )
    cosines = np.sum(vectors * library.embed(sentences), axis=1)

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert cosines.min() >= LEAST_COSINE
    assert cosines.max() >= 0.9999


def test_a_text_has_the_same_bytes_in_any_company(library: OnnxEmbedder) -> None:
    """A vector does not depend on what is embedded with it."""
    texts = ["the session expires", "a longer text about refreshing tokens of users"]
    alone = [short_embedder(library.directory, Counting()).embed([text])[0] for text in texts]

    assert np.array_equal(short_embedder(library.directory, Counting()).embed(texts), np.stack(alone))


def test_many_and_long_texts_load_the_library(library: OnnxEmbedder) -> None:
    """More texts than a few, a long one, and all after that are the library's."""
    many, long, later = Counting(), Counting(), Counting()
    short_embedder(library.directory, many).embed(["x"] * (MOST_TEXTS + 1))
    short_embedder(library.directory, long).embed(["word " * 190])
    embedder = short_embedder(library.directory, later)
    for _ in range(MOST_TEXTS + 2):
        embedder.embed(["x"])

    assert (many.texts, long.texts, later.texts) == (MOST_TEXTS + 1, 1, 2)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"\xff" * 99, b"{}"])
def test_files_that_are_something_else_are_left_to_the_library(
    library: OnnxEmbedder, tmp_path: Path, name: str, content: bytes
) -> None:
    """What is wrong with a file is the library's to say."""
    directory = tmp_path / "model"
    shutil.copytree(library.directory, directory)
    (directory / name).write_bytes(content)
    fallback = Counting()

    assert not short_embedder(directory, fallback).embed(["x"]).any()
    assert fallback.texts == 1
