"""A run of a rules benchmark: every system ranks every message, timed; then thresholds, tests and kinds.

Each system's threshold is the one with the best micro F1 on the fit half, and what is claimed of it, the
comparison of systems included, is measured on the test half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.replay.answers import (
    THRESHOLDS,
    Answer,
    AtThreshold,
    RankingFigures,
    at,
    best,
    by_kind,
    choose,
    counts,
    half,
    message_f1,
    ranking_figures,
)
from workbench.replay.datasets import Message, RulesDataset, Split
from workbench.replay.statistics import Difference, mean_difference, micro_f1_difference, micro_f1_interval
from workbench.replay.systems import HYBRID, Embed, System

Progress = Callable[[str, int, int], None]

_WARM_UP = 20  # messages ranked before the clock counts


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
class Comparison:
    """How far one system is above another on the test half, each at its chosen threshold."""

    first: str
    second: str
    f1: Difference
    macro_f1: Difference


@dataclass(frozen=True, slots=True)
class BenchmarkReport:
    """What a run found. `degraded` names what was missing, `note` says why; `model` is '' without one."""

    dataset: str
    rules: int
    messages: int
    expecting_none: int
    fit: int
    test: int
    model: str
    systems: tuple[SystemReport, ...]
    comparisons: tuple[Comparison, ...]
    degraded: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class _Run:
    """A system's answers, and the seconds each took without and with the embedding."""

    answers: list[Answer] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    embedded: list[float] = field(default_factory=list)


def run(
    dataset: RulesDataset,
    systems: Sequence[System],
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
    thresholds = {name: choose(half(found.answers, Split.FIT)) for name, found in runs.items()}
    splits = [message.split for message in dataset.messages]
    return BenchmarkReport(
        dataset=dataset.name,
        rules=len(dataset.rules),
        messages=len(dataset.messages),
        expecting_none=sum(not message.expected for message in dataset.messages),
        fit=splits.count(Split.FIT),
        test=splits.count(Split.TEST),
        model=model,
        systems=tuple(_system(name, found, thresholds[name]) for name, found in runs.items()),
        comparisons=_comparisons({name: found.answers for name, found in runs.items()}, thresholds),
        degraded=() if embed is not None else ("embeddings",),
        note=note,
    )


def _answers(
    dataset: RulesDataset,
    systems: Sequence[System],
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
    systems: Sequence[System],
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
        found.answers.append(Answer(message, ranked))
        found.alone.append(seconds)
        found.embedded.append(seconds + (embedding if system.needs_vector else 0.0))


def _system(name: str, found: _Run, threshold: float) -> SystemReport:
    fitted, tested = half(found.answers, Split.FIT), half(found.answers, Split.TEST)
    sweep = tuple(at(tested, one) for one in THRESHOLDS)
    return SystemReport(
        name=name,
        sweep=sweep,
        sweep_best=best(sweep).threshold,
        fitted=at(fitted, threshold),
        chosen=at(tested, threshold),
        interval=micro_f1_interval(counts(tested, threshold)),
        ranking=ranking_figures(tested),
        kinds=by_kind(tested, threshold),
        latency=Latency(*_percentiles(found.alone), *_percentiles(found.embedded)),
    )


def _comparisons(answers: dict[str, list[Answer]], thresholds: dict[str, float]) -> tuple[Comparison, ...]:
    """Compare hybrid, where it was run, with every other system."""
    found = {name: counts(half(one, Split.TEST), thresholds[name]) for name, one in answers.items()}
    if HYBRID not in found:
        return ()
    mine = found[HYBRID]
    return tuple(
        Comparison(
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
