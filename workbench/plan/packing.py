"""Decides what fits: at most one representation of each candidate, as much utility as the budget holds.

Pinned items come first, each with its smallest offer, then mandatory ones, by priority, within their share of
the budget, then a look at each item that leads. The rest, larger offers of these too, is the
multiple-choice `knapsack`.

More budget never lowers the bound. It may lower the achieved utility a little, as with any greedy packing;
achieved + the largest single offer is never below the bound.

What is shown is worth the tokens that the task is expected to need, and costs a price times its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.plan.knapsack import Item, Offer, hull_steps, improve, price_order, relax, take_greedily
from workbench.records.dataclass import dataclass
from workbench.records.plan import Dropped

MANDATORY_SHARE = 0.5
HEAD_SHARE = 0.5  # of the budget, for the first look at the items that lead
PRICE = 0.09  # a token of a rule, learning or segment is in the pack if the task needs it with this chance
LEAST_PRICE, MOST_PRICE = 0.04, 0.25
OF_BEST = 0.4  # the price, as a share of the best F1 that lines can be expected to have
LEAST_TEXT = 600  # tokens that every task may have
LENGTH = 0.7  # exponent: twice the lines hold less than twice of what the task needs
USUAL_TOKENS = 150  # of a chunk, where chance and worth agree


def worth(chance: float, tokens: int) -> float:
    """Return how many of some tokens a task needs that needs the place they show with a chance."""
    return chance * float(tokens**LENGTH) * float(USUAL_TOKENS ** (1.0 - LENGTH))


def fair_price(chances: Sequence[float], lines: Sequence[int]) -> float:
    """Return the price of a task whose places have these chances of being needed and numbers of lines.

    What maximises the expected F1 of lines is to show places whose chance is above half of that F1 [Lipton,
    Elkan, Naryanaswamy 2014]. As `worth` discounts length, the share is `OF_BEST`.
    """
    expected = sorted(zip(chances, lines, strict=True), reverse=True)
    needed = sum(chance * size for chance, size in expected)
    if needed <= 0:
        return LEAST_PRICE
    held = shown = best = 0.0
    for chance, size in expected:
        held, shown = held + chance * size, shown + size
        best = max(best, 2.0 * held / (shown + needed))
    return round(min(max(OF_BEST * best, LEAST_PRICE), MOST_PRICE), 4)


def text_limit(price: float, budget: int) -> int:
    """Return how many tokens of a budget places may have; names and lines about them come on top."""
    return min(budget, max(LEAST_TEXT, round(budget * price / MOST_PRICE)))


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
    steps = hull_steps(ordered, free, current, left)
    bound = sum(offer.utility for offer in current.values()) + relax(steps, left)
    left = take_greedily(steps, current, left)
    left = improve(ordered, free, current, left, floors)
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
        least = min(item.offers, key=price_order)
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
    """Give each item that leads the smallest of its offers that is worth something, in half of the budget."""
    share = int(budget * HEAD_SHARE)
    for index, item in enumerate(items):
        if not item.may_lead or item.excluded or index in current:
            continue
        useful = [offer for offer in item.offers if offer.tokens <= share and offer.utility > 0]
        if useful:
            look = min(useful, key=price_order)
            current[index] = look
            share -= look.tokens


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
