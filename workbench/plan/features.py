"""From signals to a feature matrix: candidates of every source, each with the same named numbers.

A signal enters a linear model in up to three forms: `name`, divided by its best value for this task;
`name.rank`,
1/(1 + rank/2); and `name.raw`, log(1 + value), which keeps how strong the evidence is in absolute terms.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.plan.siblings import sibling_signals
from workbench.plan.signals import (
    Query,
    history_signals,
    lexical_signals,
    mention_signals,
    neighbour_signals,
    role_signals,
    structure_signals,
)
from workbench.plan.view import RankingView
from workbench.records.dataclass import dataclass

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

PER_SOURCE = 80
SEEDS = 8
SHARPNESS = 6.0

# Which source of candidates [img 7.2] a signal belongs to; others describe, they do not propose.
SOURCES: dict[str, tuple[str, ...]] = {
    "lexical": ("bm25_body", "bm25_body_head", "bm25_name", "bm25_path", "symbol_defined", "symbol_used"),
    "structural": (
        "path_named",
        "stem_named",
        "folder_named",
        "scope_named",
        "frame",
        "imports_seed",
        "imported_by_seed",
        "tests_seed",
        "tested_by_seed",
        "same_stem",
        "same_folder",
        "fan_in",
    ),
    "semantic": ("affinity_semantic",),
    "episodic": (
        "affinity",
        "affinity_head",
        "affinity_folder",
        "affinity_best",
        "association",
        "cochange",
        "cochange_lift",
    ),
    "causal": ("causal",),
    "recency": ("recency_1", "recency_3", "recency_12", "recency_50", "frequency"),
}

# Signals whose unit is already comparable between tasks: they enter as they are.
_BOUNDED = (
    "role_",
    "called_",
    "coverage_",
    "rarest_",
    "affinity_role",
    "size",
    "depth",
    "risk",
    "changelog",
    "last_seen",
    "layer_match",
    "family_",
    "alike_",
)


@dataclass(frozen=True, slots=True)
class CandidateMatrix:
    """c candidates, s signals: positions int64 [c] ascending, values float32 [c, s], best float32 [s]."""

    names: tuple[str, ...]
    positions: Int64
    values: Float32
    best: Float32
    sources: tuple[tuple[str, ...], ...]


def first_look(
    view: RankingView, query: Query, semantic: Callable[[], Float32 | None] | None = None
) -> dict[str, Float32]:
    """Every signal that needs no idea yet of which files are likely.

    semantic: returns float32 [tasks], cosines of the task to past ones, or None; it is called late, because
    an embedding may still be on its way.
    """
    signals = lexical_signals(view, query)
    signals.update(mention_signals(view, query))
    signals.update(history_signals(view, query, semantic() if semantic is not None else None))
    signals.update(role_signals(view, query))
    signals.update(structure_signals(view, query))
    signals.update(sibling_signals(view, query.words))
    return signals


def seed_mass(view: RankingView, signals: Mapping[str, Float32], weights: Mapping[str, float]) -> Float32:
    """Return float32 [n] summing to 1: a softmax over the best files of a first weighted look."""
    look = np.zeros(view.index.count, dtype=np.float32)
    for name, weight in weights.items():
        signal = signals.get(name)
        if signal is not None:
            look += np.float32(weight) * _scale(name, signal, float(signal.max(initial=0.0)))
    look[~view.index.alive] = -np.inf
    mass = np.zeros(view.index.count, dtype=np.float32)
    if not view.index.alive.any():
        return mass
    top = np.argsort(-look, kind="stable")[:SEEDS]
    top = top[np.isfinite(look[top])]
    mass[top] = np.exp(np.float32(SHARPNESS) * (look[top] - look[top[0]]))
    return np.asarray(mass / mass.sum(), dtype=np.float32)


def gather(
    view: RankingView,
    signals: Mapping[str, Float32],
    *,
    per_source: int = PER_SOURCE,
    also: Sequence[int] = (),
) -> CandidateMatrix:
    """Union the best files of every source [img 7.2], with every signal recorded for each.

    Files at the positions `also` are among them whether a source proposes them or not.
    """
    found: dict[int, dict[str, None]] = {}
    alive = view.index.alive
    for source, names in SOURCES.items():
        for name in names:
            signal = signals.get(name)
            if signal is None:
                continue
            for position in _top(signal, alive, per_source).tolist():
                if position in found:
                    found[position][source] = None
                else:
                    found[position] = {source: None}
    for position in also:
        found.setdefault(position, {})
    positions = np.asarray(sorted(found), dtype=np.int64)
    return describe_files(view, signals, positions, tuple(tuple(found[row]) for row in positions.tolist()))


def describe_files(
    view: RankingView, signals: Mapping[str, Float32], positions: Int64, sources: tuple[tuple[str, ...], ...]
) -> CandidateMatrix:
    """Return the files at some positions as candidates, with every signal recorded for each."""
    alive = view.index.alive
    living = slice(None) if alive.all() else alive
    values = [signal[positions] for signal in signals.values()]
    return CandidateMatrix(
        names=tuple(signals),
        positions=positions,
        values=np.stack(values, axis=1) if values else np.zeros((len(positions), 0), dtype=np.float32),
        best=np.asarray([signal[living].max(initial=0.0) for signal in signals.values()], dtype=np.float32),
        sources=sources,
    )


def _top(signal: Float32, alive: NDArray[np.bool_], limit: int) -> Int64:
    positive = np.flatnonzero((signal > 0) & alive)
    if len(positive) > limit:
        values = signal[positive]
        floor = np.partition(values, -limit)[-limit]
        above = positive[values > floor]
        ties = positive[values == floor][: limit - len(above)]
        return np.concatenate([above, ties])
    return positive


def candidates_for(
    view: RankingView,
    query: Query,
    seed_weights: Mapping[str, float],
    semantic: Callable[[], Float32 | None] | None = None,
    *,
    also: Sequence[int] = (),
) -> CandidateMatrix:
    """Return the candidates of a task with all their signals, as `gather` does."""
    signals = first_look(view, query, semantic)
    seeds = seed_mass(view, signals, seed_weights)
    signals.update(neighbour_signals(view, seeds))
    signals["seed"] = seeds
    return gather(view, signals, also=also)


def feature_names(signal_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns `feature_matrix` makes of these signals."""
    names: list[str] = []
    for name in signal_names:
        names.append(name)
        if not name.startswith(_BOUNDED):
            names += [f"{name}.rank", f"{name}.raw"]
    return tuple(names)


