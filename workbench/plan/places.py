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
from itertools import pairwise
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
from workbench.text.distinct import number_distinct
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
    starts = np.cumsum([0, *(one.cut.count for one in files)]).tolist()
    rows = np.zeros((starts[-1], len(FEATURES)), np.float32)
    if not len(rows):
        return rows, starts
    _add_traits(files, rows, starts, project_files, len(query.terms))
    idf = _add_words(query, files, rows, starts)
    _add_names(query, files, rows, starts, idf)
    for number, one in enumerate(files):
        block = rows[starts[number] : starts[number + 1]]
        _add_mentions(query, one, block)
        for index, values in one.touches.items():
            for name, value in values.items():
                block[index, COLUMN[name]] = value
        if len(block):
            _put(block, "best_cover", block[:, COLUMN["cover"]].max())
            _put(block, "best_name", block[:, COLUMN["name_share"]].max())
    cover = rows[:, COLUMN["cover"]]
    _put(rows, "cover_file", cover / np.maximum(rows[:, COLUMN["best_cover"]], 1e-9))
    shares = rows[:, COLUMN["name_share"]]
    _put(rows, "name_gap", shares - shares.max())
    often = rows[:, COLUMN["touched_often"]]
    _put(rows, "touched_share", often / max(float(often.max()), 1e-9))
    return rows, starts


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


def _add_traits(
    files: Sequence[PlacedFile], rows: Float32, starts: Sequence[int], project_files: int, terms: int
) -> None:
    odds = [_log_odds(one.chance) for one in files]
    for number, one in enumerate(files):
        block = rows[starts[number] : starts[number + 1]]
        table, count = one.cut.table, one.cut.count
        if not count:
            continue
        kinds = table[:, cuts.KIND]
        _put(block, "size", np.log(table[:, cuts.END] - table[:, cuts.START] + 1))
        _put(block, "tokens", np.log(table[:, cuts.TOKENS] + 1))
        _put(block, "substance", table[:, cuts.SUBSTANCE])
        _put(block, "part", table[:, cuts.PART])
        for kind in (ChunkKind.HEAD, ChunkKind.HEADER, ChunkKind.CODE, ChunkKind.SECTION):
            _put(block, kind.value, kinds == cuts.KINDS.index(kind))
        block[-1, COLUMN["last"]] = 1.0
        _put(block, "position", table[:, cuts.START] / max(one.cut.lines, 1))
        top = 1.0 / (1.0 + np.arange(count))
        if is_changelog(one.path):
            _put(block, "changelog_top", top)
        elif one.role is Role.DOCS:
            _put(block, "prose_top", top)
        if one.role is Role.TEST:
            block[-1, COLUMN["test_last"]] = 1.0
        for name in ("source", "test", "docs", "config"):
            _put(block, name, float(one.role.value == name))
        _put(block, "odds", odds[number])
        _put(block, "odds_gap", odds[number] - odds[0])
        _put(block, "chance", one.chance)
        _put(block, "place", number)
        _put(block, "chunks", count)
        _put(block, "file_lines", math.log(one.cut.lines + 1))
    _put(rows, "terms", terms)
    _put(rows, "files", math.log(project_files + 1))


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-4), 0.9999)
    return math.log(chance / (1.0 - chance))


def _add_words(query: _Query, files: Sequence[PlacedFile], rows: Float32, starts: Sequence[int]) -> Float32:
    """Add BM25, the share of the task and the neighbours'. Returns the rarity of the query's terms."""
    count = len(rows)
    times = np.zeros((len(query.terms), count), np.float32)
    for number, one in enumerate(files):
        found, places = _look_up(one.cut, query.terms)
        for term, place in zip(found, places, strict=True):
            low, high = int(one.cut.starts[place]), int(one.cut.starts[place + 1])
            times[term, starts[number] + one.cut.chunks[low:high]] = one.cut.times[low:high]
    held = times > 0
    frequency = held.sum(axis=1)
    idf = query.weights * np.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    lengths = np.concatenate([one.cut.table[:, cuts.WORDS] for one in files]).astype(np.float32)
    norm = _K1 * (1.0 - _B + _B * lengths / max(1.0, float(lengths.mean())))
    scores = (idf[:, None] * times * (_K1 + 1.0) / (times + norm)).sum(axis=0)
    whole = max(float(idf.sum()), 1e-9)
    _put(rows, "cover", (idf[:, None] * held).sum(axis=0) / whole)
    _put(rows, "bm25", scores / whole)
    for start, end in pairwise(starts):
        block, mine = rows[start:end], scores[start:end]
        if end == start or not mine.any():
            continue
        _put(block, "bm25_file", mine / mine.max())
        ranks = np.empty(end - start, np.float32)
        ranks[np.argsort(-mine, kind="stable")] = np.arange(end - start)
        _put(block, "bm25_rank", np.where(mine > 0, 1.0 / (1.0 + ranks), 0.0))
        padded = np.concatenate([[0.0], mine, [0.0]])
        _put(block, "neighbour", np.maximum(padded[:-2], padded[2:]) / whole)
    return np.asarray(idf)


