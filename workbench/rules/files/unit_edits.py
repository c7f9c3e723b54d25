"""What can be edited in a rule file, and the ways to write each edit, the most faithful first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.rules.files.layout import Laid, Place, following_mark, fresh, lay_out, places_of
from workbench.rules.formats.frontmatter import FrontMatter, read_front_matter
from workbench.rules.formats.managed import bullet_lines, managed_text
from workbench.rules.formats.markdown import FENCE, Kind, new_row
from workbench.rules.formats.textfile import TextFile, parse_file
from workbench.rules.reading.construction import lead_in, rule_text
from workbench.rules.reading.units import Unit, split_units
from workbench.text.prose import plain
from workbench.text.sanitize import visible

_EDITABLE = frozenset({Kind.BULLET, Kind.PARAGRAPH, Kind.TABLE_ROW})
_COMMENT_MARK = re.compile(r"<!--|-->")
_OWN_MARKER = re.compile(r"<!--\s*workbench:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Replace:
    """The rule at these lines reads `text` from now on. Lines are 1-based and inclusive."""

    line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The unit at these lines goes."""

    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Insert:
    """A rule comes after this line (0 is the top of the text), or with `section` at the end of that section.

    Where it would not read as a rule of its own there, it comes after the list or at the section's end.
    `section` are headings, outermost first, as rules' provenance gives them.
    """

    text: str
    line: int = 0
    section: tuple[str, ...] | None = None


Edit = Replace | Delete | Insert


@dataclass(frozen=True, slots=True)
class Parsed:
    """A rule file as edits see it. `lines` are as an import reads them."""

    file: TextFile
    front: FrontMatter
    units: tuple[Unit, ...]
    warnings: tuple[str, ...]
    by_lines: dict[tuple[int, int], int]

    @property
    def lines(self) -> tuple[str, ...]:
        """The file's lines as an import reads them."""
        return self.file.shown


@dataclass(frozen=True, slots=True)
class Patch:
    """Lines `start` to `stop` (indexes, exclusive) become `lines`.

    `unit` is the index of the unit that is replaced or deleted; an insertion stands before the unit `before`.
    `text` is what the rule has to read afterwards, None for a deletion. With `regroup` rules around it may
    become one.
    """

    start: int
    stop: int
    lines: tuple[Laid, ...]
    text: str | None
    unit: int | None = None
    before: int = 0
    regroup: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """The ways to write an edit, best first, for the unit with this index at this line."""

    patches: tuple[Patch, ...]
    line: int
    unit: int | None = None


def parse(data: bytes) -> Parsed:
    """Read a rule file for editing."""
    return _parse(parse_file(data))


def parse_again(data: bytes, before: Parsed) -> Parsed:
    """Read an edited file."""
    file = parse_file(data)
    return before if file == before.file else _parse(file)


def _parse(file: TextFile) -> Parsed:
    lines = list(file.shown)
    front = read_front_matter(lines)
    units, warnings = split_units(lines, front.body_start)
    found = sorted(message for _, message in (*front.warnings, *warnings))
    return Parsed(
        file, front, units, tuple(found), {(unit.line, unit.end_line): at for at, unit in enumerate(units)}
    )


def as_written(text: str) -> str:
    """Return a rule's text as files can hold it: control characters shown, line feeds only, no loose ends."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def options_for(parsed: Parsed, edit: Edit) -> Options:
    """Return the ways to write an edit.

    Raises: ParseError if there is no such unit, or its text can't be written whatever the layout.
    """
    if isinstance(edit, Insert):
        return _insertion(parsed, edit)
    at = parsed.by_lines.get((edit.line, edit.end_line))
    if at is None:
        raise ParseError(
            f"lines {edit.line} to {edit.end_line} are not one rule",
            line=edit.line,
            hint="The file changed since it was imported; import it again.",
        )
    unit = parsed.units[at]
    if isinstance(edit, Delete):
        return Options(_deletions(parsed, unit, at), unit.line, at)
    if unit.kind not in _EDITABLE:
        raise ParseError(
            f"is a {unit.kind.value.replace('_', ' ')}, no rule",
            line=unit.line,
            hint="Edit it in the file itself.",
        )
    if unit.stated is not None:
        text = managed_text(edit.text)
        lines = _stated_lines(parsed, unit, text)
        return Options((Patch(unit.line - 1, unit.end_line, lines, text, at),), unit.line, at)
    text = _check_text(edit.text, rule_text(unit), unit.line)
    if unit.kind is Kind.TABLE_ROW:
        return Options((_row(parsed, unit, at, text),), unit.line, at)
    found = [_lay_unit(parsed, unit, at, own, text) for own in _own_texts(text, lead_in(unit))]
    return Options(tuple(dict.fromkeys(found)), unit.line, at)


def _stated_lines(parsed: Parsed, unit: Unit, text: str) -> tuple[Laid, ...]:
    """Return the lines of a rule in the workbench's own part; lines that say the same stay."""
    new = bullet_lines(text) if text else []
    old = parsed.lines[unit.line - 1 : unit.end_line]
    same = len(old) == len(new)
    return tuple(
        Laid(line, unit.line - 1 + at) if same and old[at] == line else Laid(line)
        for at, line in enumerate(new)
    )


