"""The knapsack: never over budget, close to the best, the same every time, and every drop has a reason."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.knapsack import Item, Offer, hull
from workbench.plan.packing import Packing, pack

OFFERS = st.lists(
    st.builds(Offer, st.sampled_from("abcd"), st.integers(0, 60), st.floats(0, 1).map(lambda x: round(x, 3))),
    max_size=4,
).map(tuple)
ITEMS = st.lists(
    st.builds(
        Item,
        id=st.text(alphabet="abcdefgh", min_size=1, max_size=4),
        offers=OFFERS,
        score=st.sampled_from([0.0, 0.5, 1.0]),
        priority=st.integers(0, 2),
        mandatory=st.booleans(),
        excluded=st.sampled_from(["", "", "", "excluded by user"]),
        pinned=st.sampled_from([False, False, False, True]),
        may_lead=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda item: item.id,
)
BUDGETS = st.integers(-5, 200)


def ids(packing: Packing) -> list[str]:
    """Return the ids of what was chosen, in order."""
    return [choice.item.id for choice in packing.chosen]


@given(ITEMS, BUDGETS)
def test_never_over_budget_and_each_item_once(items: list[Item], budget: int) -> None:
    """Whatever is offered, the tokens stay within the budget and every item is either in or out, once."""
    packing = pack(items, budget)
    assert packing.used == sum(choice.offer.tokens for choice in packing.chosen) <= max(0, budget)
    assert sorted(item.id for item in items) == sorted(
        [*ids(packing), *(one.file for one in packing.dropped)]
    )
    assert all(choice.offer in choice.item.offers for choice in packing.chosen)
    assert not any(choice.item.excluded for choice in packing.chosen)


@given(ITEMS, BUDGETS)
def test_achieved_stays_below_the_bound_and_near_it(items: list[Item], budget: int) -> None:
    """The bound is one, and what is missing to it is less than the single best offer."""
    packing = pack(items, budget)
    largest = max((offer.utility for item in items for offer in item.offers), default=0.0)
    assert packing.achieved <= packing.bound + 1e-6
    assert packing.bound <= packing.achieved + largest + 1e-6
    assert 0.0 <= packing.efficiency <= 1.0


@given(ITEMS, BUDGETS)
def test_what_is_pinned_is_in_as_long_as_its_smallest_form_fits(items: list[Item], budget: int) -> None:
    """Pinned items have the first claim, in order, whatever the others are worth."""
    packing = pack(items, budget)
    pinned = sorted(
        (item for item in items if item.pinned and not item.excluded and item.offers),
        key=lambda item: (-item.score, -item.priority, item.id),
    )
    left, wanted = max(0, budget), []
    for item in pinned:
        least = min(offer.tokens for offer in item.offers)
        if least <= left:
            left -= least
            wanted.append(item.id)
    assert set(wanted) <= set(ids(packing))
    assert ids(packing)[: len(wanted)] == wanted


def test_a_pinned_item_grows_as_far_as_it_is_worth() -> None:
    """A pin makes sure of the smallest form; larger ones compete with what the others are worth."""
    pinned = Item("p", (Offer("path", 2, 0.1), Offer("full", 50, 1.0)), pinned=True)
    rival = Item("r", (Offer("full", 10, 0.9),))
    chosen = {choice.item.id: choice.offer.name for choice in pack([pinned, rival], 30).chosen}
    assert chosen == {"p": "path", "r": "full"}
    chosen = {choice.item.id: choice.offer.name for choice in pack([pinned, rival], 70).chosen}
    assert chosen == {"p": "full", "r": "full"}


def test_a_pin_without_room_says_so() -> None:
    """What cannot be in even in its smallest form is dropped with that as its reason."""
    packing = pack([Item("p", (Offer("path", 20, 0.1),), pinned=True)], 10)
    assert [(one.file, one.pinned) for one in packing.dropped] == [("p", True)]
    assert packing.dropped[0].reason.startswith("pinned by you, but its smallest form needs 20 tokens")


@given(ITEMS, BUDGETS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(items: list[Item], budget: int, random: object) -> None:
    """The same candidates in any order give the same packing, ties included."""
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert pack(items, budget) == pack(shuffled, budget)


@given(st.lists(OFFERS, max_size=5), st.integers(0, 150))
def test_close_to_the_optimum(offers: list[tuple[Offer, ...]], budget: int) -> None:
    """On small instances the utility is within the gap to the bound of the best that exists."""
    items = [Item(str(number), offer) for number, offer in enumerate(offers)]
    best = max(
        sum(offer.utility for offer in chosen if offer)
        for chosen in product(*[(None, *item.offers) for item in items])
        if sum(offer.tokens for offer in chosen if offer) <= budget
    )
    packing = pack(items, budget)
    assert packing.achieved <= best + 1e-6 <= packing.bound + 2e-6


def test_mean_gap_to_the_optimum_is_small() -> None:
    """Over many small instances the mean loss against brute force is under 1 %, the worst under 20 %."""
    ratios = []
    for seed in range(150):
        values = [(seed * 7919 + step * 104729) % 997 for step in range(30)]
        items = [
            Item(
                str(n),
                tuple(
                    Offer(str(k), values[6 * n + 2 * k] % 60 + 1, values[6 * n + 2 * k + 1] / 997)
                    for k in range(3)
                ),
            )
            for n in range(5)
        ]
        budget = 20 + seed % 100
        best = max(
            sum(offer.utility for offer in chosen if offer)
            for chosen in product(*[(None, *item.offers) for item in items])
            if sum(offer.tokens for offer in chosen if offer) <= budget
        )
        ratios.append(pack(items, budget).achieved / best if best else 1.0)
    assert sum(ratios) / len(ratios) > 0.99
    assert min(ratios) > 0.8


@given(ITEMS, st.integers(0, 100), st.integers(0, 100))
def test_more_budget_never_lowers_the_bound(items: list[Item], budget: int, more: int) -> None:
    """The bound grows with the budget when nothing is mandatory."""
    free = [Item(item.id, item.offers, item.score, item.priority) for item in items]
    assert pack(free, budget).bound <= pack(free, budget + more).bound + 1e-9


@given(OFFERS)
def test_the_hull_is_concave(offers: tuple[Offer, ...]) -> None:
    """Along the hull utility rises and every further token is worth less than the one before."""
    points = [(0, 0.0), *((offer.tokens, offer.utility) for offer in hull(offers))]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) if b[0] > a[0] else float("inf") for a, b in pairwise(points)]
    assert all(slope > 0 for slope in slopes)
    assert slopes == sorted(slopes, reverse=True)


def test_mandatory_items_come_first_by_priority_within_their_share() -> None:
    """Absolute rules are placed before better bargains, the highest priority first, up to half the budget."""
    items = [
        Item("cheap", (Offer("full", 1, 9.0),)),
        Item("low", (Offer("full", 30, 0.1),), priority=1, mandatory=True),
        Item("high", (Offer("full", 40, 0.1),), priority=9, mandatory=True),
    ]
    packing = pack(items, 100)
    assert ids(packing) == ["high", "low", "cheap"]
    (dropped,) = pack(items, 70).dropped
    assert dropped.file == "high"
    assert "share of the budget kept for absolute rules" in dropped.reason


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (Item("x", (Offer("path", 5, 1.0),), excluded="excluded by user"), "excluded by user"),
        (Item("x", (Offer("path", 500, 1.0),)), "over budget: needs 500 tokens"),
        (Item("x", ()), "no part of it is worth its tokens"),
        (Item("x", (Offer("path", 60, 0.001),)), "low utility per token: needs 60 tokens, 50 left"),
    ],
)
def test_every_drop_has_a_reason(item: Item, reason: str) -> None:
    """A candidate that is out says why, with the tokens it needs where tokens are why."""
    packing = pack([item, Item("winner", (Offer("full", 50, 5.0),))], 100)
    assert [(item.id, reason)] == [(one.file, one.reason) for one in packing.dropped]


def test_an_exchange_beats_greed() -> None:
    """Where the densest item blocks a better one, the better one is taken."""
    items = [Item("dense", (Offer("full", 10, 2.0),)), Item("large", (Offer("full", 100, 10.0),))]
    assert ids(pack(items, 100)) == ["large"]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([Item("a", ()), Item("a", ())], "two items are called 'a'"),
        ([Item("a", (Offer("path", -1, 1.0),))], "negative"),
    ],
)
def test_impossible_input_is_refused(items: list[Item], message: str) -> None:
    """Ambiguous ids and negative costs are errors of the caller."""
    with pytest.raises(ValueError, match=message):
        pack(items, 10)


def test_the_first_files_get_a_look_before_the_tail_gets_anything() -> None:
    """What leads is in with what half the budget gives it, though many others are the better bargain."""
    head = [
        Item(f"h{n}", (Offer("look", 120, 0.2), Offer("more", 400, 0.5)), 9.0 - n, may_lead=True)
        for n in (1, 2)
    ]
    tail = [Item(f"t{n}", (Offer("all", 20, 0.1),), 1.0 / (1 + n), may_lead=True) for n in range(50)]
    packing = pack([*tail, *head], 600)
    assert {"h1", "h2"} <= set(ids(packing))
    plain = [Item(one.id, one.offers, one.score) for one in (*head, *tail)]
    assert not {"h1", "h2"} & set(ids(pack(plain, 600)))


def test_a_small_budget_has_few_that_lead() -> None:
    """A look shorter than some lines is none: the first file gets all of it."""
    items = [Item(str(n), (Offer("look", 140, 0.2),), 9.0 - n, may_lead=True) for n in range(3)]
    cheap = Item("cheap", (Offer("all", 100, 0.9),), 0.0)
    assert ids(pack([*items, cheap], 300)) == ["0", "cheap"]


def test_what_leads_in_large_pieces_is_not_passed_over() -> None:
    """Its smallest piece is in, though larger than its part of the half that is for the first files."""
    head = Item("head", (Offer("test", 260, 0.05), Offer("code", 420, 0.1)), 9.0, may_lead=True)
    tail = [Item(f"t{n}", (Offer("all", 40, 0.1),), 1.0 / (1 + n), may_lead=True) for n in range(40)]
    found = {choice.item.id: choice.offer.name for choice in pack([head, *tail], 1200).chosen}
    assert found["head"] == "test"