def _look_up(cut: FileCut, terms: NDArray[np.uint32]) -> tuple[list[int], list[int]]:
    """Return which of some terms a file has, as places in `terms` and in the file's own."""
    if not len(cut.terms) or not len(terms):
        return [], []
    at = np.minimum(np.searchsorted(cut.terms, terms), len(cut.terms) - 1)
    found = np.flatnonzero(cut.terms[at] == terms)
    return found.tolist(), at[found].tolist()


def _add_names(
    query: _Query, files: Sequence[PlacedFile], rows: Float32, starts: Sequence[int], idf: Float32
) -> None:
    """Add what names share with the task: of the definition, the one around it, those it mentions."""
    sizes = [len(one.cut.names) for one in files]
    total = sum(sizes)
    if not total or not len(query.terms):
        return
    terms = np.concatenate([one.cut.name_terms for one in files])
    counts = np.concatenate([np.diff(one.cut.name_starts) for one in files])
    owner = np.repeat(np.arange(total), counts)
    at = np.minimum(np.searchsorted(query.terms, terms), len(query.terms) - 1)
    asked = query.terms[at] == terms
    inverse, held = number_distinct(terms)
    rarity = np.log(1.0 + (total + 1.0) / held)[inverse]
    covers = np.bincount(owner, idf[at] * asked, total) / max(float(idf.sum()), 1e-9)
    shares = np.bincount(owner, rarity * asked, total) / np.maximum(np.bincount(owner, rarity, total), 1e-9)
    spelled = np.concatenate([one.cut.spelled for one in files])
    exact = np.isin(spelled, np.asarray(sorted(query.words), np.uint32)) & (shares > 0)
    offset = 0
    for number, one in enumerate(files):
        block = rows[starts[number] : starts[number + 1]]
        for column, cover, share in (
            (cuts.NAME, "name", "name_share"),
            (cuts.PARENT, "parent", "parent_share"),
        ):
            places = one.cut.table[:, column]
            mine = np.flatnonzero(places >= 0)
            block[mine, COLUMN[cover]] = covers[offset + places[mine]]
            block[mine, COLUMN[share]] = shares[offset + places[mine]]
            if column == cuts.NAME:
                block[mine, COLUMN["name_exact"]] = exact[offset + places[mine]]
        offset += sizes[number]
    _add_uses(files, rows, starts, shares)


def _add_uses(
    files: Sequence[PlacedFile], rows: Float32, starts: Sequence[int], shares: NDArray[np.float64]
) -> None:
    """Add how well the best definition that a chunk mentions fits the task."""
    mention = np.concatenate([one.cut.mention for one in files])
    best: dict[int, float] = {}
    for place in np.argsort(-shares, kind="stable").tolist():
        if shares[place] <= 0 or len(best) == _MAX_MENTIONED:
            break
        if mention[place]:
            best.setdefault(int(mention[place]), float(shares[place]))
    wanted = np.asarray(sorted(best), np.uint32)
    for number, one in enumerate(files):
        block = rows[starts[number] : starts[number + 1]]
        own = np.where(one.cut.table[:, cuts.NAME] >= 0, one.cut.table[:, cuts.NAME], 0)
        named = one.cut.mention[own] if len(one.cut.mention) else np.zeros(one.cut.count, np.uint32)
        for term, place in zip(*_look_up(one.cut, wanted), strict=True):
            found = one.cut.chunks[one.cut.starts[place] : one.cut.starts[place + 1]]
            found = found[named[found] != wanted[term]]
            column = block[:, COLUMN["uses"]]
            column[found] = np.maximum(column[found], best[int(wanted[term])])


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
