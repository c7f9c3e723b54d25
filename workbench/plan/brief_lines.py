"""What a pack says about the files it shows, a line each, and which of these lines it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from workbench.plan.render import LISTS, TOGETHER, BriefLine, Style, name_line
from workbench.records.dataclass import dataclass
from workbench.text.sanitize import visible_line
from workbench.text.tokens import TokenCounter

if TYPE_CHECKING:
    from workbench.plan.compose import FileCandidate, ViewOffer

LINES_SHARE = 0.08
MOST_LINE_TOKENS = 300  # however large the budget

ShownFile: TypeAlias = "tuple[FileCandidate, ViewOffer]"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around the files a pack shows: files that change with them, and lines; each best first."""

    files: tuple[ShownFile, ...] = ()
    lines: tuple[BriefLine, ...] = ()


Around = Callable[[Sequence[ShownFile]], Surroundings]
"""Returns what is around some files that a pack shows."""


def choose_lines(beside: Surroundings, budget: int, style: Style, counter: TokenCounter) -> Surroundings:
    """Return the best of each section, then the second, while they fit their share of a budget."""
    left = min(MOST_LINE_TOKENS, int(budget * LINES_SHARE))
    order = [*LISTS]
    pieces: list[tuple[int, int, str, ShownFile | BriefLine, str]] = [
        (rank, order.index(TOGETHER), TOGETHER, one, name_line(one[1].view))
        for rank, one in enumerate(beside.files)
    ]
    for section, group in groupby(beside.lines, lambda line: line.section):
        pieces += (
            (rank, order.index(section), section, one, visible_line(one.text))
            for rank, one in enumerate(group)
        )
    opened: set[str] = set()
    chosen = []
    for _rank, _order, section, piece, text in sorted(pieces, key=lambda one: one[:2]):
        tokens = counter.count(style.listed(section, [text]))
        tokens -= counter.count(style.listed(section, [])) if section in opened else 0
        if tokens <= left:
            left -= tokens
            opened.add(section)
            chosen.append(piece)
    lines = [one for one in chosen if isinstance(one, BriefLine)]
    return Surroundings(
        tuple(one for one in chosen if not isinstance(one, BriefLine)),
        tuple(sorted(lines, key=lambda one: order.index(one.section))),
    )
