"""Blocks of text, one a handle, within a token budget, and nothing twice.

A block is a heading at the margin and lines indented below it, so that nothing of a file can pass for a
heading. Small blocks are shown whole; the others share what is left and end with what to ask for next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.expansion import Found
from workbench.records.usage import ShownLines
from workbench.text.sanitize import visible_line

GAP: Final = "\u22ee"  # ⋮
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class HandleText:
    """What a handle gives. Lines of a file have `numbers`; `key` identifies a list; `note` says why not.

    `more` says after so many lines how to get the others. Where not all has room, `head` lines are shown.
    """

    found: Found
    heading: str
    lines: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    path: str = ""
    digest: str = ""
    key: str = ""
    note: str = ""
    more: Callable[[int], str] = lambda _: ""
    head: int = 1_000_000


@dataclass(slots=True)
class SessionLines:
    """What a session has: lines of files by their content, and lists."""

    lines: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, shown: Mapping[str, Sequence[ShownLines]], lists: Sequence[str]) -> SessionLines:
        """Return what was recorded of a session."""
        given = cls(lists=set(lists))
        for path, pieces in shown.items():
            for piece in pieces:
                known = given.lines.setdefault((path, piece.digest), set())
                for first, last in piece.lines:
                    known.update(range(first, min(last, first + 1_000_000) + 1))
        return given

    def of_file(self, path: str, digest: str) -> set[int]:
        """Return the lines of a content that were given."""
        return self.lines.get((path, digest), set())

    def note(self, block: HandleText) -> None:
        """Add what a block shows."""
        if block.numbers:
            self.lines.setdefault((block.path, block.digest), set()).update(block.numbers)
        if block.key and block.found is Found.SHOWN:
            self.lists.add(block.key)


Make = Callable[[SessionLines], HandleText]


def block_text(block: HandleText) -> str:
    """Return a block as text; where lines of a file are left out, the number of the next one is said."""
    out = [block.heading]
    for place, line in enumerate(block.lines):
        if place and block.numbers and block.numbers[place] != block.numbers[place - 1] + 1:
            out.append(f"{GAP} {block.numbers[place]}")
        out.append(f"  {line}" if line.strip() else "")
    if block.found is Found.CUT:
        out.append(f"{GAP} {block.note}")
    return "\n".join(out) + "\n"


def spans_of(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return ascending line numbers as ranges."""
    if not numbers:
        return ()
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after != before + 1)]
    ends = [*(before for before, after in pairwise(numbers) if after != before + 1), numbers[-1]]
    return tuple(zip(starts, ends, strict=True))


def fill(
    makes: Sequence[Make], given: SessionLines, budget: int, count: Count
) -> tuple[str, tuple[HandleText, ...]]:
    """Return the text of all blocks, never of more tokens than the budget, and the blocks as they are in it.

    What one block shows is not shown by those behind it.
    """
    room = budget
    while True:
        text, blocks = _fill(makes, given, max(room, 0), count)
        tokens = count(text)
        if tokens <= budget:
            return text, blocks
        room -= tokens - budget  # pieces may count less than the whole


def _fill(
    makes: Sequence[Make], given: SessionLines, room: int, count: Count
) -> tuple[str, tuple[HandleText, ...]]:
    planned = _copy(given)
    costs = []
    for make in makes:
        block = make(planned)
        planned.note(block)
        costs.append(count(block_text(block)))
    shares = _shares(costs, room)
    actual = _copy(given)
    blocks = []
    for make, share in zip(makes, shares, strict=True):
        block = fit(make(actual), share, count)
        actual.note(block)
        blocks.append(block)
    text = "".join(block_text(block) for block in blocks if block.found is not Found.LEFT_OUT)
    left = [visible_line(one.heading.split("\n", 1)[0]) for one in blocks if one.found is Found.LEFT_OUT]
    note = f"No room for: {', '.join(left)}\n" if left else ""
    if note and count(text + note) <= room:
        text += note
    return text, tuple(blocks)


def _copy(given: SessionLines) -> SessionLines:
    return SessionLines({key: set(lines) for key, lines in given.lines.items()}, set(given.lists))


def _shares(costs: Sequence[int], room: int) -> list[int]:
    """Return what each block may cost: small ones all of theirs, the others the same."""
    shares = [0] * len(costs)
    waiting = sorted(range(len(costs)), key=lambda place: (costs[place], place))
    for done, place in enumerate(waiting):
        shares[place] = min(costs[place], room // (len(waiting) - done))
        room -= shares[place]
    return shares


def fit(block: HandleText, room: int, count: Count) -> HandleText:
    """Return a block with as many of its first lines as there is room for."""
    if count(block_text(block)) <= room:
        return block
    least, most = 0, min(len(block.lines), block.head + 1)
    best: HandleText | None = None
    while least < most:
        middle = (least + most) // 2
        part = _cut(block, middle)
        if count(block_text(part)) <= room:
            best, least = part, middle + 1
        else:
            most = middle
    if best is None or not best.lines:
        return replace(
            block, found=Found.LEFT_OUT, lines=(), numbers=(), note="the budget has no room for it"
        )
    return best


def _cut(block: HandleText, lines: int) -> HandleText:
    note = block.more(lines)
    return replace(
        block, found=Found.CUT, lines=block.lines[:lines], numbers=block.numbers[:lines], note=note
    )
