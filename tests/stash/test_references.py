"""References are followed in both directions, breadth first, and cycles end."""

from __future__ import annotations

import pytest

from workbench.records.segments import ContextSegment
from workbench.stash.service import StashService
from workbench.stash.stashstore import ReferenceDirection, follow_references, stash_links

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
def test_chains_are_followed(
    stash: StashService, direction: str, hops: int, expected: list[tuple[str, int, str]]
) -> None:
    """Each segment is reached once, on the shortest way; a reference to nothing leads nowhere."""
    stash.add_many(_SEGMENTS)
    links = stash_links(stash.store, ReferenceDirection(direction))
    reached = follow_references("a", links, hops)
    assert [(one.segment_id, one.hops, one.via) for one in reached] == expected


def test_a_removed_segment_ends_a_chain(stash: StashService) -> None:
    """Neither what it refers to nor what refers to it is linked through it; one's own reference is none."""
    stash.add_many(_SEGMENTS)
    stash.remove(["b", "e"])
    links = stash_links(stash.store, ReferenceDirection.BOTH)
    assert [reference.segment_id for reference in follow_references("d", links, 1)] == ["a", "c"]
    stash.add(ContextSegment(segment_id="self", text="s", references=("self",)))
    assert follow_references("self", links, 3) == ()
