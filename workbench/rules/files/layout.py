"""Where each line of a unit's text is in its file, and how a new text is laid out in its place.

The text of a unit has no bullets, quote marks and indentation; the file does. What is laid out keeps them,
line by line, so that a change of one word changes one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from workbench.records.dataclass import dataclass
from workbench.rules.formats.markdown import BULLET_MARK, FENCE, Block, Kind, blocks
from workbench.rules.reading.construction import CHECKBOX
from workbench.rules.reading.units import Unit

_SUB_BULLET = re.compile(r"^( *)- (?=\S)")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a unit's text in its file: line `index` is `prefix`, the words, `suffix`.

    In the unit's text the same words stand after `mark`. `before` are blank lines of the file between the
    line before and this one, `after` lines that belong to it and are not in the text.
    """

    index: int
    prefix: str
    words: str
    suffix: str
    mark: str = ""
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    code: bool = False

    @property
    def text(self) -> str:
        """Return the line of the unit's text."""
        return self.mark + self.words


@dataclass(frozen=True, slots=True)
class Laid:
    """A line to be written. `index` is the file's line it comes from, None for a new one."""

    text: str
    index: int | None = None


def places_of(lines: Sequence[str], unit: Unit) -> tuple[Place, ...] | None:
    """Return where the lines of a unit's text are, or None if that is not certain.

    `lines` are the file's, as an import reads them.
    """
    if unit.kind is Kind.TABLE_ROW:
        return None
    start = unit.line - 1
    cut = list(lines[start : unit.end_line])
    found, _ = blocks(cut)
    if not found:
        return None
    places = [place for block in found for place in _block_places(cut, block, found[0])]
    while places and not places[0].words:
        places.pop(0)
    while places and not places[-1].words:
        places.pop()
    if not places or "\n".join(place.text for place in places) != unit.text:
        return None
    box = CHECKBOX.match(places[0].words)
    if box:
        first = places[0]
        places[0] = Place(first.index, first.prefix + box.group(), first.words[box.end() :], first.suffix)
    return tuple(_with_neighbours(places, cut, start))


def _block_places(cut: Sequence[str], block: Block, first: Block) -> Iterable[Place]:
    if block.kind is Kind.CODE:
        inside = [cut[index] for index in range(block.start, block.end)]
        margin = min((len(line) - len(line.lstrip()) for line in inside if line.strip()), default=0)
        return [
            Place(block.start + at, line[:margin], line[margin:], "", code=True)
            for at, line in enumerate(inside)
        ]
    mark = ""
    if block is not first:
        bullet = "- " if block.kind is Kind.BULLET else ""
        mark = ("  " if block.indent > first.indent else "") + bullet
    if block.kind is Kind.TABLE_HEAD:
        return [_place(block.start, cut[block.start], 0, mark)]
    quoted = block.kind in (Kind.BULLET, Kind.PARAGRAPH)
    found = []
    for index in range(block.start, block.end):
        stripped = cut[index].strip()
        skip = 1 if quoted and stripped.startswith(">") else 0
        if index == block.start and block.kind is Kind.BULLET:
            bullet_match = BULLET_MARK.match(stripped)
            skip = bullet_match.end() if bullet_match else 0
        found.append(_place(index, cut[index], skip, mark if index == block.start else ""))
    return found


def _place(index: int, line: str, skip: int, mark: str) -> Place:
    """Return the place of a line whose first `skip` characters after the indentation are marks."""
    start = len(line) - len(line.lstrip()) + skip
    words = line[start:].strip()
    start += len(line[start:]) - len(line[start:].lstrip()) if words else 0
    return Place(index, line[:start], words, line[start + len(words) :], mark)


def _with_neighbours(places: Sequence[Place], cut: Sequence[str], start: int) -> Iterable[Place]:
    """Give the lines that are not in the text to the places around them; indexes become the file's."""
    for at, place in enumerate(places):
        low = places[at - 1].index + 1 if at else 0
        high = places[at + 1].index if at + 1 < len(places) else len(cut)
        blank = tuple(start + index for index in range(low, place.index) if not cut[index].strip())
        after = tuple(
            start + index
            for index in range(place.index + 1, high)
            if cut[index].strip() or at + 1 == len(places)
        )
        yield Place(
            start + place.index,
            place.prefix,
            place.words,
            place.suffix,
            place.mark,
            blank if at else tuple(start + index for index in range(place.index)),
            after,
            place.code,
        )


