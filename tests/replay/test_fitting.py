"""Weights of a project's own: what is learned, what is refused, and what nobody can outvote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.errors import UsageError
from workbench.replay.fitting import LEAST, TaskSample, fit_weights, ndcg_with, task_weights

NAMES = tuple("abcdefgh")
DAY = 86_400


def make_sample(number: int, *, taught: float = 0.0, prompt: bool = False) -> TaskSample:
    """A task of 12 files whose right one follows from its score, and from feature `c` as far as `taught`."""
    random = np.random.default_rng(number)
    features = random.random((12, len(NAMES))).astype(np.float16)
    scores = np.sort(random.normal(size=12))[::-1].copy()
    truth = scores + taught * features[:, 2] + random.gumbel(size=12) / 2
    relevant = np.zeros(12, dtype=np.bool_)
    relevant[int(np.argmax(truth))] = True
    return TaskSample(
        NAMES,
        features,
        scores,
        relevant,
        1,
        1_700_000_000 + number * DAY // 4,
        str(number),
        f"t{number}",
        prompt,
    )


def test_what_a_project_teaches_is_learned_and_tested_on_later_tasks() -> None:
    """The one feature that decides here gets the weight; the same samples in any order give the same."""
    samples = [make_sample(number, taught=6.0) for number in range(300)]
    weights = fit_weights(samples, least=200)
    assert weights.better
    assert weights.after > weights.before + 0.1
    assert max(weights.weights, key=lambda name: weights.weights[name]) == "c"
    assert (weights.samples, weights.held_out) == (240, 60)
    assert fit_weights(samples[::-1], least=200) == weights


def test_where_there_is_nothing_to_learn_nothing_is_better() -> None:
    """Chance does not pass for a gain, and is_better never holds without weights."""
    verdicts = [
        fit_weights([make_sample(start + number) for number in range(120)], least=100).better
        for start in range(0, 1200, 120)
    ]
    assert sum(verdicts) <= 1


def test_too_few_tasks_are_refused_with_what_is_missing() -> None:
    """Tasks count that have a right and a wrong file, and numbers throughout."""
    good = [make_sample(number) for number in range(LEAST)]
    useless = [
        replace(good[0], relevant=np.zeros(12, dtype=np.bool_)),
        replace(good[0], relevant=np.ones(12, dtype=np.bool_)),
        replace(good[0], scores=np.full(12, np.nan)),
        replace(good[0], features=np.full((12, len(NAMES)), np.inf, dtype=np.float16)),
    ]
    with pytest.raises(UsageError, match="needed and there are 49: 1 are missing"):
        fit_weights([*good[1:], *useless * 40], least=10)
    with pytest.raises(UsageError, match="there are 0: 500 are missing"):
        fit_weights(useless, least=500)
    constant = [replace(one, features=np.zeros_like(one.features)) for one in good]
    assert not fit_weights(constant, least=LEAST).weights


def test_a_flood_of_contradictions_does_not_outvote_the_history() -> None:
    """One session that repeats itself, and prompts that outnumber commits, count for no more than these."""
    honest = [make_sample(number, taught=6.0) for number in range(300)]
    lies = [
        replace(
            make_sample(number, taught=-6.0, prompt=True),
            session="liar" if number % 2 else f"s{number}",
            text="the same" if number % 2 else f"prompt {number}",
            at=honest[number % 200].at,
        )
        for number in range(1000)
    ]
    weights = task_weights([*honest, *lies])
    assert weights[300:].sum() == pytest.approx(weights[:300].sum())
    assert weights[300:][1::2].sum() < 0.01 * weights.sum()
    few = fit_weights([*honest, *lies[1::2]], least=200)
    assert few.weights["c"] > 0


def test_old_tasks_and_failed_ones_count_less() -> None:
    """A task of a year ago counts half of one of today; a verdict counts what the settings say."""
    new = make_sample(0)
    old, failed = replace(new, at=new.at - 365 * DAY, text="o"), replace(new, text="f", trust=0.5)
    assert task_weights([new, old, failed]).tolist() == [1.0, 0.5, 0.5]
    assert 0.0 <= ndcg_with(new) <= 1.0
