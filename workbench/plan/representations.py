"""The ways a file can appear in a pack: its path, the best of its chunks, the whole of it.

Each way is an offer with its token count and what it is worth: for each chunk in it, the chance that the
task needs it times its tokens, where long chunks count a little less than their length. A path shows where to
look. Imports, headings and lone ends of blocks are shown only beside other lines; the licence or comment that
code begins with never.

The text of candidates is read from disk at the moment of the plan and never taken from the index: what a pack
shows is what the file holds now. Symbols come from the index while the content hash agrees, and are extracted
again when it does not.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan import cuts
from workbench.plan.chunks import ChunkKind, is_comment, lead_end
from workbench.plan.compose import ViewOffer
from workbench.plan.cut_cache import CutCache, KeptCut, make_cut
from workbench.plan.cuts import FileCut
from workbench.plan.news import first_section, is_news, only_new
from workbench.plan.packing import worth
from workbench.plan.render import FileView, Span, Style
from workbench.project.admission import content_refusal
from workbench.project.index import ProjectIndex
from workbench.project.languages import language_of, role_of
from workbench.project.scan import decode, read_bytes
from workbench.project.snapshot import Snapshot, content_hash
from workbench.records.answers.plan import NamedPlace
from workbench.records.plan import Representation
from workbench.records.project import Skipped, Symbol
from workbench.text.sanitize import safe_lines, visible_line
from workbench.text.tokens import TokenCounter

LEVELS: Final = 16
OUTLINE_SYMBOLS: Final = 60
GAP_LINES: Final = 2  # closing so small a gap costs less than the mark that names it
MARK_TOKENS: Final = 8  # of the line that names where a range begins
SHORT_FILE: Final = 60  # lines; a file of no more is whole once half of it is shown
NAMED_PLACES: Final = 8  # in a file, besides what is shown of it
LEAST_NAMED: Final = 0.01
_WHY_NAMES = 4
_LEAD_BYTES: Final = 8192

Float32 = NDArray[np.float32]


class Content:
    """A file as it is now: its bytes, its cut, and its lines (masked, safe to show) once asked for."""

    __slots__ = ("_lead", "_lines", "_read_symbols", "cut", "data", "kept", "path")

    def __init__(
        self, path: str, data: bytes, kept: KeptCut, read_symbols: Callable[[], Sequence[Symbol]]
    ) -> None:
        self.path = path
        self.data = data
        self.kept = kept
        self.cut = kept.cut
        self._read_symbols = read_symbols
        self._lines: tuple[str, ...] | None = None
        self._lead: tuple[str, ...] | None = None

    @property
    def symbols(self) -> Sequence[Symbol]:
        """The definitions in the file."""
        return self._read_symbols()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the file; as many as its cut has."""
        if self._lines is None:
            lines = safe_lines(decode(self.data))
            for number, line in self.kept.shown.items():
                lines[number : number + 1] = [line]
            self._lines = tuple(lines)
        return self._lines

    def lead(self) -> Sequence[str]:
        """Return the lines of the licence or module comment that code begins with."""
        if self._lead is None:
            self._lead = ()
            if self.cut.count and self.cut.chunk(0).kind is not ChunkKind.SECTION:
                head = safe_lines(decode(self.data[:_LEAD_BYTES]))
                self._lead = tuple(head[: lead_end(head)]) if is_comment(head[0]) else ()
        return self._lead

    def fill(self, view: FileView) -> FileView:
        """Return a view of the file with the lines of its spans."""
        lines = tuple(line for start, end in view.spans for line in self.lines[start - 1 : end])
        masked = tuple(one for one in self.kept.masked if any(a <= one[0] <= b for a, b in view.spans))
        return replace(view, lines=lines, masked=masked)


