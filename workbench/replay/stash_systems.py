"""The systems a replay of the stash compares, and what is measured of each: which segments come first.

`bm25` goes by the words of the task, `vector` by its meaning, `recency` by age, `random` by nothing;
`hybrid` is what the stash itself finds, with the recent messages and the active files in its query. All of
them see the same segments: those that were there when the task came.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.errors import UsageError
from workbench.records.replay import SystemRow, TaskRow
from workbench.records.segments import ContextSegment, StashQuery
from workbench.replay.metrics import ndcg, precision, recall, reciprocal_rank
from workbench.replay.stash_tasks import StashTask
from workbench.suggest import did_you_mean
from workbench.text.postings import Postings, build_postings
from workbench.text.terms import count_terms, split_head
from workbench.text.vectors import cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

BM25: Final = "bm25"
VECTOR: Final = "vector"
RECENCY: Final = "recency"
RANDOM: Final = "random"
HYBRID: Final = "hybrid"
STASH_SYSTEMS: Final = (RANDOM, RECENCY, BM25, VECTOR, HYBRID)

SOURCE: Final = "stash"
TOP: Final = 20
K1: Final = 1.2
B: Final = 0.75

Retrieve = Callable[["Int64", StashQuery, str], Sequence[str]]
"""Rows of the segments there are, a query and the moment it is asked, to ids, best first."""

Prepare = Callable[["Int64", str], None]
"""Puts aside the rows that are not there yet at a moment; what it takes is nobody's latency."""


@dataclass(slots=True)
class StashMoments:
    """All segments of a project's conversations, and what systems share of looking at them.

    `vectors` float32 [n, d] are of whole segments, None without embeddings; `embed` gives that of a task.
    """

    segments: Sequence[ContextSegment]
    prepare: Prepare
    retrieve: Retrieve
    vectors: Float32 | None = None
    embed: Callable[[str], Float32] | None = None
    _postings: Postings = field(init=False)

    def __post_init__(self) -> None:
        self._postings = build_postings(count_terms(whole_text(segment)) for segment in self.segments)

    def rank(self, system: str, task: StashTask) -> tuple[str, ...] | None:
        """Return the ids that a system finds, best first; None if it lacks what it needs."""
        known = task.known
        match system:
            case "hybrid":
                query = StashQuery(
                    text=task.text if task.goal else "",
                    task=task.goal or task.text,
                    messages=task.messages,
                    files=task.files,
                    top_k=TOP,
                    min_similarity=0.0,
                )
                return tuple(self.retrieve(known, query, task.at))
            case "bm25":
                return self._best(known, self.bm25(task.text, known))
            case "vector":
                if self.vectors is None or self.embed is None:
                    return None
                return self._best(known, cosines(self.vectors[known], self.embed(task.text)))
            case "recency":
                return self._best(known, known.astype(np.float64))
            case _:
                seed = int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:8], "big")
                return self._best(known, np.random.default_rng(seed).random(len(known)))

    def bm25(self, query: str, known: Int64) -> NDArray[np.float64]:
        """Return BM25 as it is over the rows `known` alone, float64 [known]; others count for nothing."""
        place = np.full(len(self.segments), -1, np.int64)
        place[known] = np.arange(len(known))
        lengths = self._postings.lengths[known].astype(np.float64)
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        total = np.zeros(len(known))
        for term in count_terms(query):
            rows, counts = self._postings.posting(term)
            here = place[rows]
            inside = here >= 0
            held, times = here[inside], counts[inside].astype(np.float64)
            idf = np.log1p((len(known) - len(held) + 0.5) / (len(held) + 0.5))
            total[held] += idf * times / (times + norm[held])
        return total

    def _best(self, known: Int64, scores: NDArray[np.floating]) -> tuple[str, ...]:
        order = np.lexsort((-known, -scores))[:TOP]  # of equals the newest
        return tuple(self.segments[row].segment_id for row in known[order].tolist())


def whole_text(segment: ContextSegment) -> str:
    """Return what single methods search of a segment: where it is from, if that is a file, and its text."""
    return segment.text if "#" in segment.source else f"{segment.source}\n{segment.text}".strip()


def parse_stash_systems(names: Sequence[str]) -> tuple[str, ...]:
    """Return the systems of some names, each once. Raises: UsageError for an unknown one."""
    for name in names:
        if name not in STASH_SYSTEMS:
            raise UsageError(
                f"there is no system {name!r} for the stash",
                hint=did_you_mean(name, STASH_SYSTEMS, f"There are {', '.join(STASH_SYSTEMS)}."),
            )
    return tuple(dict.fromkeys(names))


def answer_task(moments: StashMoments, systems: Sequence[str], task: StashTask) -> TaskRow:
    """Return the row of a task: what each system found, and how good it was."""
    texts = {moments.segments[row].segment_id: moments.segments[row].text for row in task.known.tolist()}
    rows: dict[str, SystemRow] = {}
    if HYBRID in systems:
        moments.prepare(task.known, task.at)
    for name in systems:
        started = time.perf_counter()
        found = moments.rank(name, task)
        elapsed = (time.perf_counter() - started) * 1000
        if found is not None:
            rows[name] = _measure(found, task.truth, texts, elapsed)
    return TaskRow(
        id=task.id,
        session=task.session,
        source=SOURCE,
        head=split_head(task.text)[0][:200],
        revision="",
        commit="",
        at=second_of(task.at),
        query_type=str(task.kind),
        truth=tuple(sorted(task.truth)),
        systems=rows,
    )


def _measure(
    found: Sequence[str], truth: frozenset[str], texts: Mapping[str, str], milliseconds: float
) -> SystemRow:
    """Measure a ranking. Segments of one text are one: the first of them counts, whichever it is."""
    right = {texts[id] for id in truth}
    ranked = list(dict.fromkeys(texts[id] for id in found))
    hits = [text in right for text in ranked]
    first = {texts[id] for id in found[:10]}
    return SystemRow(
        ranking=tuple(found[:TOP]),
        measures={
            "precision_at_10": precision(hits, 10),
            "recall_at_1": recall(hits, len(right), 1),
            "recall_at_3": recall(hits, len(right), 3),
            "recall_at_5": recall(hits, len(right), 5),
            "recall_at_10": recall(hits, len(right), 10),
            "mrr": reciprocal_rank(hits),
            "ndcg_at_10": ndcg(hits, len(right), 10),
            "affinity_hit_rate": 0.0,
            "rerank_invocation_rate": 0.0,
            "fallback_rate": 0.0,
            "cache_hit_ratio": 0.0,
            "latency_ms": round(milliseconds, 3),
        },
        missed={id: "not among the first ten" for id in sorted(truth) if texts[id] not in first},
    )


def second_of(at: str) -> int:
    """Return the second since the epoch of an ISO 8601 time, 0 for none."""
    try:
        return max(int(datetime.fromisoformat(at).timestamp()), 0)
    except ValueError:
        return 0
