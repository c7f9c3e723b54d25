"""Where the secrets of a text are, by kind. One automaton a family scans the bytes once, whatever they hold.

RE2 keeps that linear: no line is too long and no text slows it down. What a scan finds is judged one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from workbench.text.secrets.formats import COMMANDS, PLACES, TOKENS, Shape
from workbench.text.secrets.pairs import EXPRESSION, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK: Final = re.compile(rb"\[secret:[a-z-]{1,40}\]")
_NAME: Final = re.compile(rb"[\w.-]*\Z")
_LONGEST_NAME: Final = 60
_MEMORY: Final = 128 << 20  # bytes for the automata's states; they take a few of them


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A secret at bytes `[start, end)` of a text in UTF-8."""

    start: int
    end: int
    kind: str


def spans(data: bytes) -> tuple[Span, ...]:
    """Return the secrets in a text in UTF-8, in order, none touching another; marks are skipped."""
    found = [*_shaped(data), *_placed(data), *_named(data)]
    if not found:
        return ()
    marks = [match.span() for match in MARK.finditer(data)]
    return tuple(_apart(found, marks))


def of_tokens(data: bytes) -> tuple[Span, ...]:
    """Return what is found by the shapes of issued tokens alone."""
    return tuple(_apart(list(_shaped(data)), []))


def of_names(data: bytes) -> tuple[Span, ...]:
    """Return what is found by its place or the name beside it alone, whatever issued it."""
    return tuple(_apart([*_placed(data), *_named(data)], []))


def _shaped(data: bytes) -> Iterator[Span]:
    expression, shapes = _tokens()
    for match in expression.finditer(data):
        shape = shapes[match.lastindex - 1]
        start, end = match.span()
        if shape.holds is None or shape.holds(_text(data[start:end])):
            yield Span(start, end, shape.kind)


def _placed(data: bytes) -> Iterator[Span]:
    for expression, shapes in (_places(), _commands()):
        for match in expression.finditer(data):
            shape = shapes[match.lastindex - 1]
            start, end = match.span(match.lastindex)
            if shape.holds is None or shape.holds(_text(data[start:end])):
                yield Span(start, end, shape.kind)


def _named(data: bytes) -> Iterator[Span]:
    for match in _pairs().finditer(data):
        group = match.lastindex
        start, end = match.span(group)
        begin = match.start()
        before = _NAME.search(data, max(0, begin - _LONGEST_NAME), begin)
        name = _text((before[0] if before else b"") + match[1])
        separator, value = _text(match[2]), _text(data[start:end])
        after = _text(data[end : end + 1])
        if kind := kind_of(name, separator, value, quoted=group != 6, after=after):
            yield Span(start, end, kind)


def _apart(found: list[Span], marks: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield spans in order, joined where they overlap; the first family to find one names its kind."""
    order = {span: number for number, span in reversed(list(enumerate(found)))}
    waiting = iter(marks)
    mark = next(waiting, None)
    held: Span | None = None
    for span in sorted(found):
        while mark is not None and mark[1] <= span.start:
            mark = next(waiting, None)
        if mark is not None and mark[0] < span.end:
            continue
        if held is None or span.start >= held.end:
            if held is not None:
                yield held
            held = span
            continue
        kind = held.kind if order[held] <= order[span] else span.kind
        joined = Span(held.start, max(held.end, span.end), kind)
        order[joined] = min(order[held], order[span])
        held = joined
    if held is not None:
        yield held


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def _tokens() -> tuple[Any, tuple[Shape, ...]]:
    return _compiled("|".join(f"({shape.expression})" for shape in TOKENS)), TOKENS


@cache
def _places() -> tuple[Any, tuple[Shape, ...]]:
    return _compiled("(?i)" + "|".join(shape.expression for shape in PLACES)), PLACES


@cache
def _commands() -> tuple[Any, tuple[Shape, ...]]:
    return _compiled("(?i)" + "|".join(shape.expression for shape in COMMANDS)), COMMANDS


@cache
def _pairs() -> Any:
    return _compiled(f"(?i){EXPRESSION}")


def _compiled(expression: str) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2.compile(expression.encode(), options=options)
