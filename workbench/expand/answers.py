"""What each handle gives: the text of a definition, a file's outline, callers, a range, or why nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from workbench.expand.blocks import HandleText, SessionLines, spans_of
from workbench.expand.handles import Handle
from workbench.expand.lists import (
    dependency_lines,
    file_outline,
    link_lines,
    subclass_lines,
    uses_heading,
    uses_lines,
)
from workbench.expand.lookup import Definition, find_definitions, is_best
from workbench.expand.nearest import leads_out, nearest_names, refused_path
from workbench.expand.sources import SourceFile, Sources
from workbench.expand.usages import (
    enclosing_symbol,
    find_dependencies,
    find_links,
    find_subclasses,
    find_uses,
)
from workbench.records.expansion import Aspect, Found
from workbench.records.project import Skipped, Symbol
from workbench.text.counts import plural
from workbench.text.sanitize import cut, visible_line

SMALL_FILE: Final = 80  # lines; more are an outline
SMALL_CLASS: Final = 80
AROUND: Final = 10  # lines around one that is in no definition
_HEAD: Final = 30  # lines of a class before its first member
_LONG: Final = 60  # lines that are shown of a definition that has no room
_LISTED: Final = 12  # candidates of a name
_BESIDE: Final = 4  # other definitions beside the best one


def answer(sources: Sources, handle: Handle, given: SessionLines) -> HandleText:
    """Return the block of a handle, without what was given."""
    if len(handle.paths) > 1 and not handle.name:
        return _several(handle, handle.paths)
    if handle.lines is not None:
        return _range(sources, handle, given)
    if handle.name:
        outside = leads_out(handle)
        return _unknown(handle, outside) if outside else _definition(sources, handle, given)
    return _file(sources, handle, given)


def _several(handle: Handle, paths: Sequence[str]) -> HandleText:
    lines = tuple(visible_line(path) for path in paths[:_LISTED])
    return _list(Found.AMBIGUOUS, f"{visible_line(handle.text)}: {len(paths):,} files; ask for one", lines)


def _file(sources: Sources, handle: Handle, given: SessionLines) -> HandleText:
    path = handle.paths[0]
    file = sources.file(path)
    if isinstance(file, Skipped):
        return _unknown(handle, f"{visible_line(path)} is not shown: {file.reason}")
    links = find_links(sources, path)
    if handle.aspect in (Aspect.LINKS, Aspect.CALLERS, Aspect.USES):
        return _unless_given(
            given, _list(Found.SHOWN, f"{visible_line(path)} (links)", link_lines(links, handle.aspect))
        )
    if handle.aspect is Aspect.REST:
        return _text(file, f"{visible_line(path)}", range(1, len(file.lines) + 1), given)
    small = len(file.lines) <= SMALL_FILE and handle.aspect is Aspect.SHOW
    if small or not file.symbols:
        return _text(file, visible_line(path), range(1, len(file.lines) + 1), given)
    counts = (
        f"imports {len(links.imports):,}" if links.imports else "",
        f"imported by {len(links.imported_by):,}" if links.imported_by else "",
        f"tested by {len(links.tested_by):,}" if links.tested_by else "",
    )
    linked = ", ".join(filter(None, counts))
    heading = (
        f"{visible_line(path)} (outline, {plural(len(file.lines), 'line')}{'; ' if linked else ''}{linked})"
    )
    return _unless_given(given, _list(Found.SHOWN, heading, file_outline(file.symbols), path))


def _range(sources: Sources, handle: Handle, given: SessionLines) -> HandleText:
    path = handle.paths[0]
    file = sources.file(path)
    if isinstance(file, Skipped):
        return _unknown(handle, f"{visible_line(path)} is not shown: {file.reason}")
    first, last = handle.lines or (1, 0)
    if first > len(file.lines):
        return _unknown(handle, f"{visible_line(path)} has {plural(len(file.lines), 'line')}")
    symbol = enclosing_symbol(file.symbols, first)
    if handle.single:
        if handle.aspect in (Aspect.CALLERS, Aspect.USES, Aspect.SUBCLASSES) and symbol is not None:
            return _relation(sources, handle, [Definition(path, file.role, symbol)], given)
        if symbol is not None and symbol.end_line - symbol.line < SMALL_CLASS:
            return _text(file, visible_line(path), _lines_of(file, symbol), given, _name_of(symbol))
        first, last = max(1, first - AROUND), first + AROUND
    last = min(last or len(file.lines), len(file.lines))
    if last < first:
        return _unknown(handle, f"the range ends before it begins: {first}-{last}")
    return _text(file, visible_line(path), range(first, last + 1), given, _name_of(symbol) if symbol else "")


def _definition(sources: Sources, handle: Handle, given: SessionLines) -> HandleText:
    definitions = find_definitions(sources, handle.parts, handle.paths)
    if not definitions and handle.paths:  # a heading may hold what separates names
        definitions = find_definitions(sources, (handle.name,), handle.paths)
    if handle.aspect is Aspect.CALLERS and not handle.paths:
        return _relation(sources, handle, definitions, given)
    if not definitions:
        return _unknown(handle, refused_path(handle) or nearest_names(sources, handle))
    if handle.aspect in (Aspect.CALLERS, Aspect.USES, Aspect.SUBCLASSES):
        return _relation(sources, handle, definitions, given)
    if not is_best(definitions) and not _are_beside(definitions):
        lines = [_place(one) for one in definitions[:_LISTED]]
        if len(definitions) > _LISTED:
            lines.append(f"and {len(definitions) - _LISTED:,} more; qualify the name")
        heading = f"{visible_line(handle.text)}: {len(definitions):,} definitions; ask for one as path:name"
        return _list(Found.AMBIGUOUS, heading, tuple(lines))
    return _body(sources, definitions, given)


def _body(sources: Sources, found: Sequence[Definition], given: SessionLines) -> HandleText:
    """Return the best definition; of a class that is long its head and its members' signatures."""
    best = found[0]
    file = sources.file(best.path)
    if isinstance(file, Skipped):
        return HandleText(
            Found.UNKNOWN, f"{visible_line(best.path)} is not shown: {file.reason}", note=file.reason
        )
    symbol = _as_now(file, best.symbol)
    beside = [one for one in found[1:] if one.path != best.path or one.symbol.line > symbol.end_line][
        :_BESIDE
    ]
    also = (
        f"; also {', '.join(f'{visible_line(one.path)}:{one.symbol.line}' for one in beside)}"
        if beside
        else ""
    )
    members = [
        one
        for one in file.symbols
        if one.parent.endswith(symbol.name) and one.line > symbol.line and one.end_line <= symbol.end_line
    ]
    lines = _lines_of(file, symbol)
    heading = visible_line(best.path)
    if len(lines) <= SMALL_CLASS or not members:
        return replace(_text(file, heading, lines, given, _name_of(symbol) + also), head=_LONG)
    head = range(symbol.line, min(members[0].line, symbol.line + _HEAD))
    shown = tuple(file.lines[number - 1] for number in head)
    title = f"{heading}:{symbol.line}-{symbol.end_line} {_name_of(symbol)} (head and members){also}"
    return _unless_given(given, _list(Found.SHOWN, title, (*shown, *file_outline(members)), best.path))


