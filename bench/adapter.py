"""What an adapter of query vectors, outlines of files and single words as vectors are worth.

    python -m bench.adapter FOLDER [REPOSITORY …] [--tasks 150] [--cache DIR]

Tasks are commits of the second half of each history, what is fitted is fitted to the first half. The first
lines order the fifty first files by one thing alone (nDCG@10, and the share of tasks with a right file among
the first three): vectors of outlines (path and defined names), the same with the task's vector mapped to
those of changed files, and late interaction over words (the best match of each word of the task). Then each
is added to the packaged ranking at several weights, where the best weight is chosen on the very tasks that
are reported and flatters it, and last the packaged ranking is given the adapter that `workbench model train
--kind adapter` fits. None of the repositories is one that the packaged model was trained on or is tested on.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.tasks import commit_tasks
from bench.timeline import Timeline, repositories
from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import cache_embeddings
from workbench.places import user_cache
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import load_model
from workbench.plan.semantics import QueryAdapter, head_texts, task_text
from workbench.project.index import ProjectIndex
from workbench.replay.adapter_fitting import PENALTIES, fit_adapter
from workbench.replay.metrics import ndcg
from workbench.replay.statistics import paired_permutation
from workbench.replay.systems import Situation, first_files
from workbench.replay.tasks import ReplayTask
from workbench.text.terms import parse_task
from workbench.text.vectors import cosines

Float32 = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Float32]

NAMES = (
    "pallets+click",
    "puma+puma",
    "jhy+jsoup",
    "sharkdp+fd",
    "lostisland+faraday",
    "stretchr+testify",
    "Seldaek+monolog",
)
FIRST = 30
WEIGHTS = (0.1, 0.2, 0.4, 0.8)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def main(arguments: Sequence[str]) -> None:
    """Print a line a signal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--tasks", type=int, default=150)
    parser.add_argument("--cache", type=Path, default=Path("bench-cache"))
    given = parser.parse_args(arguments)
    embedder, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if embedder is None:
        sys.exit("No embedding model: " + "; ".join(f"{one.source}: {one.reason}" for one in report.options))
    embed = cache_embeddings(embedder, given.cache / "embeddings").embed
    found: dict[str, list[float]] = defaultdict(list)
    for path in repositories(given.folder, given.names):
        timeline = Timeline(path, cache=given.cache)
        measure(timeline, given.tasks, embed, str(report.model), found)
        timeline.save()
        print(f"{timeline.name}: {len(found['packaged ranking'])} tasks so far", file=sys.stderr)
    packaged = found["packaged ranking"]
    print(f"{'nDCG@10 of ' + str(len(packaged)) + ' tasks':44} value   against the packaged ranking")
    for name, values in found.items():
        alone = name == "packaged ranking" or name.endswith(("alone", "three"))
        p = (
            ""
            if alone
            else f"{np.mean(values) - np.mean(packaged):+.3f}, p {paired_permutation(values, packaged):.3f}"
        )
        print(f"{name:44} {np.mean(values):.3f}   {p}")


