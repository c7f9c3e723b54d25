"""What the stash costs by its size: putting aside, embedding, indexing, opening, answering.

Segments are of one chunk, in sessions of 200, their words drawn from a vocabulary as those of texts are;
vectors lie around topics and stand in for the model's, whose own time is measured apart. What waits for a
disk is measured by the clock, what computes (start, retrieve) by processor time.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.search import vectors_of
from store.embedding import EmbeddingSettings, resolve_embedder
from workbench.config_layers import load
from workbench.entry.services.stash import stash_service
from workbench.entry.services.stash_replay import PastStash, stash_past
from workbench.places import user_cache
from workbench.records.segments import ContextSegment, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.segmentindex import SegmentIndex
from workbench.stash.segmentmodels import EmbeddingModel

if TYPE_CHECKING:
    from workbench.ports import Float32

SIZES: Final = (1_000, 10_000, 100_000)
WORDS: Final = 20_000
TERMS: Final = 30
"""Words of a segment, few enough for one chunk."""

SESSION: Final = 200
BATCH: Final = 500
SINGLE: Final = 40
QUERIES: Final = 200
NEAREST: Final = 10
EMBEDDED: Final = 256
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
HEADER: Final = (
    "| segments | add one p50 / p95 | add batches | index | start | retrieve p50 / p95 | memory |\n"
    "|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(slots=True)
class Drawn:
    """Segments and their vectors, the same for the same numbers; queries are near segments."""

    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(17))
    vectors: dict[str, Float32] = field(default_factory=dict)
    count: int = 0

    def segments(self, count: int) -> list[ContextSegment]:
        ranks = np.minimum(self.random.zipf(1.3, (count, TERMS)), WORDS)
        made = vectors_of(count, self.random)
        found = []
        for number in range(count):
            text = " ".join(f"w{rank}x" for rank in ranks[number].tolist())
            self.vectors[text] = made[number]
            at = START + timedelta(minutes=self.count)
            found.append(
                ContextSegment(
                    segment_id=f"seg-{self.count:09}",
                    session_id=f"session-{self.count // SESSION}",
                    text=text,
                    timestamp=at.isoformat(),
                )
            )
            self.count += 1
        return found

    def embed(self, texts: Sequence[str], *, progress: object = None) -> Float32:
        """Return the vectors of segments; of a query that of the segment it begins with."""
        del progress
        return np.stack([self.vectors[text] for text in texts])

    def model(self) -> EmbeddingModel:
        return EmbeddingModel("drawn", "drawn", self.embed)


def speed(sizes: Sequence[int], say: Callable[[str], None]) -> Iterator[str]:
    """Yield the rows of a table: what a stash of each size costs."""
    yield HEADER
    for size in sizes:
        drawn = Drawn()
        with opened(drawn) as past:
            say(f"{size:,}: adding")
            batches = _seconds(partial(_add, past, drawn, size))
            index = past.project.segment_index
            index.refresh()
            say(f"{size:,}: indexing")
            indexing = _seconds(partial(index.publish, drawn.model()))
            add = stash_service(past.project, "bench").add
            single = [_seconds(partial(add, segment)) for segment in drawn.segments(SINGLE)]
            start, times = _answer(past, drawn)
        yield (
            f"| {size:,} | {_spread(single)} | {size / batches:,.0f}/s | {indexing:.1f} s "
            f"| {start * 1000:,.0f} ms | {_spread(times)} | {peak():,.0f} MB |"
        )


def embedding(say: Callable[[str], None]) -> str:
    """Return how many texts the packaged model embeds a second, in batches and one by one."""
    model, note = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if model is None:
        return f"no embedding model: {', '.join(note.degraded)}"
    texts = [segment.text for segment in Drawn().segments(EMBEDDED)]
    model.embed(texts[:8])
    say("embedding")
    batch = _seconds(partial(model.embed, texts))
    single = [_seconds(partial(model.embed, [text])) for text in texts[:SINGLE]]
    return f"Embedding with {model.model}: {EMBEDDED / batch:,.0f} texts/s in a batch; one {_spread(single)}."


@contextmanager
def opened(drawn: Drawn) -> Iterator[PastStash]:
    """Open a scratch stash without any segment; its clock shows the end of what is drawn."""
    with stash_past((), load().config, drawn.model()) as past:
        past.clock.moment = START.timestamp()
        yield past


def _add(past: PastStash, drawn: Drawn, size: int) -> None:
    service = stash_service(past.project, "bench")
    for start in range(0, size, BATCH):
        service.add_many(drawn.segments(min(BATCH, size - start)))


def _answer(past: PastStash, drawn: Drawn) -> tuple[float, list[float]]:
    """Return the seconds to open an index again with its first answer, and those of later answers."""
    places = past.project.segment_index.places
    texts = list(drawn.vectors)
    asked = [texts[int(at)] for at in drawn.random.integers(0, len(texts), QUERIES)]
    queries = [" ".join(text.split()[:12]) for text in asked]
    drawn.vectors |= {query: drawn.vectors[text] for query, text in zip(queries, asked, strict=True)}
    now = (START + timedelta(minutes=drawn.count)).timestamp()

    def one(index: SegmentIndex, query: str) -> None:
        wanted = StashQuery(text=query, top_k=NEAREST, min_similarity=0.0)
        retrieve(index, wanted, embed=drawn.embed, now=now)

    def first() -> SegmentIndex:
        index = SegmentIndex(places)
        index.refresh()
        index.embed_tail(drawn.model())
        one(index, queries[0])
        return index

    started = time.process_time()
    index = first()
    start = time.process_time() - started
    return start, [_seconds(partial(one, index, query), time.process_time) for query in queries]


def _seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    call()
    return clock() - started


def _spread(seconds: Sequence[float]) -> str:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return f"{p50:.1f} / {p95:.1f} ms"


def peak() -> float:
    """Return the most memory the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
