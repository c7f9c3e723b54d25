"""Packaged models with their long lists of numbers as arrays: a hook would parse 25,000 numbers of JSON."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from workbench.parsed import read_parsed
from workbench.records.conversion import decode_json

_LONG: Final = 256  # numbers; shorter lists stay as they are


def read_document(model_id: str) -> dict[str, Any]:
    """Return a packaged model, its long lists as arrays int64 or float64.

    Raises: OSError where there is none of this name, ValueError where it is not a JSON object.
    """
    packed: dict[str, Any] = _unpack(read_parsed("workbench.models", f"{model_id}.json", _parse))
    return packed


def _parse(content: bytes) -> Any:  # noqa: ANN401 - as `_pack`
    return _pack(decode_json(content, dict[str, Any]))


def _pack(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON with its long lists of numbers as tuples, which no JSON has: a type and bytes."""
    if isinstance(value, dict):
        return {name: _pack(part) for name, part in value.items()}
    if isinstance(value, list) and len(value) >= _LONG and (kinds := set(map(type, value))) <= {int, float}:
        array = np.asarray(value, dtype="<i8" if kinds == {int} else "<f8")
        return array.dtype.str, array.tobytes()
    return value


def _unpack(value: Any) -> Any:  # noqa: ANN401 - what `_pack` returns
    if isinstance(value, dict):
        return {name: _unpack(part) for name, part in value.items()}
    return np.frombuffer(value[1], dtype=value[0]) if isinstance(value, tuple) else value