def file_offers(
    content: Content,
    chances: Float32,
    style: Style,
    counter: TokenCounter,
    *,
    levels: int = LEVELS,
    alike: Sequence[str] = (),
) -> tuple[ViewOffer, ...]:
    """Return the offers of one file.

    chances: float32 [c], of each chunk that the task needs it. Offers grow by one chunk at a time, worth most
    per token first, so that the knapsack can stop anywhere; a short file of which half is shown is whole.
    """
    cut = content.cut
    tokens = cut.table[:, cuts.TOKENS].tolist()
    named = named_places(cut, chances)
    is_short = cut.lines <= SHORT_FILE
    if is_news(content.path) and (newest := first_section(cut)):
        named, chances, is_short = newest, only_new(cut, chances), False
    offers = [name_offer(content.path, style, counter, named, alike=alike)]
    if not cut.count:
        return tuple(offers)
    frame = _tokens(FileView(content.path, Representation.SNIPPETS, ((100, 199),), ("",)), style, counter)
    comment = content.lead()
    lead = len(comment)
    if lead:
        tokens = [
            max(0, cost - counter.count("\n".join(comment[start - 1 :]))) if start <= lead else cost
            for cost, start in zip(tokens, cut.table[:, cuts.START].tolist(), strict=True)
        ]
    values = [
        worth(chance, max(1, cost)) if end > lead else 0.0
        for chance, cost, end in zip(chances.tolist(), tokens, cut.table[:, cuts.END].tolist(), strict=True)
    ]
    whole = FileView(content.path, Representation.FULL, ((1, cut.lines),))
    if lead:
        whole = replace(whole, representation=Representation.SNIPPETS, spans=((lead + 1, cut.lines),))
    chosen: list[Span] = []
    why: dict[str, None] = {}
    names: dict[int, str] = {}  # of the definitions that lines are inside of
    held, cost = 0.0, frame
    for index in _growth(cut, values, tokens)[:levels]:
        chunk = cut.chunk(index)
        insort(chosen, (max(chunk.start, lead + 1), chunk.end))
        held += values[index]
        cost += tokens[index]
        if chunk.name and len(why) < _WHY_NAMES:
            why[_full_name(chunk.parent, chunk.name)] = None
        spans = merge_spans(chosen)
        if spans == whole.spans:
            break
        if is_short and 2 * sum(end - start + 1 for start, end in spans) >= cut.lines:
            break
        marks = tuple(
            names[start] if start in names else names.setdefault(start, enclosing(cut, start))
            for start, _end in spans
        )
        view = FileView(content.path, Representation.SNIPPETS, spans, marks=marks)
        price = cost + MARK_TOKENS * (len(spans) - 1 + sum(map(bool, marks)))
        offers.append(ViewOffer(view, price, held, tuple(why)))
    offers.append(ViewOffer(whole, frame + sum(tokens), sum(values), tuple(why)))
    return tuple(offers)


def _growth(cut: FileCut, values: Sequence[float], tokens: Sequence[int]) -> list[int]:
    """Return the chunks in the order to show them, worth most per token first; none if all are crumbs.

    A crumb waits until a chunk beside it is shown: alone it means nothing, however little it costs.
    """
    if cut.count == 1:
        return [0]
    density = [-value / (cost + 1) for value, cost in zip(values, tokens, strict=True)]
    order = sorted((index for index, value in enumerate(values) if value > 0), key=density.__getitem__)
    grown: dict[int, None] = {}
    waiting: set[int] = set()
    for index in order:
        if cut.chunk(index).is_crumb and index - 1 not in grown and index + 1 not in grown:
            waiting.add(index)
            continue
        grown[index] = None
        for beside in sorted(waiting & {index - 1, index + 1}):
            waiting.remove(beside)
            grown[beside] = None
    return list(grown)


def named_places(cut: FileCut, chances: Float32, shown: Sequence[Span] = ()) -> tuple[NamedPlace, ...]:
    """Return the likeliest places of a file outside the lines that are shown, each in a definition.

    chances: float32 [c], of each chunk. Parts of a definition that lie beside each other are one place.
    """
    places: list[NamedPlace] = []
    for index in np.argsort(-chances, kind="stable").tolist():
        if chances[index] < LEAST_NAMED or len(places) == NAMED_PLACES:
            break
        chunk = cut.chunk(index)
        if not chunk.name or any(start <= chunk.start and chunk.end <= end for start, end in shown):
            continue
        place = NamedPlace(_full_name(chunk.parent, chunk.name), chunk.start, chunk.end)
        beside = next((one for one in places if _touch(one, place)), None)
        if beside is None:
            places.append(place)
        else:
            joined = NamedPlace(beside.name, min(beside.start, place.start), max(beside.end, place.end))
            places[places.index(beside)] = joined
    return tuple(places)


def _touch(one: NamedPlace, other: NamedPlace) -> bool:
    apart = max(one.start, other.start) - min(one.end, other.end) - 1
    return one.name == other.name and apart <= GAP_LINES


