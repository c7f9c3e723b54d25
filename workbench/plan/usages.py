"""Where the definitions that a pack shows are used, one line for each, by the index's lists of terms.

A name is looked for only where few files hold it, so that the work is bounded; what the pack shows anyway is
counted and not named. Names of one part, which are words of everyday text, are left out unless they are rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from workbench.expand.lookup import Definition
from workbench.expand.sources import Sources
from workbench.expand.usages import FileUses, find_uses
from workbench.plan.brief_lines import ShownFile
from workbench.plan.companions import is_news
from workbench.plan.cuts import FileCut
from workbench.plan.render import USES, BriefLine, Span
from workbench.project.index import ProjectIndex
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line
from workbench.text.terms import parts, word_terms

MOST_DEFINITIONS: Final = 3
_LOOKED_UP: Final = 6  # definitions of a pack whose uses are looked for
_MOST_FILES: Final = 16  # a name in more files is looked for by nobody
_FEW_FILES: Final = 3  # a name of one part in more files is a word
_MOST_BYTES: Final = 250_000  # of the files that hold the names looked for
_PLACES: Final = 4
_LEAST_LENGTH: Final = 5


Known = dict[tuple[str, int], list[FileUses]]
"""Uses by the path and line of the definition."""


def list_usages(
    sources: Sources, shown: Sequence[tuple[ShownFile, FileCut]], known: Known
) -> list[BriefLine]:
    """Return where definitions of the files shown are used, those of the first file first.

    `known` keeps what was looked for, while packs of other files are tried out.
    """
    spans = {candidate.path: offer.view.spans for (candidate, offer), _ in shown}
    found: list[BriefLine] = []
    names = list(_shown_definitions(sources.index, shown))[:_LOOKED_UP]
    left = _MOST_BYTES
    for path, parent, name, line in names:
        symbol = next(
            (
                one
                for one in sources.symbols(sources.index.positions[path])
                if one.name == name and (one.parent or "") == parent and one.line <= line + 1
            ),
            None,
        )
        if symbol is None:
            continue
        cost = _bytes_to_read(sources.index, name)
        if cost > left:
            continue
        left -= cost
        definition = Definition(path, sources.index.roles[sources.index.positions[path]], symbol)
        key = (path, symbol.line)
        if key not in known:
            known[key] = find_uses(sources, name, [definition])
        if text := _usage(definition, known[key], spans):
            found.append(BriefLine(USES, symbol.name, text))
        if len(found) == MOST_DEFINITIONS:
            break
    return found


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


def _is_rare(index: ProjectIndex, name: str) -> bool:
    terms = word_terms(name)
    if len(name) < _LEAST_LENGTH or not terms or not name.isidentifier():
        return False
    most = _MOST_FILES if len(parts(name)) > 1 else _FEW_FILES
    return 1 <= index.frequency("body", terms[-1]) <= most


def _bytes_to_read(index: ProjectIndex, name: str) -> int:
    return int(index.size[index.holders("body", [word_terms(name)[-1]])].sum())


def _usage(definition: Definition, uses: Sequence[FileUses], spans: dict[str, tuple[Span, ...]]) -> str:
    """Return the uses of a definition as a line, empty where all are in the text already."""
    places: list[str] = []
    count = 0
    for file in uses:
        if is_news(file.path):
            continue
        count += len(file.uses)
        ranges = spans.get(file.path, ())
        lines = [one.line for one in file.uses if not any(a <= one.line <= b for a, b in ranges)]
        if lines:
            more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
            places.append(f"{visible_line(file.path)}:{lines[0]}{more}")
    if not places:
        return ""
    rest = f", and in {plural(len(places) - _PLACES, 'more file')}" if len(places) > _PLACES else ""
    return f"{visible_line(definition.name)}: {plural(count, 'use')}: {', '.join(places[:_PLACES])}{rest}"
