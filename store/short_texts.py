"""The packaged MiniLM in numpy, for the one prompt of a process that ends after it.

Importing onnxruntime and tokenizers and loading the model takes 0.1 s of CPU, of which a short text uses
3 ms. Here the weights are mapped from the model's file, and each is widened to float32 when its turn comes:
sums of products of 8 and 7 bits are whole numbers that float32 holds. The graph is the one that `store.bert`
makes and onnxruntime quantises. Half of the vectors are the library's to six digits; where an activation is
rounded to another level they differ by as much as quantising costs (docs/adr/0002-embedding-runtime.md).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from store.embedders import LazyEmbedder
from workbench.parsed import parse_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Embedder, Float32

    Tensors = Mapping[str, NDArray[Any]]

MOST_TEXTS: Final = 3
"""Texts that a process embeds this way: with more of them the library has paid."""
MOST_TOKENS: Final = 128
_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = np.float32(1e-12)
_LEVELS: Final = 255  # of an activation, which is quantised for each text
_ERF: Final = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_SCALE: Final = 0.3275911
_TYPES: Final[dict[int, np.dtype[Any]]] = {1: np.dtype("<f4"), 2: np.dtype("u1"), 3: np.dtype("i1")}


class ShortTextEmbedder(LazyEmbedder):
    """Embeds a process's first few short texts without loading the model, all others with it."""

    def __init__(self, model: str, load: Callable[[], Embedder], dimensions: int, directory: Path) -> None:
        super().__init__(model, load, dimensions)
        self._directory = directory
        self._left = MOST_TEXTS

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, dimensions], rows of length 1. Raises ModelError."""
        if not self.loaded and 0 < len(texts) <= self._left:
            self._left -= len(texts)
            vectors = _embed_short(self._directory, texts)
            if vectors is not None:
                return vectors
        return super().embed(texts)


def _embed_short(directory: Path, texts: Sequence[str]) -> Float32 | None:
    """Return the vectors of texts, None where one is long or the files are not as expected."""
    from store.wordpiece import clean, token_ids, vocabulary_table

    try:
        table = parse_once(directory / "tokenizer.json", "minilm.vocabulary", vocabulary_table)
        ids = [token_ids(table, clean(text)) for text in texts]
        short = [numbers for numbers in ids if numbers is not None and len(numbers) <= MOST_TOKENS]
        if len(short) < len(texts):
            return None
        tensors = read_tensors(directory / "model.onnx")
        return np.stack([_vector(tensors, numbers) for numbers in short])
    except (OSError, ValueError, KeyError, IndexError, TypeError):  # onnxruntime says what is wrong with it
        return None


def _vector(tensors: Tensors, ids: Sequence[int]) -> Float32:
    """Return the unit vector of a text's tokens: the mean of their last states."""
    states: Float32 = _embed_tokens(tensors, ids)
    for number in range(_LAYERS):
        states = _layer(tensors, f"encoder.layer.{number}", states)
    mean = states.mean(axis=0, dtype=np.float64)
    unit: Float32 = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    return unit


def _embed_tokens(tensors: Tensors, ids: Sequence[int]) -> Float32:
    def rows(kind: str, numbers: Sequence[int]) -> Float32:
        name = f"embeddings.{kind}_embeddings.weight"
        zero = tensors[f"{name}_zero_point"].astype(np.float32)
        return (tensors[f"{name}_quantized"][numbers] - zero) * tensors[f"{name}_scale"]

    positions: Float32 = tensors["embeddings.position_embeddings.weight"][: len(ids)]
    return _norm(tensors, "embeddings.LayerNorm", rows("word", ids) + rows("token_type", [0]) + positions)


