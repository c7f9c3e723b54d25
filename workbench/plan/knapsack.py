"""The multiple-choice knapsack: filled greedily along each item's upper convex hull, then improved.

The greedy order also solves the linear relaxation exactly, which gives the upper bound that `efficiency`
compares with (Sinha and Zoltners, 1979).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.records.dataclass import dataclass

_PASSES = 4
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to show an item: its name, what it costs in tokens, and what it is expected to be worth."""

    name: str
    tokens: int
    utility: float


_NOTHING = Offer("", 0, 0.0)


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate for the pack. `excluded` is the reason why it may not be chosen, else empty.

    Of the items that may lead, the first few get a look before the others compete for the rest.
    """

    id: str
    offers: tuple[Offer, ...]
    score: float = 0.0
    priority: int = 0
    mandatory: bool = False
    excluded: str = ""
    pinned: bool = False
    may_lead: bool = False


class _Step(NamedTuple):
    """Moving one item from one hull offer to the next, `offer`; sorts best first, ties in item order."""

    negative_slope: float
    item: int
    rank: int
    tokens: int
    utility: float
    offer: Offer


def hull(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the offers on the upper convex hull over (0 tokens, 0 utility), cheapest first.

    Utility rises and utility per extra token falls strictly along it; what lies below it is never part of an
    optimal linear relaxation.
    """
    kept: list[tuple[int, float, Offer]] = [(0, 0.0, _NOTHING)]
    for offer in sorted(offers, key=price_order):
        tokens, utility = offer.tokens, offer.utility
        if utility <= kept[-1][1] + _EPSILON:
            continue
        while len(kept) > 1:
            (low_tokens, low, _), (mid_tokens, mid, _) = kept[-2:]
            if (mid - low) * (tokens - mid_tokens) > (utility - mid) * (mid_tokens - low_tokens):
                break
            kept.pop()
        kept.append((tokens, utility, offer))
    return tuple(offer for _tokens, _utility, offer in kept[1:])


def price_order(offer: Offer) -> tuple[int, float, str]:
    """Return the sort key of what costs least: (tokens, -utility, name)."""
    return (offer.tokens, -offer.utility, offer.name)


def hull_steps(
    items: Sequence[Item], indexes: Sequence[int], current: Mapping[int, Offer], budget: int
) -> list[_Step]:
    """Return every hull step of the offers that fit, best utility per token first, ties in item order.

    Steps of an item that is placed already begin at the offer it is placed with.
    """
    steps = []
    for index in indexes:
        held = current.get(index, _NOTHING)
        tokens, utility = 0, 0.0
        for rank, (more, offer) in enumerate(_hull_above(items[index].offers, held, budget)):
            extra, gain = more.tokens - tokens, more.utility - utility
            steps.append(_Step(-gain / extra if extra else -math.inf, index, rank, extra, gain, offer))
            tokens, utility = more.tokens, more.utility
    steps.sort()
    return steps


def _hull_above(offers: Sequence[Offer], held: Offer, budget: int) -> list[tuple[Offer, Offer]]:
    """Return the hull of what fits beside a held offer: (what it costs and gains more, the offer)."""
    if held is _NOTHING:
        return [(offer, offer) for offer in hull([offer for offer in offers if offer.tokens <= budget])]
    above = {
        Offer(one.name, one.tokens - held.tokens, one.utility - held.utility): one
        for one in offers
        if held.tokens < one.tokens <= held.tokens + budget
    }
    return [(more, above[more]) for more in hull(list(above))]


def relax(steps: Sequence[_Step], budget: int) -> float:
    """Return the optimum of the linear relaxation: whole steps in order, then a part of the next."""
    total = 0.0
    for step in steps:
        if step.tokens > budget:
            return total + step.utility * budget / step.tokens
        budget -= step.tokens
        total += step.utility
    return total


def take_greedily(steps: Sequence[_Step], current: dict[int, Offer], left: int) -> int:
    """Take the steps in order, passing over those that do not fit. Returns what is left."""
    for step in steps:
        if step.tokens > left:
            continue
        held = current.get(step.item)
        cost = step.offer.tokens - (held.tokens if held else 0)
        if cost <= left:
            current[step.item] = step.offer
            left -= cost
    return left


