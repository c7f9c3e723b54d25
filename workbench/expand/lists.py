"""Lists as handles give them: outlines, uses by file, dependencies, links; one thing a line, short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.expand.lookup import Definition
from workbench.expand.usages import FileUses, Links, UsedLine
from workbench.records.expansion import Aspect
from workbench.records.project import Role, Symbol
from workbench.text.counts import plural
from workbench.text.sanitize import cut, visible_line

_MOST_SYMBOLS: Final = 80  # of an outline with members
_WITH_TEXT: Final = 24  # uses in source beyond which only lines and definitions are named
_LONGEST: Final = 110  # characters of a line
_COMMENTED: Final = 6  # files whose comments name it
_NUMBERS: Final = 12  # lines of such a file
_ON_A_LINE: Final = 10  # members of a large outline
_CODE: Final = (Role.SOURCE, Role.BUILD)


def file_outline(symbols: Sequence[Symbol]) -> tuple[str, ...]:
    """Return definitions, one a line with its line number; of very many, members by name alone."""
    ordered = sorted(symbols, key=lambda one: (one.line, -one.end_line, one.name))
    if len(ordered) <= _MOST_SYMBOLS:
        return tuple(
            f"{one.line} {'  ' if one.parent else ''}{cut(visible_line(one.signature), _LONGEST)}"
            for one in ordered
        )
    lines = []
    constants = 0
    names = {one.name for one in ordered}
    members: dict[str, list[str]] = {}
    for one in ordered:
        if one.parent in names:
            members.setdefault(one.parent, []).append(f"{visible_line(one.name)} {one.line}")
    for one in ordered:
        if one.kind == "constant" and one.parent not in names:
            constants += 1
        if one.kind == "constant" or one.parent in names:
            continue
        lines.append(f"{one.line} {cut(visible_line(one.signature), _LONGEST)}")
        inside = members.pop(one.name, [])
        lines += [
            "  " + ", ".join(inside[start : start + _ON_A_LINE])
            for start in range(0, len(inside), _ON_A_LINE)
        ]
    return (*lines, f"and {plural(constants, 'constant')}") if constants else tuple(lines)


def uses_heading(name: str, defined: Sequence[Definition], uses: Sequence[FileUses]) -> str:
    """Return one line that counts the uses: in source, in tests, elsewhere."""
    code = [use for use in uses if use.role in _CODE and use.uses]
    tests = [use for use in uses if use.role is Role.TEST and use.uses]
    total = sum(len(one.uses) for one in code)
    at = f" ({visible_line(defined[0].path)}:{defined[0].symbol.line})" if defined else ""
    also = f", {sum(len(one.uses) for one in tests):,} in {plural(len(tests), 'test file')}" if tests else ""
    return f"{name}{at}: {plural(total, 'use')} in {plural(len(code), 'file')}{also}"


def uses_lines(uses: Sequence[FileUses]) -> tuple[str, ...]:
    """Return the uses by file: in source with their text, or very many by definition; elsewhere counted."""
    code = [use for use in uses if use.role in _CODE and use.uses]
    lines: list[str] = []
    with_text = sum(len(one.uses) for one in code) <= _WITH_TEXT
    for one in code:
        if not with_text:
            lines.append(f"{visible_line(one.path)}: {_by_definition(one.uses)}")
            continue
        lines.append(visible_line(one.path))
        inside = ""
        for use in one.uses:
            where = f"  [{visible_line(use.inside)}]" if use.inside and use.inside != inside else ""
            inside = use.inside
            lines.append(f"  {use.line}: {cut(use.text, _LONGEST)}{where}")
    others = [use for use in uses if use.role not in _CODE and use.uses]
    tests = [other for other in others if other.role is Role.TEST]
    prose = [other for other in others if other.role is not Role.TEST]
    if tests:
        lines.append(f"tests: {_count_text(tests)}")
    if prose:
        lines.append(f"elsewhere: {_count_text(prose)}")
    commented = [use for use in uses if use.mentions and use.role in _CODE]
    for one in commented[:_COMMENTED]:
        numbers = ", ".join(map(str, one.mentions[:_NUMBERS]))
        more = f" and {len(one.mentions) - _NUMBERS:,} more" if len(one.mentions) > _NUMBERS else ""
        lines.append(f"in comments of {visible_line(one.path)}: {numbers}{more}")
    if len(commented) > _COMMENTED:
        lines.append(f"in comments of {plural(len(commented) - _COMMENTED, 'more file')}")
    return tuple(lines)


def _by_definition(uses: Sequence[UsedLine]) -> str:
    groups: dict[str, list[str]] = {}
    for use in uses:
        groups.setdefault(use.inside, []).append(str(use.line))
    return "; ".join(
        f"{visible_line(inside)} {', '.join(numbers)}" if inside else ", ".join(numbers)
        for inside, numbers in groups.items()
    )


def _count_text(uses: Sequence[FileUses]) -> str:
    ordered = sorted(uses, key=lambda one: (-len(one.uses), one.path))
    shown = ", ".join(
        f"{visible_line(one.path)}:{one.uses[0].line} ({len(one.uses):,})" for one in ordered[:6]
    )
    return shown + _rest(len(ordered), 6)


def _rest(count: int, shown: int) -> str:
    return f" and {plural(count - shown, 'more file')}" if count > shown else ""


def dependency_lines(needed: Sequence[Definition], path: str) -> tuple[str, ...]:
    """Return definitions with their places; those of the same file by line alone."""
    return tuple(
        f"{'' if one.path == path else visible_line(one.path)}:{one.symbol.line} "
        f"{cut(visible_line(one.symbol.signature), _LONGEST)}"
        for one in needed
    )


def subclass_lines(below: Sequence[Definition]) -> tuple[str, ...]:
    """Return types with their places."""
    return tuple(
        f"{visible_line(one.path)}:{one.symbol.line} {cut(visible_line(one.symbol.signature), _LONGEST)}"
        for one in below
    )


def link_lines(links: Links, aspect: Aspect) -> tuple[str, ...]:
    """Return how a file is linked: what it imports, what imports it, what tests it, as an aspect asks."""
    sides = (
        ("imports", links.imports, aspect is not Aspect.CALLERS),
        ("imported by", links.imported_by, aspect is not Aspect.USES),
        ("tested by", links.tested_by, aspect is not Aspect.USES),
    )
    lines: list[str] = []
    for name, paths, wanted in sides:
        if wanted:
            lines.append(f"{name} {len(paths):,}" + (":" if paths else ""))
            lines += [f"  {visible_line(path)}" for path in paths]
    return tuple(lines)