def _relation(
    sources: Sources, handle: Handle, found: Sequence[Definition], given: SessionLines
) -> HandleText:
    """Return the callers of a definition, what it uses, or its subclasses."""
    name = handle.parts[-1] if handle.name else found[0].symbol.name
    shown = visible_line(_name_of(found[0].symbol) if found else name)
    if handle.aspect is Aspect.CALLERS:
        named = [one for one in found if one.symbol.name == name]
        uses = find_uses(sources, name, named)
        if not uses and not named:
            return _unknown(handle, nearest_names(sources, handle))
        heading = uses_heading(shown, named, uses)
        return _unless_given(given, _list(Found.SHOWN, heading, uses_lines(uses)))
    if handle.aspect is Aspect.SUBCLASSES:
        below = find_subclasses(sources, found[0].symbol.name)
        return _unless_given(
            given, _list(Found.SHOWN, f"{shown}: {plural(len(below), 'subtype')}", subclass_lines(below))
        )
    needed = find_dependencies(sources, found[0])
    place = f"{visible_line(found[0].path)}:{found[0].symbol.line}"
    heading = f"{shown} ({place}) uses {plural(len(needed), 'definition')}"
    return _unless_given(given, _list(Found.SHOWN, heading, dependency_lines(needed, found[0].path)))


