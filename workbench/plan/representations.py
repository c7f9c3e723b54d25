"""The ways a file can appear in a pack: its path, its outline, the best of its chunks, the whole of it.

Each way is an offer with its real token count and an expected worth: the chance that the file is needed times
the share of what its reader needs. A path shows where to look, a chunk is worth the share of the change
expected in it, the whole file is worth everything. Imports, headings, licences and lone ends of blocks are
shown only beside other lines, and a file that is hardly needed is not offered as a whole.

The text of candidates is read from disk at the moment of the plan and never taken from the index: what a pack
shows is what the file holds now. Symbols come from the index while the content hash agrees, and are extracted
again when it does not.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from workbench.plan.chunks import Chunk, ChunkKind
from workbench.plan.compose import ViewOffer
from workbench.plan.render import FileView, Span, Style
from workbench.plan.snippets import FileText, read_file
from workbench.project.admission import content_refusal
from workbench.project.index import ProjectIndex
from workbench.project.languages import language_of, role_of
from workbench.project.scan import read_bytes
from workbench.project.snapshot import Snapshot, content_hash
from workbench.records.dataclass import dataclass
from workbench.records.plan import Representation
from workbench.records.project import Skipped, Symbol
from workbench.text.sanitize import visible_line
from workbench.text.source_secrets import mask_source
from workbench.text.tokens import TokenCounter

LEVELS = 16
OUTLINE_SYMBOLS = 60
OUTLINE_LEAST = 3  # definitions; fewer say no more than the path does
GAP_LINES = 2  # closing so small a gap costs less than the mark that names it
LEAST_FULL = 0.05  # a less likely file is shown in parts: as a whole it would crowd out likelier ones
_GAP_TOKENS = 5
_MASK_TOKENS = 6  # what a heading says of a masked line
_WHY_NAMES = 4


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a file's worth, 0 <= path <= outline <= 1: knowing its path, seeing its outline as well.

    Chunks that hold the share p of the change are worth p ** `depth`: below 1, the first lines shown of a
    file are worth more than the later ones, and packs become broader.
    """

    path: float = 0.02
    outline: float = 0.17
    depth: float = 0.6


def file_offers(  # noqa: PLR0913 - all that a file offers
    file: FileText,
    relevance: float,
    shares: Sequence[float],
    outline: FileView,
    style: Style,
    counter: TokenCounter,
    worth: Shares,
    chunk_tokens: Sequence[int],
    *,
    levels: int = LEVELS,
) -> tuple[ViewOffer, ...]:
    """Return the offers of one file.

    relevance: probability-like, in [0, 1]. shares: expected share of the change in each chunk, summing to 1;
    outline: its definitions, as `outline_view` gives them;
    chunk_tokens: tokens of each chunk's lines. Snippet offers grow by one chunk at a time, best share per
    token first, so that the knapsack can stop anywhere.
    """
    offers = [name_offer(file.path, relevance, style, counter, worth)]
    prose = any(chunk.kind is ChunkKind.SECTION for chunk in file.chunks)
    if len(outline.lines) >= OUTLINE_LEAST and not prose:
        offers.append(ViewOffer(outline, _tokens(outline, style, counter), relevance * worth.outline))
    if not file.lines:
        return tuple(offers)
    frame = _tokens(FileView(file.path, Representation.SNIPPETS, ((100, 199),), ("",)), style, counter)
    chosen: list[Span] = []
    names: dict[str, None] = {}
    held, tokens = 0.0, frame
    whole = FileView(file.path, Representation.FULL, ((1, len(file.lines)),), file.lines, masked=file.masked)
    order = _growth(file.chunks, shares, chunk_tokens)
    for index in order[:levels]:
        chunk = file.chunks[index]
        insort(chosen, (chunk.start, chunk.end))
        held += shares[index]
        tokens += chunk_tokens[index]
        if chunk.name and len(names) < _WHY_NAMES:
            names[f"{chunk.parent}.{chunk.name}" if chunk.parent else chunk.name] = None
        spans = merge_spans(chosen)
        if spans == whole.spans:
            break
        masked = masked_in(file, spans)
        view = FileView(file.path, Representation.SNIPPETS, spans, lines_of(file, spans), masked=masked)
        cost = tokens + _GAP_TOKENS * (len(spans) - 1) + _MASK_TOKENS * len(masked)
        offers.append(ViewOffer(view, cost, relevance * min(held, 1.0) ** worth.depth, ", ".join(names)))
    if order and (relevance >= LEAST_FULL or len(file.chunks) == 1):
        offers.append(
            ViewOffer(whole, frame + sum(chunk_tokens) + _MASK_TOKENS * len(file.masked), relevance)
        )
    return tuple(offers)


