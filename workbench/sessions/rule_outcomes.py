"""How sessions ended that had a rule, beside those that had it not: shares of success with intervals.

Intervals are Wilson's score for a share and Newcombe's hybrid of two of them for a difference (Newcombe 1998,
method 10), which hold for the few sessions that a rule has. A difference between sessions that had a rule and
others is no proof that the rule made it: rules are given to the tasks that they match.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import structs

from workbench.records.answers.usage import RuleOutcome

_Z: Final = 1.959964  # of the normal distribution, for 95 % between both sides


def share_interval(successes: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; (0, 1) without anything counted."""
    if not count:
        return 0.0, 1.0
    share, square = successes / count, _Z * _Z
    middle = share + square / (2 * count)
    half = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    least, most = ((middle + sign * half) / (1 + square / count) for sign in (-1, 1))
    return max(0.0, least), min(1.0, most)


def rule_outcome(judged: int, succeeded: int, others: int, others_succeeded: int) -> RuleOutcome | None:
    """Return how judged sessions with a rule ended beside `others` without it; None where none was judged."""
    if not judged:
        return None
    share, (low, high) = succeeded / judged, share_interval(succeeded, judged)
    alone = RuleOutcome(judged, round(share, 4), round(low, 4), round(high, 4))
    if not others:
        return alone
    rest, (least, most) = others_succeeded / others, share_interval(others_succeeded, others)
    gap = share - rest
    return structs.replace(
        alone,
        others=others,
        others_share=round(rest, 4),
        difference=round(gap, 4),
        difference_low=round(gap - math.hypot(share - low, most - rest), 4),
        difference_high=round(gap + math.hypot(high - share, rest - least), 4),
    )
