"""Where a name is used and what a definition depends on, by the index's lists of terms.

Only files that may hold the name are read. A use is the whole word outside of the lines that define it; uses
in source come before those in tests and prose, which are counted by file. What no type checker could tell
apart, two methods of one name, is not told apart: of a method only what is written behind a dot counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from workbench.expand.lookup import (
    Definition,
    assigned_line,
    declared_line,
    listed_definitions,
    positions_with,
    word_pattern,
)
from workbench.expand.sources import SourceFile, Sources
from workbench.records.dataclass import dataclass
from workbench.records.project import Role, Skipped, Symbol
from workbench.text.terms import word_terms

_COMMENT: Final = re.compile(r"\s*(?:#(?!\s*(?:define|include|if))|//|/?\*|<!--|--\s|;;|\"\"\"|''')")
_NAME: Final = re.compile(r"(\.|->|::)?([^\W\d]\w+)(\()?")
_DOTTED: Final = frozenset({"python", "go", "rust", "javascript", "typescript", "tsx", "ruby"})
"""Languages in which a member of the own class is written behind a dot, too."""
_IMPORT: Final = re.compile(r"\s*(?:from|import|use)\s")
_MOST_NAMES: Final = 400
_WORD: Final = re.compile(r"\w+")
_FUNCTIONS: Final = frozenset({"function", "method"})
_TYPES: Final = re.compile(r"\[[^][]{0,200}\]|<[^<>]{0,200}>")
_NAME_ALONE: Final = frozenset({"python", "javascript", "typescript", "tsx", "ruby"})
"""Languages in which a parameter may have no type."""
_MODIFIERS: Final = 2  # words of such a parameter: `mut name`
_LONGEST_HEAD: Final = 12  # lines
_PACKAGES: Final = frozenset({"go", "java", "kotlin", "csharp", "c", "cpp"})  # a folder sees all its files
_CODE: Final = (Role.SOURCE, Role.BUILD)
Read = Callable[[str], SourceFile | Skipped]


@dataclass(frozen=True, slots=True)
class UsedLine:
    """A line that uses a name, 1-based, and the definition it is in, '' outside of any."""

    line: int
    text: str
    inside: str


@dataclass(frozen=True, slots=True)
class FileUses:
    """The uses of a name in a file; `mentions` are lines of comments."""

    path: str
    role: Role
    uses: tuple[UsedLine, ...]
    mentions: tuple[int, ...] = ()


def find_uses(
    sources: Sources, name: str, defined: Sequence[Definition], read: Read | None = None
) -> list[FileUses]:
    """Return the uses of a name by file: source first, files that import its definition before others.

    `read` is `sources.file` by default; who shows no line needs no masks.
    """
    import numpy as np

    read = read or sources.file
    index = sources.index
    homes = {index.positions[one.path] for one in defined if one.path in index.positions}
    is_home = np.zeros(index.count, np.bool_)
    is_home[[*homes]] = True
    near = {*index.edges[is_home[index.edges[:, 1]], 0].tolist(), *homes}
    folders = {index.paths[row].rpartition("/")[0] for row in homes}
    is_member = bool(defined) and all(one.symbol.parent for one in defined)
    needle, word = name.encode("utf-8", "surrogatepass"), word_pattern(name)
    member = re.compile(rf"(?:\.|->|::|&)\s*{re.escape(name)}(?![\w$])") if is_member else word
    binds = bool(defined) and not is_member and not any(_is_fixture(sources, one) for one in defined)
    bare = all(index.languages[row] not in _DOTTED for row in homes)
    found = []
    for row in positions_with(sources, name):
        data = sources.data(index.paths[row])
        if isinstance(data, Skipped) or needle not in data:
            continue
        file = read(index.paths[row])
        if isinstance(file, Skipped):
            continue
        uses = _uses_in(file, name, word if bare and row in homes else member, defined, binds=binds)
        if uses.uses or uses.mentions:
            path = file.path
            key = path not in folders and row not in near and path.rpartition("/")[0] not in folders
            found.append((_rank(file.role), row not in homes, key, path, uses))
    return [uses for *_, uses in sorted(found, key=lambda one: one[:4])]


def _rank(role: Role) -> int:
    return 0 if role in _CODE else 1 if role is Role.TEST else 2


def _uses_in(
    file: SourceFile, name: str, pattern: re.Pattern[str], defined: Sequence[Definition], *, binds: bool
) -> FileUses:
    declared = _declaring_lines(file, name, defined)
    uses, mentions = [], []
    prose = docstring_lines(file)
    is_member = bool(defined) and all(one.symbol.parent for one in defined)
    others = bound_lines(file, name, defined) if binds else frozenset()
    for number, line in enumerate(file.lines, 1):
        if name not in line or number in declared or not pattern.search(line):
            continue
        if number in others or (is_member and _IMPORT.match(line)):  # another thing; a module of that name
            continue
        if number in prose or _COMMENT.match(line):
            mentions.append(number)
        else:
            uses.append(UsedLine(number, " ".join(line.split()), enclosing(file.symbols, number)))
    return FileUses(file.path, file.role, tuple(uses), tuple(mentions))


def bound_lines(file: SourceFile, name: str, defined: Sequence[Definition]) -> frozenset[int]:
    """Return the lines in which a name is a parameter or a variable of the definition around them.

    The definition itself is bound in its file; a line that binds the name anywhere deeper makes another thing
    of it.
    """
    own = {one.symbol.line for one in defined if one.path == file.path}
    declared, assigned = declared_line(name), assigned_line(name)
    bound: set[int] = set()
    for symbol in file.symbols:
        if symbol.kind not in _FUNCTIONS:
            continue
        head = _head_of(file, symbol)
        body = file.lines[symbol.line : symbol.end_line]
        if name in _parameters(head, file.language) or any(
            declared.match(line) or _assigns(assigned.match(line), line) or _declares_short(line, name)
            for line in body
            if name in line
        ):
            first = symbol.line + (symbol.line in own)
            bound.update(range(first, symbol.end_line + 1))
    return frozenset(bound)


def _is_fixture(sources: Sources, definition: Definition) -> bool:
    """Whether a function is asked for by parameters of its name, as pytest's fixtures are."""
    data = sources.data(definition.path)
    if definition.role is not Role.TEST or isinstance(data, Skipped):
        return False
    line = definition.symbol.line
    return b"fixture" in b"\n".join(data.split(b"\n")[max(0, line - 3) : line])


