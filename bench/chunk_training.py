"""Learn from the contents of the first files which of them a task changes, and where; write the model file.

    python -m bench.chunk_training --repos DIR [--former FILE]

Trees are grown that go on from the scores of files, with what their places share with the task. Then, with
the files in that order, a softmax over linear scores is fitted to the share of a changed file's lines that
each of its chunks holds, and trees are grown on the likeliest chunks of all first files, for the chance that
the task changes them; with `--former` the trees of files are the mean
of those and a former model's, and all else is as it has it. Only training repositories are read; the
model file names them. Places are learned from commits with their messages and in a user's words.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.grow import LEAVES, PARAMETERS, export
from bench.pack_tasks import PackTask, tasks_of
from bench.reading import grow_files
from bench.reworded import repositories_of
from bench.train import fold_models, groups_of, mean_of
from bench.training import fold_of, training_rows
from workbench.plan.places import COLUMN, FEATURES, LIKELIEST, LINEAR, ChunkModel, add_shares
from workbench.plan.ranking import CHUNK_MODEL, LEXICAL_MODEL, RankingModel, load_model
from workbench.plan.trees import ReadModel

Float64 = NDArray[np.float64]

MODEL = Path(__file__).parent.parent / "workbench" / "models" / "data" / f"{CHUNK_MODEL}.json"
BY_HAND = {"frame": 4.0}  # commit messages hold no stack traces, so there is nothing to learn it from
TREES = 300
L2 = 3.0


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """The chunks of one changed file: linear features float64 [c, f], share of the change [c]."""

    features: Float64
    share: Float64
    repository: str


def groups_of_places(repository: str, tasks: Sequence[PackTask]) -> list[ChunkGroup]:
    """Return a group for each changed file with more than one chunk."""
    columns = [COLUMN[name] for name in LINEAR]
    groups = []
    for task in tasks:
        for number, (start, end) in enumerate(zip(task.starts, task.starts[1:], strict=False)):
            held = task.changed_lines(number)
            if end - start > 1 and held.any():
                rows = task.rows[start:end, columns].astype(np.float64)
                groups.append(ChunkGroup(rows, held / held.sum(), repository))
    return groups


def fit_shares(groups: Sequence[ChunkGroup]) -> dict[str, float]:
    """Return weights by feature; every repository weighs the same however many changed files it has."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    names = [name for name in LINEAR if name not in BY_HAND]
    columns = [LINEAR.index(name) for name in names]
    stacked = np.concatenate([group.features[:, columns] for group in groups])
    scale = stacked.std(axis=0) + 1e-9
    stacked = stacked / scale
    target = np.concatenate([group.share for group in groups])
    sizes = [len(group.share) for group in groups]
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(groups)), sizes)
    weight = _even([group.repository for group in groups])[owner]

    def loss(weights: Float64) -> tuple[float, Float64]:
        scores = stacked @ weights
        top = np.maximum.reduceat(scores, starts)[owner]
        powers = np.exp(scores - top)
        sums = np.add.reduceat(powers, starts)[owner]
        value = float((weight * target * (np.log(sums) + top - scores)).sum() + L2 * weights @ weights)
        return value, stacked.T @ (weight * (powers / sums - target)) + 2 * L2 * weights

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x / scale
    return {name: round(float(value), 4) for name, value in zip(names, found, strict=True)} | BY_HAND


def _even(repositories: Sequence[str]) -> Float64:
    counts = {name: repositories.count(name) for name in {*repositories}}
    return np.asarray([len(repositories) / len(counts) / counts[name] for name in repositories])


def grow_places(tasks: Mapping[str, Sequence[PackTask]], weights: Mapping[str, float]) -> dict[str, Any]:
    """Return the document of trees for a chunk's log-odds, grown on the likeliest chunks of each task."""
    lightgbm: Any = import_module("lightgbm")
    model = ChunkModel(weights)
    blocks, changed, owners = [], [], []
    for repository, found in tasks.items():
        for task in found:
            add_shares(model, task.rows, task.starts)
            likeliest = np.sort(np.argsort(-task.rows[:, COLUMN["first"]], kind="stable")[:LIKELIEST])
            blocks.append(task.rows[likeliest])
            changed.append(task.changed[likeliest])
            owners += [repository] * len(likeliest)
    names, places, counts = np.unique(np.asarray(owners), return_inverse=True, return_counts=True)
    even = (len(owners) / len(names) / counts)[places]
    rows = lightgbm.Dataset(np.concatenate(blocks), np.concatenate(changed).astype(np.int32), weight=even)
    parameters = PARAMETERS | {"objective": "binary", "min_data_in_leaf": 200, "num_leaves": LEAVES}
    parameters.pop("lambdarank_truncation_level")
    return export(lightgbm.train(parameters, rows, TREES).dump_model()["tree_info"], [*FEATURES])


def main(arguments: list[str] | None = None) -> int:
    """Train on the training repositories and write the model file."""
    parser = argparse.ArgumentParser(prog="python -m bench.chunk_training", description=__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of repositories, named owner+name")
    parser.add_argument("--tasks", type=int, default=24)
    parser.add_argument("--former", type=Path, help="a chunk model to go on from")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    options = parser.parse_args(arguments)
    ranking = load_model(LEXICAL_MODEL)
    read_training = partial(training_rows, options.repos, cache=options.cache, say=_say)
    unread = read_training()
    names, groups = groups_of(unread)
    folds = fold_models(unread, groups, names, ranking)
    models = {name: folds[number] for name, number in fold_of(unread).items()}
    grown, files = grow_files(read_training(models=models), models)
    if options.former:
        before = json.loads(options.former.read_text(encoding="utf-8"))
        grown = mean_of(before["files"]["trees"], grown)
        files = replace(
            files, relevance=before["files"]["relevance"], confidence=before["files"]["confidence"]
        )
        weights, trees = before["weights"], before["trees"]
    else:
        weights, trees = _train_places(options, ranking, files)
    write_model(weights, trees, sorted({name for name, _ in unread}), files, grown)
    return 0


def _train_places(
    options: argparse.Namespace, ranking: RankingModel, files: ReadModel
) -> tuple[dict[str, float], dict[str, Any]]:
    tasks: dict[str, list[PackTask]] = {}
    for name in repositories_of("train"):
        for kind in ("messages", "reworded"):
            tasks.setdefault(name, []).extend(
                tasks_of(
                    *(options.repos, name, kind, options.tasks),
                    cache=options.cache,
                    ranking=ranking,
                    files=files,
                    say=_say,
                )
            )
    weights = fit_shares([group for name, found in tasks.items() for group in groups_of_places(name, found)])
    return weights, grow_places(tasks, weights)


def write_model(
    weights: Mapping[str, float],
    trees: Mapping[str, Any],
    trained_on: Sequence[str],
    files: ReadModel,
    grown: Mapping[str, Any],
) -> None:
    """Write the model file, `grown` are the trees of files. An array of nodes is a line."""
    document = {
        "model_id": CHUNK_MODEL,
        "model_kind": "trees",
        "trained_on": trained_on,
        "weights": {name: weights[name] for name in LINEAR},
        "files": {
            "relevance": files.relevance,
            "confidence": files.confidence,
            "trees": {key: f"@files {key}" for key in grown},
        },
        "trees": {key: f"@{key}" for key in trees},
    }
    text = json.dumps(document, indent=1)
    for key, array in {**{f"files {key}": nodes for key, nodes in grown.items()}, **trees}.items():
        text = text.replace(f'"@{key}"', json.dumps(array, separators=(",", ":")), 1)
    MODEL.write_text(text + "\n", encoding="utf-8")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
