"""What an order of files is worth is counted over all files and over source."""

from __future__ import annotations

from bench.roles import Order, compare, measure_order


def test_an_order_is_measured_by_its_first_file() -> None:
    """A commit without source says nothing of source."""
    truth = frozenset({"a.py", "CHANGES.md"})
    assert measure_order(["CHANGES.md", "a.py"], truth) == Order(1.0, 0.0, 1.0)
    assert measure_order(["a.py", "CHANGES.md"], truth) == Order(1.0, 1.0, 1.0)
    assert measure_order(["CHANGES.md"], frozenset({"CHANGES.md"})).source is None


def test_orders_are_compared_in_pairs() -> None:
    """Each measure over the tasks that have it."""
    pairs = [(Order(1.0, 0.0, 0.5), Order(1.0, 1.0, 0.5)), (Order(0.0, None, 0.0), Order(0.0, None, 0.0))]
    first, source, _gain = compare(pairs)
    assert first.startswith("first file right: 0.500 -> 0.500 (2 tasks")
    assert source.startswith("first file is source and right: 0.000 -> 1.000 (1 tasks")
