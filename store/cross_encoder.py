"""A cross-encoder of the user's: a network that reads a query and a text together and rates the pair.

Its directory is one that fastembed reads, too: model.onnx with input_ids, attention_mask and perhaps
token_type_ids, one logit a pair, and tokenizer.json. Like texts that are embedded, each pair runs by itself
(`store.onnx_embedder`), so that its rating does not depend on the others.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from store.onnx_embedder import model_file, open_session, open_tokenizer, processors, runtime_errors
from store.wordpiece import clean
from workbench.errors import ModelError

_HINT: Final = "Correct rerank.cross_encoder, or unset it."


class CrossEncoder:
    """The model in a directory. Nothing is loaded before the first pair."""

    def __init__(self, directory: Path) -> None:
        """Raises: ModelError for a directory without a model."""
        path = model_file(directory)
        if path is None or not (directory / "tokenizer.json").is_file():
            raise ModelError(f"{directory} holds no model.onnx with tokenizer.json", hint=_HINT)
        stat = path.stat()
        identity = f"{directory.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}"
        self.model = f"{directory.name}@{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
        self.directory = directory
        self._loaded: tuple[Any, Any] | None = None

    def score(self, query: str, texts: Sequence[str], *, timeout: float) -> tuple[float, ...]:
        """Return a logit for each text with the query. What runs is ended after `timeout` seconds.

        Raises: ModelError, also where a number is not finite.
        """
        import onnxruntime

        started = time.monotonic()
        session, tokenizer = self._load()
        options = onnxruntime.RunOptions()
        timer = threading.Timer(
            max(0.0, timeout - (time.monotonic() - started)), setattr, (options, "terminate", True)
        )
        timer.daemon = True
        timer.start()
        try:
            with ThreadPoolExecutor(processors(), thread_name_prefix="rerank") as pool:
                return tuple(
                    pool.map(lambda text: self._logit(session, tokenizer, options, query, text), texts)
                )
        except runtime_errors() as error:
            if options.terminate:
                raise ModelError(
                    f"{self.model} was not done within {timeout:g} s",
                    hint="The first call loads the model; a smaller one is faster.",
                ) from error
            raise ModelError(f"{self.model} failed on a text: {error}", hint=_HINT) from error
        finally:
            timer.cancel()

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            self._loaded = open_session(self.directory), open_tokenizer(self.directory)
        return self._loaded

    def _logit(self, session: Any, tokenizer: Any, options: Any, query: str, text: str) -> float:  # noqa: ANN401 - the libraries have no types
        if options.terminate:
            raise RuntimeError("terminated")
        pair = tokenizer.encode(clean(query), clean(text))
        values = {
            "input_ids": np.array([pair.ids], np.int64),
            "attention_mask": np.ones((1, len(pair.ids)), np.int64),
            "token_type_ids": np.array([pair.type_ids], np.int64),
        }
        wanted = {entry.name for entry in session.get_inputs()}
        given = {name: value for name, value in values.items() if name in wanted}
        logits = np.asarray(session.run(None, given, options)[0]).reshape(-1)
        if len(logits) != 1 or not np.isfinite(logits[0]):
            raise ModelError(f"{self.model} gives no rating of a pair", hint=_HINT)
        return float(logits[0])
