"""Where a name is defined: through the index's lists of names, the best definition first.

A qualified name means a member of a class, of its bases, or a definition in a file or folder of that name.
What no parser lists (a function inside another one, a variable, a field) is found by the form of its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from workbench.expand.handles import qualified_parts
from workbench.expand.sources import Sources
from workbench.project.languages import NO_CODE
from workbench.project.scan import MAX_TERMS_BYTES
from workbench.records.dataclass import dataclass
from workbench.records.project import Role, Skipped, Symbol
from workbench.text.terms import word_terms, words_of

_ROLES: Final = {Role.SOURCE: 0, Role.BUILD: 1, Role.TEST: 2, Role.OTHER: 3}
_LAST_ROLE: Final = 4
_ASIDE: Final = re.compile(r"(?:^|/)(?:examples?|samples?|fixtures?|testdata|vendor|docs?|bench(?:marks?)?)/")
_DEEPEST: Final = 4  # bases of bases
_LONGEST: Final = 400  # lines of a definition that indentation ends
_WORDS: Final = (
    r"function\*?|class|def|const|let|var|fn|func|type|interface|struct|enum|trait|union|module|namespace|"
    r"val|object|protocol|sub|macro_rules!|\#\s*define"
)
_BLOCKS: Final = ("}", ")", "]", "end")


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and its file, as the index has them."""

    path: str
    role: Role
    symbol: Symbol

    @property
    def name(self) -> str:
        """Its name with that of what it is in."""
        return f"{self.symbol.parent}.{self.symbol.name}" if self.symbol.parent else self.symbol.name


def find_definitions(sources: Sources, parts: Sequence[str], paths: Sequence[str] = ()) -> list[Definition]:
    """Return the definitions that a qualified name means, best first; with `paths` only those in there."""
    found = listed_definitions(sources, parts, paths)
    if not found and len(parts) == 1:
        found = sorted(_by_line(sources, parts[0], paths), key=_merit)
    return found


def listed_definitions(sources: Sources, parts: Sequence[str], paths: Sequence[str] = ()) -> list[Definition]:
    """Return those that a parser lists, best first."""
    if not parts:
        return []
    found = [one for one in _definitions_of(sources, parts[-1], paths) if _is_qualified(one, parts[:-1])]
    if not found and len(parts) > 1:
        found = _find_inherited(sources, parts, paths, _DEEPEST)
    exact = [one for one in found if one.symbol.name == parts[-1]]
    return sorted(
        exact or found, key=lambda one: (*_merit(one)[:4], -sources.importers(one.path), *_merit(one)[4:])
    )


def is_best(found: Sequence[Definition]) -> bool:
    """Whether the first definition is the one that is meant, whatever else has its name."""
    return len(found) == 1 or (len(found) > 1 and _merit(found[0])[:4] < _merit(found[1])[:4])


def positions_with(sources: Sources, name: str, field: str = "body") -> list[int]:
    """Return the positions of files that may hold a name, by the index's lists; all where it has no term."""
    index = sources.index
    terms = [term for word in words_of(name) for term in word_terms(word)]
    whole = [term for term in terms if term.startswith("=")] or terms
    if not whole:
        return [row for row in range(index.count) if index.alive[row]]
    found = set(index.holders(field, whole))
    if field == "body":  # of longer files only the head is in the lists
        found.update(((index.size > MAX_TERMS_BYTES) & index.alive).nonzero()[0].tolist())
    return sorted(found)


def is_aside(path: str) -> bool:
    """Whether a file is beside what a project is: examples, fixtures, copies of others, benches."""
    return _ASIDE.search(path) is not None


