"""What a pack says about the files it shows, a line each, and which of these lines it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
OF_ASKED = 2.0  # times as much may be taken by lines which have a shorter form, on top

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
    left_of_asked = left * OF_ASKED
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
    chosen: list[ShownFile | BriefLine] = []
    for _rank, _order, section, piece, text in sorted(pieces, key=lambda one: one[:2]):
        opening = counter.count(style.listed(section, [])) if section in opened else 0
        tokens = counter.count(style.listed(section, [text])) - opening
        if isinstance(piece, BriefLine) and piece.shorter:
            if tokens <= left_of_asked:
                left_of_asked -= tokens
                opened.add(section)
                chosen.append(piece)
                continue
            piece = replace(piece, text=piece.shorter, shorter="")
            tokens = counter.count(style.listed(section, [visible_line(piece.text)])) - opening
        if tokens <= left:
            left -= tokens
            opened.add(section)
            chosen.append(piece)
    lines = [one for one in chosen if isinstance(one, BriefLine)]
    return Surroundings(
        tuple(one for one in chosen if not isinstance(one, BriefLine)),
        tuple(sorted(lines, key=lambda one: order.index(one.section))),
    )