def _text(
    file: SourceFile, heading: str, wanted: Sequence[int], given: SessionLines, name: str = ""
) -> HandleText:
    """Return lines of a file, without those that were given."""
    known = given.of_file(file.path, file.digest)
    numbers = tuple(number for number in wanted if number not in known)
    whole = len(wanted) == len(file.lines) and not name
    if not numbers:
        note = "has no lines" if not wanted else "was given to this session already"
        place = heading if whole else f"{heading}:{wanted[0]}-{wanted[-1]}"
        return HandleText(
            Found.GIVEN, f"{place} {visible_line(name)}".rstrip() + f": {note}", path=file.path, note=note
        )
    spans = spans_of(numbers)
    ranges = ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans[:8])
    place = heading if whole and len(spans) == 1 and len(numbers) == len(wanted) else f"{heading}:{ranges}"
    left = len(wanted) - len(numbers)
    before = f" ({plural(left, 'line')} given before)" if left else ""
    end = numbers[-1]

    def more(shown: int) -> str:
        following = numbers[shown]
        return f"{plural(len(numbers) - shown, 'more line')}: {heading}:{following}-{end}"

    return HandleText(
        Found.SHOWN,
        f"{place} {visible_line(name)}".rstrip() + before,
        tuple(file.lines[number - 1] for number in numbers),
        numbers,
        file.path,
        file.digest,
        more=more,
    )


def _list(found: Found, heading: str, lines: tuple[str, ...], path: str = "") -> HandleText:
    key = hashlib.blake2b("\n".join((heading, *lines)).encode("utf-8", "replace"), digest_size=8).hexdigest()

    def more(shown: int) -> str:
        return f"{plural(len(lines) - shown, 'more line')}: ask with a larger budget"

    return HandleText(found, heading, lines, path=path, key=key, more=more)


def _unless_given(given: SessionLines, block: HandleText) -> HandleText:
    if block.key not in given.lists:
        return block
    note = "was given to this session already"
    return HandleText(Found.GIVEN, f"{block.heading}: {note}", path=block.path, note=note)


def _unknown(handle: Handle, why: str) -> HandleText:
    return HandleText(Found.UNKNOWN, f"{visible_line(handle.text)}: {why}", note=why)


def _place(one: Definition) -> str:
    lines = f"{one.symbol.line}-{one.symbol.end_line}"
    return f"{visible_line(one.path)}:{lines} {cut(visible_line(one.symbol.signature), 90)}"


def _name_of(symbol: Symbol) -> str:
    return f"{symbol.parent}.{symbol.name}" if symbol.parent else symbol.name


def _are_beside(found: Sequence[Definition]) -> bool:
    """Whether definitions are overloads: of one name, in one file and class."""
    return len({(one.path, one.symbol.parent) for one in found}) == 1 and len(found) <= _BESIDE


def _as_now(file: SourceFile, symbol: Symbol) -> Symbol:
    """Return a definition as the file has it now."""
    same = [one for one in file.symbols if (one.name, one.parent) == (symbol.name, symbol.parent)]
    return min(same, key=lambda one: abs(one.line - symbol.line), default=symbol)


def _lines_of(file: SourceFile, symbol: Symbol) -> range:
    """Return the lines of a definition with the comment right above it."""
    first = symbol.line
    while first > 1 and file.lines[first - 2].lstrip().startswith(("//", "///", "#:", "/**", "* ", "*/")):
        first -= 1
    return range(min(first, len(file.lines)), min(symbol.end_line, len(file.lines)) + 1)
