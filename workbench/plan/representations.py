"""The ways a file can stand in a pack: its path, its outline, the best of its chunks, the whole of it.

Each way is an offer with its real token count and an expected worth: the file's relevance times the share of
the information an agent needs from it. A path tells where to look, a chunk is worth the share of the change
expected in it, the whole file is worth everything. The shares are measured (`bench/packing_study.py`) and
stand in the model file beside the chunk weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.plan.compose import ViewOffer
from workbench.plan.render import FileView, Span, Style
from workbench.plan.snippets import FileText
from workbench.records.plan import Representation
from workbench.records.project import Symbol
from workbench.text.tokens import TokenCounter

MAX_LEVELS = 24
MAX_OUTLINE = 60
GAP_LINES = 2  # closing so small a gap costs less than the mark that names it
_GAP_TOKENS = 5


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a file's worth, in [0, 1]: knowing its path, and seeing its outline as well."""

    path: float = 0.12
    outline: float = 0.17


def file_offers(
    file: FileText,
    relevance: float,
    shares: Sequence[float],
    symbols: Sequence[Symbol],
    style: Style,
    counter: TokenCounter,
    worth: Shares,
    chunk_tokens: Sequence[int],
) -> tuple[ViewOffer, ...]:
    """Return the offers of one file, cheapest first.

    shares: expected share of the change in each chunk, summing to 1; chunk_tokens: tokens of each chunk's
    lines. relevance: probability-like, >= 0. Snippet offers grow by one chunk at a time, best share per token
    first, so that the knapsack can stop anywhere.
    """
    offers = [_path_offer(file.path, relevance * worth.path, style, counter)]
    outline = outline_view(file.path, symbols)
    if outline.lines:
        offers.append(ViewOffer(outline, counter.count(style.file(outline)), relevance * worth.outline))
    frame = counter.count(style.file(FileView(file.path, Representation.SNIPPETS, ((1, 1000),), ("x",))))
    rest = 1.0 - worth.path
    order = sorted(
        range(len(shares)), key=lambda index: (-shares[index] / (chunk_tokens[index] + _GAP_TOKENS), index)
    )
    for level in range(1, min(MAX_LEVELS, len(order)) + 1):
        chosen = sorted(order[:level])
        spans = merged([(file.chunks[index].start, file.chunks[index].end) for index in chosen])
        share = sum(shares[index] for index in chosen)
        tokens = frame + sum(chunk_tokens[index] for index in chosen) + _GAP_TOKENS * (len(spans) - 1)
        view = FileView(file.path, Representation.SNIPPETS, spans, _lines(file, spans))
        if len(spans) == 1 and spans[0] == (1, len(file.lines)):
            break
        offers.append(ViewOffer(view, tokens, relevance * (worth.path + rest * share)))
    if file.lines:
        whole = FileView(file.path, Representation.FULL, ((1, len(file.lines)),), file.lines)
        offers.append(ViewOffer(whole, frame + sum(chunk_tokens), relevance))
    return tuple(offers)


def named_only(path: str, relevance: float, style: Style, counter: TokenCounter, worth: Shares) -> ViewOffer:
    """Return the only offer of a file whose content is not at hand: its path."""
    return _path_offer(path, relevance * worth.path, style, counter)


def outline_view(path: str, symbols: Sequence[Symbol]) -> FileView:
    """Return a file's definitions, one a line with its line number, members indented under their parent."""
    ordered = sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end_line, symbol.name))[:MAX_OUTLINE]
    lines = tuple(f"{symbol.line} {'  ' if symbol.parent else ''}{symbol.signature}" for symbol in ordered)
    return FileView(path, Representation.OUTLINE, (), lines)


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join ordered ranges that touch or nearly touch."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1] + 1 + GAP_LINES:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def _path_offer(path: str, utility: float, style: Style, counter: TokenCounter) -> ViewOffer:
    view = FileView(path, Representation.PATH)
    tokens = counter.count(style.paths([path])) - counter.count(style.paths([])) + 1
    return ViewOffer(view, tokens, utility)


def _lines(file: FileText, spans: Sequence[Span]) -> tuple[str, ...]:
    return tuple(line for start, end in spans for line in file.lines[start - 1 : end])
