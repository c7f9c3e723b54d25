"""Ranking, measured: our models and their peers on the same tasks, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.collect import Embed, Row, collect, load_rows, order_row, read_rows, save_rows
from bench.reworded import message_tasks, reworded_tasks
from bench.shapes import as_they_are, shape_tasks
from bench.tasks import AGES, aged_tasks, commit_tasks, life_tasks, prompt_tasks, tasks_at
from bench.timeline import Timeline, repositories
from workbench.plan.ranking import LEXICAL_MODEL, RankingModel, load_model
from workbench.plan.trees import ReadModel
from workbench.replay.metrics import ndcg, recall
from workbench.replay.statistics import bootstrap, paired_permutation
from workbench.replay.tasks import ReplayTask

Say = Callable[[str], None]
Ranker = tuple[RankingModel, ReadModel | None]
"""A model, and what orders the first files again once they were read."""

OURS = "workbench"
OURS_LEXICAL = "workbench, no embeddings"
UNREAD = "workbench, files not read"
CEILING = "best possible"  # recall ends at 10 files where more were modified
KINDS: Mapping[str, Callable[[Timeline, int], list[ReplayTask]]] = {
    "commits": commit_tasks,
    "ages": aged_tasks,
    "life": life_tasks,
    "prompts": prompt_tasks,
    "reworded": reworded_tasks,
    "messages": message_tasks,
    "reports": partial(reworded_tasks, wording="reports"),
    **{f"age-{age}": partial(tasks_at, age=age) for age in AGES},
}


@dataclass(frozen=True, slots=True)
class Scores:
    """Per task and system: nDCG@10 and recall@10, in the order of the tasks."""

    repository: str
    ndcg: Mapping[str, list[float]]
    recall: Mapping[str, list[float]]


def rows_of(
    folder: Path,
    name: str,
    kind: str,
    count: int,
    *,
    cache: Path,
    embed: Embed | None,
    say: Say,
    models: Sequence[RankingModel] | None = None,
) -> list[Row]:
    """Return the replayed tasks of a repository, from the cache if they were replayed before.

    The first files of `models` are read, those of the shipped models without.
    """
    stored = f"{name}.{kind}.{count}.{'semantic' if embed else 'lexical'}"
    rows = load_rows(cache / f"{stored}.rows")
    if models is None:
        models = (load_model(LEXICAL_MODEL), *(() if embed is None else (load_model(),)))
    unread = [model for model in models if not (cache / f"{stored}.{model.model_id}.read").exists()]
    if rows is None or unread:
        found = repositories(folder, [name])
        if not found:
            say(f"{name}: not below {folder}, left out")
            return []
        timeline = Timeline(found[0], cache=cache)
        if rows is None:
            rows = collect(
                timeline,
                KINDS[kind](timeline, count),
                load_model().seeds,
                embed=embed,
                shapes=shape_tasks if kind == "life" else as_they_are,
                progress=_every(say, name, kind),
            )
            save_rows(cache / f"{stored}.rows", rows)
        for model in unread:
            save_rows(cache / f"{stored}.{model.model_id}.read", read_rows(timeline, rows, model))
        timeline.save()
    for model in models:
        read = load_rows(cache / f"{stored}.{model.model_id}.read")
        rows = [
            replace(row, read={**row.read, model.model_id: one})
            for row, one in zip(rows, read or (), strict=True)
        ]
    return rows


def _every(say: Say, name: str, kind: str) -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        if done % 25 == 0 or done == total:
            say(f"{name} {kind}: {done} of {total}")

    return show


def score(repository: str, rows: Sequence[Row], models: Mapping[str, Ranker]) -> Scores:
    """Measure every system on the same rows."""
    gains: dict[str, list[float]] = {}
    recalls: dict[str, list[float]] = {}
    for row in rows:
        rankings = {**row.peers, **{name: _paths(row, *ranker) for name, ranker in models.items()}}
        rankings[CEILING] = tuple(row.truth)
        for system, ranking in rankings.items():
            hits = [path in row.truth for path in ranking]
            gains.setdefault(system, []).append(ndcg(hits, len(row.truth)))
            recalls.setdefault(system, []).append(recall(hits, len(row.truth)))
    return Scores(repository, gains, recalls)


def _paths(row: Row, model: RankingModel, files: ReadModel | None) -> tuple[str, ...]:
    return tuple(row.paths[number] for number in order_row(row, model, files)[0])


def table(scores: Sequence[Scores], systems: Sequence[str]) -> str:
    """Return a Markdown table: nDCG@10 / R@10 per repository and their mean, with an interval."""
    lines = [
        "| system | "
        + " | ".join(f"{one.repository} ({len(one.ndcg[systems[0]])})" for one in scores)
        + " | mean |",
        "|---|" + "---|" * (len(scores) + 1),
    ]
    for system in systems:
        cells = [f"{np.mean(one.ndcg[system]):.3f} / {np.mean(one.recall[system]):.3f}" for one in scores]
        gain = float(np.mean([np.mean(one.ndcg[system]) for one in scores]))
        found = float(np.mean([np.mean(one.recall[system]) for one in scores]))
        low, high = bootstrap([value for one in scores for value in one.ndcg[system]])
        lines.append(
            f"| {system} | "
            + " | ".join(cells)
            + f" | **{gain:.3f} / {found:.3f}** [{low:.3f}, {high:.3f}] |"
        )
    return "\n".join(lines)


def tests(scores: Sequence[Scores], ours: str, peers: Sequence[str]) -> str:
    """Return one line per peer: the mean difference in nDCG@10 over all tasks and its paired p."""
    mine = [value for one in scores for value in one.ndcg[ours]]
    lines = []
    for peer in peers:
        theirs = [value for one in scores for value in one.ndcg[peer]]
        difference = float(np.mean(mine) - np.mean(theirs))
        p = paired_permutation(mine, theirs)
        verdict = "" if p < 0.05 else ": no difference shown"
        lines.append(
            f"- {ours} - {peer}: {difference:+.3f} nDCG@10 over {len(mine)} tasks, p = {p:.4f}{verdict}"
        )
    return "\n".join(lines)
