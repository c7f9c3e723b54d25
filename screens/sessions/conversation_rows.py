"""A page of a transcript as lines of a terminal: who speaks, what is folded away, everything literal.

Worked out in a job's thread, because a page can hold a megabyte of words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content

from screens.safe_text import shown
from workbench.sessions.conversation import AGENT, CALL, NOTE, RESULT, THOUGHT, USER, Turn
from workbench.text.sanitize import visible

MOST_LINES: Final = 400
"""Lines of a turn that are shown."""

_HEAD: Final = 300
_TAB: Final = 4
_LABELS: Final = {
    USER: ("❯ you", "bold $text-accent"),
    AGENT: ("● agent", "bold $text-primary"),
}
_FOLDED: Final = {
    THOUGHT: ("∴", "thought", "italic $text-muted"),
    CALL: ("⚙", "", "$text-secondary"),
    RESULT: ("↳", "", "$text-muted"),
    NOTE: ("#", "", "italic $text-muted"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the terminal, and the number of the turn it is of."""

    turn: int
    text: Content


def laid_out(
    turns: Sequence[Turn], unfolded: Collection[int], width: int, check: Callable[[], None] = lambda: None
) -> list[Row]:
    """Return the lines of turns in `width` cells; `unfolded` are numbers of turns shown in full."""
    rows: list[Row] = []
    for number, turn in enumerate(turns):
        check()
        rows += (Row(number, text) for text in turn_lines(turn, number in unfolded, width))
    return rows


def turn_lines(turn: Turn, unfolded: bool, width: int) -> Iterator[Content]:
    """Yield the lines of a turn."""
    if turn.role in _LABELS:
        yield Content("")
        yield _speaker(turn, width)
        yield from _body(turn, width, "")
        return
    yield _summary(turn, unfolded)
    if unfolded:
        yield from _body(turn, width - 4, "    ")


def foldable(turn: Turn) -> bool:
    """Whether a turn is shown in one line until it is asked for."""
    return turn.role in _FOLDED


def _speaker(turn: Turn, width: int) -> Content:
    label, style = _LABELS[turn.role]
    more = f" ({turn.head})" if turn.head else ""
    told = f" {clock(turn.at)}" if turn.at else ""
    rule = "─" * max(width - len(label) - len(more) - len(told) - 2, 0)
    return Content.assemble(
        (label, style), shown(more, "$text-muted"), " ", (rule, "$text-muted"), shown(told, "$text-muted")
    )


def _summary(turn: Turn, unfolded: bool) -> Content:
    glyph, label, style = _FOLDED[turn.role]
    sign = "▾" if unfolded else "▸"
    head = " ".join(part for part in (label, turn.head) if part)
    first = next((line.strip().expandtabs(1) for line in turn.text[:2_000].splitlines() if line.strip()), "")
    lines = turn.text.count("\n") + 1 if turn.text else 0
    told = "" if turn.role == CALL or unfolded else first
    size = f"{lines:,} lines" if turn.role == RESULT and lines > 1 else ""
    failed = Content.styled("✗ failed ", "bold $text-error") if turn.failed else Content("")
    said = [part for part in (head, size, told) if part] or [turn.role]
    parts = [shown(part, style, limit=_HEAD) for part in said]
    return Content.assemble(
        (f"  {sign} {glyph} ", style), failed, Content.styled(" · ", "$text-muted").join(parts)
    )


def _body(turn: Turn, width: int, indent: str) -> Iterator[Content]:
    count = 0
    style = "" if turn.role in _LABELS else "$text-muted"
    for line in visible(turn.text).replace("\r", "").split("\n"):
        for part in wrapped(line.expandtabs(_TAB), max(width, 10)):
            count += 1
            if count > MOST_LINES:
                yield shown(f"{indent}…(more lines are not shown)", "italic $text-muted")
                return
            yield shown(f"{indent}{part}", style)
    if turn.cut:
        yield shown(f"{indent}…({turn.cut:,} bytes are left out)", "italic $text-muted")


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts of at most `width` cells, broken at spaces where there are any."""
    while not _fits(line, width):
        end = width if line.isascii() else _cells(line, width)
        space = line.rfind(" ", end // 2, end + 1)
        cut = space if space > 0 else end
        yield line[:cut].rstrip()
        line = line[cut:].lstrip(" ") if space > 0 else line[cut:]
    yield line


def _fits(line: str, width: int) -> bool:
    if len(line) * 2 <= width or (len(line) <= width and line.isascii()):
        return True
    return len(line) <= width and Content(line).cell_length <= width


def _cells(line: str, width: int) -> int:
    """Return how many characters of a line fill at most `width` cells, at least one."""
    low, high = 1, width
    while low < high:
        middle = (low + high + 1) // 2
        if Content(line[:middle]).cell_length <= width:
            low = middle
        else:
            high = middle - 1
    return low


def clock(at: str) -> str:
    """Return the time of day of an ISO time in this place's clock, "" if it is none."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""
