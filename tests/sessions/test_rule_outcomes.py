"""How sessions ended that had a rule, with intervals."""

from __future__ import annotations

import pytest

from workbench.sessions.rule_outcomes import rule_outcome, share_interval


@pytest.mark.parametrize(
    ("successes", "count", "ends"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_intervals_of_shares_are_wilsons(successes: int, count: int, ends: tuple[float, float]) -> None:
    """Those of Newcombe's examples (1998, table I, method 3)."""
    assert share_interval(successes, count) == pytest.approx(ends, abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ],
)
def test_intervals_of_differences_are_newcombes(
    first: tuple[int, int], second: tuple[int, int], ends: tuple[float, float]
) -> None:
    """Those of his examples (1998, table II, method 10); the shares are those of both samples."""
    outcome = rule_outcome(first[1], first[0], second[1], second[0])
    assert outcome is not None
    assert (outcome.difference_low, outcome.difference_high) == pytest.approx(ends, abs=1e-4)
    assert outcome.share == pytest.approx(first[0] / first[1], abs=1e-4)
    assert outcome.others_share == pytest.approx(second[0] / second[1], abs=1e-4)


def test_without_others_nothing_is_compared() -> None:
    """A rule that all judged sessions had has a share alone; one that none had has nothing."""
    outcome = rule_outcome(4, 3, 0, 0)
    assert outcome is not None
    assert (outcome.judged, outcome.share, outcome.others) == (4, 0.75, 0)
    assert (outcome.difference_low, outcome.difference_high) == (-1.0, 1.0)
    assert rule_outcome(0, 0, 5, 5) is None
