"""Which places of the first files a task needs: the chance of each chunk, files and lines weighed together.

A linear score over what a chunk shares with the task gives the share of its file's change that it holds; with
the chance of the file this is a first estimate, and trees over all features give the likeliest chunks the
chance that the task changes them. Both are learned from public histories (`bench/chunk_training.py`).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan import cuts
from workbench.plan.chunks import ChunkKind
from workbench.plan.cuts import FileCut, term_id
from workbench.plan.trees import ReadModel, Trees
from workbench.project.languages import is_changelog
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent
from workbench.records.project import Role
from workbench.text.distinct import find_among, number_distinct
from workbench.text.terms import parts, words_of

Float32 = NDArray[np.float32]

FEATURES: Mapping[str, str] = {
    "bm25_file": "BM25 of the task's terms, over the best chunk of the file",
    "bm25_rank": "1 / place by BM25 in the file",
    "cover": "share of the task's terms in the chunk, weighted by rarity",
    "cover_file": "the same over the best chunk of the file",
    "bm25": "BM25 of the task's terms, over what the task could reach",
    "neighbour": "the same of the better of the two chunks beside it",
    "name": "share of the task's terms in the definition's name",
    "name_share": "share of the definition's name in the task, its parts weighted by rarity",
    "name_gap": "name_share less the best of all files",
    "name_exact": "the task names the definition",
    "parent": "share of the task's terms in the enclosing definition's name",
    "parent_share": "share of the enclosing definition's name in the task",
    "uses": "name_share of the best definition that it mentions",
    "literal": "holds a text the task quotes",
    "version_text": "holds a version number the task names",
    "frame": "a stack frame of the task points here",
    "size": "log of its lines",
    "tokens": "log of its tokens",
    "substance": "lines that mean something by themselves",
    "part": "which piece of a long definition",
    "head": "imports, licence, the module's docstring",
    "header": "a class up to its first member",
    "code": "statements outside any definition",
    "section": "prose under a heading",
    "last": "the end of the file",
    "position": "where in the file it begins, 0 to 1",
    "changelog_top": "how near the top of a changelog",
    "prose_top": "how near the top of other documentation",
    "test_last": "the end of a test file",
    "touched": "how lately the file's past changes touched it, summed",
    "touched_alike": "likeness of the most similar past task that changed it",
    "touched_often": "likeness of all past tasks that changed it, summed",
    "touched_share": "the same over the best of all files",
    "touched_lately": "how lately in the project's history it was changed",
    "share": "share of the file's change by the linear score",
    "share_best": "the same over the best of the file",
    "first": "share times the chance of the file",
    "odds": "log-odds that the file is needed",
    "odds_gap": "the same less those of the first file",
    "chance": "chance that the file is needed",
    "place": "place of the file",
    "best_cover": "the best cover in the file",
    "best_name": "the best name_share in the file",
    "chunks": "chunks of the file",
    "file_lines": "log of the file's lines",
    "source": "in a source file",
    "test": "in a test",
    "docs": "in documentation",
    "config": "in configuration",
    "terms": "terms of the task",
    "files": "log of the project's files",
}
LINEAR: Final = (
    *("bm25_file", "bm25_rank", "cover", "neighbour", "name", "name_share", "name_exact", "parent"),
    *("parent_share", "uses", "literal", "version_text", "frame", "size", "header", "last", "position"),
    *("changelog_top", "prose_top", "test_last"),
    *("touched", "touched_alike", "touched_often", "touched_lately"),
)
"""What the linear score weighs: features by which the chunks of one file differ."""
COLUMN: Final = {name: column for column, name in enumerate(FEATURES)}

LIKELIEST: Final = 200  # chunks that trees look at
_K1, _B = 1.2, 0.4
_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{3,60})[`\"']")
_MAX_LITERALS = 20
_MAX_LITERAL_HITS = 50
_MAX_MENTIONED = 60


@dataclass(frozen=True, slots=True)
class ChunkModel:
    """Weights of the linear score by feature, and trees whose score is the log-odds of a chunk's chance.

    `files` order the first files again by what their chunks share with a task (`plan/reading.py`).
    """

    weights: Mapping[str, float]
    trees: Trees | None = None
    files: ReadModel | None = None
    model_id: str = ""
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A ranked file as places are looked for in it: its cut, its bytes, and its chance of being needed.

    `touches` are, for chunks that past commits changed, their values of the features touched to
    touched_lately.
    """

    path: str
    role: Role
    cut: FileCut
    data: bytes
    chance: float
    touches: Mapping[int, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class _Query:
    terms: NDArray[np.uint32]
    weights: Float32
    words: frozenset[int]
    literals: Mapping[str, str]  # text: feature
    frames: Sequence[tuple[str, int]]


def place_features(
    intent: Intent, files: Sequence[PlacedFile], project_files: int
) -> tuple[Float32, list[int]]:
    """Return float32 [c, f] of all chunks, without those of the linear score, and where each file's begin.

    Term statistics (document frequency, mean length) are those of the chunks at hand.
    """
    query = _prepare(intent)
    chunks = _Chunks(files)
    rows = np.zeros((chunks.starts[-1], len(FEATURES)), np.float32)
    if not len(rows):
        return rows, chunks.starts
    _add_traits(chunks, rows, project_files, len(query.terms))
    idf = _add_words(query, chunks, rows)
    _add_names(query, chunks, rows, idf)
    for number, one in enumerate(files):
        block = rows[chunks.starts[number] : chunks.starts[number + 1]]
        if query.literals or query.frames:
            _add_mentions(query, one, block)
        for index, values in one.touches.items():
            for name, value in values.items():
                block[index, COLUMN[name]] = value
    cover, shares = rows[:, COLUMN["cover"]], rows[:, COLUMN["name_share"]]
    best_cover = chunks.best(cover)
    _put(rows, "best_cover", best_cover)
    _put(rows, "best_name", chunks.best(shares))
    _put(rows, "cover_file", cover / np.maximum(best_cover, 1e-9))
    _put(rows, "name_gap", shares - shares.max())
    often = rows[:, COLUMN["touched_often"]]
    _put(rows, "touched_share", often / max(float(often.max()), 1e-9))
    return rows, chunks.starts


class _Chunks:
    """The chunks of several files one after the other: where each file's begin, and the file of each."""

    def __init__(self, files: Sequence[PlacedFile]) -> None:
        counts = [one.cut.count for one in files]
        self.files = files
        self.starts: list[int] = [0, *accumulate(counts)]
        self.owner = np.repeat(np.arange(len(files)), counts)
        self.within = np.arange(len(self.owner)) - np.asarray(self.starts)[self.owner]
        self.table = np.concatenate([one.cut.table for one in files]) if files else np.zeros((0, 9), np.int32)
        self.ends = np.asarray([end - 1 for end, count in zip(self.starts[1:], counts, strict=True) if count])
        self._full = np.flatnonzero(counts)

    def of_files(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Return float64 [c], for each chunk the value of its file."""
        return np.asarray(values, np.float64)[self.owner]

    def best(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return [c], for each chunk the highest of the values [c] of its file's."""
        found = np.zeros(len(self.files), values.dtype)
        found[self._full] = np.maximum.reduceat(values, np.asarray(self.starts)[self._full])
        return found[self.owner]


def place_chances(
    model: ChunkModel, intent: Intent, files: Sequence[PlacedFile], project_files: int
) -> list[Float32]:
    """Return the chance of each chunk of each file that the task changes it, float32 [chunks] a file."""
    rows, starts = place_features(intent, files, project_files)
    add_shares(model, rows, starts)
    first = rows[:, COLUMN["first"]]
    chances = np.zeros(len(rows), np.float32)
    if model.trees is None:
        chances = first
    elif len(rows):
        likeliest = np.sort(np.argsort(-first, kind="stable")[:LIKELIEST])
        scores = model.trees.score(tuple(FEATURES), rows[likeliest])
        chances[likeliest] = 1.0 / (1.0 + np.exp(-scores))
    return [chances[start:end] for start, end in pairwise(starts)]


def add_shares(model: ChunkModel, rows: Float32, starts: Sequence[int]) -> None:
    """Add what the linear score makes of each chunk: a softmax over the chunks of a file."""
    weights = np.zeros(len(FEATURES), np.float32)
    for name, weight in model.weights.items():
        weights[COLUMN[name]] = weight
    scores = rows @ weights
    for start, end in pairwise(starts):
        if end == start:
            continue
        powers = np.exp(scores[start:end] - scores[start:end].max())
        share = powers / powers.sum()
        _put(rows[start:end], "share", share)
        _put(rows[start:end], "share_best", share / share.max())
    _put(rows, "first", rows[:, COLUMN["share"]] * rows[:, COLUMN["chance"]])


def _put(rows: Float32, name: str, values: NDArray[Any] | float) -> None:
    rows[:, COLUMN[name]] = values


def _prepare(intent: Intent) -> _Query:
    raw = intent.task.raw
    literals = dict.fromkeys(_QUOTED.findall(raw)[:_MAX_LITERALS], "literal")
    literals |= dict.fromkeys(_VERSION.findall(raw)[:_MAX_LITERALS], "version_text")
    weights = {term_id(term): weight for term, weight in intent.terms}
    order = sorted(weights)
    return _Query(
        terms=np.asarray(order, np.uint32),
        weights=np.asarray([weights[term] for term in order], np.float32),
        words=frozenset(term_id("".join(parts(word))) for word in words_of(raw) if len(word) > 2),
        literals=literals,
        frames=[(path, line) for path, line, _function in intent.entities.frames],
    )


def _add_traits(chunks: _Chunks, rows: Float32, project_files: int, terms: int) -> None:
    files, table = chunks.files, chunks.table
    odds = [_log_odds(one.chance) for one in files]
    kinds = table[:, cuts.KIND]
    _put(rows, "size", np.log(table[:, cuts.END] - table[:, cuts.START] + 1))
    _put(rows, "tokens", np.log(table[:, cuts.TOKENS] + 1))
    _put(rows, "substance", table[:, cuts.SUBSTANCE])
    _put(rows, "part", table[:, cuts.PART])
    for kind in (ChunkKind.HEAD, ChunkKind.HEADER, ChunkKind.CODE, ChunkKind.SECTION):
        _put(rows, kind.value, kinds == cuts.KINDS.index(kind))
    _put(rows, "position", table[:, cuts.START] / chunks.of_files([max(one.cut.lines, 1) for one in files]))
    top = 1.0 / (1.0 + chunks.within)
    news = [is_changelog(one.path) for one in files]
    prose = [one.role is Role.DOCS and not new for one, new in zip(files, news, strict=True)]
    _put(rows, "changelog_top", top * chunks.of_files(news))
    _put(rows, "prose_top", top * chunks.of_files(prose))
    for name in ("source", "test", "docs", "config"):
        _put(rows, name, chunks.of_files([one.role.value == name for one in files]))
    rows[chunks.ends, COLUMN["last"]] = 1.0
    rows[chunks.ends, COLUMN["test_last"]] = rows[chunks.ends, COLUMN["test"]]
    _put(rows, "odds", chunks.of_files(odds))
    _put(rows, "odds_gap", chunks.of_files([one - odds[0] for one in odds]))
    _put(rows, "chance", chunks.of_files([one.chance for one in files]))
    _put(rows, "place", chunks.owner)
    _put(rows, "chunks", chunks.of_files([one.cut.count for one in files]))
    _put(rows, "file_lines", chunks.of_files([math.log(one.cut.lines + 1) for one in files]))
    _put(rows, "terms", terms)
    _put(rows, "files", math.log(project_files + 1))


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-4), 0.9999)
    return math.log(chance / (1.0 - chance))