def measure(
    timeline: Timeline, count: int, embed: Embed, embedding: str, found: dict[str, list[float]]
) -> None:
    """Add the values of each signal for tasks of the second half of a history."""
    tasks = commit_tasks(timeline, 10**6)[::-1][FIRST:]
    half = tasks[len(tasks) // 2 :]
    step = max(1.0, len(half) / count)
    moment = timeline.at(half[0].revision)
    vectors = embed(head_texts([known.head for known in moment.past]))
    files = [frozenset(change.path for change in known.task.changes) for known in moment.past]
    adapters = [fit_adapter(vectors, files, embedding, penalty) for penalty in PENALTIES]
    mapped, mean = fit_outlines(moment.view.index, vectors, files, embed)
    base = load_model()
    models = [
        replace(base, model_id=f"adapter {penalty:g}", adapter=adapter)
        for penalty, adapter in zip(PENALTIES, adapters, strict=True)
    ]
    for task in [half[int(number * step)] for number in range(min(count, len(half)))]:
        moment = timeline.at(task.revision)
        index = moment.view.index
        truth = frozenset(path for path in task.modified if path in index.positions)
        if not truth or not moment.past:
            continue
        query = embed([task_text(parse_task(task.text))])[0]
        heads = embed(head_texts([known.head for known in moment.past]))
        situation = Situation(
            parse_intent(task.text),
            moment,
            tuple,
            cosines(heads, query),
            partial(adapted, heads, query, embedding),
        )
        paths, _, _, scores = first_files(situation, base)
        found["packaged ranking"].append(value(paths, truth))
        outlines = [outline(index, index.positions[path]) for path in paths]
        rows = embed(outlines)
        aimed = query @ mapped
        signals = {
            "outlines": rows @ query,
            "outlines, task mapped": (rows - mean) @ (aimed / np.linalg.norm(aimed)),
            "words": late_interaction(task, outlines, embed),
        }
        signals["outlines, half mapped"] = scaled(signals["outlines"]) + scaled(
            signals["outlines, task mapped"]
        )
        for name, signal in signals.items():
            order = [paths[row] for row in np.argsort(-signal, kind="stable")]
            found[f"{name} alone"].append(value(order, truth))
            found[f"{name} alone, a right one in three"].append(
                float(any(path in truth for path in order[:3]))
            )
            for weight in WEIGHTS:
                mixed = np.argsort(-(scores + weight * scaled(signal)), kind="stable")
                found[f"{name}, added at {weight:g}"].append(value([paths[row] for row in mixed], truth))
        for model in models:
            found[f"{model.model_id}, of past tasks"].append(value(first_files(situation, model)[0], truth))


def adapted(heads: Float32, query: Float32, embedding: str, adapter: QueryAdapter) -> Float32:
    """Return float32 [heads], the cosines of a task to past ones by an adapter."""
    return cosines(heads, adapter.adapt(query, embedding))


def fit_outlines(
    index: ProjectIndex, vectors: Float32, files: Sequence[frozenset[str]], embed: Embed
) -> tuple[Float32, Float32]:
    """Return the ridge regression float32 [d, d] of what tasks changed on their vectors, and the mean [d]."""
    alive = np.flatnonzero(index.alive).tolist()
    rows = embed([outline(index, position) for position in alive])
    place = {index.paths[position]: row for row, position in enumerate(alive)}
    mean = rows.mean(axis=0)
    pairs = [
        (vector, rows[[place[path] for path in sorted(paths & place.keys())]].mean(axis=0) - mean)
        for vector, paths in zip(vectors, files, strict=True)
        if paths & place.keys() and len(paths) <= 10
    ]
    inputs = np.asarray([vector for vector, _ in pairs])
    wanted = np.asarray([row / np.linalg.norm(row) for _, row in pairs])
    curve = inputs.T @ inputs + 3.0 * np.eye(inputs.shape[1], dtype=np.float32)
    return np.linalg.solve(curve, inputs.T @ wanted).astype(np.float32), mean


def outline(index: ProjectIndex, position: int) -> str:
    """Return the words of a path and the names that its file defines."""
    symbols, _ = index.record(position)
    names = " ".join(dict.fromkeys(symbol.name for symbol in symbols))
    return f"{re.sub('[/_.]', ' ', index.paths[position])}: {names}"[:400]


def late_interaction(task: ReplayTask, outlines: Sequence[str], embed: Embed) -> Float32:
    """Return the best match of each word of the task among the words of each outline, rare words more."""
    asked, texts = words(task.text, 25), [words(text, 60) for text in outlines]
    if not asked:
        return np.zeros(len(outlines), np.float32)
    spread = Counter(word for text in texts for word in text)
    rarity = np.asarray([1 / np.log(2 + spread[word]) for word in asked], np.float32)
    query = embed(asked)
    best = [(query @ embed(text).T).max(axis=1) if text else np.zeros(len(asked)) for text in texts]
    return np.asarray([(rarity * row).sum() / rarity.sum() for row in best], np.float32)


def words(text: str, most: int) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(text) if len(word) > 2))[:most]


def scaled(signal: Float32) -> Float32:
    return np.asarray((signal - signal.mean()) / (signal.std() + 1e-9), np.float32)


def value(order: Sequence[str], truth: frozenset[str]) -> float:
    """Return nDCG@10."""
    return ndcg([path in truth for path in order[:10]], len(truth))


if __name__ == "__main__":
    main(sys.argv[1:])
