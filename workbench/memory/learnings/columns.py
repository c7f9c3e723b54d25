"""What decides whether a learning may be given, of many at once: of those that may not none is read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.memory.learnings.learningtype import LOST, WAS_CUT
from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
from workbench.text.distinct import index_distinct

if TYPE_CHECKING:
    from workbench.records.learnings import FeatureLearning

Int64 = NDArray[np.int64]

_KEPT: Final = ("feature_of", "task_of", "own", "confidence")


class _Tables(msgspec.Struct):
    features: tuple[str, ...]
    tasks: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LearningColumns:
    """Columns [n] of learnings by id; those named …_of index the distinct values beside them.

    `own` says which are the person's own, in any feature.
    """

    ids: Sequence[str]
    feature_of: Int64
    features: tuple[str, ...]
    task_of: Int64
    tasks: tuple[str | None, ...]
    own: NDArray[np.bool_]
    confidence: NDArray[np.float64]

    def rows(self, identifiers: Collection[str]) -> Int64:
        """Return where learnings are, those that are not there left out, int64 ascending."""
        places = [(bisect_left(self.ids, identifier), identifier) for identifier in sorted(identifiers)]
        found = [place for place, one in places if place < len(self.ids) and self.ids[place] == one]
        return np.array(found, np.int64)

    def of_tasks(self, tasks: Collection[str]) -> list[str]:
        """Return the ids of the learnings that are limited to one of some tasks."""
        wanted = [number for number, task in enumerate(self.tasks) if task is not None and task in tasks]
        return [self.ids[row] for row in np.flatnonzero(np.isin(self.task_of, wanted)).tolist()]

    def near(self, feature: str) -> Int64:
        """Return the rows of the learnings of a feature, and of the person's own, int64 ascending."""
        numbers = [number for number, name in enumerate(self.features) if name == feature]
        return np.flatnonzero(np.isin(self.feature_of, numbers) | self.own)


def column_learnings(learnings: Sequence[FeatureLearning]) -> LearningColumns:
    """Return the columns of learnings that are sorted by id."""
    feature_of, features = index_distinct([learning.feature for learning in learnings])
    task_of, tasks = index_distinct([learning.task_id for learning in learnings])
    return LearningColumns(
        ids=[learning.id for learning in learnings],
        feature_of=feature_of,
        features=features,
        task_of=task_of,
        tasks=tasks,
        own=np.array([learning.project_id is None for learning in learnings], np.bool_),
        confidence=np.array([learning.confidence for learning in learnings], np.float64),
    )


def columns_arrays(columns: LearningColumns) -> dict[str, NDArray[Any] | bytes]:
    """Return the columns as arrays by name, for whoever keeps them."""
    tables = encode_lossless(_Tables(columns.features, columns.tasks))
    return {**{name: getattr(columns, name) for name in _KEPT}, "tables": tables}


def columns_from(arrays: Mapping[str, NDArray[Any]], ids: Sequence[str]) -> LearningColumns:
    """Return the columns kept as arrays. Raises: ValueError, KeyError if they are of others."""
    tables = decode_lossless(arrays["tables"].tobytes(), _Tables)
    found: dict[str, Any] = {name: arrays[name] for name in _KEPT}
    if any(len(held) != len(ids) for held in found.values()):
        raise ValueError("the columns are of other learnings")
    for name, table in (("feature_of", tables.features), ("task_of", tables.tasks)):
        if len(ids) and not 0 <= found[name].min() <= found[name].max() < len(table):
            raise ValueError("the columns name values that are not there")
    return LearningColumns(ids, features=tables.features, tasks=tables.tasks, **found)


def move_columns(
    before: LearningColumns,
    ids: Sequence[str],
    moved: NDArray[np.int32],
    added: Sequence[FeatureLearning],
    fresh: Sequence[int],
) -> LearningColumns:
    """Return the columns of learnings most of which are those of before.

    `moved` int32 says where each of before is now, -1 for those that are not as they were; `added` are all
    others, and `fresh` where they are.
    """
    new, kept = column_learnings(added), np.flatnonzero(moved >= 0)
    shift = {"feature_of": len(before.features), "task_of": len(before.tasks)}
    found: dict[str, Any] = {}
    for name in _KEPT:
        found[name] = np.empty(len(ids), getattr(before, name).dtype)
        found[name][moved[kept]] = getattr(before, name)[kept]
        found[name][list(fresh)] = getattr(new, name) + shift[name] if name in shift else getattr(new, name)
    features, tasks = (*before.features, *new.features), (*before.tasks, *new.tasks)
    return LearningColumns(ids, features=features, tasks=tasks, **found)


def refusals(
    columns: LearningColumns, feature: str | None, tasks: Collection[str], waiting: Collection[str]
) -> tuple[Int64, list[str]]:
    """Return why each learning may not be given, int64 [n] that index the sentences beside them, 0 for ''.

    None is any feature; those of a task are given to that task only (F25).
    """
    sentences = [""]
    found = np.zeros(len(columns.ids), np.int64)
    lost = np.flatnonzero(columns.confidence < LOST)
    values, value_of = np.unique(columns.confidence[lost], return_inverse=True)
    found[lost] = value_of.reshape(-1) + len(sentences)
    sentences += [
        f"outcomes spoke against it: confidence {value:.2f}"
        if value
        else f"{WAS_CUT}, and nobody reviewed it"
        for value in values.tolist()
    ]
    found[columns.rows(waiting)] = len(sentences)
    sentences.append("it contradicts another learning and waits to be settled")
    others = np.array([task is not None and task not in tasks for task in columns.tasks], np.bool_)
    if others.any():
        rows = others[columns.task_of]
        found[rows] = columns.task_of[rows] + len(sentences)
        sentences += [f"it is about task {task}" for task in columns.tasks]
    if feature is not None and columns.features:
        rows = np.array([name != feature for name in columns.features])[columns.feature_of] & ~columns.own
        found[rows] = columns.feature_of[rows] + len(sentences)
        sentences += [f"it belongs to {name}" for name in columns.features]
    return found, sentences
