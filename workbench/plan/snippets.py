"""Which lines of a file to show for a task: the chunks of the candidates, scored by a linear model.

A chunk's score is a weighted sum of named features (`FEATURES`); a softmax over the chunks of one file turns
scores into the share of that file's change each chunk is expected to hold. The weights come from a model file
learned from public histories (`bench/chunk_training.py`).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workbench.plan.chunks import Chunk, ChunkKind, cut
from workbench.project.scan import decode
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent
from workbench.records.project import Role, Symbol
from workbench.text.sanitize import safe_lines
from workbench.text.terms import parts, word_terms

FEATURES: Mapping[str, str] = {
    "bm25_file": "BM25 of the task's terms, over the best chunk of the file",
    "bm25_rank": "1 / place by BM25 in the file",
    "cover": "share of the task's terms in the chunk, weighted by rarity",
    "neighbour": "BM25 of the better of the two chunks beside it, over what the task could reach",
    "name": "share of the task's terms in the definition's name",
    "name_exact": "the task names the definition",
    "parent": "share of the task's terms in the enclosing definition's name",
    "literal": "holds a text the task quotes",
    "version_text": "holds a version number the task names",
    "frame": "a stack frame of the task points here",
    "size": "log of its lines",
    "header": "a class up to its first member",
    "last": "the end of the file",
    "position": "where in the file it begins, 0 to 1",
    "changelog_top": "how near the top of a changelog",
    "prose_top": "how near the top of other documentation",
    "test_last": "the end of a test file",
    "touched": "how lately the file's past changes touched it, summed",
    "touched_alike": "likeness of the most similar past task that changed it",
    "touched_lately": "how lately in the project's history it was changed",
}

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*|_*[^\W_]+")
_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)*\b")
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{3,60})[`\"']")
_CHANGELOG = re.compile(r"^(?:change(?:log|s)?|history|news|releases?|release[-_]notes?)\b", re.IGNORECASE)
_MAX_LITERALS = 20
_MAX_LITERAL_HITS = 50
_K1, _B = 1.2, 0.4


@dataclass(frozen=True, slots=True)
class FileText:
    """A file read and cut, before any task is considered: a pure function of (path, bytes, symbols).

    terms: {term: ((chunk position, times), …)}; lengths: words of each chunk; traits: the features of each
    chunk that no task changes; names: {term: the names of definitions that have it}; masked: (line, kind) of
    each credential that the lines are without.
    """

    path: str
    lines: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    terms: Mapping[str, Sequence[tuple[int, int]]]
    lengths: tuple[int, ...]
    traits: tuple[Mapping[str, float], ...]
    names: Mapping[str, Sequence[str]]
    masked: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkModel:
    """Weights by feature name; what is absent weighs nothing. trained_on names the histories behind them."""

    weights: Mapping[str, float]
    model_id: str = ""
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Query:
    weights: Mapping[str, float]
    words: frozenset[str]
    literals: Mapping[str, str]  # text: feature
    frames: Sequence[tuple[str, int]]


def read_file(path: str, language: str, role: Role, data: bytes, symbols: Sequence[Symbol]) -> FileText:
    """Cut a file's bytes, count the terms of its chunks, note what no task changes.

    Costs a few milliseconds for a few hundred lines, so keep the result while the content stays the same.
    """
    lines = safe_lines(decode(data))
    chunks = cut(language, lines, symbols)
    terms: dict[str, list[tuple[int, int]]] = {}
    lengths = []
    for index, chunk in enumerate(chunks):
        text = "\n".join(lines[chunk.start - 1 : chunk.end])
        found = _WORD.findall(text)
        lengths.append(len(found))
        for term, times in _count_terms(found).items():
            terms.setdefault(term, []).append((index, times))
    traits = tuple(_traits(path, role, chunks, len(lines)))
    return FileText(path, tuple(lines), chunks, terms, tuple(lengths), traits, _names(chunks))


def _names(chunks: Sequence[Chunk]) -> dict[str, list[str]]:
    """Return the names of definitions, and of those around them, by their terms."""
    names: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for chunk in chunks for name in (chunk.name, chunk.parent)):
        for term in dict.fromkeys(term for word in _WORD.findall(name) for term in word_terms(word)):
            names.setdefault(term, []).append(name)
    return names


def _count_terms(words: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word, times in Counter(words).items():
        for term in word_terms(word):
            counts[term] = counts.get(term, 0) + times
    return counts


def chunk_features(intent: Intent, files: Sequence[FileText]) -> list[list[dict[str, float]]]:
    """Return the features of every chunk, aligned with `files` and their chunks; zeros left out.

    Term statistics (document frequency, mean length) are those of the chunks at hand.
    """
    query = _prepare(intent)
    counts = [_count(query, file) for file in files]
    frequency = Counter(term for places in counts for terms in places.values() for term in terms)
    chunks = sum(len(file.chunks) for file in files)
    idf = {
        term: weight * math.log(1.0 + (chunks - frequency[term] + 0.5) / (frequency[term] + 0.5))
        for term, weight in query.weights.items()
    }
    mean = max(1.0, sum(sum(file.lengths) for file in files) / max(1, chunks))
    return [_rows(query, file, places, idf, mean) for file, places in zip(files, counts, strict=True)]


def expected_shares(model: ChunkModel, rows: Sequence[Mapping[str, float]]) -> list[float]:
    """Return the share of a file's change expected in each of its chunks: the softmax of their scores."""
    if not rows:
        return []
    weight = model.weights.get
    scores = []
    for row in rows:  # thousands of chunks for a plan
        score = 0.0
        for name, value in row.items():
            score += weight(name, 0.0) * value
        scores.append(score)
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def _traits(path: str, role: Role, chunks: Sequence[Chunk], lines: int) -> Iterator[dict[str, float]]:
    changelog = _CHANGELOG.match(path.rsplit("/", 1)[-1]) is not None
    prose = role is Role.DOCS and not changelog
    for index, chunk in enumerate(chunks):
        last = index == len(chunks) - 1
        values = {
            "size": math.log(chunk.end - chunk.start + 1),
            "header": float(chunk.kind is ChunkKind.HEADER),
            "last": float(last),
            "position": chunk.start / lines,
            "changelog_top": 1.0 / (1.0 + index) if changelog else 0.0,
            "prose_top": 1.0 / (1.0 + index) if prose else 0.0,
            "test_last": float(last and role is Role.TEST),
        }
        yield {name: value for name, value in values.items() if value}


