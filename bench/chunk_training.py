"""Learn which chunks of a file a task will change, and write the model file.

    python -m bench.chunk_training --repos DIR

The chunks of one changed file compete: a softmax over their linear scores is fitted to the share of the
file's changed lines that each holds. Only training repositories are read; the model file names them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import split
from bench.pack_tasks import PackTask
from bench.packs import tasks_of
from workbench.plan.ranking import CHUNK_MODEL, LEXICAL_MODEL, load_model
from workbench.plan.representations import Shares
from workbench.plan.snippets import FEATURES

Float64 = NDArray[np.float64]

TOUCHES = [name for name in FEATURES if name.startswith("touched")]
BY_HAND = {"frame": 4.0}  # commit messages hold no stack traces, so there is nothing to learn it from
STUDY_TOKENS = 400


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """The chunks of one changed file: features float64 [c, f], share of the change [c], tokens [c]."""

    features: Float64
    share: Float64
    tokens: NDArray[np.int64]
    repository: str


def groups_of(repository: str, tasks: Sequence[PackTask]) -> list[ChunkGroup]:
    """Return a group for each changed file with more than one chunk."""
    groups = []
    for task in tasks:
        for path, lines in task.truth.items():
            file = task.files[path]
            held = [
                len([line for line in lines if chunk.start <= line <= chunk.end])
                for chunk in file.text.chunks
            ]
            if len(held) > 1 and any(held):
                features = np.asarray([[row.get(name, 0.0) for name in FEATURES] for row in file.rows])
                share = np.asarray(held, dtype=np.float64) / sum(held)
                groups.append(ChunkGroup(features, share, np.asarray(file.tokens), repository))
    return groups


def fit_chunks(
    groups: Sequence[ChunkGroup], *, l2: float = 3.0, without: Sequence[str] = ()
) -> dict[str, float]:
    """Return weights by feature; every repository weighs the same however many changed files it has."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    names = [name for name in FEATURES if name not in BY_HAND and name not in without]
    columns = [[*FEATURES].index(name) for name in names]
    stacked = np.concatenate([group.features[:, columns] for group in groups])
    scale = stacked.std(axis=0) + 1e-9
    stacked = stacked / scale
    target = np.concatenate([group.share for group in groups])
    sizes = [len(group.share) for group in groups]
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(groups)), sizes)
    counts = {group.repository: 0 for group in groups}
    for group in groups:
        counts[group.repository] += 1
    weight = np.asarray([len(groups) / len(counts) / counts[group.repository] for group in groups])[owner]

    def loss(weights: Float64) -> tuple[float, Float64]:
        scores = stacked @ weights
        top = np.maximum.reduceat(scores, starts)[owner]
        powers = np.exp(scores - top)
        sums = np.add.reduceat(powers, starts)[owner]
        value = float((weight * target * (np.log(sums) + top - scores)).sum() + l2 * weights @ weights)
        return value, stacked.T @ (weight * (powers / sums - target)) + 2 * l2 * weights

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x / scale
    return {name: round(float(value), 4) for name, value in zip(names, found, strict=True)} | BY_HAND


def chunk_quality(groups: Sequence[ChunkGroup], weights: dict[str, float]) -> tuple[float, float]:
    """Return mean cross-entropy, and mean share of the change shown with `STUDY_TOKENS` tokens a file."""
    vector = np.asarray([weights.get(name, 0.0) for name in FEATURES])
    losses, shown = [], []
    for group in groups:
        scores = group.features @ vector
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        losses.append(float(-(group.share * np.log(chances + 1e-12)).sum()))
        left, held = STUDY_TOKENS, 0.0
        for index in np.argsort(-chances / (group.tokens + 5), kind="stable").tolist():
            if group.tokens[index] + 5 <= left:
                left -= int(group.tokens[index]) + 5
                held += float(group.share[index])
        shown.append(held)
    return float(np.mean(losses)), float(np.mean(shown))


def ablation(train: Sequence[ChunkGroup], test: Sequence[ChunkGroup]) -> str:
    """Return a Markdown table of what leaving each feature out costs on the test repositories."""
    everything = chunk_quality(test, fit_chunks(train))
    lines = [
        f"| without | cross-entropy | share shown at {STUDY_TOKENS} tokens a file |",
        "|---|---|---|",
        f"| nothing | {everything[0]:.3f} | {everything[1]:.3f} |",
    ]
    for label, left_out in (("all touches", TOUCHES), *((name, [name]) for name in FEATURES)):
        loss, shown = chunk_quality(test, fit_chunks(train, without=left_out))
        lines.append(f"| {label} | {loss:.3f} | {shown:.3f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Train on the training repositories, write the model file, print what each feature gives."""
    parser = argparse.ArgumentParser(prog="python -m bench.chunk_training", description=__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of repositories, named owner+name")
    parser.add_argument("--tasks", type=int, default=150)
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    parser.add_argument("--ablation", action="store_true", help="also measure the model without each feature")
    options = parser.parse_args(arguments)
    ranking = load_model(LEXICAL_MODEL)

    def groups(names: Sequence[str]) -> list[ChunkGroup]:
        return [
            group
            for name in names
            for group in groups_of(
                name,
                tasks_of(
                    options.repos,
                    name,
                    "ages",
                    options.tasks,
                    cache=options.cache,
                    ranking=ranking,
                    say=_say,
                ),
            )
        ]

    train = groups(split.CHUNKS_TRAIN)
    weights = fit_chunks(train)
    worth = Shares()
    document = {
        "model_id": CHUNK_MODEL,
        "model_kind": "linear",
        "trained_on": list(split.CHUNKS_TRAIN),
        "weights": {name: weights[name] for name in FEATURES},
        "worth": {"path": worth.path, "outline": worth.outline, "depth": worth.depth},
    }
    target = Path(__file__).parent.parent / "workbench" / "models" / "data" / f"{CHUNK_MODEL}.json"
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{len(train)} changed files; cross-entropy and share shown: {chunk_quality(train, weights)}")
    if options.ablation:
        print(ablation(train, groups(split.TEST)))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
