"""Packs, measured: how much of what a commit changed was in the pack made for its message.

Files count as covered when the pack shows lines of them (or only names them, the weaker figure beside it);
lines count when the pack shows them. Both are means over tasks of the share of that task's truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench import split
from bench.pack_tasks import NAMED, READ, PackTask, pack_tasks
from bench.ranking import Say, rows_of
from bench.timeline import Timeline, repositories
from workbench.plan.chunk_model import load_chunk_model
from workbench.plan.compose import FileCandidate, Pack, ViewOffer, compose
from workbench.plan.pipeline import least_chances
from workbench.plan.ranking import LEXICAL_MODEL, LinearModel, load_model
from workbench.plan.render import MARKDOWN
from workbench.plan.representations import Shares, file_offers, named_only
from workbench.plan.snippets import ChunkModel, expected_shares
from workbench.records.plan import Representation
from workbench.replay.statistics import bootstrap
from workbench.text.tokens import TokenCounter, token_counter

BUDGETS = (2000, 4000, 8000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pack covered, shares in [0, 1]; tokens of the pack, and milliseconds to compose it."""

    named: float
    shown: float
    lines: float
    tokens: int
    efficiency: float
    milliseconds: float


def measure(
    task: PackTask,
    model: ChunkModel,
    worth: Shares,
    counter: TokenCounter,
    budget: int,
    *,
    read: int = READ,
    named: int = NAMED,
) -> Outcome:
    """Make the pack for one task and compare it with what was changed."""
    started = time.perf_counter()
    candidates = []
    considered = task.ranked[: read + named]
    least_shown, least_named = least_chances(max((chance for _, chance in considered), default=0.0))
    for place, (path, chance) in enumerate(considered):
        if chance < least_named:
            continue
        file = task.files.get(path) if place < read and chance >= least_shown else None
        offers: tuple[ViewOffer, ...]
        if file is None:
            offers = (named_only(path, chance, MARKDOWN, counter, worth),)
        else:
            shares = expected_shares(model, file.rows)
            offers = file_offers(
                file.text, chance, shares, file.symbols, MARKDOWN, counter, worth, file.tokens
            )
        candidates.append(FileCandidate(path, chance, offers))
    pack = compose([], candidates, budget, MARKDOWN, counter)
    elapsed = (time.perf_counter() - started) * 1000
    return _outcome(task, pack, elapsed)


def _outcome(task: PackTask, pack: Pack, elapsed: float) -> Outcome:
    views = {candidate.path: offer.view for candidate, offer in pack.files}
    shown = [path for path in task.truth if path in views and views[path].spans]
    covered = sum(
        any(start <= line <= end for start, end in views[path].spans)
        for path in shown
        for line in task.truth[path]
    )
    return Outcome(
        named=sum(path in views for path in task.truth) / len(task.truth),
        shown=sum(
            path in views and views[path].representation is not Representation.PATH for path in task.truth
        )
        / len(task.truth),
        lines=covered / sum(map(len, task.truth.values())),
        tokens=pack.report.estimated_used,
        efficiency=pack.report.efficiency_score,
        milliseconds=elapsed,
    )


def tasks_of(
    folder: Path, name: str, count: int, *, cache: Path, ranking: LinearModel, say: Say
) -> list[PackTask]:
    """Return the pack tasks of a repository; empty, and said so, if it is not there."""
    found = repositories(folder, [name])
    rows = rows_of(folder, name, "commits", count, cache=cache, embed=None, say=say)
    if not found or not rows:
        return []
    counter = token_counter()
    return list(pack_tasks(Timeline(found[0]), rows, ranking, counter))


def table(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """Return a Markdown table: one line a repository, and the mean over repositories with intervals."""
    lines = [
        "| repository | tasks | files shown | shown or named | lines | tokens (median) | of bound | ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines.extend(_line(name, found) for name, found in outcomes.items())
    if len(outcomes) > 1:
        every = [one for found in outcomes.values() for one in found]
        shown, spread = _mean(outcomes, "shown"), bootstrap([one.lines for one in every])
        lines.append(
            f"| **mean** | {len(every)} | **{shown:.3f}** | {_mean(outcomes, 'named'):.3f} "
            f"| **{_mean(outcomes, 'lines'):.3f}** [{spread[0]:.3f}, {spread[1]:.3f}] "
            f"| {np.median([one.tokens for one in every]):.0f} | {_mean(outcomes, 'efficiency'):.3f} "
            f"| {np.median([one.milliseconds for one in every]):.1f} |"
        )
    return "\n".join(lines)


def _line(name: str, found: Sequence[Outcome]) -> str:
    def mean(field: str) -> float:
        return float(np.mean([getattr(one, field) for one in found]))

    return (
        f"| {name} | {len(found)} | {mean('shown'):.3f} | {mean('named'):.3f} | {mean('lines'):.3f} "
        f"| {np.median([one.tokens for one in found]):.0f} | {mean('efficiency'):.3f} "
        f"| {np.median([one.milliseconds for one in found]):.1f} |"
    )


def _mean(outcomes: Mapping[str, Sequence[Outcome]], field: str) -> float:
    return float(np.mean([np.mean([getattr(one, field) for one in found]) for found in outcomes.values()]))


def report(
    folder: Path,
    tasks: int,
    *,
    cache: Path,
    say: Say,
    names: Sequence[str] = split.TEST,
    budgets: Sequence[int] = BUDGETS,
    write: Callable[[str], None] = print,
) -> None:
    """Print the tables for every budget. Without any of the named repositories, `folder` itself is used."""
    if not repositories(folder, names):
        folder, names = folder.parent, (folder.name,)
    learned, worth = load_chunk_model()
    # Plans do not yet read which lines past commits changed: the features that need it are left out here too.
    weights = {name: value for name, value in learned.weights.items() if not name.startswith("touched")}
    model = replace(learned, weights=weights)
    ranking, counter = load_model(LEXICAL_MODEL), token_counter()
    outcomes: dict[int, dict[str, list[Outcome]]] = {budget: {} for budget in budgets}
    for name in names:
        found = tasks_of(folder, name, tasks, cache=cache, ranking=ranking, say=say)
        for budget in budgets if found else ():
            outcomes[budget][name] = [measure(task, model, worth, counter, budget) for task in found]
    for budget in budgets:
        if outcomes[budget]:
            write(f"\n## Packs at {budget:,} tokens ({counter.name})\n")
            write(table(outcomes[budget]))
