"""Fitting finds the feature that decides, and a probability that means one."""

from __future__ import annotations

import numpy as np

from bench.fit import Group, calibrate, evaluate, fit


def _groups(count: int) -> list[Group]:
    draw = np.random.default_rng(3)
    groups = []
    for number in range(count):
        features = draw.random((30, 4)).astype(np.float32)
        relevant = np.zeros(30, dtype=np.bool_)
        relevant[np.argsort(-features[:, 2])[:3]] = True
        groups.append(Group(features, relevant, 3, f"repository{number % 3}"))
    return groups


def test_the_deciding_feature_gets_the_weight() -> None:
    """Where one feature decides relevance, the fitted model ranks by it, on tasks it has not seen too."""
    groups = _groups(60)
    weights = fit(groups[:40], epochs=3)
    held = groups[40:]
    assert int(np.argmax(np.abs(weights))) == 2
    assert all(gain > 0.95 for gain, _ in evaluate(held, [one.features @ weights for one in held]).values())


def test_calibration_turns_scores_into_shares() -> None:
    """The mean probability over candidates is the share that is relevant."""
    groups = _groups(40)
    weights = fit(groups, epochs=0)
    given = [group.features @ weights for group in groups]
    slope, offset = calibrate(groups, given)
    scores = np.concatenate(given)
    chance = 1 / (1 + np.exp(-(slope * scores + offset)))
    assert abs(float(chance.mean()) - 0.1) < 0.01