def _add_words(query: _Query, chunks: _Chunks, rows: Float32) -> Float32:
    """Add BM25, the share of the task and the neighbours'. Returns the rarity of the query's terms."""
    count = len(rows)
    times = np.zeros((len(query.terms), count), np.float32)
    for start, one in zip(chunks.starts, chunks.files, strict=False):
        term, at = one.cut.find_terms(query.terms)
        times[term, start + one.cut.chunks[at]] = one.cut.times[at]
    held = times > 0
    frequency = held.sum(axis=1)
    idf = query.weights * np.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    lengths = chunks.table[:, cuts.WORDS].astype(np.float32)
    norm = _K1 * (1.0 - _B + _B * lengths / max(1.0, float(lengths.mean())))
    scores = (idf[:, None] * times * (_K1 + 1.0) / (times + norm)).sum(axis=0)
    whole = max(float(idf.sum()), 1e-9)
    _put(rows, "cover", (idf[:, None] * held).sum(axis=0) / whole)
    _put(rows, "bm25", scores / whole)
    best = chunks.best(scores)
    _put(rows, "bm25_file", scores / np.where(best > 0, best, np.float32(1.0)))
    ranks = np.empty(count, np.float32)
    ranks[np.lexsort((-scores, chunks.owner))] = chunks.within
    _put(rows, "bm25_rank", np.where(scores > 0, 1.0 / (1.0 + ranks), 0.0))
    padded = np.concatenate([[0.0], scores, [0.0]])
    before, after = padded[:-2].copy(), padded[2:].copy()
    before[chunks.within == 0], after[chunks.ends] = 0.0, 0.0
    _put(rows, "neighbour", np.maximum(before, after) / whole)
    return np.asarray(idf)


