"""The systems a replay of a project's history compares: each orders the files of a moment for a task.

`baseline` routes by the kind of task alone, `bm25` goes by the words of files, `vector` by what past tasks of
like meaning touched, `hybrid` as plans do. `hybrid+MODEL` ranks with another model, and `hybrid-GROUP` is
hybrid without a group of features, over the same candidates. `full` is hybrid with the second stage that the
settings name. `hybrid@0.65` has that share of the budget for its packs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.plan.baseline import index_layers, score_by_place
from workbench.plan.features import (
    SOURCES,
    CandidateMatrix,
    describe_files,
    feature_matrix,
    feature_names,
    first_look,
    gather,
    seed_mass,
)
from workbench.plan.ranking import LEXICAL_MODEL, RankingModel, load_model, score_candidates, score_rows
from workbench.plan.reading import SIGNALS, read_first
from workbench.plan.representations import Content
from workbench.plan.semantics import QueryAdapter
from workbench.plan.signals import Query, meaning_signals, neighbour_signals, prepare_query
from workbench.plan.trees import ReadModel
from workbench.plan.view import RankingView
from workbench.project.declared import Manifest
from workbench.project.layers import LayerSource, LayerView, PathChange
from workbench.project.sections import baseline_ranking, explore
from workbench.records.plan import Detail, Intent, RankedFile
from workbench.records.project import Skipped
from workbench.replay.timeline import Moment
from workbench.suggest import did_you_mean

Float32 = NDArray[np.float32]

BASELINE: Final = "baseline"
BM25: Final = "bm25"
VECTOR: Final = "vector"
HYBRID: Final = "hybrid"
FULL: Final = "full"
OWN: Final = "own-"
"""How the ids of a project's own models begin."""
PLAIN: Final = " without embeddings"
"""What follows the id of one that is applied to the ranking without embeddings."""
DEFAULT_SYSTEMS: Final = (BASELINE, BM25, VECTOR, HYBRID, f"{HYBRID}+{LEXICAL_MODEL}")

_MEANING = ("affinity_semantic", "affinity_semantic_best")
_AFFINITY = ("affinity", "affinity_head", "affinity_folder", "affinity_best", "affinity_role", "association")
_RECENCY = (*SOURCES["recency"], "recency_250", "last_seen")
_TOGETHER = ("cochange", "cochange_lift")
GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "lexical": frozenset(
        (
            *SOURCES["lexical"],
            *(f"bm25_{field}_head" for field in ("body", "name", "path")),
            *(f"coverage_{field}" for field in ("body", "name", "path")),
            *(f"rarest_{field}" for field in ("body", "name", "path")),
            *(name.split(".")[0] for name in SIGNALS if name.startswith("place")),
        )
    ),
    "structural": frozenset((*SOURCES["structural"], "fan_out", "layer_match")),
    "semantic": frozenset(_MEANING),
    "episodic": frozenset((*SOURCES["episodic"], "affinity_role", "fix_share")),
    "causal": frozenset(SOURCES["causal"]),
    "recency": frozenset(_RECENCY),
    "affinity": frozenset((*_AFFINITY, *_MEANING)),
    "history": frozenset(
        (*_AFFINITY, *_MEANING, *_TOGETHER, *_RECENCY, *SOURCES["causal"], "frequency", "fix_share")
    ),
}
"""Signals by the group that an ablation leaves out; `affinity` and `history` unite several sources."""

_SHARE: Final = re.compile(r"[01]?\.[0-9]{1,3}")
_CHANGES = 200  # commits that the change digest of the baseline looks at


@dataclass(frozen=True, slots=True)
class System:
    """A way to rank: a model's id for those that weigh features, and the signals it does without.

    `share` is how much of the budget its packs may take; with `second` the first files are rated again.
    """

    name: str
    kind: str
    model: str = ""
    without: frozenset[str] = frozenset()
    share: float = 1.0
    second: bool = False


@dataclass(frozen=True, slots=True)
class FileReading:
    """What orders the first files by their contents at a moment, as plans do, and how they are read."""

    model: ReadModel
    read: Callable[[str], Content | Skipped]


