"""Cuts a file into chunks: the pieces that a pack shows or leaves out as a whole.

Cuts lie at symbol boundaries (with the comments and decorators above a definition kept with it), at headings
in prose, and at blank or least indented lines where a piece would be too long. Every line belongs to exactly
one chunk, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate

from workbench.records.dataclass import dataclass
from workbench.records.project import Symbol

MAX_LINES = 40
MIN_LINES = 3
_HEADING = re.compile(r"#{1,6}\s|={2,6}\s+\S")
_UNDERLINE = re.compile(r"^([=\-~^*\"#+])\1{2,}\s*$")
_LEAD = re.compile(r"\s*(?://|#(?!include|define|if|endif|else)|/\*|\*|--|;;|@\w|\"\"\"|<!--|\[\w)")
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|use\s+[\w:]+|#\s*include\b|require(?:_relative)?\b|package\s+\w"
    r"|(?:const|let|var)\s.*=\s*require\(|export\s.*\bfrom\b|mod\s+\w+;|pub\s+mod\s+\w+;|extern\s+crate\b)"
)
_FIRST = frozenset('/#*-;@"<[' + "ifu#rpclvem")
"""What comments and imports begin with."""
_BLOCKS = (('"""', '"""'), ("/*", "*/"), ("<!--", "-->"))
_BRACKETS = (("(", ")"), ("{", "}"))
MIN_SUBSTANCE = 2  # lines of substance below which a chunk is not worth showing by itself
_PROSE = frozenset({"markdown", "rst", "text", "asciidoc", "tex"})
CONTAINERS = frozenset(
    {"class", "type", "module", "interface", "trait", "impl", "namespace", "enum", "struct"}
)


class ChunkKind(StrEnum):
    """What a chunk is."""

    HEAD = "head"  # imports, licence, module docstring
    HEADER = "header"  # a class from its first line to its first member
    BODY = "body"  # a function or method, or a part of one
    CODE = "code"  # statements outside any definition
    SECTION = "section"  # prose under one heading


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `start` to `end` (1-based, inclusive). `name` and `parent` are the definition they belong to.

    `part` counts the pieces of one definition from 0. `substance` counts the lines that mean something by
    themselves: neither blank nor import, comment, heading, licence or a lone bracket.
    """

    start: int
    end: int
    kind: ChunkKind
    name: str = ""
    parent: str = ""
    part: int = 0
    substance: int = MIN_SUBSTANCE

    @property
    def is_crumb(self) -> bool:
        """Whether it means nothing without other lines of its file."""
        return self.substance < MIN_SUBSTANCE


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    kind: ChunkKind
    name: str = ""
    parent: str = ""


def cut(
    language: str, lines: Sequence[str], symbols: Sequence[Symbol], *, longest: int = MAX_LINES
) -> tuple[Chunk, ...]:
    """Cut a file into chunks of about 3 to `longest` lines, blank ones at their ends not counted.

    Together they cover every line exactly once.
    """
    if not lines:
        return ()
    pieces = _sections(lines) if language in _PROSE else _definitions(lines, symbols)
    full = list(accumulate(substantial(lines, prose=language in _PROSE), initial=0))
    chunks: list[Chunk] = []
    for piece in _join_short(lines, pieces, longest):
        for part, (start, end) in enumerate(_split(lines, piece.start, piece.end, longest)):
            substance = full[end] - full[start - 1]
            chunks.append(Chunk(start, end, piece.kind, piece.name, piece.parent, part, substance))
    return tuple(chunks)


def indentation(line: str) -> int:
    """Return the width of the white space a line starts with; a tab counts as four."""
    width = 0
    for char in line:
        if char == " ":
            width += 1
        elif char == "\t":
            width += 4
        else:
            break
    return width


def is_import(line: str) -> bool:
    """Whether a line brings in a module in one of the languages the index knows."""
    return _IMPORT.match(line) is not None


def is_comment(line: str) -> bool:
    """Whether a line begins like a comment, a decorator or a docstring in one of the known languages."""
    return _LEAD.match(line) is not None


def substantial(lines: Sequence[str], *, prose: bool) -> Iterator[bool]:
    """Whether each line means something by itself: no heading, import, comment, licence or lone bracket."""
    closing = ""  # what ends the import, comment or docstring that the line is inside of
    for number, line in enumerate(lines):
        text = line.strip()
        if prose:
            under = number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1])
            yield any(map(str.isalnum, text)) and not _HEADING.match(line) and not under
        elif closing:
            closing = "" if closing in text else closing
            yield False
        elif not text:
            yield False
        elif text[0] not in _FIRST:  # most lines of code: neither pattern can match
            yield any(map(str.isalnum, text))
        elif is_comment(line):
            closing = _closing_mark(text, _BLOCKS)
            yield False
        elif is_import(line):
            closing = _closing_mark(text, _BRACKETS)
            yield False
        else:
            yield any(map(str.isalnum, text))


def lead_end(lines: Sequence[str]) -> int:
    """Return the last line of the licence or module comment that a file of code begins with, 0 for none.

    What is shorter than `MIN_LINES` is left with the lines after it.
    """
    closing, last = "", 0
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if closing:
            closing = "" if closing in text else closing
        elif text and not is_comment(line):
            break
        else:
            closing = _closing_mark(text, _BLOCKS)
        last = number if text else last
    else:
        return 0
    return last if last >= MIN_LINES else 0