def _add_names(query: _Query, chunks: _Chunks, rows: Float32, idf: Float32) -> None:
    """Add what names share with the task: of the definition, the one around it, those it mentions."""
    files = chunks.files
    sizes = [len(one.cut.names) for one in files]
    total = sum(sizes)
    if not total or not len(query.terms):
        return
    terms = np.concatenate([one.cut.name_terms for one in files])
    counts = np.concatenate([np.diff(one.cut.name_starts) for one in files])
    owner = np.repeat(np.arange(total), counts)
    at, asked = find_among(terms, query.terms)
    inverse, held = number_distinct(terms)
    rarity = np.log(1.0 + (total + 1.0) / held)[inverse]
    covers = np.bincount(owner, idf[at] * asked, total) / max(float(idf.sum()), 1e-9)
    shares = np.bincount(owner, rarity * asked, total) / np.maximum(np.bincount(owner, rarity, total), 1e-9)
    spelled = np.concatenate([one.cut.spelled for one in files])
    exact = find_among(spelled, np.asarray(sorted(query.words), np.uint32))[1] & (shares > 0)
    offsets = np.cumsum([0, *sizes])[chunks.owner]
    for column, values in (
        (cuts.NAME, {"name": covers, "name_share": shares, "name_exact": exact}),
        (cuts.PARENT, {"parent": covers, "parent_share": shares}),
    ):
        mine = np.flatnonzero(chunks.table[:, column] >= 0)
        names = offsets[mine] + chunks.table[mine, column]
        for feature, of_names in values.items():
            rows[mine, COLUMN[feature]] = of_names[names]
    _add_uses(chunks, rows, shares)