def _check_text(text: str, before: str, line: int) -> str:
    """Return the text as it will be written.

    Raises: ParseError for nothing at all, and for comment marks that would open or close the file's comments.
    """
    text = as_written(text)
    if not text:
        raise ParseError("would be empty", line=line, hint="Delete the rule instead.")
    if _OWN_MARKER.search(text):
        raise ParseError(
            "contains a mark of the workbench's own sections", line=line, hint="Leave the comment out of it."
        )
    if not _comments_close(text) and _comments_close(before):
        raise ParseError(
            "opens or closes an HTML comment",
            line=line,
            hint="Write the mark in words, or close the comment.",
        )
    return text


def _comments_close(text: str) -> bool:
    marks = _COMMENT_MARK.findall(text)
    return len(marks) % 2 == 0 and all(mark == ("-->" if at % 2 else "<!--") for at, mark in enumerate(marks))


def _own_texts(text: str, lead: str) -> Iterable[str]:
    """Return the texts a unit may have for its rule to read `text`: without its lead, whole, on one line."""
    own = text.removeprefix(lead)
    texts = [own, text] if own and own != text else [text]
    for candidate in texts:
        yield candidate
    for candidate in texts:
        lines = candidate.split("\n")
        if len(lines) > 1 and not any(FENCE.match(line.strip()) for line in lines):
            yield " ".join(line.strip() for line in lines if line.strip())


def _lay_unit(parsed: Parsed, unit: Unit, at: int, own: str, text: str) -> Patch:
    places = places_of(parsed.lines, unit)
    if places is None:
        first = parsed.lines[unit.line - 1]
        indentation = first[: len(first) - len(first.lstrip())]
        mark = indentation + "- " if unit.kind is Kind.BULLET else indentation
        places = (Place(unit.line - 1, mark, "", ""),)
        return Patch(unit.line - 1, unit.end_line, fresh(mark, own), text, at)
    return Patch(unit.line - 1, unit.end_line, lay_out(parsed.lines, places, own), text, at)


def _row(parsed: Parsed, unit: Unit, at: int, text: str) -> Patch:
    row = new_row(parsed.lines[unit.line - 1], unit.lead, text)
    if row is None:
        raise ParseError(
            "is a row of a table, and this text doesn't fit its columns",
            line=unit.line,
            hint=f"Keep the form of: {rule_text(unit)[:200]}",
        )
    return Patch(unit.line - 1, unit.end_line, (Laid(row, unit.line - 1),), text, at)


def _deletions(parsed: Parsed, unit: Unit, at: int) -> tuple[Patch, ...]:
    """Return the ways to delete a unit: with the blank line it leaves doubled, or one in its stead."""
    start, stop = unit.line - 1, unit.end_line
    above = start == 0 or start == parsed.front.body_start or not parsed.lines[start - 1].strip()
    below = stop < len(parsed.lines) and not parsed.lines[stop].strip()
    tidy = stop + 1 if above and below else stop
    if above and not below and stop == len(parsed.lines) and start > parsed.front.body_start:
        start -= 1  # the blank line before the last unit
    found = [Patch(start, tidy, (), None, at)]
    if (start, tidy) != (unit.line - 1, stop):
        found.append(Patch(unit.line - 1, stop, (), None, at))
    found.append(Patch(unit.line - 1, stop, (Laid(""),), None, at))
    return (*found, replace(found[0], regroup=True))