def _head_of(file: SourceFile, symbol: Symbol) -> str:
    """Return the head of a function: its lines until the one that opens its body."""
    lines = []
    for line in file.lines[symbol.line - 1 : min(symbol.end_line, symbol.line + _LONGEST_HEAD)]:
        lines.append(line.strip())
        if line.rstrip().endswith((":", "{", "=>", ";")):
            break
    return " ".join(lines)


def _parameters(head: str, language: str) -> frozenset[str]:
    names: set[str] = set()
    for _depth in range(3):  # of types in types
        head = _TYPES.sub("", head)
    for part in re.split(r"[(),]", head.partition("(")[2]):
        before, colon, _type = part.partition("=")[0].partition(":")
        words = _WORD.findall(before)
        if not words or part.lstrip()[:1] in ":-=":
            continue
        if language in _NAME_ALONE or colon:
            names.update(words[-1:] if len(words) <= _MODIFIERS else ())
        elif len(words) > 1:  # a type alone is the type of a result, or of what has no name
            names.add(words[0] if language == "go" else words[-1])
    return frozenset(names)


def _assigns(match: re.Match[str] | None, line: str) -> bool:
    """Whether a line gives a name a value by itself: not an argument or a key, which are written alike."""
    if match is None or not match[0].endswith("=") or line.rstrip().endswith((",", "(")):
        return False
    return match[0][:-1].rstrip(":").endswith((" ", "\t"))


def _declares_short(line: str, name: str) -> bool:
    """Whether a line of Go declares a name without a keyword: `name, err := read()`."""
    left, short, _right = line.partition(":=")
    return bool(short) and name in _WORD.findall(left)


def docstring_lines(file: SourceFile) -> frozenset[int]:
    """Return the lines of a Python file that are in a string of several lines, mostly documentation."""
    if file.language != "python":
        return frozenset()
    found = []
    mark = ""
    for number, line in enumerate(file.lines, 1):
        if mark:
            found.append(number)
            mark = "" if mark in line else mark
            continue
        opened = min((one for one in ('"""', "'''") if one in line), key=line.find, default="")
        if opened and line.count(opened) % 2:
            mark = opened
            found.append(number)
    return frozenset(found)


def _declaring_lines(file: SourceFile, name: str, defined: Sequence[Definition]) -> set[int]:
    """Return the lines that declare the name: of each definition the first line with the name."""
    own = [symbol for symbol in file.symbols if symbol.name == name]
    own += [one.symbol for one in defined if one.path == file.path]
    lines = set()
    for symbol in own:
        for number in range(symbol.line, min(symbol.end_line, len(file.lines)) + 1):
            if name in file.lines[number - 1]:
                lines.add(number)
                break
    return lines