def _add_uses(chunks: _Chunks, rows: Float32, shares: NDArray[np.float64]) -> None:
    """Add how well the best definition that a chunk mentions fits the task."""
    mention = np.concatenate([one.cut.mention for one in chunks.files])
    best: dict[int, float] = {}
    for place in np.argsort(-shares, kind="stable").tolist():
        if shares[place] <= 0 or len(best) == _MAX_MENTIONED:
            break
        if mention[place]:
            best.setdefault(int(mention[place]), float(shares[place]))
    if not best:
        return
    wanted = np.asarray(sorted(best), np.uint32)
    values = np.asarray([best[term] for term in sorted(best)], np.float32)
    for number, one in enumerate(chunks.files):
        term, at = one.cut.find_terms(wanted)
        if not len(term):
            continue
        found = one.cut.chunks[at]
        names = np.maximum(one.cut.table[found, cuts.NAME], 0)
        others = (one.cut.mention[names] != wanted[term]) if len(one.cut.mention) else slice(None)
        column = rows[chunks.starts[number] : chunks.starts[number + 1], COLUMN["uses"]]
        np.maximum.at(column, found[others], values[term[others]])


def _add_mentions(query: _Query, file: PlacedFile, block: Float32) -> None:
    """Add quoted texts, version numbers and stack frames that point into a chunk."""
    if not len(block):
        return
    starts = file.cut.table[:, cuts.START].tolist()
    for literal, feature in query.literals.items():
        text = literal.encode("utf-8", "replace")
        found, before, line = file.data.find(text), 0, 1
        for _ in range(_MAX_LITERAL_HITS):
            if found < 0:
                break
            line += file.data.count(b"\n", before, found)
            block[max(0, bisect_right(starts, line) - 1), COLUMN[feature]] = 1.0
            before, found = found, file.data.find(text, found + len(text))
    for order, (path, line) in enumerate(query.frames):
        if 1 <= line <= file.cut.lines and _same_file(file.path, path):
            row = block[bisect_right(starts, line) - 1]
            row[COLUMN["frame"]] = max(float(row[COLUMN["frame"]]), 1.0 / (1.0 + 0.2 * order))


def _same_file(path: str, written: str) -> bool:
    """Whether a path as a stack trace writes it (absolute, relative, a bare name) may mean this file."""
    ours = path.split("/")
    theirs = [part for part in written.replace("\\", "/").split("/") if part not in ("", ".")]
    size = min(len(ours), len(theirs))
    return size > 0 and ours[-size:] == theirs[-size:]
