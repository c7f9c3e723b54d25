"""Does a model trained on the first half of a project's history rank the second half better?

    python -m bench.own_model FOLDER [REPOSITORY …] [--tasks 700] [--cache DIR]

Commits are spread over the whole history from the thirtieth on, each with what was known before it. The
model is trained on the older half as `workbench model train` does, without embeddings, and measured on the
newer one against the packaged ranking: as it is served, that is where its own test on the newest part of the
older half lets it, and as it would be without that test. `best` is what the same weights reach when they are
fitted to the very tasks they are measured on: no training on the past gets further with these features.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.split import TEST
from bench.tasks import commit_tasks
from bench.timeline import Timeline, repositories
from workbench.entry.services.model_fits import make_sample
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import LEXICAL_MODEL, load_model
from workbench.replay import fitting
from workbench.replay.fitting import TaskSample, choose_features, fit_weights, ndcg_with, task_weights
from workbench.replay.statistics import paired_permutation
from workbench.replay.systems import Situation

FIRST = 30
LEAST = 50


def main(arguments: Sequence[str]) -> None:
    """Print a line a repository, then the median."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=TEST)
    parser.add_argument("--tasks", type=int, default=700)
    parser.add_argument("--cache", type=Path, default=Path("bench-cache"))
    given = parser.parse_args(arguments)
    print(f"{'second half, nDCG@10':24} packaged   served          untested  best   own test")
    served, untested = [], []
    for name in given.names:
        samples = samples_of(given.folder, name, given.tasks, given.cache)
        if len(samples) < 4 * LEAST:
            print(f"{name:24} too few tasks ({len(samples)})")
            continue
        half = len(samples) // 2
        older, newer = samples[:half], samples[half:]
        weights = fit_weights(older, least=LEAST)
        base = np.asarray([ndcg_with(one) for one in newer])
        with_own = measure(newer, weights.weights if weights.better else {})
        anyway = measure(newer, weights.weights or refit(older))
        best = measure(newer, refit(newer))
        served.append(float(with_own.mean() / base.mean() - 1))
        untested.append(float(anyway.mean() / base.mean() - 1))
        p = paired_permutation(anyway.tolist(), base.tolist())
        print(
            f"{name:24} {base.mean():.3f}      {with_own.mean():.3f} ({served[-1]:+.1%})  "
            f"{untested[-1]:+6.1%} (p {p:.2f})  {best.mean() / base.mean() - 1:+.1%}  "
            f"{weights.before:.3f} -> {weights.after:.3f} (p {weights.p:.3f})",
            flush=True,
        )
    if served:
        print(f"median {np.median(served):+.1%}, least {min(served):+.1%} of {len(served)} repositories")
        print(f"without the test: median {np.median(untested):+.1%}, least {min(untested):+.1%}")


def samples_of(folder: Path, name: str, count: int, cache: Path) -> list[TaskSample]:
    """Return tasks of a repository, oldest first, from the cache if they were replayed before."""
    kept = cache / f"{name}.{count}.samples"
    if kept.exists():
        known: list[TaskSample] = pickle.loads(kept.read_bytes())
        return known
    found = repositories(folder, [name])
    if not found:
        return []
    timeline, base = Timeline(found[0], cache=cache), load_model(LEXICAL_MODEL)
    tasks = commit_tasks(timeline, 10**6)[::-1][FIRST:]
    step = max(1.0, len(tasks) / count)
    samples = []
    for task in [tasks[int(number * step)] for number in range(min(count, len(tasks)))]:
        moment = timeline.at(task.revision)
        truth = tuple(path for path in task.modified if path in moment.view.index.positions)
        if truth:
            situation = Situation(parse_intent(task.text), moment, tuple)
            samples.append(make_sample(situation, truth, base, task))
    timeline.save()
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(samples))
    return samples


def refit(samples: Sequence[TaskSample]) -> dict[str, float]:
    """Return weights fitted to samples with the middle penalty, whatever they are worth."""
    usable = [sample for sample in samples if sample.usable]
    trust = task_weights(usable)
    names = choose_features(usable, trust)
    return dict(
        zip(names, fitting.fit_penalised(usable, trust, names, fitting.PENALTIES[1]).tolist(), strict=True)
    )


def measure(samples: Sequence[TaskSample], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Return float64 [n], nDCG@10 of each task with weights on top."""
    names = tuple(weights)
    values = np.asarray(list(weights.values()))
    return np.asarray([ndcg_with(sample, names, values) for sample in samples])


if __name__ == "__main__":
    main(sys.argv[1:])
