"""A few weights of a project's own on top of a packaged ranking, fitted to its past tasks [img 9].

The score stays that of the packaged model; a listwise softmax over its first files, whose temperature is
fitted first, is held to it by a strong penalty on what is added. The oldest tasks are fitted to, how strong
the penalty is follows from the next ones, and what comes of it is tested on the newest, which nothing was
chosen by. Older tasks count less, and so do repeated ones and prompts where these outnumber commits: nobody
outvotes the history by flooding it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.replay.statistics import paired_permutation

Float64 = NDArray[np.float64]

FILES: Final = 50  # first files of a task that are looked at
FEATURES: Final = 24  # that get a weight, at most
PENALTIES: Final = (100.0, 300.0, 1000.0, 3000.0)  # of squared weights, features in deviations
CHOICE: Final = 0.6  # of the tasks that are fitted to while the penalty is chosen
TEST: Final = 0.8  # of the tasks after which the tested ones begin
HALF_LIFE: Final = 365 * 86_400.0  # seconds after which a task counts half
CHANCE: Final = 0.01  # of 0.05 one project in twenty would get weights that only seem better
LEAST: Final = 50  # samples; fewer say nothing
_STEPS: Final = 12
_DISCOUNTS: Final = 1.0 / np.log2(np.arange(2, 12))


@dataclass(frozen=True, slots=True)
class TaskSample:
    """The first files of a past task as a packaged model ranks them, with what was known before it.

    features float16 [c, f] by `names`, scores float64 [c] best first, relevant bool [c]; `total` files were
    modified. `text` and `session` are what tells repeated tasks and prompts of one session; `trust` is what
    the verdict on a prompt makes it count, 1 without one.
    """

    names: tuple[str, ...]
    features: NDArray[np.float16]
    scores: Float64
    relevant: NDArray[np.bool_]
    total: int
    at: int
    session: str
    text: str
    prompt: bool
    trust: float = 1.0

    @property
    def usable(self) -> bool:
        """Whether it has both a right file and a wrong one, and numbers throughout."""
        sound = np.isfinite(self.features).all() and np.isfinite(self.scores).all()
        return bool(sound and self.relevant.any() and not self.relevant.all())


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """What a fit is worth: nDCG@10 before and after on `held_out` tasks; a penalty of 0 is that of none."""

    penalty: float
    samples: int
    held_out: int
    before: float
    after: float
    p: float
    since: int
    until: int

    @property
    def better(self) -> bool:
        """Whether they are better beyond chance on tasks that they were not fitted to."""
        return self.penalty > 0 and self.after > self.before and self.p < CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWeights(FittedModel):
    """Weights by feature."""

    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Block:
    """n tasks padded to FILES: features float32 [n, c, f], scores [n, c], relevant and present [n, c]."""

    features: NDArray[np.float32]
    scores: Float64
    relevant: NDArray[np.bool_]
    present: NDArray[np.bool_]
    ideal: Float64
    weights: Float64


def fit_weights(given: Sequence[TaskSample], *, least: int, seed: int = 7) -> FittedWeights:
    """Fit weights to past tasks and test them on the newest.

    Raises: UsageError where fewer than `least` can be used, with how many are missing.
    """
    samples = sorted((one for one in given if one.usable), key=lambda one: (one.at, one.session, one.text))
    require_samples(len(samples), least)
    trust = task_weights(samples)
    choice, test = int(len(samples) * CHOICE), int(len(samples) * TEST)
    older, later, newest = samples[:choice], samples[choice:test], samples[test:]
    names = choose_features(samples[:test], trust[:test])
    penalty, best = 0.0, 0.0
    for one in PENALTIES:
        weights = fit_penalised(older, trust[:choice], names, one)
        gaps = _measure(later, names, weights) - _measure(later, names)
        gain = float(np.average(gaps, weights=trust[choice:test]))
        if gain > best:
            penalty, best = one, gain
    found = fit_penalised(samples[:test], trust[:test], names, penalty) if penalty else np.zeros(len(names))
    before, after = _measure(newest, names), _measure(newest, names, found)
    sessions = [one.session for one in newest]
    ours, theirs = by_session(sessions, after), by_session(sessions, before)
    return FittedWeights(
        weights={name: round(float(value), 6) for name, value in zip(names, found, strict=True) if value},
        penalty=penalty,
        samples=test,
        held_out=len(newest),
        before=round(float(np.mean(theirs)), 6),
        after=round(float(np.mean(ours)), 6),
        p=paired_permutation(ours, theirs, seed=seed) if penalty else 1.0,
        since=samples[0].at,
        until=samples[test - 1].at,
    )


def require_samples(count: int, least: int) -> None:
    """Raise UsageError where there are fewer tasks than are wanted, with how many are missing."""
    needed = max(least, LEAST)
    if count < needed:
        raise UsageError(
            f"{needed:,} past tasks with a right and a wrong file are needed and there are {count:,}: "
            f"{needed - count:,} are missing",
            hint="Look further back, lower --min-samples, or run `workbench import sessions`.",
        )


def task_weights(samples: Sequence[TaskSample]) -> Float64:
    """Return float64 [n], how much each task counts: 1 for a new one that is not repeated."""
    newest = max(sample.at for sample in samples)
    repeated = Counter(sample.text for sample in samples)
    prompts = Counter(sample.session for sample in samples if sample.prompt)
    weights = np.asarray(
        [
            sample.trust
            * 0.5 ** ((newest - sample.at) / HALF_LIFE)
            / repeated[sample.text]
            / (np.sqrt(prompts[sample.session]) if sample.prompt else 1.0)
            for sample in samples
        ]
    )
    prompt = np.asarray([sample.prompt for sample in samples])
    of_prompts, of_commits = float(weights[prompt].sum()), float(weights[~prompt].sum())
    if 0 < of_commits < of_prompts:
        weights[prompt] *= of_commits / of_prompts
    return weights


def choose_features(samples: Sequence[TaskSample], trust: Float64) -> tuple[str, ...]:
    """Return the features by which the packaged order errs most, each by its own slope in deviations."""
    names = samples[0].names
    slopes, squares = np.zeros(len(names)), np.zeros(len(names))
    total, mean, spread = 0, np.zeros(len(names)), np.zeros(len(names))
    for sample, weight in zip(samples, trust.tolist(), strict=True):
        rows = sample.features.astype(np.float64)
        powers = np.exp(sample.scores - sample.scores.max())
        wrong = sample.relevant / sample.relevant.sum() - powers / powers.sum()
        slope = weight * (wrong @ rows)
        slopes, squares = slopes + slope, squares + slope**2
        total, mean, spread = total + len(rows), mean + rows.sum(axis=0), spread + (rows**2).sum(axis=0)
    varies = spread / total - (mean / total) ** 2 > 1e-6
    strength = np.where(varies, np.abs(slopes) / np.sqrt(squares + 1e-12), 0.0)
    order = sorted(range(len(names)), key=lambda column: (-round(float(strength[column]), 9), names[column]))
    return tuple(names[column] for column in order[:FEATURES] if strength[column] > 1)


def fit_penalised(
    samples: Sequence[TaskSample], trust: Float64, names: Sequence[str], penalty: float
) -> Float64:
    """Return float64 [f], the weights of named features that fit samples best under a penalty."""
    if not names:
        return np.zeros(0)
    block = _block(samples, trust, names)
    flat = block.features[block.present]
    scale = flat.std(axis=0, dtype=np.float64)
    scale = np.where(scale > 1e-6, scale, np.inf)
    np.divide(block.features, scale.astype(np.float32), out=block.features)
    temperature = _temperature(block)
    weights = _newton(block, temperature, penalty)
    return np.asarray(np.clip(weights / temperature / scale, -20.0, 20.0))


def _block(samples: Sequence[TaskSample], trust: Float64, names: Sequence[str]) -> _Block:
    place = {name: column for column, name in enumerate(samples[0].names)}
    columns = [place[name] for name in names]
    count = len(samples)
    features = np.zeros((count, FILES, len(columns)), dtype=np.float32)
    scores, ideal = np.zeros((count, FILES)), np.zeros(count)
    relevant, present = np.zeros((count, FILES), dtype=np.bool_), np.zeros((count, FILES), dtype=np.bool_)
    for row, sample in enumerate(samples):
        size = len(sample.scores)
        features[row, :size] = sample.features[:, columns]
        scores[row, :size], relevant[row, :size], present[row, :size] = sample.scores, sample.relevant, True
        ideal[row] = _DISCOUNTS[: min(sample.total, 10)].sum()
    return _Block(features, scores, relevant, present, ideal, trust / trust.mean())


def _chances(block: _Block, scores: Float64) -> Float64:
    shown = np.where(block.present, scores, -np.inf)
    powers = np.exp(shown - shown.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _loss(block: _Block, scores: Float64) -> float:
    chances = _chances(block, scores)
    shares = block.relevant / block.relevant.sum(axis=1, keepdims=True)
    return float(-(block.weights[:, None] * shares * np.log(chances + 1e-12)).sum())


def _temperature(block: _Block) -> float:
    """Return what the scores are to be multiplied with to be log-odds among the files of a task."""
    grid = np.geomspace(0.1, 10.0, 41).tolist()
    return float(min(grid, key=lambda one: (_loss(block, one * block.scores), one)))


def _newton(block: _Block, temperature: float, penalty: float) -> Float64:
    """Return weights float64 [f] in deviations of the features, on the scale of the temperature."""
    width = block.features.shape[2]
    weights = np.zeros(width)
    shares = block.relevant / block.relevant.sum(axis=1, keepdims=True)
    fixed = temperature * block.scores
    loss = _loss(block, fixed)
    for _ in range(_STEPS):
        chances = _chances(block, fixed + block.features @ weights)
        error = (block.weights[:, None] * (chances - shares)).astype(np.float32)
        slope = np.einsum("nc,ncf->f", error, block.features).astype(np.float64) + penalty * weights
        heavy = (block.weights[:, None] * chances).astype(np.float32)
        flat = block.features.reshape(-1, width)
        curve = (flat.T @ (flat * heavy.reshape(-1, 1))).astype(np.float64)
        middle = np.einsum("nc,ncf->nf", chances.astype(np.float32), block.features).astype(np.float64)
        curve += penalty * np.eye(width) - middle.T @ (block.weights[:, None] * middle)
        step, reach = np.linalg.solve(curve, slope), 1.0
        while reach > 1e-3:
            moved = weights - reach * step
            value = _loss(block, fixed + block.features @ moved) + penalty * float(moved @ moved) / 2
            if value < loss:
                break
            reach /= 2
        else:
            return weights
        done, weights, loss = loss - value < 1e-5 * abs(loss), moved, value
        if done:
            break
    return weights


def _measure(samples: Sequence[TaskSample], names: Sequence[str], weights: Float64 | None = None) -> Float64:
    """Return float64 [n], nDCG@10 of each task with weights on top, or without any."""
    return np.asarray([ndcg_with(sample, names, weights) for sample in samples])


def ndcg_with(sample: TaskSample, names: Sequence[str] = (), weights: Float64 | None = None) -> float:
    """Return nDCG@10 of a task's first files, ordered by the scores with what some features add."""
    scores = sample.scores
    if weights is not None and len(names):
        place = {name: column for column, name in enumerate(sample.names)}
        scores = scores + sample.features[:, [place[name] for name in names]].astype(np.float64) @ weights
    order = np.argsort(-np.round(scores, 6), kind="stable")[:10]
    gained = float((sample.relevant[order] * _DISCOUNTS[: len(order)]).sum())
    return gained / float(_DISCOUNTS[: min(sample.total, 10)].sum())


def by_session(sessions: Sequence[str], values: Float64) -> list[float]:
    """Return a mean for each session, so that one that asked often counts once; values: float64 [tasks]."""
    found: dict[str, list[float]] = {}
    for session, value in zip(sessions, values.tolist(), strict=True):
        found.setdefault(session, []).append(value)
    return [float(np.mean(one)) for one in found.values()]
