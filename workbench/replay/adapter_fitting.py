"""A linear map that moves a task's vector towards those of past tasks that touched the same files [img 9].

Ridge regression in closed form: the target of a past task is the mean of the tasks that share files with it,
rare files counting more. What is added to the identity is cut to a low rank, which keeps the model small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.plan.semantics import QueryAdapter

Float32 = NDArray[np.float32]

PENALTIES: Final = (10.0, 100.0, 1000.0)
RANK: Final = 32
MOST_FILES: Final = 20  # of a task; larger ones say little about any of their files


def fit_adapter(
    vectors: Float32, files: Sequence[frozenset[str]], embedding: str, penalty: float
) -> QueryAdapter:
    """Return the map that fits past tasks under a penalty of the squared entries of what is added.

    vectors: float32 [n, d], unit vectors of n past tasks that touched `files`; none of them may be later than
    what the map is tested on. Raises: ModelError where the arithmetic ends without a result.
    """
    wanted, known = _targets(vectors, files)
    inputs = vectors[known].astype(np.float64)
    gaps = wanted[known] - inputs
    width = vectors.shape[1]
    try:
        added = np.linalg.solve(inputs.T @ inputs + penalty * np.eye(width), inputs.T @ gaps)
        left, sizes, right = np.linalg.svd(added)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            f"no map fits the vectors of {len(inputs):,} past tasks under a penalty of {penalty:g}: {error}",
            hint="Train again, which starts from the same past, or train a linear model.",
        ) from error
    root = np.sqrt(sizes[:RANK])
    return QueryAdapter(embedding, _half(left[:, :RANK] * root), _half(root[:, None] * right[:RANK]))


def _half(values: NDArray[np.float64]) -> Float32:
    return np.asarray(values.astype(np.float16), np.float32)


def _targets(
    vectors: Float32, files: Sequence[frozenset[str]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return float64 [n, d] unit targets, and bool [n] where there is one."""
    touched: dict[str, list[int]] = {}
    for number, paths in enumerate(files):
        for path in paths:
            touched.setdefault(path, []).append(number)
    rarity = {path: float(np.log1p(len(files) / len(found))) for path, found in touched.items()}
    whole = np.asarray([sum(map(rarity.__getitem__, paths)) for paths in files])
    found, known = np.zeros(vectors.shape), np.zeros(len(files), dtype=np.bool_)
    middle = vectors.mean(axis=0, dtype=np.float64)
    for number, paths in enumerate(files):
        if len(paths) > MOST_FILES:
            continue
        shared = np.zeros(len(files))
        for path in sorted(paths):
            shared[touched[path]] += rarity[path]
        shared[number] = 0.0
        if not shared.any():
            continue
        share = shared / (whole + whole[number] - shared)
        target = share @ vectors / share.sum() - middle
        length = float(np.linalg.norm(target))
        if length > 1e-9:
            found[number], known[number] = target / length, True
    return found, known
