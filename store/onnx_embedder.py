"""Sentence embeddings with onnxruntime and tokenizers alone: what fastembed does, without its import time.

Every text runs through the network by itself. Dynamic quantisation scales activations by the largest value in
the batch, so a text's vector would depend on its neighbours (docs/adr/0002-embedding-runtime.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from store.files import PRIVATE_FILE
from store.wordpiece import clean
from workbench.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32

_MODEL_FILES: Final = ("model.onnx", "model_optimized.onnx", "model_quantized.onnx", "onnx/model.onnx")
_MAX_TOKENS: Final = 512
_FEW: Final = 4
"""Up to this many texts are embedded in the calling thread."""


def model_file(directory: Path) -> Path | None:
    """Return the ONNX file of a model directory, None if there is none."""
    candidates = (directory / name for name in _MODEL_FILES)
    return next((path for path in candidates if path.is_file()), None)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OnnxEmbedder:
    """A sentence-transformers model directory with mean (or first token) pooling and unit vectors.

    The directory holds model.onnx and tokenizer.json, and may hold tokenizer_config.json (`model_max_length`)
    and 1_Pooling/config.json. The vector of a text is the same bytes whatever else is embedded with it and
    however many threads there are. Loading happens here. Raises: ModelError.
    """

    def __init__(
        self, directory: Path, model: str, *, threads: int | None = None, optimized: Path | None = None
    ) -> None:
        self.model = model
        self.directory = directory
        self.threads = threads or processors()
        self._first_token = _pools_first_token(directory)
        self._optimized = optimized
        self._is_packed = optimized is None
        self._session = open_session(directory, optimized, packed=self._is_packed)
        self._tokenizer = open_tokenizer(directory)
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self.dimensions = self._width()

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, dimensions], rows of length 1. Raises ModelError."""
        result = np.empty((len(texts), self.dimensions), np.float32)
        if len(texts) <= _FEW or self.threads == 1:
            for row, text in enumerate(texts):
                result[row] = self._vector(text)
            return result
        if not self._is_packed:
            self._session, self._is_packed = open_session(self.directory, self._optimized), True
        # onnxruntime leaves the interpreter while it computes, so threads with a text each use all processors
        # better than one text split over them.
        with ThreadPoolExecutor(self.threads, thread_name_prefix="embed") as pool:
            try:
                for row, vector in enumerate(pool.map(self._vector, texts)):
                    result[row] = vector
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return result

    def _width(self) -> int:
        shape = self._session.get_outputs()[0].shape
        return shape[-1] if shape and isinstance(shape[-1], int) else self._vector("").shape[0]

    def _vector(self, text: str) -> Float32:
        ids = np.array([self._tokenizer.encode(clean(text)).ids], np.int64)
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        try:
            states: NDArray[np.float32] = self._session.run(
                None, {name: value for name, value in values.items() if name in self._inputs}
            )[0]
        except runtime_errors() as error:
            raise ModelError(f"the model {self.model} failed on a text: {error}") from error
        vector = states[0]
        if vector.ndim == 2:
            vector = vector[0] if self._first_token else vector.mean(axis=0, dtype=np.float64)
        unit: Float32 = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
        return unit


def open_session(directory: Path, optimized: Path | None = None, *, packed: bool = True) -> Any:  # noqa: ANN401 - no types
    """Return the model of a directory, ready to run a text in one thread. Raises: ModelError.

    Making the graph fast takes two thirds of loading it: what that gives is kept beside `optimized`, for this
    version of the library, and is the same network to the last bit. Weights that are not `packed` load
    faster and run slower, by a fourth.
    """
    path = model_file(directory)
    if path is None:
        raise ModelError(f"{directory} holds no model.onnx", hint=_REPAIR)
    if optimized is not None:
        with suppress(*runtime_errors()):
            return _open_optimized(path, optimized, packed=packed)
    try:
        return _session(path, _options())
    except runtime_errors() as error:
        raise ModelError(f"{path} cannot be loaded: {error}", hint=_REPAIR) from error


def _options() -> Any:  # noqa: ANN401 - the library has no types
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


def _session(path: Path, options: Any) -> Any:  # noqa: ANN401 - the library has no types
    import onnxruntime

    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _open_optimized(path: Path, optimized: Path, *, packed: bool) -> Any:  # noqa: ANN401 - no types
    """Return a model from its optimized graph; one that is missing is written. Raises: runtime errors."""
    import onnxruntime

    graph = optimized.with_name(f"{optimized.name}.{onnxruntime.__version__}.onnx")
    options, levels = _options(), onnxruntime.GraphOptimizationLevel
    if not graph.is_file():
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED  # the same on all processors
        partial = graph.with_name(f".{graph.name}.{os.getpid()}")
        options.optimized_model_filepath = str(partial)
        try:
            session = _session(path, options)
            partial.chmod(PRIVATE_FILE)
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(graph)
        finally:
            partial.unlink(missing_ok=True)
        return session
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    if not packed:
        options.add_session_config_entry("session.disable_prepacking", "1")
    try:
        return _session(graph, options)
    except runtime_errors():
        graph.unlink(missing_ok=True)  # damaged: the next process writes it again
        raise


def runtime_errors() -> tuple[type[Exception], ...]:
    """Return what loading and running a model raise; onnxruntime's own have only Exception in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native

    own = (value for _, value in sorted(vars(native).items()) if isinstance(value, type))
    return (
        RuntimeError,
        ValueError,
        KeyError,
        OSError,
        *(value for value in own if issubclass(value, Exception)),
    )


def open_tokenizer(directory: Path) -> Any:  # noqa: ANN401 - the library has no types
    """Return the tokenizer of a directory, which cuts at what the model reads. Raises: ModelError."""
    from tokenizers import Tokenizer

    path = directory / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{directory} holds no tokenizer.json", hint=_REPAIR)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises Exception itself, whatever is wrong with the file
        raise ModelError(f"{path} cannot be read: {error}", hint=_REPAIR) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_max_tokens(directory))
    return tokenizer


def _max_tokens(directory: Path) -> int:
    config = _read_json(directory / "tokenizer_config.json")
    limits = [config.get(key) for key in ("model_max_length", "max_length")]
    return min(
        (value for value in limits if isinstance(value, int) and 0 < value < 2**20), default=_MAX_TOKENS
    )


def _pools_first_token(directory: Path) -> bool:
    return _read_json(directory / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=_REPAIR) from error
    return value if isinstance(value, dict) else {}


_REPAIR: Final = "Delete the model's directory to have it built or downloaded again."
