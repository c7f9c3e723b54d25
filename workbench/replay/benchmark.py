"""A run of a rules benchmark: every system ranks every message, timed; then thresholds, tests and kinds.

Each system's threshold is the one with the best micro F1 on the fit half, and what is claimed of it, the
comparison of systems included, is measured on the test half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.records.replay import Gap
from workbench.records.rules import Rule
from workbench.replay.answers import (
    THRESHOLDS,
    AtThreshold,
    MessageAnswer,
    Ranked,
    RankingFigures,
    answers_in,
    best_figures,
    by_kind,
    choose_threshold,
    count_answers,
    measure_at,
    message_f1,
    ranking_figures,
)
from workbench.replay.datasets import Message, RulesDataset, Split
from workbench.replay.statistics import mean_difference, micro_f1_difference, micro_f1_interval
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.relevance import Mode, rule_texts, rule_vectors
from workbench.rules.matching.search import RuleIndex, index_rules, match_message

if TYPE_CHECKING:
    from workbench.ports import Float32


Progress = Callable[[str, int, int], None]

_WARM_UP = 20  # messages ranked before the clock counts

VECTOR: Final = "vector"
BM25: Final = "bm25"
HYBRID: Final = "hybrid"

MODES: Final[dict[str, Mode]] = {VECTOR: "dense", BM25: "sparse", HYBRID: "hybrid"}

Embed = Callable[[Sequence[str]], "Float32"]
"""Texts to float32 [n, dimensions], rows of length 1."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds a message: of matching alone, and with the embedding of the message where it needs one."""

    p50: float
    p95: float
    p50_with_embedding: float
    p95_with_embedding: float


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What a system is worth. `sweep` is on the test half, with `sweep_best` its threshold of best F1.

    `chosen` is on the test half at the threshold chosen on the fit half, `fitted` on the fit half itself;
    `interval` is of `chosen.f1`. `kinds` are {kind: (messages, macro F1)} there.
    """

    name: str
    sweep: tuple[AtThreshold, ...]
    sweep_best: float
    fitted: AtThreshold
    chosen: AtThreshold
    interval: tuple[float, float]
    ranking: RankingFigures
    kinds: dict[str, tuple[int, float]]
    latency: Latency


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """How far one system is above another on the test half, each at its chosen threshold."""

    first: str
    second: str
    f1: Gap
    macro_f1: Gap


@dataclass(frozen=True, slots=True)
class BenchmarkReport:
    """What a run found. `degraded` names what was missing, `note` explains it; `model` is '' without one."""

    dataset: str
    rules: int
    messages: int
    expecting_none: int
    fit: int
    test: int
    model: str
    systems: tuple[SystemReport, ...]
    comparisons: tuple[SystemComparison, ...]
    degraded: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class _Run:
    """A system's answers, and the seconds each took without and with the embedding."""

    answers: list[MessageAnswer] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    embedded: list[float] = field(default_factory=list)


def run_benchmark(
    dataset: RulesDataset,
    systems: Sequence[RuleSystem],
    embed: Embed | None,
    clock: Callable[[], float],
    *,
    model: str = "",
    note: str = "",
    progress: Progress = lambda stage, done, total: None,
) -> BenchmarkReport:
    """Run the systems over the messages and return the report.

    `embed` is given one message at a time and must not remember any: its time counts. `clock` returns
    seconds. Raises: ModelError.
    """
    runs = _answers(dataset, systems, embed, clock, progress)
    thresholds = {name: choose_threshold(answers_in(run.answers, Split.FIT)) for name, run in runs.items()}
    splits = [message.split for message in dataset.messages]
    return BenchmarkReport(
        dataset=dataset.name,
        rules=len(dataset.rules),
        messages=len(dataset.messages),
        expecting_none=sum(not message.expected for message in dataset.messages),
        fit=splits.count(Split.FIT),
        test=splits.count(Split.TEST),
        model=model,
        systems=tuple(_system(name, run, thresholds[name]) for name, run in runs.items()),
        comparisons=_comparisons({name: run.answers for name, run in runs.items()}, thresholds),
        degraded=() if embed is not None else ("embeddings",),
        note=note,
    )