def feature_matrix(candidates: CandidateMatrix) -> Float32:
    """Return float32 [c, f], columns as `feature_names(candidates.names)`."""
    values = np.ascontiguousarray(candidates.values.T)
    signals, count = values.shape
    bounded = np.asarray([name.startswith(_BOUNDED) for name in candidates.names], dtype=np.bool_)
    best = np.where(bounded | (candidates.best <= 0), np.float32(1.0), candidates.best)
    free = np.flatnonzero(~bounded)
    ranks = np.empty((len(free), count), dtype=np.float32)
    order = np.argsort(-values[free], axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(count, dtype=np.float32)[None], axis=1)
    first = np.arange(signals) + 2 * (np.cumsum(~bounded) - ~bounded)  # the column that a signal begins at
    columns = np.empty((signals + 2 * len(free), count), dtype=np.float32)
    columns[first] = values / best[:, None]
    columns[first[free] + 1] = np.where(values[free] > 0, 1.0 / (1.0 + ranks / 2.0), 0.0)
    columns[first[free] + 2] = np.log1p(np.maximum(values[free], 0))
    return np.ascontiguousarray(columns.T)


def _scale(name: str, values: Float32, best: float) -> Float32:
    if name.startswith(_BOUNDED) or best <= 0:
        return values
    return values / np.float32(best)


class NamedRow(Mapping[str, float]):
    """Numbers by name, read when one is first asked for."""

    __slots__ = ("_found", "_read", "row", "table")

    def __init__(
        self, read: Callable[[int], dict[str, float]], row: int, table: CandidateRows | None = None
    ) -> None:
        """Take what reads a row by its number, and the table that has the numbers of other rows, too."""
        self._read, self.row, self.table = read, row, table
        self._found: dict[str, float] | None = None

    def _mapping(self) -> dict[str, float]:
        if self._found is None:
            self._found = self._read(self.row)
        return self._found

    def __getitem__(self, name: str) -> float:
        return self._mapping()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def items(self) -> ItemsView[str, float]:
        """Return names and values as a mapping does, read at once."""
        return self._mapping().items()

    def __repr__(self) -> str:
        return repr(self._mapping())


