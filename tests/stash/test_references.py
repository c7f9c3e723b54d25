"""References are followed in both directions, breadth first, and cycles end."""

from __future__ import annotations

import pytest

from workbench.records.segments import ContextSegment
from workbench.stash.references import ReferenceDirection, follow_references, reference_links

_SEGMENTS = [
    ContextSegment(segment_id=name, text=name, references=tuple(others))
    for name, others in {"a": "bc", "b": "d", "c": "d?", "d": "a", "e": "d", "f": ""}.items()
]


@pytest.mark.parametrize(
    ("direction", "hops", "expected"),
    [
        ("to", 1, [("b", 1, "a"), ("c", 1, "a")]),
        ("to", 9, [("b", 1, "a"), ("c", 1, "a"), ("d", 2, "b")]),
        ("from", 2, [("d", 1, "a"), ("b", 2, "d"), ("c", 2, "d"), ("e", 2, "d")]),
        ("both", 2, [("b", 1, "a"), ("c", 1, "a"), ("d", 1, "a"), ("e", 2, "d")]),
        ("both", 0, []),
    ],
)
def test_chains_are_followed(direction: str, hops: int, expected: list[tuple[str, int, str]]) -> None:
    """Each segment is reached once, on the shortest way; a reference to nothing leads nowhere."""
    links = reference_links(_SEGMENTS, ReferenceDirection(direction))
    reached = follow_references("a", links, hops)
    assert [(one.segment_id, one.hops, one.via) for one in reached] == expected


def test_a_segment_that_refers_to_itself_is_alone() -> None:
    """It is where the walk began."""
    links = reference_links([ContextSegment(segment_id="a", text="a", references=("a",))])
    assert follow_references("a", links, 3) == ()
