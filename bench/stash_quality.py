"""Recall of retrieval from long conversations: every system answers every question, and intervals resample
whole conversations, because questions of one are not independent of each other.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.conversations import Conversation, Question
from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import CachedEmbedder, cache_embeddings
from store.lexical import build_index
from workbench.config_layers import load
from workbench.entry.services.stash_replay import stash_past
from workbench.places import user_cache
from workbench.records.segments import ContextSegment, SegmentType, StashQuery
from workbench.replay.metrics import ndcg, recall, reciprocal_rank
from workbench.replay.stash_systems import second_of
from workbench.replay.statistics import clustered_means, clustered_p
from workbench.stash.segmentmodels import EmbeddingModel
from workbench.text.fusion import fuse
from workbench.text.vectors import cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32

Say = Callable[[str], None]
Rank = Callable[[str, int], Sequence[str]]
"""A question to the ids of at most so many segments, best first."""

DEPTH: Final = 50
"""Segments whose sessions are looked at; turns are looked for among `FIRST`, asked for by themselves."""
FIRST: Final = 10
LATER: Final = 365.0
"""Days after a conversation's end in which its questions are asked: its age then favours no part of it."""
MEASURES: Final = ("session@5", "turn@10", "all@10", "several@10", "turn@1", "recall@10", "MRR", "nDCG@10")
"""session@5: one of the right sessions is among the first five. turn@10: one of the right turns is among the
first ten; all@10: all of them are; several@10: the same of questions with several right turns.
"""


