"""Which lines of a file to show for a task: the chunks of the candidates, scored by a linear model.

A chunk's score is a weighted sum of named features (`FEATURES`); a softmax over the chunks of one file turns
scores into the share of that file's change each chunk is expected to hold. The weights come from a model file
learned from public histories (`bench/packing_study.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workbench.plan.chunks import Chunk, ChunkKind, cut, is_comment, is_import
from workbench.project.scan import decode
from workbench.records.plan import Intent
from workbench.records.project import Role, Symbol
from workbench.text.sanitize import safe_lines
from workbench.text.terms import parts, word_terms

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*|_*[^\W_]+")
_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)*\b")
_VERSION_LINE = re.compile(r"""version\W{0,6}(?:=|:|\s)\s*["']?v?\d+\.\d+""", re.IGNORECASE)
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{3,60})[`\"']")
_CHANGELOG = re.compile(r"^(?:change(?:log|s)?|history|news|releases?|release[-_]notes?)\b", re.IGNORECASE)
_FEEDBACK_CHUNKS = 10

FEATURES = (
    "bm25",
    "bm25_file",
    "bm25_rank",
    "cover",
    "name",
    "name_exact",
    "parent",
    "exact",
    "literal",
    "version_text",
    "version_line",
    "frame",
    "touched",
    "touched_last",
    "touched_alike",
    "touched_lately",
    "sibling",
    "feedback",
    "comment",
    "size",
    "head",
    "header",
    "body",
    "section",
    "imports",
    "first",
    "last",
    "second",
    "position",
    "changelog_top",
    "prose_top",
    "test_last",
    "part",
    "neighbour",
)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file read and cut, before any task is considered: a pure function of (path, bytes, symbols).

    `words` counts the words of each chunk, `imports` is the share of its lines that import.
    """

    path: str
    role: Role
    lines: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    words: tuple[Mapping[str, int], ...]
    imports: tuple[float, ...]
    versions: tuple[bool, ...]
    comments: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Touch:
    """Lines of a file that a past task changed, as line ranges of the file as it is now.

    `age` counts the changes of this file since, 0 for the latest; `likeness` in [0, 1] says how alike that
    task and the present one are; `since` counts the tasks of the whole project since.
    """

    spans: tuple[tuple[int, int], ...]
    age: int
    likeness: float = 0.0
    since: int = 1000


@dataclass(frozen=True, slots=True)
class ChunkModel:
    """Weights by feature name; unknown names are refused by the loader, absent ones weigh nothing."""

    weights: Mapping[str, float]
    version: str = ""
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class _Query:
    weights: Mapping[str, float]
    words: frozenset[str]
    versions: tuple[str, ...]
    literals: tuple[str, ...]
    frames: tuple[tuple[str, int], ...]
    matches: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def match(self, word: str) -> tuple[str, ...]:
        """Return the query terms among a word's terms."""
        found = self.matches.get(word)
        if found is None:
            weights = self.weights
            found = self.matches[word] = tuple(term for term in word_terms(word) if term in weights)
        return found


def read_file(
    path: str,
    language: str,
    role: Role,
    data: bytes,
    symbols: Sequence[Symbol],
    *,
    longest: int | None = None,
) -> FileText:
    """Cut a file's bytes and count the words of its chunks."""
    lines = safe_lines(decode(data))
    chunks = cut(language, lines, symbols, longest=longest) if longest else cut(language, lines, symbols)
    words = []
    imports = []
    comments = []
    versions = []
    versioned = b"version" in data.lower()
    for chunk in chunks:
        shown = lines[chunk.start - 1 : chunk.end]
        text = "\n".join(shown)
        words.append(Counter(_WORD.findall(text)))
        comments.append(sum(map(is_comment, shown)) / len(shown))
        imports.append(sum(map(is_import, shown)) / len(shown))
        versions.append(versioned and "ersion" in text and _VERSION_LINE.search(text) is not None)
    return FileText(
        path, role, tuple(lines), chunks, tuple(words), tuple(imports), tuple(versions), tuple(comments)
    )


def chunk_features(
    intent: Intent, files: Sequence[FileText], touches: Mapping[str, Sequence[Touch]] | None = None
) -> list[list[dict[str, float]]]:
    """Return the features of every chunk of every file, aligned with `files` and their chunks.

    Term statistics (document frequency, mean length) are those of the chunks at hand.
    """
    query = _prepare(intent)
    counts = [[_count(query, words) for words in file.words] for file in files]
    idf, mean = _statistics(query, files, counts)
    whole = sum(weight * idf[term] for term, weight in query.weights.items()) or 1.0
    all_scores = [
        [
            _bm25(query, idf, mean, terms, sum(words.values()))
            for terms, words in zip(file_counts, file.words, strict=True)
        ]
        for file, file_counts in zip(files, counts, strict=True)
    ]
    feedback = _feedback(files, all_scores)
    result = []
    for number, (file, file_counts) in enumerate(zip(files, counts, strict=True)):
        scores = all_scores[number]
        rows = _rows(query, file, file_counts, scores, idf, whole)
        for row, value in zip(rows, feedback[number], strict=True):
            row["feedback"] = value
        _add_touches(file, rows, (touches or {}).get(file.path, ()))
        result.append(rows)
    return result


def expected_shares(model: ChunkModel, rows: Sequence[Mapping[str, float]]) -> list[float]:
    """Return the share of a file's change expected in each chunk; sums to 1 for a file with chunks."""
    if not rows:
        return []
    weights = model.weights
    scores = [
        sum(weights.get(name, 0.0) * value for name, value in row.items()) / model.temperature for row in rows
    ]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def _prepare(intent: Intent) -> _Query:
    return _Query(
        weights=dict(intent.terms),
        words=frozenset("".join(parts(word)) for word in _WORD.findall(intent.task)),
        versions=tuple(dict.fromkeys(_VERSION.findall(intent.task))),
        literals=tuple(dict.fromkeys(_QUOTED.findall(intent.task)))[:20],
        frames=tuple((path, line) for path, line, _function in intent.entities.frames),
    )


def _count(query: _Query, words: Mapping[str, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word, times in words.items():
        for term in query.match(word):
            counts[term] = counts.get(term, 0) + times
    return counts


def _statistics(
    query: _Query, files: Sequence[FileText], counts: Sequence[Sequence[Mapping[str, int]]]
) -> tuple[dict[str, float], float]:
    chunks = sum(len(file.chunks) for file in files)
    length = sum(sum(words.values()) for file in files for words in file.words)
    frequency: Counter[str] = Counter()
    for file_counts in counts:
        for terms in file_counts:
            frequency.update(terms.keys())
    idf = {
        term: math.log(1.0 + (chunks - frequency[term] + 0.5) / (frequency[term] + 0.5))
        for term in query.weights
    }
    return idf, max(1.0, length / max(1, chunks))


def _bm25(
    query: _Query, idf: Mapping[str, float], mean: float, terms: Mapping[str, int], length: int
) -> float:
    norm = 1.2 * (0.6 + 0.4 * length / mean)
    return sum(
        query.weights[term] * idf[term] * times * 2.2 / (times + norm) for term, times in terms.items()
    )


def _feedback(files: Sequence[FileText], scores: Sequence[Sequence[float]]) -> list[list[float]]:
    """Score chunks by the rare words they share with the best matching chunks of other files.

    A test names what it tests, a caller what it calls: what the task's words don't reach, these do.
    """
    best = sorted(
        (
            (score, -number, -index)
            for number, row in enumerate(scores)
            for index, score in enumerate(row)
            if score > 0
        ),
        reverse=True,
    )[:_FEEDBACK_CHUNKS]
    weights: dict[str, dict[int, float]] = {}
    top = best[0][0] if best else 1.0
    for score, number, index in best:
        for word in files[-number].words[-index]:
            if len(word) > 3:
                weights.setdefault(word, {})
                weights[word][-number] = max(weights[word].get(-number, 0.0), score / top)
    known = weights.keys()
    shared = [[words.keys() & known for words in file.words] for file in files]
    frequency: Counter[str] = Counter()
    for row in shared:
        for words in row:
            frequency.update(words)
    chunks = sum(map(len, shared))
    idf = {word: math.log(1.0 + chunks / (1.0 + frequency[word])) ** 2 for word in weights}
    result = []
    for number, row in enumerate(shared):
        values = []
        for words in row:
            total = 0.0
            for word in sorted(words):
                others = [weight for other, weight in weights[word].items() if other != number]
                if others:
                    total += max(others) * idf[word]
            values.append(total)
        result.append(values)
    peak = max((value for values in result for value in values), default=0.0) or 1.0
    return [[value / peak for value in values] for values in result]


def _rows(
    query: _Query,
    file: FileText,
    counts: Sequence[Mapping[str, int]],
    scores: Sequence[float],
    idf: Mapping[str, float],
    whole: float,
) -> list[dict[str, float]]:
    best = max(scores, default=0.0) or 1.0
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    rank = {index: position for position, index in enumerate(order)}
    last = len(file.chunks) - 1
    changelog = _CHANGELOG.match(file.path.rsplit("/", 1)[-1]) is not None
    prose = file.role is Role.DOCS
    lines = max(1, len(file.lines))
    family: dict[tuple[str, str], float] = {}
    for index, chunk in enumerate(file.chunks):
        if chunk.name:
            key = (chunk.name, chunk.parent)
            family[key] = max(family.get(key, 0.0), scores[index])
    rows = []
    for index, chunk in enumerate(file.chunks):
        terms = counts[index]
        name_terms = {term for word in _WORD.findall(chunk.name) for term in query.match(word)}
        parent_terms = {term for word in _WORD.findall(chunk.parent) for term in query.match(word)}
        name_key = "".join(parts(chunk.name))
        text = "\n".join(file.lines[chunk.start - 1 : chunk.end]) if query.versions or query.literals else ""
        row = {
            "bm25": scores[index] / whole,
            "bm25_file": scores[index] / best,
            "bm25_rank": 1.0 / (1.0 + rank[index]) if scores[index] > 0 else 0.0,
            "cover": sum(query.weights[term] * idf[term] for term in terms) / whole,
            "name": sum(query.weights[term] * idf[term] for term in name_terms) / whole,
            "name_exact": float(len(name_key) > 2 and name_key in query.words),
            "parent": sum(query.weights[term] * idf[term] for term in parent_terms) / whole,
            "exact": float(any(term.startswith("=") for term in terms)),
            "literal": float(sum(literal in text for literal in query.literals) > 0),
            "version_text": float(any(version in text for version in query.versions)),
            "version_line": float(file.versions[index]),
            "frame": _frame(query, file, chunk),
            "size": math.log(chunk.end - chunk.start + 1),
            "head": float(chunk.kind is ChunkKind.HEAD),
            "header": float(chunk.kind is ChunkKind.HEADER),
            "body": float(chunk.kind is ChunkKind.BODY),
            "section": float(chunk.kind is ChunkKind.SECTION),
            "imports": file.imports[index],
            "first": float(index == 0),
            "last": float(index == last),
            "second": float(index == 1),
            "position": chunk.start / lines,
            "changelog_top": 1.0 / (1.0 + index) if changelog else 0.0,
            "prose_top": 1.0 / (1.0 + index) if prose and not changelog else 0.0,
            "test_last": float(index == last and file.role is Role.TEST),
            "part": float(min(chunk.part, 4)),
            "comment": file.comments[index],
            "sibling": family.get((chunk.name, chunk.parent), 0.0) / whole,
            "neighbour": max(scores[index - 1] if index else 0.0, scores[index + 1] if index < last else 0.0)
            / whole,
        }
        rows.append(row)
    return rows


def _frame(query: _Query, file: FileText, chunk: Chunk) -> float:
    """Return 1 for the chunk a stack frame points into, a little less for each frame further down."""
    for order, (path, line) in enumerate(query.frames):
        if chunk.start <= line <= chunk.end and file.path.endswith(path.lstrip("./").rsplit("/", 2)[-1]):
            return 1.0 / (1.0 + 0.2 * order)
    return 0.0


def _add_touches(file: FileText, rows: Sequence[dict[str, float]], touches: Sequence[Touch]) -> None:
    """Add what past changes say: how lately and by how similar tasks the lines of each chunk were changed."""
    for chunk, row in zip(file.chunks, rows, strict=True):
        lately = latest = alike = recent = 0.0
        for touch in touches:
            if any(start <= chunk.end and end >= chunk.start for start, end in touch.spans):
                lately += 1.0 / (1.0 + touch.age)
                latest = max(latest, float(touch.age == 0))
                alike = max(alike, touch.likeness)
                recent = max(recent, 1.0 / (1.0 + touch.since / 10.0))
        row["touched"] = lately
        row["touched_last"] = latest
        row["touched_alike"] = alike
        row["touched_lately"] = recent