def enclosing(cut: FileCut, line: int) -> str:
    """Return the name of the definition that a line is inside of, empty where it begins one or is in none."""
    starts = cut.table[:, cuts.START]
    index = int(np.searchsorted(starts, line, side="right")) - 1
    if index < 0:
        return ""
    chunk = cut.chunk(index)
    if not chunk.name or (chunk.part == 0 and not chunk.parent):
        return ""
    return visible_line(_full_name(chunk.parent, chunk.name) if chunk.part else chunk.parent)


def _full_name(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def name_offer(
    path: str,
    style: Style,
    counter: TokenCounter,
    places: Sequence[NamedPlace] = (),
    together: str = "",
    alike: Sequence[str] = (),
) -> ViewOffer:
    """Return the offer that only names a file, where to look in it, and what it has to do with others."""
    view = FileView(path, Representation.PATH, places=tuple(places), together=together, alike=tuple(alike))
    return ViewOffer(view, _name_tokens(view, style, counter), 0.0)


@lru_cache(maxsize=4096)
def _name_tokens(view: FileView, style: Style, counter: TokenCounter) -> int:
    return style.cost(view, counter) + 1


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


class Contents:
    """Reads files for a plan; keeps the most recently used ones."""

    def __init__(
        self, root: Path, counter: TokenCounter, *, cap: int, cuts: CutCache | None = None, keep: int = 400
    ) -> None:
        self.root = root
        self.counter = counter
        self.cap = cap
        self.hits = 0
        self.misses = 0
        self._cuts = cuts or CutCache(None, counter.name)
        self._keep = keep
        self._known: OrderedDict[str, Content] = OrderedDict()
        self._once: dict[str, Content | Skipped] | None = None

    @contextmanager
    def once(self) -> Iterator[None]:
        """Read each file once while the block lasts: all that a plan says of one is of the same moment."""
        self._once = {}
        try:
            yield
        finally:
            self._once = None

    def read(self, path: str, index: ProjectIndex, digests: dict[str, str]) -> Content | Skipped:
        """Return a file's content as of now, or why it cannot be shown. `digests` are the index's hashes."""
        if self._once is None:
            return self._read(path, index, digests)
        content = self._once.get(path)
        if content is None:
            content = self._once[path] = self._read(path, index, digests)
        elif isinstance(content, Content):
            self.hits += 1
        return content

    def _read(self, path: str, index: ProjectIndex, digests: dict[str, str]) -> Content | Skipped:
        data = read_bytes(self.root, path, self.cap)
        if isinstance(data, Skipped):
            return data
        known = self._known.get(path)
        if known is not None and known.data == data:
            self.hits += 1
            self._known.move_to_end(path)
            return known
        refused = content_refusal(path, data)
        if refused is not None:
            return Skipped(path, refused)
        digest = content_hash(data)
        language, role = _language(path, data), role_of(path)

        def read_symbols() -> Sequence[Symbol]:
            position = index.positions.get(path)
            if position is not None and digests.get(path) == digest:
                return index.record(position)[0]
            from workbench.project.symbols import extract_symbols  # parsers, for files that just changed
            from workbench.text.source_secrets import mask_source

            return extract_symbols(language, mask_source(data, role).data)[0]

        kept = self._cuts.get(digest, language, role)
        if kept is None:
            from workbench.text.source_secrets import mask_source  # what is kept was masked before

            self.misses += 1
            kept = make_cut(language, data, mask_source(data, role), read_symbols(), self.counter)
            self._cuts.put(digest, language, role, kept)
        else:
            self.hits += 1
        content = Content(path, data, kept, read_symbols)
        self._known[path] = content
        self._known.move_to_end(path)
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return content

    def flush(self) -> None:
        """Keep what was read for the next process."""
        self._cuts.flush()


def content_of(path: str, data: bytes, symbols: Sequence[Symbol], counter: TokenCounter) -> Content:
    """Return a file's content from its bytes and its symbols."""
    from workbench.text.source_secrets import mask_source

    source = mask_source(data, role_of(path))
    return Content(
        path, data, make_cut(_language(path, data), data, source, symbols, counter), lambda: symbols
    )


def _language(path: str, data: bytes) -> str:
    return language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])


def digests_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the content hash of every indexed file."""
    return dict(zip(snapshot.paths, snapshot.hashes, strict=True))
