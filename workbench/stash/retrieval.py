"""Brings back the segments that matter for a query [rag §7].

Filters come first: what they leave out is never searched. Each part of a query is searched by meaning and by
words; the best, with those around them in their sessions, are weighed as `scoring` says. Relevance decides
what comes back, the specification's formula in which order. Without vectors words alone decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.comparison.similarity import jaccard, normal_text
from workbench.records.dataclass import dataclass
from workbench.records.segments import FoundSegment, SegmentFilters, SegmentType, StashQuery
from workbench.stash.chunking import with_neighbours
from workbench.stash.columns import TYPES, seconds, text_key
from workbench.stash.expansion import (
    ANSWER_FORM,
    QueryPart,
    answer_form,
    named_times,
    query_parts,
    weigh_parts,
)
from workbench.stash.filenames import file_shares, named_files
from workbench.stash.lexicon import LexicalScores
from workbench.stash.scoring import (
    DAY,
    MOST,
    NAMED_FILE,
    NAMED_TIME,
    WORDS,
    OrderWeights,
    SegmentEvidence,
    calibrate,
    feedback_scores,
    temporal_score,
)
from workbench.stash.segmentindex import SegmentIndex
from workbench.text.counts import plural
from workbench.text.distinct import ascending
from workbench.text.fusion import score_excess
from workbench.text.terms import count_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64, PointFilter

BREADTH: Final = 300
"""Segments that are weighed with those around them, at least; twice as many as may come back."""

NEAR_COPY: Final = 0.9
_COMPARED: Final = 4_000  # characters of a text that are compared with those of another one
_LONG: Final = 40  # different terms from which on texts can be near copies
_PLACES: Final = 2
_DIGITS: Final = 4

EmbedQuery = Callable[[Sequence[str]], "Float32"]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """A part of a query with its vector, None without a model, and its words; `only` is for a server."""

    part: QueryPart
    vector: Float32 | None
    words: LexicalScores
    only: PointFilter | None


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """What speaks for all segments by themselves, float32 [n]; no `meaning` where that takes a graph."""

    search: _Search
    meaning: Float32 | None
    words: Float32


@dataclass(frozen=True, slots=True, eq=False)
class _Weighed:
    """Rows (ascending) with their relevance and what it is made of, each float32 [k]."""

    rows: Int64
    similarity: Float32
    parts: dict[str, Float32]


def retrieve(
    index: SegmentIndex,
    query: StashQuery,
    *,
    embed: EmbedQuery | None,
    now: float,
    weights: OrderWeights | None = None,
    per_session: int = 0,
) -> tuple[FoundSegment, ...]:
    """Return the segments that a query finds, best first, `top_k` at most.

    `embed` gives unit vectors float32 [n, d] by the model of the index; without it words alone decide. `now`
    is in seconds since the epoch. At most `per_session` come from one session, any number if that is 0.

    Raises: ModelError.
    """
    weights = weights or OrderWeights()
    asked = query_parts(query)
    if not asked or query.top_k < 1 or not len(index):
        return ()
    allowed = _searchable(index, query.filters, int(now))
    if not allowed.any():
        return ()
    vectors = _query_vectors(index, asked, embed) if embed is not None and index.model else None
    only = None if index.server is None else index.server.filter(query.filters, int(now))
    words = [index.lexicon.scores(part.text) for part in asked]
    searches = [
        _Search(part, None if vectors is None else vectors[at], words[at], only)
        for at, part in enumerate(weigh_parts(asked, words[0].bound))
    ]
    files = np.float32(NAMED_FILE) * file_shares(index.lexicon, named_files(query))
    breadth = max(BREADTH, 2 * query.top_k)
    weighed = _weigh(index, searches, files, allowed, breadth, now, weights)
    kept = np.flatnonzero(allowed[weighed.rows] & (weighed.similarity >= max(query.min_similarity, 1e-9)))
    order = kept[np.lexsort((weighed.rows[kept], -weighed.similarity[kept]))]
    chosen = _distinct(index, weighed.rows, order.tolist(), query.top_k, per_session)
    found = [(_found_segment(index, weighed, at, now, weights), int(weighed.rows[at])) for at in chosen]
    found.sort(key=lambda one: (-one[0].score, -one[0].similarity, one[0].segment.segment_id))
    best = found[: query.top_k]
    return tuple(_explain(index, searches, row, one, rank) for rank, (one, row) in enumerate(best, 1))


def _query_vectors(index: SegmentIndex, asked: Sequence[QueryPart], embed: EmbedQuery) -> Float32:
    """Return the vectors of the parts, float32 [n, d]; of a question drawn to the form of its answer."""
    form = answer_form(asked[0].text, index.is_speaker)
    vectors = embed([*(part.text for part in asked), *filter(None, [form])])
    if form:
        mean = (1 - np.float32(ANSWER_FORM)) * vectors[0] + np.float32(ANSWER_FORM) * vectors[-1]
        vectors[0] = mean * (np.linalg.norm(vectors[0]) / max(float(np.linalg.norm(mean)), 1e-9))
    return vectors[: len(asked)]


def _searchable(index: SegmentIndex, filters: SegmentFilters, now: int) -> NDArray[np.bool_]:
    """Return bool [n]: what is there, has not expired and passes the filters."""
    columns = index.columns
    allowed = columns.alive & (columns.expires > now)
    if filters.types:
        allowed &= np.isin(columns.types, [TYPES.index(kind) for kind in filters.types])
    for values, keys in ((filters.topics, columns.topics), (filters.sessions, columns.sessions)):
        if values:
            allowed &= np.isin(keys, np.array([text_key(value) for value in values], np.uint64))
    if filters.start_time:
        allowed &= columns.times >= seconds(filters.start_time)
    if filters.end_time:
        allowed &= columns.times <= seconds(filters.end_time)
    if filters.sources:
        match = re.compile("|".join(map(translate, filters.sources))).fullmatch
        rows = np.flatnonzero(allowed)
        allowed[rows] = [match(index.record(row).source) is not None for row in rows.tolist()]
    return allowed


def _weigh(
    index: SegmentIndex,
    searches: Sequence[_Search],
    files: Float32,
    allowed: NDArray[np.bool_],
    breadth: int,
    now: float,
    weights: OrderWeights,
) -> _Weighed:
    """Weigh the best segments for each part of a query, and those around them.

    `files` float32 [n] is what each has for being of a file that the query names.
    """
    known = [_Own(search, _meanings(index, search), search.words.shares()) for search in searches]
    best = [_best(index, own, files, allowed, breadth) for own in known]
    there = index.columns.alive & (index.columns.expires > int(now))
    rows = _with_turns(index, ascending(np.concatenate(best)), there)
    turns = _turns(index, rows)
    turns = np.where((turns >= 0) & there[turns], turns, -1)
    at = np.searchsorted(rows, turns)
    inside = (turns >= 0) & (rows[np.minimum(at, len(rows) - 1)] == turns)
    around = np.where(inside, at, -1)
    columns = index.columns
    total = sum(search.part.weight for search in searches)
    relevance = np.zeros(len(rows), np.float32)
    dense, lexical = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.float32)
    for own in known:
        search, shares = own.search, own.words[rows]
        meaning = _meaning_of(index, search, rows) if own.meaning is None else own.meaning[rows]
        evidence = SegmentEvidence(
            meaning,
            shares,
            around,
            columns.asks[rows],
            columns.sessions[rows],
            search.words.coverage(turns),
            search.words.group_coverage(rows, columns.sessions[rows]),
            _message_lengths(index, rows),
        )
        share = np.float32(search.part.weight / total)
        relevance += share * evidence.relevance()
        dense += share * meaning / MOST
        lexical += share * WORDS * shares / MOST
    dated = _date_matches(searches, columns.times[rows], now) * np.float32(NAMED_TIME / MOST)
    context = relevance - dense - lexical
    filed = files[rows] / np.float32(MOST)
    relevance = np.minimum(relevance + dated + filed, 1)
    similarity = calibrate(relevance)
    scale = similarity / np.maximum(relevance, np.float32(1e-9))
    used = np.float32(weights.feedback) * feedback_scores(columns.shown[rows], columns.merged[rows])
    used = np.where(similarity > 0, used, 0).astype(np.float32)
    made = {"dense": dense, "lexical": lexical, "context": context, "date": dated, "file": filed}
    parts: dict[str, Float32] = {name: (part * scale).astype(np.float32) for name, part in made.items()}
    parts["feedback"] = used
    return _Weighed(rows, np.clip(similarity + used, 0, 1), parts)


def _message_lengths(index: SegmentIndex, rows: Int64) -> Float32:
    """Return the terms of messages, float32 [k]; 0 for files and outputs, which are long by nature."""
    is_message = index.columns.types[rows] == TYPES.index(SegmentType.MESSAGE)
    found: Float32 = np.where(is_message, index.lexicon.lengths[rows], np.float32(0))
    return found


def _meanings(index: SegmentIndex, search: _Search) -> Float32 | None:
    """Return how near each segment is in meaning, float32 [n] in [0, 1]; None where that takes a graph."""
    if search.vector is None:
        return np.zeros(len(index), np.float32)
    return None if index.approximate else score_excess(index.cosines(search.vector), index.background())


def _meaning_of(index: SegmentIndex, search: _Search, rows: Int64) -> Float32:
    assert search.vector is not None
    return score_excess(index.cosines_of(search.vector, rows), index.background(rows))


def _best(index: SegmentIndex, own: _Own, files: Float32, allowed: NDArray[np.bool_], breadth: int) -> Int64:
    """Return the rows of the best segments by meaning, words and files, of those allowed."""
    worth = np.float32(WORDS) * own.words + files
    if own.meaning is not None:
        rows = np.flatnonzero(allowed)
        return _first(rows, (own.meaning + worth)[rows], breadth)
    assert own.search.vector is not None
    near = index.nearest(own.search.vector, breadth, allowed, own.search.only)
    worded = np.flatnonzero((worth > 0) & allowed)
    return np.union1d(near, _first(worded, worth[worded], breadth))


def _first(rows: Int64, scores: Float32, count: int) -> Int64:
    if len(rows) <= count:
        return rows
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = rows[scores > least]
    return np.sort(np.concatenate([above, rows[scores == least][: count - len(above)]]))


def _turns(index: SegmentIndex, rows: Int64) -> Int64:
    """Return int64 [k, 5]: the two rows before each in its session, itself, the two after; -1 for none."""
    previous, following = np.append(index.previous, -1), np.append(index.following, -1)
    before, after = previous[rows], following[rows]
    return np.stack([previous[before], before, rows, after, following[after]], axis=1)


def _with_turns(index: SegmentIndex, rows: Int64, there: NDArray[np.bool_]) -> Int64:
    """Return rows and those around them that are `there` bool [n]: what has expired leads to nothing."""
    found = ascending(_turns(index, rows))
    found = found[found >= 0]
    return found[there[found]]


def _date_matches(searches: Sequence[_Search], times: Int64, now: float) -> Float32:
    """Return 1 for the segments that are of a time the query names, 0 for the others."""
    found = np.zeros(len(times), np.float32)
    for search in searches[:1]:
        for span in named_times(search.part.text, now):
            found[(times >= span.start) & (times < span.end)] = 1
    return found


def _distinct(
    index: SegmentIndex, rows: Int64, order: Sequence[int], count: int, per_session: int
) -> list[int]:
    """Return the first places whose texts are neither equal nor near copies of one before."""
    chosen: list[int] = []
    texts: set[str] = set()
    long: list[frozenset[str]] = []
    sessions: dict[int, int] = {}
    for at in order:
        if len(chosen) == count:
            break
        row = int(rows[at])
        session = int(index.columns.sessions[row])
        if per_session and session and sessions.get(session, 0) >= per_session:
            continue
        text = index.text(row)
        same = normal_text(text) if len(text) < 10_000 else text
        terms = frozenset(count_terms(text[:_COMPARED]))
        if same in texts or (
            len(terms) >= _LONG and any(jaccard(terms, other) >= NEAR_COPY for other in long)
        ):
            continue
        texts.add(same)
        if len(terms) >= _LONG:
            long.append(terms)
        sessions[session] = sessions.get(session, 0) + 1
        chosen.append(at)
    return chosen


def _found_segment(
    index: SegmentIndex, weighed: _Weighed, at: int, now: float, weights: OrderWeights
) -> FoundSegment:
    """Return a segment with its scores; what explains them is left to those that come back."""
    row = int(weighed.rows[at])
    age = max(now - float(index.columns.times[row]), 0.0)
    similarity = float(weighed.similarity[at])
    temporal = temporal_score(age, weights.temporal_days)
    recency = temporal_score(now - float(index.columns.stashed[row]), weights.recency_days)
    parts = {name: round(float(values[at]), _DIGITS) for name, values in weighed.parts.items()}
    return FoundSegment(
        segment=index.segment(row),
        score=round(weights.score(similarity, temporal, recency), _DIGITS + 2),
        similarity=round(similarity, _DIGITS + 2),
        temporal=round(temporal, _DIGITS),
        recency=round(recency, _DIGITS),
        rank=0,
        parts=parts,
        age_days=round(age / DAY, _PLACES),
    )


def _explain(
    index: SegmentIndex, searches: Sequence[_Search], row: int, one: FoundSegment, rank: int
) -> FoundSegment:
    passage = _passage(index, searches, row, one.segment.text)
    return replace(one, rank=rank, passage=passage, why=_reason(searches, passage, one.parts, one.age_days))


def _passage(index: SegmentIndex, searches: Sequence[_Search], row: int, text: str) -> str:
    """Return the chunk that a query hits best, with the chunks before and after it."""
    chunks = index.chunks(row)
    if not chunks or (chunks[0].start, chunks[0].end) == (0, len(text)):
        return text
    first = searches[0]
    if first.vector is not None:
        hits: Float32 = np.nan_to_num(index.chunk_cosines(first.vector, row))
    else:
        wanted = set(count_terms(first.part.text))
        counts = [len(wanted & set(count_terms(text[chunk.start : chunk.end]))) for chunk in chunks]
        hits = np.array(counts, np.float32)
    return with_neighbours(text, chunks, int(hits.argmax()))


def _reason(searches: Sequence[_Search], text: str, parts: Mapping[str, float], days: float) -> str:
    """Say in a sentence what brought a segment back."""
    held = count_terms(text)
    wanted = dict.fromkeys(word for word in re.findall(r"\w+", searches[0].part.text) if _shares(word, held))
    words = ", ".join(list(wanted)[:4])
    said = {
        "lexical": f"it has {words}" if words else "it has words of the query",
        "dense": "it means nearly the same",
        "context": "what is around it in its session is about this",
        "date": "it is of the time that is named",
        "file": "it is of a file that is named or open",
    }
    named = sorted((name for name in said if parts.get(name, 0) > 0), key=lambda name: -parts[name])[:2]
    reason = " and ".join(said[name] for name in named) or "nothing else is nearer"
    age = "today" if days < 1 else f"{plural(int(days), 'day')} old"
    return f"{reason[0].upper()}{reason[1:]}; {age}."


def _shares(word: str, held: dict[str, int]) -> bool:
    return any(term in held for term in count_terms(word))
