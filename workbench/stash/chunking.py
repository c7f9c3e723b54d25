"""Cuts the text of a segment into chunks, the pieces that are embedded and shown [rag §5].

Definitions, fenced code blocks, paragraphs, sentences and lines stay whole where they fit, in this order;
what is too long even so is cut where a token of the tokenizer ends. A short text of several sentences is
embedded whole and by sentence: what a turn says in one of them is lost in the mean of all.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import SegmentType

CHUNK_TOKENS: Final = 200
"""The packaged model reads 256 of its own tokens, of which a text has up to a quarter more."""

OVERLAP_TOKENS: Final = 24

MOST_SENTENCES: Final = 8
"""A text of more sentences has a chunk for them together only."""

_SURE: Final = 0.75
_SHORTEST: Final = 12  # characters of a sentence that is embedded by itself
_LABEL: Final = re.compile(r"[^\s:][^\n:]{0,38}:[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)", re.MULTILINE)
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])[\"')\]]?\s+|\n+")
_LINE: Final = re.compile(r"\n")
_WORD: Final = re.compile(r"\s+")

PROSE: Final = frozenset(
    {SegmentType.MESSAGE, SegmentType.TASK_STATE, SegmentType.DECISION, SegmentType.RESEARCH}
)

_CODE: Final = frozenset({SegmentType.CODE_BLOCK, SegmentType.FILE_CONTENT})

Count = Callable[[str], int]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SegmentChunk:
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int


def cut_segment(
    text: str,
    kind: SegmentType,
    count: Count,
    *,
    size: int = CHUNK_TOKENS,
    overlap: int = OVERLAP_TOKENS,
    definitions: Iterable[int] = (),
) -> tuple[SegmentChunk, ...]:
    """Return the chunks of a text in order: together they cover it, none has more than `size` tokens.

    `count` counts tokens. Each chunk but the first goes back over whole sentences or lines of the one before,
    `overlap` tokens at most. `definitions` are offsets where functions and classes begin.
    """
    if not text:
        return ()
    spans = _cut(text, (0, len(text)), _levels(text, kind, definitions), count, size)
    return tuple(_reach_back(text, spans, kind, count, size, overlap))


def definition_places(text: str, kind: SegmentType, source: str) -> tuple[int, ...]:
    """Return the offsets in a text where definitions begin, for code from a file that is named."""
    from workbench.project.languages import language_of
    from workbench.project.symbols import extract_symbols  # grammars take a while to import

    language = language_of(source) if kind in _CODE else ""
    if not language:
        return ()
    symbols, _ = extract_symbols(language, text.encode("utf-8", "replace"))
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    return tuple(starts[symbol.line - 1] for symbol in symbols if 1 < symbol.line <= len(starts))


def sentence_chunks(text: str, kind: SegmentType) -> tuple[SegmentChunk, ...]:
    """Return the sentences of a short prose text that are embedded besides it; none where it has only one.

    Those that are too short to mean anything belong to the one before.
    """
    if kind not in PROSE or _FENCE.search(text):
        return ()
    ends: list[int] = []
    start = 0
    for end in [*(match.end() for match in _SENTENCE.finditer(text)), len(text)]:
        if len(text[start:end].strip()) < _SHORTEST and ends:
            ends[-1] = end
        elif end > start:
            ends.append(end)
        start = end
    if not 2 <= len(ends) <= MOST_SENTENCES:
        return ()
    return tuple(SegmentChunk(first, last) for first, last in zip([0, *ends], ends, strict=False))


def embedded_text(text: str, chunk: SegmentChunk) -> str:
    """Return what is embedded of a chunk: its text, after the name of who speaks in the whole text."""
    piece = text[chunk.start : chunk.end].strip()
    label = speaker_label(text) if chunk.start else ""
    return f"{label} {piece}" if label else piece


def speaker_label(text: str) -> str:
    """Return the name of who speaks with its colon, as a text of a conversation begins; "" without one."""
    label = _LABEL.match(text)
    return "" if label is None else label.group().strip()


def with_neighbours(text: str, chunks: Sequence[SegmentChunk], position: int) -> str:
    """Return the text of a chunk with the chunks before and after it."""
    first, last = chunks[max(position - 1, 0)], chunks[min(position + 1, len(chunks) - 1)]
    return text[first.start : last.end]


def _levels(text: str, kind: SegmentType, definitions: Iterable[int]) -> list[list[int]]:
    """Return where a text may be cut, from the coarsest places to the finest."""
    prose = kind in PROSE
    fences = _fence_places(text)
    inside = [(first, last) for first, last in zip(fences[::2], [*fences[1::2], len(text)], strict=False)]
    paragraphs = [match.end() for match in _PARAGRAPH.finditer(text)]
    sentences = [match.end() for match in _SENTENCE.finditer(text)]
    lines = [match.end() for match in _LINE.finditer(text)]
    outside = sorted(set(paragraphs) - {at for at in paragraphs if any(a < at < b for a, b in inside)})
    fine = [sentences, lines] if prose else [lines, sentences]
    return [
        sorted({*fences, *definitions}),
        outside if prose else paragraphs,
        paragraphs,
        *fine,
        [match.end() for match in _WORD.finditer(text)],
    ]


def _fence_places(text: str) -> list[int]:
    """Return where fenced blocks begin and end, in turn."""
    places: list[int] = []
    opening = ""
    for match in _FENCE.finditer(text):
        if not opening:
            opening = match.group(1)
            places.append(match.start())
        elif match.group(1).startswith(opening):
            opening = ""
            end = text.find("\n", match.end())
            places.append(len(text) if end < 0 else end + 1)
    return places


def _cut(text: str, span: Span, levels: Sequence[Sequence[int]], count: Count, size: int) -> list[Span]:
    """Cut a span at the coarsest places that make it fit, then join neighbours that fit together."""
    start, end = span
    if count(text[start:end]) <= size:
        return [span]
    if not levels:
        return _cut_tokens(text, span, count, size)
    inner = levels[0][bisect_right(levels[0], start) : bisect_left(levels[0], end)]
    pieces: list[Span] = []
    for piece in zip([start, *inner], [*inner, end], strict=True):
        pieces += _cut(text, piece, levels[1:], count, size)
    return _join(text, pieces, count, size)


def _join(text: str, pieces: Sequence[Span], count: Count, size: int) -> list[Span]:
    joined: list[Span] = []
    total = 0
    for first, last in pieces:
        tokens = count(text[first:last])
        if (
            joined
            and total + tokens <= size
            and _fits(text[joined[-1][0] : last], total + tokens, count, size)
        ):
            joined[-1] = (joined[-1][0], last)
            total += tokens
        else:
            joined.append((first, last))
            total = tokens
    return joined


def _fits(piece: str, parts: int, count: Count, size: int) -> bool:
    """Whether a piece fits; counts of its parts may add up to a little less than that of the whole."""
    return parts <= _SURE * size or count(piece) <= size


def _cut_tokens(text: str, span: Span, count: Count, size: int) -> list[Span]:
    """Cut a run without any blank: each piece is the longest that has no more than `size` tokens."""
    start, end = span
    pieces: list[Span] = []
    while start < end:
        low, high = start + 1, min(end, start + 16 * size)
        while low < high:
            middle = (low + high + 1) // 2
            if count(text[start:middle]) <= size:
                low = middle
            else:
                high = middle - 1
        pieces.append((start, low))
        start = low
    return pieces


def _reach_back(
    text: str, spans: Sequence[Span], kind: SegmentType, count: Count, size: int, overlap: int
) -> Iterable[SegmentChunk]:
    """Yield the spans as chunks that begin with the end of the one before, at a sentence or a line."""
    pattern = _SENTENCE if kind in PROSE else _LINE
    for position, (start, end) in enumerate(spans):
        begin = start
        if position and overlap:
            before = spans[position - 1][0]
            for at in reversed([before + match.end() for match in pattern.finditer(text[before:start])]):
                if at >= start:
                    continue
                if count(text[at:start]) > overlap or count(text[at:end]) > size:
                    break
                begin = at
        yield SegmentChunk(begin, end)