def _prepare(intent: Intent) -> _Query:
    literals = dict.fromkeys(_QUOTED.findall(intent.task.raw)[:_MAX_LITERALS], "literal")
    literals |= dict.fromkeys(_VERSION.findall(intent.task.raw)[:_MAX_LITERALS], "version_text")
    return _Query(
        weights=dict(intent.terms),
        words=frozenset("".join(parts(word)) for word in _WORD.findall(intent.task.raw)),
        literals=literals,
        frames=[(path, line) for path, line, _function in intent.entities.frames],
    )


def _count(query: _Query, file: FileText) -> dict[int, dict[str, int]]:
    """Return {chunk position: {query term: times}} for the chunks that have any."""
    counts: dict[int, dict[str, int]] = {}
    for term in query.weights:
        for index, times in file.terms.get(term, ()):
            counts.setdefault(index, {})[term] = times
    return counts


def _rows(
    query: _Query,
    file: FileText,
    counts: Mapping[int, Mapping[str, int]],
    idf: Mapping[str, float],
    mean: float,
) -> list[dict[str, float]]:
    whole = sum(idf.values()) or 1.0
    rows = [dict(traits) for traits in file.traits]
    scores = {index: _bm25(idf, mean, terms, file.lengths[index]) for index, terms in counts.items()}
    ranking = sorted(scores, key=lambda index: (-scores[index], index))
    for place, index in enumerate(ranking):
        row = rows[index]
        row["bm25_file"] = scores[index] / scores[ranking[0]]
        row["bm25_rank"] = 1.0 / (1.0 + place)
        row["cover"] = sum(idf[term] for term in counts[index]) / whole
        for beside in (index - 1, index + 1):
            if 0 <= beside < len(rows):
                rows[beside]["neighbour"] = max(rows[beside].get("neighbour", 0.0), scores[index] / whole)
    _add_names(query, file, rows, idf, whole)
    _add_mentions(query, file, rows)
    return rows


def _bm25(idf: Mapping[str, float], mean: float, terms: Mapping[str, int], length: int) -> float:
    norm = _K1 * (1.0 - _B + _B * length / mean)
    return sum(idf[term] * times * (_K1 + 1.0) / (times + norm) for term, times in terms.items())


def _add_names(
    query: _Query, file: FileText, rows: Sequence[dict[str, float]], idf: Mapping[str, float], whole: float
) -> None:
    """Add what the names of the definition and of the one around it share with the task."""
    found: dict[str, list[str]] = {}
    for term in query.weights:
        for name in file.names.get(term, ()):
            found.setdefault(name, []).append(term)
    if not found:
        return
    known = {name: sum(idf[term] for term in sorted(terms)) / whole for name, terms in found.items()}
    for chunk, row in zip(file.chunks, rows, strict=True):
        if share := known.get(chunk.name):
            row["name"] = share
        if share := known.get(chunk.parent):
            row["parent"] = share
        if known.get(chunk.name):
            key = "".join(parts(chunk.name))
            if len(key) > 2 and key in query.words:
                row["name_exact"] = 1.0


def _add_mentions(query: _Query, file: FileText, rows: Sequence[dict[str, float]]) -> None:
    """Add quoted texts, version numbers and stack frames that point into a chunk."""
    starts = [chunk.start for chunk in file.chunks]
    text = "\n".join(file.lines) if query.literals else ""
    for literal, feature in query.literals.items():
        found = text.find(literal)
        hits = 0
        while found >= 0 and hits < _MAX_LITERAL_HITS:
            rows[bisect_right(starts, text.count("\n", 0, found) + 1) - 1][feature] = 1.0
            found = text.find(literal, found + len(literal))
            hits += 1
    for order, (path, line) in enumerate(query.frames):
        if rows and 1 <= line <= len(file.lines) and _same_file(file.path, path):
            row = rows[bisect_right(starts, line) - 1]
            row["frame"] = max(row.get("frame", 0.0), 1.0 / (1.0 + 0.2 * order))


def _same_file(path: str, written: str) -> bool:
    """Whether a path as a stack trace writes it (absolute, relative, a bare name) may mean this file."""
    ours, theirs = (
        path.split("/"),
        [part for part in written.replace("\\", "/").split("/") if part not in ("", ".")],
    )
    size = min(len(ours), len(theirs))
    return size > 0 and ours[-size:] == theirs[-size:]