def _insertion(parsed: Parsed, edit: Insert) -> Options:
    after = edit.line if edit.section is None else _section_end(parsed, edit.section)
    if not 0 <= after <= len(parsed.lines):
        raise ParseError(f"the file has no line {after}", hint="Import it again.")
    after = max(after, parsed.front.body_start)
    before = next((at for at, unit in enumerate(parsed.units) if unit.end_line > after), len(parsed.units))
    if before < len(parsed.units) and parsed.units[before].line <= after:
        raise ParseError("is in the middle of a rule", line=after, hint="Insert after its last line.")
    text = _check_text(edit.text, "", after)
    found: list[Patch] = []
    for at, line in _spots(parsed, before, after):
        previous = parsed.units[at - 1] if at else None
        following = parsed.units[at] if at < len(parsed.units) else None
        for own in _own_texts(text, _lead_at(previous, following)):
            layouts = _lay_inserted(parsed, own, line, previous, following)
            found.extend(Patch(line, line, lines, text, None, at) for lines in layouts)
    return Options(tuple(dict.fromkeys(found)), after)


def _spots(parsed: Parsed, before: int, after: int) -> Iterable[tuple[int, int]]:
    """Return (index of the unit after it, line before it) of the places for a new rule, the nearest first.

    Here or below what is indented under the bullet here, below the list, at the end of the section.
    """
    units, lines = parsed.units, parsed.lines
    ends = [before]
    if before:
        margin = _margin(lines, units[before - 1])
        ends.insert(0, _while(units, before, lambda unit: _margin(lines, unit) > margin))
    ends.append(_while(units, before, lambda unit: unit.kind is Kind.BULLET or _margin(lines, unit) > 0))
    ends.append(_while(units, before, lambda unit: unit.kind not in (Kind.HEADING, Kind.BREAK)))
    for end in dict.fromkeys(ends):
        yield end, after if end == before else units[end - 1].end_line


def _while(units: Sequence[Unit], at: int, test: Callable[[Unit], bool]) -> int:
    while at < len(units) and test(units[at]):
        at += 1
    return at


def _margin(lines: Sequence[str], unit: Unit) -> int:
    line = lines[unit.line - 1].expandtabs(4)
    return len(line) - len(line.lstrip())


def _section_end(parsed: Parsed, section: tuple[str, ...]) -> int:
    """Return the last line of a section without its sub-sections."""
    end = 0 if section else parsed.front.body_start
    for unit in parsed.units:
        opens = unit.kind is Kind.HEADING and (*unit.section, plain(unit.text)) == section
        if opens or (unit.section == section and unit.kind is not Kind.HEADING):
            end = unit.end_line
    if not end and section:
        raise ParseError(f"the file has no section {' > '.join(section)}", hint="Name a heading of the file.")
    return end


def _lead_at(previous: Unit | None, following: Unit | None) -> str:
    for unit in (previous, following):
        if unit is not None and unit.kind is Kind.BULLET and lead_in(unit):
            return lead_in(unit)
    return ""


def _lay_inserted(
    parsed: Parsed, own: str, after: int, previous: Unit | None, following: Unit | None
) -> Iterable[tuple[Laid, ...]]:
    """Return the ways to lay out a new rule: as the bullet next to it, or as a list of its own."""
    lines = parsed.lines
    if previous is not None and previous.stated is not None and previous.end_line == after:
        yield tuple(Laid(line) for line in bullet_lines(own))
    if previous is not None and previous.kind is Kind.BULLET and previous.end_line == after:
        places = places_of(lines, previous)
        if places is not None and places[0].index == previous.line - 1:
            gap = _loose(lines, previous)
            yield (*[Laid("")] * gap, *fresh(following_mark(places[0].prefix), own))
    elif following is not None and following.kind is Kind.BULLET and not _has_blank(lines, after, following):
        places = places_of(lines, following)
        if places is not None and not _NUMBERED.search(places[0].prefix):
            yield fresh(following_mark(places[0].prefix), own)
    above = [Laid("")] if after > 0 and lines[after - 1].strip() and after > parsed.front.body_start else []
    below = [Laid("")] if after < len(lines) and lines[after].strip() else []
    yield (*above, *fresh("- ", own), *below)
    yield (*above, *fresh("", own), *below)


_NUMBERED = re.compile(r"\d")


def _loose(lines: Sequence[str], bullet: Unit) -> int:
    """Return how many blank lines are between this bullet and the one before it: none or one."""
    above = bullet.line - 2
    return int(above > 0 and not lines[above].strip() and lines[above - 1].lstrip()[:1] in "-*+0123456789")


def _has_blank(lines: Sequence[str], after: int, following: Unit) -> bool:
    return any(not line.strip() for line in lines[after : following.line - 1])
