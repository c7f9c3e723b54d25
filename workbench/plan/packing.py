"""Decides what fits: at most one representation of each candidate, as much utility as the budget holds.

This is the multiple-choice knapsack. Pinned items come first, each with its smallest offer, then mandatory
ones, by priority, within their share of the budget, then a look at each of the first few files. The rest,
larger offers of these too, is filled greedily by marginal utility per token along each item's upper convex
hull, then improved by single upgrades and exchanges. The greedy order also solves the linear relaxation
exactly, which gives the upper bound that `efficiency` compares with (Sinha and Zoltners, 1979).

More budget never lowers the bound. It may lower the achieved utility a little, as with any greedy packing;
achieved + the largest single offer is never below the bound.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.records.dataclass import dataclass
from workbench.records.plan import Dropped

MANDATORY_SHARE = 0.5
HEAD_SHARE = 0.5  # of the budget, for the first look at the items that lead
HEAD_ITEMS = 4
LEAST_LOOK = 150  # tokens below which a look shows too little: fewer items lead in a small budget
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


@dataclass(frozen=True, slots=True)
class PackedOffer:
    """An item that is in the pack and the offer it is in with."""

    item: Item
    offer: Offer


@dataclass(frozen=True, slots=True)
class Packing:
    """What is in and what is out. `used` <= budget; `achieved` <= `bound` up to rounding.

    `chosen`: pinned items, mandatory items by priority, then the others by (-score, -priority, id), which is
    the order of `dropped`, too.
    """

    chosen: tuple[PackedOffer, ...]
    dropped: tuple[Dropped, ...]
    used: int
    achieved: float
    bound: float

    @property
    def efficiency(self) -> float:
        """Achieved utility over the upper bound, in [0, 1]; 1 if nothing could be achieved."""
        return min(1.0, self.achieved / self.bound) if self.bound > 0 else 1.0


class _Step(NamedTuple):
    """Moving one item from one hull offer to the next, `offer`; sorts best first, ties in item order."""

    negative_slope: float
    item: int
    rank: int
    tokens: int
    utility: float
    offer: Offer


def item_order(item: Item) -> tuple[float, int, str]:
    """Return the sort key that decides between equals: (-score, -priority, id)."""
    return (-item.score, -item.priority, item.id)


def pack(items: Sequence[Item], budget: int, *, mandatory_share: float = MANDATORY_SHARE) -> Packing:
    """Choose at most one offer of each item so that the tokens stay within the budget.

    Pinned items are in as long as their smallest offers fit. Mandatory items may take `mandatory_share` of
    the budget between them before anything else is considered; those beyond it compete with the rest. The
    result does not depend on the order of `items`.

    Raises: ValueError if two items share an id, or an offer costs a negative number of tokens.
    """
    ordered = sorted(items, key=item_order)
    _check(ordered)
    budget = max(0, budget)
    current: dict[int, Offer] = {}
    pins = _place_pinned(ordered, budget, current)
    spent = sum(offer.tokens for offer in current.values())
    forced = _place_mandatory(ordered, min(int(budget * mandatory_share), budget - spent), current)
    _place_leading(ordered, budget - sum(offer.tokens for offer in current.values()), current)
    left = budget - sum(offer.tokens for offer in current.values())
    floors = dict(current)
    fixed = {*forced, *(index for index in pins if len(ordered[index].offers) == 1)}
    free = [index for index, item in enumerate(ordered) if not item.excluded and index not in fixed]
    steps = _steps(ordered, free, current, left)
    bound = sum(offer.utility for offer in current.values()) + _relax(steps, left)
    left = _greedy(steps, current, left)
    left = _improve(ordered, free, current, left, floors)
    first = [*pins, *forced]
    others = [index for index in sorted(current) if index not in set(first)]
    chosen = tuple(PackedOffer(ordered[index], current[index]) for index in (*first, *others))
    return Packing(
        chosen=chosen,
        dropped=tuple(
            Dropped(item.id, _reason(item, budget, left), item.id, item.pinned)
            for index, item in enumerate(ordered)
            if index not in current
        ),
        used=budget - left,
        achieved=sum(choice.offer.utility for choice in chosen),
        bound=bound,
    )


def hull(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the offers on the upper convex hull over (0 tokens, 0 utility), cheapest first.

    Utility rises and utility per extra token falls strictly along it; what lies below it is never part of an
    optimal linear relaxation.
    """
    kept: list[tuple[int, float, Offer]] = [(0, 0.0, _NOTHING)]
    for offer in sorted(offers, key=_cheapest):
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