def _layer(tensors: Tensors, prefix: str, states: Float32) -> Float32:
    length, width = states.shape
    levels = _quantise(states)
    query, key, value = (
        _dense(tensors, f"{prefix}.attention.self.{name}", levels)
        .reshape(length, _HEADS, width // _HEADS)
        .transpose(1, 0, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) * np.float32((width / _HEADS) ** -0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = scores / scores.sum(axis=-1, keepdims=True)
    context = (shares @ value).transpose(1, 0, 2).reshape(length, width)
    attended = _dense(tensors, f"{prefix}.attention.output.dense", _quantise(context))
    states = _norm(tensors, f"{prefix}.attention.output.LayerNorm", attended + states)
    inner = _gelu(_dense(tensors, f"{prefix}.intermediate.dense", _quantise(states)))
    outer = _dense(tensors, f"{prefix}.output.dense", _quantise(inner))
    return _norm(tensors, f"{prefix}.output.LayerNorm", outer + states)


def _quantise(states: Float32) -> tuple[Float32, np.float32]:
    """Return whole numbers and their scale, as ONNX's DynamicQuantizeLinear and its zero point make them."""
    low = np.float32(min(states.min(), 0))
    scale = (np.float32(max(states.max(), 0)) - low) / np.float32(_LEVELS) or np.float32(1)
    zero = np.rint(-low / scale)
    return np.clip(np.rint(states / scale) + zero, 0, _LEVELS) - zero, scale


def _dense(tensors: Tensors, prefix: str, levels: tuple[Float32, np.float32]) -> Float32:
    numbers, scale = levels
    weights: Float32 = tensors[f"{prefix}.weight.T_quantized"].astype(np.float32)
    product = (weights.T @ numbers.T).T  # faster than the other way round for few rows
    scales = tensors[f"{prefix}.weight.T_scale"] * scale
    return np.asarray(product * scales + tensors[f"{prefix}.bias"], np.float32)


def _norm(tensors: Tensors, prefix: str, states: Float32) -> Float32:
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + _EPSILON)
    return np.asarray(centred / spread * tensors[f"{prefix}.weight"] + tensors[f"{prefix}.bias"], np.float32)


def _gelu(states: Float32) -> Float32:
    """Return GELU with the error function of Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    size = np.abs(states) * np.float32(0.5**0.5)
    share = 1 / (1 + np.float32(_ERF_SCALE) * size)
    polynomial = np.float32(0) * share
    for factor in reversed(_ERF):
        polynomial = share * (polynomial + np.float32(factor))
    error = np.copysign(1 - polynomial * np.exp(-np.square(size)), states)
    return np.asarray(states * np.float32(0.5) * (1 + error), np.float32)


def read_tensors(path: Path) -> Tensors:
    """Return the constants of an ONNX file by name, mapped from it. Raises: OSError, ValueError, IndexError.

    The format is protobuf: the model's field 7 is its graph, whose fields 5 are tensors of dimensions (1),
    type (2), values as floats (4), as numbers (5) or raw (9), and a name (8).
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    graph = next(value for field, value in _fields(data, 0, len(data)) if field == 7)
    tensors = {}
    for field, place in _fields(data, *graph):
        if field != 5:
            continue
        shape: list[int] = []
        parts: dict[int, tuple[int, int]] = {}
        for part, value in _fields(data, *place):
            if part == 1:
                shape.append(value[0])
            else:
                parts[part] = value
        kind = _TYPES.get(parts[2][0])
        values = parts.get(9) or parts.get(4)
        if kind is not None and values is not None:
            begin, end = values
            array = np.frombuffer(data, kind, (end - begin) // kind.itemsize, begin)
        elif not shape:
            array = np.array(_number(data, parts[5][0])[0])
        else:
            continue  # zero points of weights, which are symmetric
        tensors[data[slice(*parts[8])].decode()] = array.reshape(shape)
    return tensors


def _fields(data: mmap.mmap, begin: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the number of each field with where its bytes are, or its value twice if it is a number."""
    while begin < end:
        key, begin = _number(data, begin)
        if key & 7 == 0:
            value, begin = _number(data, begin)
            yield key >> 3, (value, value)
        elif key & 7 == 2:
            length, begin = _number(data, begin)
            yield key >> 3, (begin, begin + length)
            begin += length
        else:
            begin += {1: 8, 5: 4}[key & 7]


def _number(data: mmap.mmap, begin: int) -> tuple[int, int]:
    """Return a number in groups of seven bits, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[begin]
        begin += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, begin
        shift += 7