class CandidateRows:
    """What is known of the c candidates of a task, and what that gave their scores.

    names: of the f columns of the matrix, float32 [c, f]; `given` returns float64 [f] of a row.
    What is not zero has a name.
    """

    def __init__(
        self,
        view: RankingView,
        candidates: CandidateMatrix,
        names: tuple[str, ...],
        matrix: Float32,
        given: Callable[[int], NDArray[np.float64]],
    ) -> None:
        self._view, self._candidates = view, candidates
        self._names, self._matrix, self._given = names, matrix, given

    def numbers(self, rows: Sequence[int], names: Sequence[str]) -> NDArray[np.float64]:
        """Return float64 [r, n], some features of some candidates, 0 for those that they lack."""
        specified, shares = self._specified
        place = {name: column for column, name in enumerate((*specified, *self._names))}
        values = np.zeros((len(rows), len(place) + 1))
        values[:, : len(specified)] = [shares[row] for row in rows]
        values[:, len(specified) : -1] = np.round(self._matrix[rows].astype(np.float64), 4)
        return values[:, [place.get(name, -1) for name in names]]

    @cached_property
    def _specified(self) -> tuple[tuple[str, ...], list[list[float]]]:
        names, shares = specify_features(self._view, self._candidates)
        return names, shares.tolist()

    def features(self, row: int) -> dict[str, float]:
        """Return the features of a candidate by name, those of [img 7.3] first."""
        names, shares = self._specified
        values = np.round(self._matrix[row].astype(np.float64), 4)
        return {**dict(zip(names, shares[row], strict=True)), **_by_name(self._names, values)}

    def contributions(self, row: int) -> dict[str, float]:
        """Return what features gave the score of a candidate, by name."""
        return _by_name(self._names, np.round(self._given(row), 4))


def numbers_of(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return float64 [r, n], the numbers of r rows under n names, 0 where a row has none."""
    placed = [row for row in rows if isinstance(row, NamedRow)]
    table = placed[0].table if placed else None
    if table is not None and len(placed) == len(rows) and all(row.table is table for row in placed):
        return table.numbers([row.row for row in placed], names)
    plain = [dict(row.items()) for row in rows]
    return np.asarray([[row.get(name, 0.0) for name in names] for row in plain], np.float64)


def _by_name(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, float]:
    columns = np.flatnonzero(values)
    return {
        names[column]: value for column, value in zip(columns.tolist(), values[columns].tolist(), strict=True)
    }


def specify_features(
    view: RankingView, candidates: CandidateMatrix
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the names of the seven features of [img 7.3], and their values float64 [c, 7].

    Each is in [0, 1], relative to the best candidate of the task, but `f_token_cost`, which estimates tokens,
    and `f_test_proximity`, which is of the file and its tests (`test_proximity`). `f_semantic_score` compares
    past tasks by meaning; without embeddings it is 0, and the answer degraded. What orders files is ADR 56.
    """
    columns = {name: column for column, name in enumerate(candidates.names)}

    def share(*signals: str) -> NDArray[np.float64]:
        found = np.zeros(len(candidates.positions))
        for name in signals:
            if (column := columns.get(name)) is not None and candidates.best[column] > 0:
                found = np.maximum(found, candidates.values[:, column] / float(candidates.best[column]))
        return np.round(found, 4)

    table: dict[str, NDArray[np.float64]] = {
        "f_structural_relevance": share("layer_match"),
        "f_semantic_score": share("affinity_semantic"),
        "f_affinity_score": share("affinity", "affinity_head"),
        "f_recency_score": share("recency_12"),
        "f_risk_score": share("risk", "fix_share"),
        "f_test_proximity": np.asarray(
            np.round(view.test_proximity[candidates.positions], 4), dtype=np.float64
        ),
        "f_token_cost": np.ceil(view.index.size[candidates.positions] / 4.0),
    }
    return tuple(table), np.stack([*table.values()], axis=1)