def _cheapest(offer: Offer) -> tuple[int, float, str]:
    return (offer.tokens, -offer.utility, offer.name)


def _check(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ValueError(f"two items are called {item.id!r}")
        seen.add(item.id)
        if any(offer.tokens < 0 for offer in item.offers):
            raise ValueError(f"an offer of {item.id!r} costs a negative number of tokens")


def _place_pinned(items: Sequence[Item], budget: int, current: dict[int, Offer]) -> list[int]:
    """Give each pinned item its smallest offer as long as the budget lasts, in order."""
    placed = []
    for index, item in enumerate(items):
        if not item.pinned or item.excluded or not item.offers:
            continue
        least = min(item.offers, key=_cheapest)
        if least.tokens <= budget:
            current[index] = least
            budget -= least.tokens
            placed.append(index)
    return placed


def _place_mandatory(items: Sequence[Item], cap: int, current: dict[int, Offer]) -> list[int]:
    """Give each mandatory item its largest offer that fits under the cap, highest priority first."""
    placed = []
    by_priority = sorted(
        (
            index
            for index, item in enumerate(items)
            if item.mandatory and not item.excluded and index not in current
        ),
        key=lambda index: (-items[index].priority, *item_order(items[index])),
    )
    for index in by_priority:
        fitting = [offer for offer in items[index].offers if offer.tokens <= cap]
        if fitting:
            best = max(fitting, key=lambda offer: (offer.utility, -offer.tokens))
            current[index] = best
            cap -= best.tokens
            placed.append(index)
    return placed


def _place_leading(items: Sequence[Item], budget: int, current: dict[int, Offer]) -> None:
    """Give each of the first items that may lead its best offer within an equal part of half the budget.

    One whose offers are all larger than its part gets the smallest of them while that half lasts: what leads
    is not passed over because it comes in large pieces.
    """
    share = int(budget * HEAD_SHARE)
    most = max(LEAST_LOOK, share // HEAD_ITEMS)
    leading = [index for index, item in enumerate(items) if item.may_lead and not item.excluded]
    for index in leading[: share // most]:
        useful = [offer for offer in items[index].offers if offer.tokens <= share and offer.utility > 0]
        looks = [offer for offer in useful if offer.tokens <= most]
        if useful and index not in current:
            look = max(
                looks, key=lambda offer: (offer.utility, -offer.tokens), default=min(useful, key=_cheapest)
            )
            current[index] = look
            share -= look.tokens


def _steps(
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


def _relax(steps: Sequence[_Step], budget: int) -> float:
    """Return the optimum of the linear relaxation: whole steps in order, then a part of the next."""
    total = 0.0
    for step in steps:
        if step.tokens > budget:
            return total + step.utility * budget / step.tokens
        budget -= step.tokens
        total += step.utility
    return total


def _greedy(steps: Sequence[_Step], current: dict[int, Offer], left: int) -> int:
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


def _improve(
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


def _reason(item: Item, budget: int, left: int) -> str:
    """Return why an item is not in the pack."""
    if item.excluded:
        return item.excluded
    useful = [offer for offer in item.offers if offer.utility > 0]
    if not useful:
        return "no part of it is worth its tokens"
    needed = min(offer.tokens for offer in useful)
    if item.pinned:
        return f"pinned by you, but its smallest form needs {needed} tokens and the budget has no room for it"
    if needed > budget:
        return f"over budget: needs {needed} tokens"
    if item.mandatory:
        return f"over the share of the budget kept for absolute rules: needs {needed} tokens"
    return f"low utility per token: needs {needed} tokens, {left} left"