def _growth(chunks: Sequence[Chunk], shares: Sequence[float], chunk_tokens: Sequence[int]) -> list[int]:
    """Return the chunks in the order to show them, best share per token first; none if all are crumbs.

    A crumb waits until a chunk beside it is shown: alone it means nothing, however little it costs.
    """
    if len(chunks) == 1:
        return [0]
    density = [-share / (cost + _GAP_TOKENS) for share, cost in zip(shares, chunk_tokens, strict=False)]
    order = sorted(range(len(shares)), key=density.__getitem__)
    grown: dict[int, None] = {}
    waiting: set[int] = set()
    for index in order:
        if chunks[index].is_crumb and index - 1 not in grown and index + 1 not in grown:
            waiting.add(index)
            continue
        grown[index] = None
        for beside in sorted(waiting & {index - 1, index + 1}):
            waiting.remove(beside)
            grown[beside] = None
    return list(grown)


def name_offer(path: str, relevance: float, style: Style, counter: TokenCounter, worth: Shares) -> ViewOffer:
    """Return the offer that only names a file."""
    return ViewOffer(
        FileView(path, Representation.PATH), _name_tokens(path, style, counter), relevance * worth.path
    )


@lru_cache(maxsize=4096)
def _name_tokens(path: str, style: Style, counter: TokenCounter) -> int:
    return counter.count(style.paths([path])) - counter.count(style.paths([])) + 1


@lru_cache(maxsize=1024)
def _tokens(view: FileView, style: Style, counter: TokenCounter) -> int:
    """Return the tokens of a view that no task changes."""
    return counter.count(style.file(view))


def outline_view(path: str, symbols: Sequence[Symbol]) -> FileView:
    """Return a file's definitions, one a line with its line number, members indented under their parent."""
    ordered = sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end_line, symbol.name))
    lines = [
        f"{symbol.line} {'  ' if symbol.parent else ''}{visible_line(symbol.signature)}"
        for symbol in ordered[:OUTLINE_SYMBOLS]
    ]
    return FileView(path, Representation.OUTLINE, (), tuple(lines))


def merge_spans(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join ordered ranges that touch or nearly touch."""
    if not spans:
        return ()
    joined: list[Span] = []
    first, last = spans[0]
    for start, end in spans:
        if start <= last + 1 + GAP_LINES:
            last = max(last, end)
        else:
            joined.append((first, last))
            first, last = start, end
    joined.append((first, last))
    return tuple(joined)


def masked_in(file: FileText, spans: Sequence[Span]) -> tuple[tuple[int, str], ...]:
    """Return (line, kind) of what was masked in the ranges."""
    return tuple(one for one in file.masked if any(start <= one[0] <= end for start, end in spans))


def lines_of(file: FileText, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the lines of the ranges, one range after the other."""
    lines: list[str] = []
    for start, end in spans:
        lines.extend(file.lines[start - 1 : end])
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it is now: its lines in chunks, tokens int per chunk, and its definitions."""

    text: FileText
    tokens: tuple[int, ...]
    outline: FileView


class Contents:
    """Reads files for a plan; keeps the most recently used ones by content hash."""

    def __init__(self, root: Path, counter: TokenCounter, *, cap: int, keep: int = 400) -> None:
        self.root = root
        self.counter = counter
        self.cap = cap
        self.hits = 0
        self.misses = 0
        self._keep = keep
        self._known: OrderedDict[tuple[str, str], Content] = OrderedDict()

    def read(self, path: str, index: ProjectIndex, digests: dict[str, str]) -> Content | Skipped:
        """Return a file's content as of now, or why it cannot be shown. `digests` are the index's hashes."""
        data = read_bytes(self.root, path, self.cap)
        if isinstance(data, Skipped):
            return data
        refused = content_refusal(path, data)
        if refused is not None:
            return Skipped(path, refused)
        digest = content_hash(data)
        key = (path, digest)
        known = self._known.get(key)
        if known is not None:
            self.hits += 1
            self._known.move_to_end(key)
            return known
        self.misses += 1
        source = mask_source(data, role_of(path))  # what is planned goes to agents, and to the clipboard
        data = source.data
        position = index.positions.get(path)
        if position is not None and digests.get(path) == digest:
            symbols, _ = index.record(position)
        else:
            from workbench.project.symbols import extract_symbols  # parsers, for files that just changed

            symbols, _ = extract_symbols(_language(path, data), data)
        content = content_of(path, data, symbols, self.counter, source.masked)
        self._known[key] = content
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return content


def content_of(
    path: str,
    data: bytes,
    symbols: Sequence[Symbol],
    counter: TokenCounter,
    masked: Sequence[tuple[int, str]] = (),
) -> Content:
    """Return a file's content from its bytes, its symbols, and (line, kind) of what was masked in it."""
    text = read_file(path, _language(path, data), role_of(path), data, tuple(symbols))
    text = replace(text, masked=tuple(masked)) if masked else text
    tokens = tuple(
        counter.count("\n".join(text.lines[chunk.start - 1 : chunk.end]) + "\n") for chunk in text.chunks
    )
    places = [(symbol.line, symbol.line) for symbol in symbols[:OUTLINE_SYMBOLS]]
    outline = replace(outline_view(path, symbols), masked=masked_in(text, places))
    return Content(text, tokens, outline)


def _language(path: str, data: bytes) -> str:
    return language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])


def digests_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the content hash of every indexed file."""
    return dict(zip(snapshot.paths, snapshot.hashes, strict=True))