def improve(
    items: Sequence[Item],
    indexes: Sequence[int],
    current: dict[int, Offer],
    left: int,
    floors: Mapping[int, Offer],
) -> int:
    """Apply the best upgrade or exchange until none helps (at most a few passes). Returns what is left."""
    for _ in range(_PASSES):
        before = left, len(current)
        left, gained = _fill(items, indexes, current, left)
        left, swapped = _exchange(items, indexes, current, left, floors)
        if not gained and not swapped and before == (left, len(current)):
            break
    return left


class _Upgrade(NamedTuple):
    """An offer better than what its item has; sorts cheapest first, then by gain."""

    tokens: int
    loss: float  # the gain, negated
    item: int
    name: str
    offer: Offer


def _upgrades(
    items: Sequence[Item], indexes: Sequence[int], current: dict[int, Offer], most: int
) -> list[_Upgrade]:
    """Return every upgrade that costs at most `most` tokens more, in sort order."""
    found = []
    for index in indexes:
        held = current.get(index, _NOTHING)
        for offer in items[index].offers:
            extra = offer.tokens - held.tokens
            if extra <= most and offer.utility > held.utility + _EPSILON:
                found.append(_Upgrade(extra, held.utility - offer.utility, index, offer.name, offer))
    found.sort()
    return found


def _fill(
    items: Sequence[Item], indexes: Sequence[int], current: dict[int, Offer], left: int
) -> tuple[int, bool]:
    """Spend what is left on the upgrades with the largest gain."""
    touched: set[int] = set()
    for one in sorted(_upgrades(items, indexes, current, left), key=lambda one: (one.loss, *one[:4])):
        if one.tokens <= left and one.item not in touched:
            current[one.item] = one.offer
            touched.add(one.item)
            left -= one.tokens
    return left, bool(touched)


def _exchange(
    items: Sequence[Item],
    indexes: Sequence[int],
    current: dict[int, Offer],
    left: int,
    floors: Mapping[int, Offer],
) -> tuple[int, bool]:
    """Make one item smaller so that another gains more than is lost, if such a pair exists; the best one.

    No item becomes smaller than the offer that it was placed with.
    """
    largest = max((current[index].tokens for index in indexes if index in current), default=0)
    upgrades = _upgrades(items, indexes, current, left + largest)
    costs = [one.tokens for one in upgrades]
    best_until = _two_best(upgrades)
    winner: tuple[float, int, Offer, _Upgrade] | None = None
    for index in indexes:
        held = current.get(index)
        if held is None:
            continue
        least = floors.get(index, _NOTHING)
        for smaller in (least, *items[index].offers):
            if not least.tokens <= smaller.tokens < held.tokens or smaller.utility > held.utility:
                continue
            position = bisect_right(costs, left + held.tokens - smaller.tokens) - 1
            other = (
                next((one for one in best_until[position] if one.item != index), None)
                if position >= 0
                else None
            )
            if other is not None:
                gain = smaller.utility - held.utility - other.loss
                if gain > (winner[0] if winner else 0.0) + _EPSILON:
                    winner = (gain, index, smaller, other)
    if winner is None:
        return left, False
    _gain, index, smaller, other = winner
    left += current[index].tokens - smaller.tokens - other.tokens
    current[index] = smaller
    if smaller is _NOTHING:
        del current[index]
    current[other.item] = other.offer
    return left, True


def _two_best(upgrades: Sequence[_Upgrade]) -> list[tuple[_Upgrade, ...]]:
    """For each prefix, return the upgrade with the largest gain and the best one of another item, if any."""
    best: list[_Upgrade] = []
    result = []
    for one in upgrades:
        if not best or one.loss < best[0].loss:
            best = [one, *(held for held in best if held.item != one.item)][:2]
        elif one.item != best[0].item and (len(best) < 2 or one.loss < best[1].loss):
            best = [best[0], one]
        result.append(tuple(best))
    return result