def word_pattern(name: str) -> re.Pattern[str]:
    """Return what finds a name that is no part of a longer one."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _merit(one: Definition) -> tuple[int, int, int, int, int, str, int]:
    symbol = one.symbol
    part = (
        2 if symbol.kind in ("constant", "key", "section") else 1 if symbol.kind in ("impl", "local") else 0
    )
    return (
        _ROLES.get(one.role, _LAST_ROLE) + is_aside(one.path),
        0 if symbol.exported else 1,
        part,
        1 if symbol.parent else 0,
        one.path.count("/"),
        one.path,
        symbol.line,
    )


def _definitions_of(sources: Sources, name: str, paths: Sequence[str]) -> Iterator[Definition]:
    """Yield what has a name, in any case; of given files as they are now."""
    folded = name.casefold()
    index = sources.index
    if paths:
        for path in paths:
            file = sources.file(path)
            if not isinstance(file, Skipped):
                yield from (
                    Definition(path, file.role, one) for one in file.symbols if one.name.casefold() == folded
                )
        return
    for row in positions_with(sources, name, "name"):
        for one in sources.symbols(row):
            if one.name.casefold() == folded:
                yield Definition(index.paths[row], index.roles[row], one)


def _is_qualified(one: Definition, before: Sequence[str]) -> bool:
    """Whether what stands before a name are its class, its file and its folders, innermost first."""
    around = [
        *re.split(r"[/.]", one.path.lower()),
        *(part.lower() for part in qualified_parts(one.symbol.parent)),
    ]
    for part in reversed(before):
        wanted = part.lower()
        if wanted not in around:
            return False
        around = around[: len(around) - around[::-1].index(wanted) - 1]
    return not before or before[-1].casefold() in (
        *(part.casefold() for part in qualified_parts(one.symbol.parent)),
        *re.split(r"[/.]", one.path.casefold())[-3:],
    )


def _find_inherited(
    sources: Sources, parts: Sequence[str], paths: Sequence[str], depth: int
) -> list[Definition]:
    """Return members of the bases of a class that has none of this name itself."""
    from workbench.project.sections import find_bases

    types = [one for one in _definitions_of(sources, parts[-2], paths) if _is_qualified(one, parts[:-2])]
    bases = dict.fromkeys(base for one in types for base in find_bases(one.symbol) if base != parts[-2])
    found: list[Definition] = []
    for base in bases:
        found += [
            definition
            for definition in _definitions_of(sources, parts[-1], ())
            if definition.symbol.parent.casefold() == base.casefold()
        ]
    if not found and depth:
        for base in bases:
            found += _find_inherited(sources, (base, parts[-1]), (), depth - 1)
    return found


def declared_line(name: str) -> re.Pattern[str]:
    """Return the form of a line that declares a name by a keyword."""
    escaped = re.escape(name)
    return re.compile(rf"^[ \t]*(?:[\w@]+[ \t]+){{0,4}}(?:{_WORDS})[ \t]+{escaped}(?![\w$])")


def assigned_line(name: str) -> re.Pattern[str]:
    """Return the form of a line that assigns to a name, or gives a field of that name a type."""
    escaped = re.escape(name)
    return re.compile(
        rf"^[ \t]*(?:[\w.]+\.)?{escaped}[ \t]*(?::[^=\n]{{0,200}}=|:?=|:[ \t]*(?:function|async)\b)(?![=>~])"
    )


def _by_line(sources: Sources, name: str, paths: Sequence[str]) -> Iterator[Definition]:
    """Yield definitions by the form of their line: in blocks, of variables, of fields."""
    declared, assigned = declared_line(name), assigned_line(name)
    word = word_pattern(name)
    index = sources.index
    rows = [index.positions[path] for path in paths] if paths else positions_with(sources, name)
    for row in rows:
        path = index.paths[row]
        data = sources.data(path)
        if isinstance(data, Skipped) or index.languages[row] in NO_CODE or name.encode() not in data:
            continue
        file = sources.file(path)
        if isinstance(file, Skipped):
            continue
        seen = 0
        for number, line in enumerate(file.lines, 1):
            if not word.search(line):
                continue
            kind = "local" if declared.match(line) else "constant" if assigned.match(line) else ""
            if kind and not (kind == "constant" and seen):  # of a variable only its first value
                seen += 1
                end = (
                    _end_of(file.lines, number) if kind == "local" or line.rstrip()[-1:] in "({[" else number
                )
                symbol = Symbol(name, kind, number, end, " ".join(line.split())[:200])
                yield Definition(path, index.roles[row], symbol)


def _end_of(lines: Sequence[str], first: int) -> int:
    """Return the last line of a block that begins in a line: where indentation says so."""
    opening = lines[first - 1]
    indent = len(opening) - len(opening.lstrip())
    last = first
    for number in range(first + 1, min(len(lines), first + _LONGEST) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if len(line) - len(line.lstrip()) <= indent:
            return number if line.strip().startswith(_BLOCKS) else last
        last = number
    return last


def path_finder(sources: Sources) -> Callable[[str], tuple[str, ...]]:
    """Return what gives the files that a path means: itself, those whose path ends so, those of a folder."""
    index = sources.index

    def find(path: str) -> tuple[str, ...]:
        row = index.positions.get(path)
        if row is not None and index.alive[row]:
            return (path,)
        if not path or path.startswith("/") or ("/" not in path and "." not in path):
            return ()
        path, folder = path.rstrip("/"), path.endswith("/")
        alive = [one for one, row in index.positions.items() if index.alive[row]]
        ending = sorted(
            (one for one in alive if one.endswith(f"/{path}") and not folder),
            key=lambda one: (one.count("/"), one),
        )
        return tuple(ending or sorted(one for one in alive if one.startswith(f"{path}/")))

    return find