def _closing_mark(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return what has to follow before an import, a comment or a docstring ends, '' if it has ended."""
    for opening, closing in pairs:
        _before, found, after = text.partition(opening)
        if found and closing not in after:
            return closing
    return ""


def _sections(lines: Sequence[str]) -> list[_Piece]:
    """Cut prose before each heading that is not inside a code fence."""
    starts: list[tuple[int, str]] = []
    fenced = False
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced:
            continue
        elif _HEADING.match(line):
            starts.append((number, line.strip("#= \t")))
        elif (
            number > 1
            and _UNDERLINE.match(line)
            and lines[number - 2].strip()
            and not _UNDERLINE.match(lines[number - 2])
        ):
            starts.append((number - 1, lines[number - 2].strip()))
    return _between(starts, len(lines), ChunkKind.SECTION)


def _between(starts: Sequence[tuple[int, str]], last: int, kind: ChunkKind) -> list[_Piece]:
    pieces = []
    if not starts or starts[0][0] > 1:
        pieces.append(_Piece(1, starts[0][0] - 1 if starts else last, ChunkKind.HEAD if starts else kind))
    for position, (start, name) in enumerate(starts):
        end = starts[position + 1][0] - 1 if position + 1 < len(starts) else last
        if end >= start:
            pieces.append(_Piece(start, end, kind, name))
    return pieces


def _definitions(lines: Sequence[str], symbols: Sequence[Symbol]) -> list[_Piece]:
    """Cut code so that each line belongs to the innermost definition around it."""
    count = len(lines)
    owner: list[int] = [-1] * count
    ordered = sorted(
        (symbol for symbol in symbols if 1 <= symbol.line <= count),
        key=lambda symbol: (symbol.line, -symbol.end_line, symbol.name),
    )
    for position, symbol in enumerate(ordered):
        first = _with_lead(lines, symbol.line, owner)
        for index in range(first - 1, min(max(symbol.end_line, symbol.line), count)):
            owner[index] = position
    pieces: list[_Piece] = []
    start = 0
    for index in range(1, count + 1):
        if index < count and owner[index] == owner[start]:
            continue
        pieces.append(
            _piece(start + 1, index, ordered[owner[start]] if owner[start] >= 0 else None, not pieces)
        )
        start = index
    return pieces


def _with_lead(lines: Sequence[str], line: int, owner: Sequence[int]) -> int:
    """Return the first line of the comments and decorators directly above a definition."""
    first = line
    while (
        first > 1
        and owner[first - 2] == owner[line - 1]
        and _LEAD.match(lines[first - 2])
        and line - first < 12
    ):
        first -= 1
    return first


def _piece(start: int, end: int, symbol: Symbol | None, top: bool) -> _Piece:
    if symbol is None:
        return _Piece(start, end, ChunkKind.HEAD if top else ChunkKind.CODE)
    kind = ChunkKind.HEADER if symbol.kind in CONTAINERS else ChunkKind.BODY
    return _Piece(start, end, kind, symbol.name, symbol.parent)


def _join_short(lines: Sequence[str], pieces: Sequence[_Piece], longest: int) -> list[_Piece]:
    """Join pieces that are too short to stand alone with the kin before them; blank lines with anything."""
    full = list(accumulate((bool(line.strip()) for line in lines), initial=0))
    joined: list[_Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None:
            size = full[before.end] - full[before.start - 1]
            more = full[piece.end] - full[piece.start - 1]
            small = min(size, more) < MIN_LINES and size + more <= longest and _kin(before, piece)
            if small or more == 0:
                main = before if size >= more or piece.kind is ChunkKind.CODE else piece
                joined[-1] = _Piece(before.start, piece.end, main.kind, main.name, main.parent)
                continue
        joined.append(piece)
    return joined


def _kin(before: _Piece, piece: _Piece) -> bool:
    """Whether pieces belong together: one is outside any definition, or the other's parent or sibling."""
    if ChunkKind.CODE in (before.kind, piece.kind):
        return True
    return before.parent == piece.parent or before.parent == piece.name or piece.parent == before.name


def _split(lines: Sequence[str], start: int, end: int, longest: int) -> list[tuple[int, int]]:
    """Split a range that is too long where it reads best: after blank lines, at little indentation."""
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    ranges = []
    while last - start + 1 > longest:
        pieces = -(-(last - start + 1) // longest)
        ideal = (last - start + 1) / pieces
        best = min(
            range(start + MIN_LINES, min(start + longest, last - MIN_LINES + 1) + 1),
            key=lambda line: (_cut_cost(lines, line) + 1.5 * abs(line - start - ideal) / ideal, line),
        )
        ranges.append((start, best - 1))
        start = best
    ranges.append((start, end))
    return ranges


def _cut_cost(lines: Sequence[str], line: int) -> float:
    """How badly a chunk would start at a 1-based line; lower is better."""
    text = lines[line - 1]
    if not text.strip():
        return 4.0
    cost = indentation(text) / 4.0
    if lines[line - 2].strip():
        cost += 1.5
    if text.lstrip()[:1] in ")]}":
        cost += 2.0
    return cost