@dataclass(slots=True)
class Situation:
    """A task in its moment, and what several systems share of looking at it.

    semantic: float32 [past tasks], cosines of the task to them, None without embeddings; `adapted` returns
    those of an adapter. `looked` is how many milliseconds the first look at all files took.
    """

    intent: Intent
    moment: Moment
    manifests: Callable[[], Sequence[Manifest]]
    semantic: Float32 | None = None
    adapted: Callable[[QueryAdapter], Float32 | None] = lambda adapter: None
    reading: FileReading | None = None
    query: Query = field(init=False)
    looked: float = 0.0
    _signals: dict[str, Float32] | None = None
    _gathered: dict[str, CandidateMatrix] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.query = prepare_query(self.intent)

    def signals(self, adapter: QueryAdapter | None = None) -> dict[str, Float32]:
        """Return the signals that need no idea of which files are likely."""
        if self._signals is None:
            started = time.perf_counter()
            self._signals = first_look(self.moment.view, self.query, lambda: self.semantic)
            self.looked = (time.perf_counter() - started) * 1000
        cosines = self.cosines(adapter)
        if cosines is None or cosines is self.semantic:
            return self._signals
        return {**self._signals, **meaning_signals(self.moment.view, cosines)}

    def cosines(self, adapter: QueryAdapter | None) -> Float32 | None:
        """Return float32 [past tasks], cosines of the task to them as an adapter has them."""
        adapted = self.adapted(adapter) if adapter is not None and self.semantic is not None else None
        return self.semantic if adapted is None else adapted

    def candidates(self, model: RankingModel) -> CandidateMatrix:
        """Return the candidates that a model is given, as plans gather them."""
        if model.model_id not in self._gathered:
            signals = _with_neighbours(self.moment.view, self.signals(model.adapter), model.seeds)
            self._gathered[model.model_id] = gather(self.moment.view, signals)
        return self._gathered[model.model_id]


@dataclass(frozen=True, slots=True)
class SystemRanking:
    """Files best first. `model` turns their scores into chances of being needed.

    `weighed` is whether the scores come from the model, not from places alone; `fallback` whether the
    system had to do without a part of itself; `milliseconds` is what ranking took.
    """

    files: tuple[RankedFile, ...]
    model: RankingModel
    weighed: bool
    fallback: bool
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Models:
    """The models by id, and which of them plans use: `main` with embeddings, `plain` without."""

    by_id: Mapping[str, RankingModel]
    main: str
    plain: str

    def model(self, model_id: str, semantic: Float32 | None) -> RankingModel:
        """Return the model with an id; that of a project is for the ranking with embeddings or without."""
        plain = self.by_id.get(f"{model_id}{PLAIN}") if semantic is None else None
        return plain or self.by_id[model_id]

    def used_model(self, semantic: Float32 | None) -> RankingModel:
        """Return the model a plan would rank with."""
        return self.by_id[self.main if semantic is not None else self.plain]


def parse_systems(names: Iterable[str]) -> tuple[System, ...]:
    """Return the systems of some names, each once. Raises: UsageError for an unknown one, ModelError."""
    return tuple({name: _parse(name) for name in names}.values())


def _parse(name: str) -> System:
    whole, at, share = name.rpartition("@")
    if at and _SHARE.fullmatch(share) and 0 < float(share) <= 1:
        return replace(_parse(whole), name=name, share=float(share))
    if name in (BASELINE, BM25, VECTOR, HYBRID):
        return System(name, name)
    if name == FULL:
        return System(name, HYBRID, second=True)
    for sign in "+-":
        head, found, tail = name.partition(sign)
        if head == HYBRID and found and tail:
            if sign == "+":
                if not tail.startswith(OWN):  # those of the project are known once it is opened
                    load_model(tail)
                return System(name, HYBRID, model=tail)
            if tail in GROUPS:
                return System(name, HYBRID, without=GROUPS[tail])
            raise UsageError(
                f"there is no group of features {tail!r}",
                hint=did_you_mean(tail, GROUPS, f"There are {', '.join(GROUPS)}."),
            )
    known = (BASELINE, BM25, VECTOR, HYBRID, FULL)
    raise UsageError(
        f"there is no system {name!r}",
        hint=did_you_mean(
            name,
            known,
            f"There are {', '.join(known)}, hybrid+MODEL and hybrid-GROUP of features, each also "
            "as @0.65 for packs of that share of the budget.",
        ),
    )


@dataclass(frozen=True, slots=True)
class OwnRankings:
    """What models of the project make of the packaged ones: `active` by packaged id, others by their own."""

    active: Mapping[str, RankingModel] = field(default_factory=dict)
    named: Mapping[str, RankingModel] = field(default_factory=dict)

    def used_id(self, model_id: str) -> str:
        """Return the id of what a packaged model is ranked with."""
        return self.active[model_id].model_id if model_id in self.active else model_id


def load_models(main: str, plain: str, systems: Iterable[System], own: OwnRankings = OwnRankings()) -> Models:
    """Load what systems rank with. Raises: ModelError for one that is not there."""
    wanted = {main, plain, *(system.model for system in systems if system.model)}
    by_id = {name: load_model(name) for name in sorted(wanted - own.named.keys())}
    by_id |= {**own.named, **{model.model_id: model for model in own.active.values()}}
    return Models(by_id, own.used_id(main), own.used_id(plain))


def rank(system: System, situation: Situation, models: Models) -> SystemRanking | None:
    """Rank the files of a moment; None if the system lacks what it needs."""
    started = time.perf_counter()
    found = _RANKERS[system.kind](system, situation, models)
    if found is None:
        return None
    elapsed = (time.perf_counter() - started) * 1000
    return replace(found, milliseconds=round(elapsed + found.milliseconds, 3))


def baseline_paths(moment: Moment, intent: Intent, manifests: Sequence[Manifest]) -> list[str]:
    """Return the files as the layers that the kind of task is routed to show them: the baseline's order."""
    paths = baseline_ranking(_layers(moment, manifests), intent.predicted)
    return [path for path in paths if path in moment.view.index.positions]