def _answers(
    dataset: RulesDataset,
    systems: Sequence[RuleSystem],
    embed: Embed | None,
    clock: Callable[[], float],
    progress: Progress,
) -> dict[str, _Run]:
    runs = {system.name: _Run() for system in systems}
    total = len(dataset.messages)
    progress("Matching", 0, total)
    for message in dataset.messages[:_WARM_UP]:
        _time(message, systems, embed, clock, {system.name: _Run() for system in systems})
    for done, message in enumerate(dataset.messages, start=1):
        _time(message, systems, embed, clock, runs)
        progress("Matching", done, total)
    return runs


def _time(
    message: Message,
    systems: Sequence[RuleSystem],
    embed: Embed | None,
    clock: Callable[[], float],
    runs: dict[str, _Run],
) -> None:
    """Add every system's answer to a message, and how long it took, to its run."""
    started = clock()
    vector = embed([message.text])[0] if embed is not None else None
    embedding = clock() - started
    for system in systems:
        started = clock()
        ranked = system.rank(message.text, vector)
        seconds = clock() - started
        found = runs[system.name]
        found.answers.append(MessageAnswer(message, ranked))
        found.alone.append(seconds)
        found.embedded.append(seconds + (embedding if system.needs_vector else 0.0))


def _system(name: str, found: _Run, threshold: float) -> SystemReport:
    fitted, tested = answers_in(found.answers, Split.FIT), answers_in(found.answers, Split.TEST)
    sweep = tuple(measure_at(tested, threshold) for threshold in THRESHOLDS)
    return SystemReport(
        name=name,
        sweep=sweep,
        sweep_best=best_figures(sweep).threshold,
        fitted=measure_at(fitted, threshold),
        chosen=measure_at(tested, threshold),
        interval=micro_f1_interval(count_answers(tested, threshold)),
        ranking=ranking_figures(tested),
        kinds=by_kind(tested, threshold),
        latency=Latency(*_percentiles(found.alone), *_percentiles(found.embedded)),
    )


def _comparisons(
    answers: dict[str, list[MessageAnswer]], thresholds: dict[str, float]
) -> tuple[SystemComparison, ...]:
    """Compare hybrid, where it was run, with every other system."""
    found = {
        name: count_answers(answers_in(one, Split.TEST), thresholds[name]) for name, one in answers.items()
    }
    if HYBRID not in found:
        return ()
    mine = found[HYBRID]
    return tuple(
        SystemComparison(
            HYBRID,
            name,
            micro_f1_difference(mine, theirs),
            mean_difference(message_f1(mine).tolist(), message_f1(theirs).tolist()),
        )
        for name, theirs in found.items()
        if name != HYBRID
    )


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return float(p50), float(p95)


@dataclass(frozen=True, slots=True)
class RuleSystem:
    """A way of matching. `rank` takes a message and its vector, which is used only if `needs_vector`."""

    name: str
    needs_vector: bool
    rank: Callable[[str, Float32 | None], Ranked]


def rule_systems(
    rules: Sequence[Rule], embed: Embed | None, *, model: str = "", params: MatchParams | None = None
) -> tuple[RuleSystem, ...]:
    """Return the systems over these rules: vector, bm25 and hybrid, or bm25 alone without `embed`.

    `model` is the identity of the vectors, which calibration goes by. Raises: ModelError if the rules cannot
    be embedded.
    """
    by_relevance = replace(
        params or MatchParams(), threshold=0.0, hybrid_weight=1.0, priority_weight=0.0, scope_weight=0.0
    )
    if embed is None:
        return (_rule_system(BM25, index_rules(rules), by_relevance),)
    texts = rule_texts(rules)
    index = index_rules(rules, vectors=rule_vectors(texts, embed(texts.texts), model))
    return tuple(_rule_system(name, index, by_relevance) for name in MODES)


def _rule_system(name: str, index: RuleIndex, params: MatchParams) -> RuleSystem:
    return RuleSystem(name, name != BM25, partial(_rank, index, params, name))


def _rank(index: RuleIndex, params: MatchParams, name: str, message: str, vector: Float32 | None) -> Ranked:
    if vector is None and name != BM25:
        raise ValueError(f"{name} cannot match a message without its vector")
    found = match_message(index, RuleQuery(message), vector, params, mode=MODES[name])
    return tuple((match.rule.id, match.relevance) for match in found.matches if match.relevance > 0)