def lay_out(lines: Sequence[str], places: Sequence[Place], text: str) -> tuple[Laid, ...]:
    """Return the lines of a unit whose text is `text` from now on; those that stay name their line."""
    old = [place.text for place in places]
    new = text.split("\n")
    style = _Style(lines, places)
    done = [*_keep(lines, places[0].before), style.line(new[0], places[0], first=True)]
    done.extend(_keep(lines, places[0].after))
    matcher = SequenceMatcher(None, old[1:], new[1:], autojunk=False)
    for name, low, high, start, end in matcher.get_opcodes():
        paired = min(high - low, end - start)
        for offset in range(paired):
            place, line = places[1 + low + offset], new[1 + start + offset]
            done.extend(_keep(lines, place.before))
            done.append(Laid(lines[place.index], place.index) if name == "equal" else style.line(line, place))
            done.extend(_keep(lines, place.after))
        done.extend(style.line(line, None) for line in new[1 + start + paired : 1 + end])
    return tuple(done)


def fresh(mark: str, text: str) -> tuple[Laid, ...]:
    """Return the lines of a new unit after `mark`: indentation, quote mark, bullet."""
    style = _Style((), (Place(-1, mark, "", ""),))
    first, *rest = text.split("\n")
    return (style.line(first, None, first=True), *(style.line(line, None) for line in rest))


def following_mark(mark: str) -> str:
    """Return the mark of the bullet after one: the next number, the same bullet, an empty check box."""
    number = _NUMBER.search(mark)
    if number:
        after = str(int(number.group()) + 1)
        mark = mark[: number.start()] + after + mark[number.end() :]
    return re.sub(r"\[[xX~]\]", "[ ]", mark)


def _keep(lines: Sequence[str], indexes: Iterable[int]) -> list[Laid]:
    return [Laid(lines[index], index) for index in indexes]


class _Style:
    """How the lines of one unit are indented and marked."""

    def __init__(self, lines: Sequence[str], places: Sequence[Place]) -> None:
        self.lines = lines
        self.first = places[0].prefix
        self.hanging = _hanging(self.first)
        self.by_mark = {place.mark: place.prefix for place in reversed(places) if place.mark}
        plain = [place.prefix for place in places[1:] if not place.mark and not place.code]
        self.plain = plain[0] if plain else self.hanging
        code = [place.prefix for place in places if place.code]
        self.code_margin = code[0] if code else self.hanging
        self.in_code = False

    def line(self, text: str, place: Place | None, *, first: bool = False) -> Laid:
        """Return a line of the text as it is in the file; in the place of `place` if that is like it."""
        fence = bool(FENCE.match(text.strip()))
        code = self.in_code or fence
        if fence:
            self.in_code = not self.in_code
        if place is not None and (first or (place.code is code and self._like(text, place))):
            words = text[len(place.mark) :]
            if place.words == words:
                return Laid(self.lines[place.index], place.index)
            return Laid(place.prefix + words + place.suffix, place.index)
        if first:
            return Laid(self.first + text)
        if not text.strip():
            return Laid("")
        if code:
            return Laid(self.code_margin + text)
        bullet = _SUB_BULLET.match(text)
        if bullet is None:
            return Laid(self.plain + text.strip())
        known = self.by_mark.get(bullet.group())
        if known is None:
            known = (self.hanging if bullet.group(1) else _indentation(self.first)) + "- "
        return Laid(known + text[bullet.end() :])

    def _like(self, text: str, place: Place) -> bool:
        if place.mark:
            return text.startswith(place.mark) and not text[len(place.mark) :].startswith(" ")
        return not _SUB_BULLET.match(text)


def _indentation(prefix: str) -> str:
    return prefix[: len(prefix) - len(prefix.lstrip())]


def _hanging(prefix: str) -> str:
    """Return what is before the further lines of a text whose first line has this prefix."""
    box = prefix.find("[")
    marks = prefix[:box] if box >= 0 else prefix
    return "".join(char if char in "\t>" else " " for char in marks)
