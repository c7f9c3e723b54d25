"""Where the rare names of a task and the definitions shown are used, a line for each, and what these call.

A name is looked for only where few files hold it, so that the work is bounded; what the pack shows anyway is
counted and not named. Names of one part, which are words of everyday text, are left out unless they are rare,
or the task renames, removes or replaces what is defined and writes it as a name: in capitals or in quotes.
Of a name that the task writes all uses are given: who renames or removes it has to know each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workbench.expand.lookup import Definition, listed_definitions
from workbench.expand.sources import Sources
from workbench.expand.usages import FileUses, find_uses
from workbench.plan.brief_lines import ShownFile
from workbench.plan.chunks import CONTAINERS
from workbench.plan.cuts import FileCut
from workbench.plan.news import is_news
from workbench.plan.render import CALLS, USES, BriefLine, Span
from workbench.project.index import ProjectIndex
from workbench.records.project import Skipped, Symbol
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line
from workbench.text.terms import parts, stem, word_terms, words_of

MOST_DEFINITIONS: Final = 3
_LOOKED_UP: Final = 6  # definitions of a pack whose uses are looked for
_MOST_FILES: Final = 16  # a name in more files is looked for by nobody
_MOST_OF_WRITTEN: Final = 60  # the same for a name that the task writes
_FEW_FILES: Final = 3  # a name of one part in more files is a word
_MOST_BYTES: Final = 250_000  # of the files that hold the names looked for
_MOST_OF_CHANGED: Final = 4_000_000  # the same where the task renames or removes what it names
_MOST_WITH_WORD: Final = 400  # files that hold what is such a name as a word, in any case
_PLACES: Final = 4
_LINES: Final = 4  # of the uses in a file that are named
_ALL: Final = 24  # files, and lines of each, of a name that the task writes
_LONGEST: Final = 600  # characters of a line of all uses
_LONGEST_OF_CHANGED: Final = 1_600  # the same where the task renames or removes what it names
_WRITTEN_NAMES: Final = 3  # of a task whose uses are looked for
_CHANGES_NAMES: Final = frozenset(map(stem, ("rename", "remove", "replace", "delete", "drop", "deprecate")))
_FIRST_WORDS: Final = 6  # of a task, among which such a verb says what it is about
_AS_NAME: Final = re.compile(r"[`\"']([A-Za-z_]\w{2,60})(?:\(\))?[`\"']|(?<![\w.-])([A-Z]\w{2,60})(?!\w)")
ERROR: Final = re.compile(r"[a-z](?:Error|Exception|Warning)$")
"""What ends such a name; one that a project does not define is of whatever raises it."""
MOST_CALLEES: Final = 6
_NAME: Final = re.compile(r"(?<![\w.-])[A-Za-z_]\w{2,60}(?!\w)")
_CALL: Final = re.compile(r"(?<!\w)([^\W\d]\w*)\(")
_VALUES: Final = frozenset({"constant", "key", "section", "field"})
_LEAST_LENGTH: Final = 5


Known = dict[tuple[str, int], list[FileUses]]
"""Uses by the path and line of the definition; those of a name that a task writes by it and 0."""


def list_usages(
    sources: Sources, task: str, shown: Sequence[tuple[ShownFile, FileCut]], known: Known
) -> list[BriefLine]:
    """Return where the names of a task are used, then definitions of the files shown, the first file's first.

    `known` keeps what was looked for, while packs of other files are tried out.
    """
    spans = {candidate.path: offer.view.spans for (candidate, offer), _ in shown}
    index = sources.index
    definitions: list[tuple[str, Definition | None]] = []
    for path, parent, name, line in list(_shown_definitions(index, shown))[:_LOOKED_UP]:
        row = index.positions[path]
        symbol = next(
            (
                one
                for one in sources.symbols(row)
                if one.name == name and (one.parent or "") == parent and one.line <= line + 1
            ),
            None,
        )
        if symbol is not None:
            definitions.append((name, Definition(path, index.roles[row], symbol)))
    written = written_names(sources, task)
    shown_too = {name for name, _ in definitions}
    others = [(name, None) for name in written if name not in shown_too]
    lines: list[BriefLine] = []
    left, longest = (_MOST_BYTES, _LONGEST)
    if changes_names(task):
        left, longest = _MOST_OF_CHANGED, _LONGEST_OF_CHANGED
    for name, definition in [*others, *sorted(definitions, key=lambda one: one[0] not in written)]:
        cost = _bytes_to_read(index, name)
        if cost > left:
            continue
        left -= cost
        key = (name, 0) if definition is None else (definition.path, definition.symbol.line)
        if key not in known:
            defined = written[name] if definition is None else [definition]
            known[key] = find_uses(sources, name, defined, sources.read_unmasked)
        label = definition.name if definition else _defined_at(name, written[name], spans)
        if text := _usage(label, known[key], spans, _PLACES, _LINES):
            every = _all_uses(label, known[key], spans, longest) if name in written else text
            lines.append(BriefLine(USES, name, every, "" if every == text else text))
        if len(lines) == MOST_DEFINITIONS:
            break
    return lines


def changes_names(task: str) -> bool:
    """Whether a task renames, removes or replaces something, by its first words."""
    return any(stem(word) in _CHANGES_NAMES for word in words_of(task.lower())[:_FIRST_WORDS])


def written_names(sources: Sources, task: str) -> dict[str, list[Definition]]:
    """Return the rare names that a task writes, in its order, with their definitions.

    They are of several parts and no error's, or defined; in a task that `changes_names` also those that few
    would call rare.
    """
    as_names = {one or other for one, other in _AS_NAME.findall(task)} if changes_names(task) else set()
    names: dict[str, list[Definition]] = {}
    for name in dict.fromkeys([*_NAME.findall(task), *sorted(as_names, key=task.index)]):
        most = _MOST_WITH_WORD if name in as_names else _MOST_OF_WRITTEN
        if not _is_rare(sources.index, name, most, is_name=name in as_names):
            continue
        defined = [one for one in listed_definitions(sources, (name,)) if one.symbol.name == name]
        if defined or (len(parts(name)) > 1 and not ERROR.search(name)):
            names[name] = defined
        if len(names) == _WRITTEN_NAMES:
            break
    return names


def _defined_at(name: str, defined: Sequence[Definition], spans: dict[str, tuple[Span, ...]]) -> str:
    """Return a name with where it is defined, unless that is shown."""
    if not defined:
        return name
    path, line = defined[0].path, defined[0].symbol.line
    if any(start <= line <= end for start, end in spans.get(path, ())):
        return name
    return f"{name} (defined in {path}:{line})"


def list_callees(sources: Sources, shown: Sequence[tuple[ShownFile, FileCut]]) -> list[BriefLine]:
    """Return what the first function shown calls of its own file and is not shown, with the lines."""
    for (candidate, offer), _cut in shown:
        row = sources.index.positions.get(candidate.path)
        data = sources.data(candidate.path)
        if row is None or isinstance(data, Skipped):
            continue
        symbols = sources.symbols(row)
        for name in offer.names:
            symbol = next((one for one in symbols if _full_name(one) == name), None)
            if symbol is None or symbol.kind in CONTAINERS:
                continue
            if places := _callees(data, symbols, symbol, offer.view.spans):
                rest = f", {len(places) - MOST_CALLEES} more" if len(places) > MOST_CALLEES else ""
                text = f"{visible_line(name)}: {', '.join(places[:MOST_CALLEES])}{rest}"
                return [BriefLine(CALLS, symbol.name, text)]
    return []


def _callees(data: bytes, symbols: Sequence[Symbol], caller: Symbol, spans: Sequence[Span]) -> list[str]:
    """Return what the lines shown of a function call of its file, and is not shown: `resolve 77`.

    Only names of definitions leave: the content is not masked.
    """
    others: dict[str, list[Symbol]] = {}
    for one in symbols:
        if one.kind not in CONTAINERS and one.kind not in _VALUES and one.name != caller.name:
            others.setdefault(one.name, []).append(one)
    lines = data.split(b"\n")[: caller.end_line]
    called: dict[str, None] = {}
    for number, line in enumerate(lines[caller.line - 1 :], caller.line):
        if any(a <= number <= b for a, b in spans):
            called |= dict.fromkeys(_CALL.findall(line.decode("utf-8", "replace")))
    found = []
    for name in called:
        known = others.get(name, ())
        best = next((one for one in known if one.parent == caller.parent), None) or next(iter(known), None)
        if best is not None and not any(a <= best.line <= b for a, b in spans):
            found.append(f"{visible_line(_full_name(best))} {best.line}")
    return found


def _full_name(symbol: Symbol) -> str:
    return f"{symbol.parent}.{symbol.name}" if symbol.parent else symbol.name


def _shown_definitions(
    index: ProjectIndex, shown: Sequence[tuple[ShownFile, FileCut]]
) -> Iterator[tuple[str, str, str, int]]:
    """Yield (path, parent, name, line) of definitions that are shown and whose names few files hold."""
    seen: set[str] = set()
    for (candidate, offer), cut in shown:
        if candidate.path not in index.positions:
            continue
        wanted = {name: place for place, name in enumerate(offer.names)}
        chunks = [cut.chunk(row) for row in range(cut.count)]
        inside = [
            one
            for one in chunks
            if one.name and one.part == 0 and any(a <= one.start <= b for a, b in offer.view.spans)
        ]
        full = [f"{one.parent}.{one.name}" if one.parent else one.name for one in inside]
        order = sorted(
            range(len(inside)), key=lambda at: (wanted.get(full[at], len(wanted)), inside[at].start)
        )
        for one in (inside[at] for at in order):
            if one.name not in seen and _is_rare(index, one.name):
                seen.add(one.name)
                yield candidate.path, one.parent, one.name, one.start


def _is_rare(index: ProjectIndex, name: str, most_files: int = _MOST_FILES, *, is_name: bool = False) -> bool:
    terms = word_terms(name)
    if len(name) < _LEAST_LENGTH or not terms or not name.isidentifier():
        return False
    most = most_files if is_name or len(parts(name)) > 1 else _FEW_FILES
    return 1 <= index.frequency("body", terms[-1]) <= most


def _bytes_to_read(index: ProjectIndex, name: str) -> int:
    return int(index.size[index.holders("body", [word_terms(name)[-1]])].sum())


def _all_uses(name: str, uses: Sequence[FileUses], spans: dict[str, tuple[Span, ...]], longest: int) -> str:
    """Return the uses of a name as a line, with as many lines of each file as it has room for."""
    forms = (_usage(name, uses, spans, _ALL, lines) for lines in (_ALL, _LINES, 1))
    return next((text for text in forms if len(text) <= longest), _usage(name, uses, spans, _PLACES, _LINES))


def _usage(
    name: str, uses: Sequence[FileUses], spans: dict[str, tuple[Span, ...]], most_files: int, most_lines: int
) -> str:
    """Return the uses of a name as a line, empty where all are in the text already."""
    places: list[str] = []
    count = 0
    for file in uses:
        if is_news(file.path):
            continue
        count += len(file.uses)
        ranges = spans.get(file.path, ())
        lines = [one.line for one in file.uses if not any(a <= one.line <= b for a, b in ranges)]
        if lines:
            more = f" and {len(lines) - most_lines} more" if len(lines) > most_lines else ""
            places.append(f"{visible_line(file.path)}:{','.join(map(str, lines[:most_lines]))}{more}")
    if not places:
        return ""
    rest = f", and in {plural(len(places) - most_files, 'more file')}" if len(places) > most_files else ""
    return f"{visible_line(name)}: {plural(count, 'use')}: {', '.join(places[:most_files])}{rest}"