def compact_exploration(situation: Situation) -> LayerView:
    """Return what `workbench explore` shows of a moment, which needs no plan [img §14, G4]."""
    layers = _layers(situation.moment, situation.manifests())
    return explore(layers, situation.intent.predicted, Detail.COMPACT)


def _layers(moment: Moment, manifests: Sequence[Manifest]) -> LayerSource:
    changes = [
        PathChange(change.path, str(change.kind), float(known.task.at), known.head)
        for known in moment.past[:_CHANGES]
        for change in known.task.changes
    ]
    return index_layers(moment.view.index, manifests, changes)


def _baseline(system: System, situation: Situation, models: Models) -> SystemRanking:
    model = models.used_model(situation.semantic)
    paths = baseline_paths(situation.moment, situation.intent, situation.manifests())
    files = score_by_place(paths, model, BASELINE)
    return SystemRanking(files, model, weighed=False, fallback=False, milliseconds=0)


def _bm25(system: System, situation: Situation, models: Models) -> SystemRanking:
    model = models.used_model(situation.semantic)
    scores = situation.moment.view.index.bm25("body", situation.query.terms, b=0.6)
    files = score_by_place(_order_paths(situation.moment.view, scores), model, BM25)
    return SystemRanking(files, model, weighed=False, fallback=False, milliseconds=0)


def _vector(system: System, situation: Situation, models: Models) -> SystemRanking | None:
    if situation.semantic is None:
        if situation.moment.past:
            return None
        return SystemRanking((), models.by_id[models.plain], weighed=False, fallback=True, milliseconds=0)
    model = models.used_model(situation.semantic)
    scores = situation.signals()["affinity_semantic"]
    files = score_by_place(_order_paths(situation.moment.view, scores), model, VECTOR)
    return SystemRanking(files, model, weighed=False, fallback=False, milliseconds=0)


def _hybrid(system: System, situation: Situation, models: Models) -> SystemRanking:
    semantic = situation.semantic
    model = models.model(system.model, semantic) if system.model else models.used_model(semantic)
    waiting = situation.looked  # another system may have made this look already: it counts for all
    view, candidates = situation.moment.view, situation.candidates(model)
    if system.without:
        model = leave_out(model, system.without)
        signals = _with_neighbours(view, situation.signals(model.adapter), model.seeds)
        candidates = describe_files(view, signals, candidates.positions, candidates.sources)
    files, reading = score_candidates(view, candidates, model), situation.reading
    if reading is not None:
        files, model = read_first(
            reading.model, model, situation.intent, files, reading.read, without=system.without
        )
    fallback = situation.semantic is None and not system.model
    return SystemRanking(files, model, weighed=True, fallback=fallback, milliseconds=waiting)


_RANKERS: Final[Mapping[str, Callable[[System, Situation, Models], SystemRanking | None]]] = {
    BASELINE: _baseline,
    BM25: _bm25,
    VECTOR: _vector,
    HYBRID: _hybrid,
}


def first_files(
    situation: Situation, model: RankingModel, limit: int = 50
) -> tuple[list[str], tuple[str, ...], Float32, NDArray[np.float64]]:
    """Return the first c paths as a model ranks them, best first, with what it ranked them by.

    That is the names of f features, their values float32 [c, f], and the scores float64 [c].
    """
    candidates = situation.candidates(model)
    names, matrix = feature_names(candidates.names), feature_matrix(candidates)
    index = situation.moment.view.index
    paths = [index.paths[position] for position in candidates.positions.tolist()]
    scores, _ = score_rows(model, names, matrix, paths)
    rounded = np.round(scores, 6)
    order = sorted(range(len(paths)), key=lambda row: (-rounded[row], paths[row]))[:limit]
    return [paths[row] for row in order], tuple(names), matrix[order], rounded[order]


def leave_out(model: RankingModel, signals: frozenset[str]) -> RankingModel:
    """Return a model that does not look at some signals, neither at first nor when it ranks."""
    return replace(
        model,
        weights={name: value for name, value in model.weights.items() if name.split(".")[0] not in signals},
        seeds={name: value for name, value in model.seeds.items() if name.split(".")[0] not in signals},
        trees=model.trees and model.trees.leave_out(signals),
        correction={
            name: value for name, value in model.correction.items() if name.split(".")[0] not in signals
        },
    )


def _with_neighbours(
    view: RankingView, signals: Mapping[str, Float32], seeds: Mapping[str, float]
) -> dict[str, Float32]:
    mass = seed_mass(view, signals, seeds)
    return {**signals, **neighbour_signals(view, mass), "seed": mass}


def _order_paths(view: RankingView, scores: Float32) -> list[str]:
    """Return the paths with a positive score, best first, ties by path."""
    found = np.flatnonzero((scores > 0) & view.index.alive).tolist()
    paths = view.index.paths
    return [paths[row] for row in sorted(found, key=lambda row: (-float(scores[row]), paths[row]))]