@dataclass(slots=True)
class Asked:
    """A conversation with what systems share of it; `open` closes what they open.

    Questions are asked `later` days after the end, with the last `beside` turns as messages.
    """

    conversation: Conversation
    embedder: CachedEmbedder | None
    vectors: Float32 | None
    open: ExitStack
    later: float
    beside: int = 0

    @property
    def ids(self) -> list[str]:
        return [turn.segment_id for turn in self.conversation.turns]

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.conversation.turns]

    def best(self, scores: NDArray[np.floating], count: int) -> list[str]:
        """Return the ids of the best segments, ties by place."""
        order = np.lexsort((np.arange(len(scores)), -scores))[:count]
        return [self.ids[place] for place in order.tolist()]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system found for a question, and the milliseconds it took."""

    question: Question
    conversation: str
    measures: tuple[float, ...]
    milliseconds: float


def _bm25(asked: Asked) -> Rank:
    index = build_index(asked.texts)
    return lambda query, count: asked.best(index.scores(query), count)


def _vector(asked: Asked) -> Rank:
    return lambda query, count: asked.best(_cosines(asked, query), count)


def _fused(asked: Asked) -> Rank:
    """Both, as rules are matched (`workbench.text.fusion`), nothing of conversations considered."""
    index = build_index(asked.texts)

    def rank(query: str, count: int) -> Sequence[str]:
        scores = fuse(
            _cosines(asked, query), index.scores(query), index.upper_bound(query), names=index.names(query)
        )
        return asked.best(scores, count)

    return rank


def _recency(asked: Asked) -> Rank:
    newest = asked.ids[::-1]
    return lambda query, count: newest[:count]


def _random(asked: Asked) -> Rank:
    def rank(query: str, count: int) -> Sequence[str]:
        seed = int.from_bytes(hashlib.sha256(query.encode()).digest()[:8], "big")
        order = np.random.default_rng(seed).permutation(len(asked.ids))[:count]
        return [asked.ids[place] for place in order.tolist()]

    return rank


def _hybrid(asked: Asked) -> Rank:
    """Return what the stash finds; everything is put aside when the conversation ends."""
    segments = [
        ContextSegment(
            segment_id=turn.segment_id,
            session_id=turn.session_id,
            text=turn.text,
            type=SegmentType(turn.type),
            timestamp=turn.timestamp,
        )
        for turn in asked.conversation.turns
    ]
    embedder = asked.embedder
    model = None if embedder is None else EmbeddingModel(embedder.model, "", embedder.embed)
    past = asked.open.enter_context(stash_past(segments, load().config, model))
    end = float(max(second_of(segment.timestamp) for segment in segments))
    messages = tuple(asked.texts[len(segments) - asked.beside :])
    rows, at = np.arange(len(segments)), end + 86_400.0 * asked.later
    past.put(rows, end)

    def rank(query: str, count: int) -> Sequence[str]:
        asked_for = StashQuery(text=query, messages=messages, top_k=count, min_similarity=0.0)
        found = past.find(rows, asked_for, at)
        return [one.segment.segment_id for one in found]

    return rank


def _cosines(asked: Asked, query: str) -> Float32:
    if asked.embedder is None or asked.vectors is None:
        return np.zeros(len(asked.ids), np.float32)
    return cosines(asked.vectors, asked.embedder.embed([query])[0])


SYSTEMS: Final[dict[str, Callable[[Asked], Rank]]] = {
    "random": _random,
    "recency": _recency,
    "bm25": _bm25,
    "vector": _vector,
    "fused": _fused,
    "hybrid": _hybrid,
}


def ask(
    conversations: Sequence[Conversation],
    systems: Sequence[str],
    cache: Path,
    *,
    later: float = LATER,
    beside: int = 0,
    say: Say = lambda text: None,
) -> dict[str, list[Answer]]:
    """Return the answers of every system to every question, in the same order, `later` days after the end."""
    resolved, note = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    embedder = None if resolved is None else cache_embeddings(resolved, cache / "embeddings")
    if embedder is None:
        say(f"no embedding model: {', '.join(note.degraded)}")
    answers: dict[str, list[Answer]] = {name: [] for name in systems}
    for number, conversation in enumerate(conversations, start=1):
        say(f"{conversation.name}, {number} of {len(conversations)}: {len(conversation.turns)} turns")
        texts = [turn.text for turn in conversation.turns]
        vectors = None if embedder is None else embedder.embed(texts)
        if embedder is not None:
            embedder.embed([question.query for question in conversation.questions])
        with ExitStack() as stack:
            asked = Asked(conversation, embedder, vectors, stack, later, beside)
            for name in systems:
                rank = SYSTEMS[name](asked)
                answers[name] += [_answer(conversation, one, rank) for one in conversation.questions]
    return answers


def _answer(conversation: Conversation, question: Question, rank: Rank) -> Answer:
    started = time.perf_counter()
    found = rank(question.query, FIRST)
    elapsed = (time.perf_counter() - started) * 1000
    of = {turn.segment_id: turn.session_id for turn in conversation.turns}
    sessions = [of[id] for id in rank(question.query, DEPTH)]
    return Answer(question, conversation.name, measure(found, sessions, question), elapsed)


def measure(found: Sequence[str], sessions: Sequence[str], question: Question) -> tuple[float, ...]:
    """Return the `MEASURES` of ranked segments and of ranked sessions, NaN where one does not apply."""
    right = set(question.segment_ids)
    hits = [id in right for id in found]
    first = list(dict.fromkeys(sessions))[:5]
    whole = float(sum(hits[:10]) == len(right))
    return (
        float(not set(question.session_ids).isdisjoint(first)),
        float(any(hits[:10])),
        whole,
        whole if len(right) > 1 else math.nan,
        float(any(hits[:1])),
        recall(hits[:10], len(right)),
        reciprocal_rank(hits),
        ndcg(hits, len(right)),
    )


def report(answers: dict[str, list[Answer]], systems: Sequence[str], against: str) -> str:
    """Return the tables: all questions, by kind, and every system against one of them."""
    first = answers[systems[0]]
    clusters = [answer.conversation for answer in first]
    lines = [
        f"{len(first)} questions about {len(set(clusters))} conversations; intervals (95 %) over these.\n",
        "| system | " + " | ".join(MEASURES) + " | p50 ms |",
        "|---|" + "--:|" * (len(MEASURES) + 1),
    ]
    for name in systems:
        spread = clustered_means(_table(answers[name]), clusters)
        cells = [
            f"{mean:.3f} [{low:.3f}, {high:.3f}]" if column < 4 else f"{mean:.3f}"
            for column, (mean, low, high) in enumerate(zip(spread.mean, spread.low, spread.high, strict=True))
        ]
        p50 = float(np.median([answer.milliseconds for answer in answers[name]]))
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {p50:.1f} |")
    lines += ["", *_by_kind(answers, systems)]
    if against in systems:
        lines += ["", *_compared(answers, systems, against, clusters)]
    return "\n".join(lines)


def _by_kind(answers: dict[str, list[Answer]], systems: Sequence[str]) -> list[str]:
    kinds = sorted({answer.question.kind for answer in answers[systems[0]]})
    lines = [
        "session@5 / turn@10 by kind of question:",
        "",
        "| kind | questions | " + " | ".join(systems) + " |",
        "|---|--:|" + "--:|" * len(systems),
    ]
    for kind in kinds:
        rows = [row for row, answer in enumerate(answers[systems[0]]) if answer.question.kind == kind]
        cells = []
        for name in systems:
            means = _table(answers[name])[rows].mean(axis=0)
            cells.append(f"{means[0]:.3f} / {means[1]:.3f}")
        lines.append(f"| {kind} | {len(rows)} | " + " | ".join(cells) + " |")
    return lines


def _compared(
    answers: dict[str, list[Answer]], systems: Sequence[str], against: str, clusters: Sequence[str]
) -> list[str]:
    lines = [f"Against {against}, difference [95 %] and p over whole conversations:", ""]
    base = _table(answers[against])
    for name in systems:
        if name == against:
            continue
        gaps = _table(answers[name]) - base
        spread, chance = clustered_means(gaps, clusters), clustered_p(gaps, clusters)
        parts = [
            f"{MEASURES[column]} {spread.mean[column]:+.3f}"
            f" [{spread.low[column]:+.3f}, {spread.high[column]:+.3f}] p = {chance[column]:.4f}"
            for column in range(4)
        ]
        lines.append(f"- {name}: " + "; ".join(parts))
    return lines


def _table(answers: Sequence[Answer]) -> NDArray[np.float64]:
    return np.asarray([answer.measures for answer in answers], np.float64)