def enclosing(symbols: Iterable[Symbol], line: int) -> str:
    """Return the qualified name of the innermost definition that a line is in, '' outside of any."""
    inner = enclosing_symbol(symbols, line)
    return "" if inner is None else f"{inner.parent}.{inner.name}" if inner.parent else inner.name


def enclosing_symbol(symbols: Iterable[Symbol], line: int) -> Symbol | None:
    """Return the innermost definition that a line is in."""
    around = [symbol for symbol in symbols if symbol.line <= line <= symbol.end_line]
    return min(around, key=lambda one: (one.end_line - one.line, -one.line), default=None)


def find_dependencies(sources: Sources, definition: Definition) -> list[Definition]:
    """Return what the body of a definition uses that the project defines, in the order of the body.

    A name counts where it is defined in the same file, in one that this imports, beside it, or once only.
    """
    file = sources.file(definition.path)
    if isinstance(file, Skipped):
        return []
    symbol = definition.symbol
    prose = docstring_lines(file)
    written: dict[str, set[tuple[bool, bool]]] = {}  # name: whether behind a dot, whether called
    for number in range(symbol.line, min(symbol.end_line, len(file.lines)) + 1):
        if number not in prose and not _COMMENT.match(file.lines[number - 1]):
            for dot, name, call in _NAME.findall(file.lines[number - 1]):
                written.setdefault(name, set()).add((bool(dot), bool(call)))
    index = sources.index
    row = index.positions.get(definition.path, -1)
    imported = {index.paths[int(target)] for source, target in index.edges.tolist() if source == row}
    folder = definition.path.rpartition("/")[0] if file.language in _PACKAGES else None

    def is_near(one: Definition) -> bool:
        return one.path in imported or one.path.rpartition("/")[0] == folder

    found: dict[tuple[str, int], Definition] = {}
    for name in list(written)[:_MOST_NAMES]:
        if name in (symbol.name, symbol.parent) or not index.frequency("name", _term(name)):
            continue
        known = [
            definition
            for definition in listed_definitions(sources, (name,))
            if definition.symbol.name == name
            and (definition.role is not Role.TEST or file.role is Role.TEST)
            and index.languages[index.positions[definition.path]] == file.language
            and _is_written_so(definition, written[name])
        ]
        here = [one for one in known if one.path == definition.path]
        near = here or [one for one in known if is_near(one)] or known
        if near and (len(near) == 1 or not near[0].symbol.parent or here):
            one = next((one for one in near if one.symbol.parent == symbol.parent), near[0])
            if near is not known or len(known) == 1:
                found.setdefault((one.path, one.symbol.line), one)
    return list(found.values())


def _is_written_so(one: Definition, ways: set[tuple[bool, bool]]) -> bool:
    """Whether a name is written as such a definition is used: a member behind a dot and called."""
    if one.symbol.parent:
        return (True, True) in ways
    return any(not dot for dot, _ in ways) or (True, True) in ways


def _term(name: str) -> str:
    terms = word_terms(name)
    return terms[-1] if terms else ""


def find_subclasses(sources: Sources, name: str) -> list[Definition]:
    """Return the types that name a type among those they extend or implement, in the order of their files."""
    from workbench.project.sections import find_bases

    index = sources.index
    found = [
        Definition(index.paths[row], index.roles[row], symbol)
        for row in positions_with(sources, name)
        for symbol in sources.symbols(row)
        if symbol.name != name and name in symbol.signature and name in find_bases(symbol)
    ]
    return sorted(found, key=lambda one: (_rank(one.role), one.path, one.symbol.line))


@dataclass(frozen=True, slots=True)
class Links:
    """The files that a file imports, is imported by and is tested by, each sorted."""

    imports: tuple[str, ...]
    imported_by: tuple[str, ...]
    tested_by: tuple[str, ...]


def find_links(sources: Sources, path: str) -> Links:
    """Return how a file is linked with others of the index; tests that import it are only among its tests."""
    index = sources.index
    row = index.positions.get(path, -1)

    def paths(rows: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({index.paths[row] for row in rows if index.alive[row]}))

    edges, tests = index.edges.tolist(), index.tests.tolist()
    importers = [source for source, target in edges if target == row]
    testing = {test for test, source in tests if source == row}
    testing |= {importer for importer in importers if index.roles[importer] is Role.TEST}
    if row >= 0 and index.roles[row] is Role.TEST:
        testing -= set(importers)
    return Links(
        paths(target for source, target in edges if source == row),
        paths(importer for importer in importers if importer not in testing),
        paths(testing),
    )
