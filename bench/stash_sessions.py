"""What a coding agent used again of its sessions, and whether the stash finds it, with BM25 beside it.

The questions are those of `workbench --replay --source stash`; here they are asked of half of the sessions at
a time, each half a stash of its own: what is chosen on the first is reported on the second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.conversations import CHOOSE, REPORT
from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import cache_embeddings
from workbench.config_layers import load
from workbench.entry.services.stash_replay import read_recordings, stash_past
from workbench.places import user_cache
from workbench.records.replay import TaskRow
from workbench.replay.stash_systems import BM25, HYBRID, StashMoments, answer_task, second_of
from workbench.replay.stash_tasks import stash_tasks
from workbench.replay.statistics import clustered_means, clustered_p
from workbench.sessions.importers.places import find_files, transcript
from workbench.stash.segmentmodels import EmbeddingModel

Say = Callable[[str], None]

HALVES: Final = (CHOOSE, REPORT)
MEASURES: Final = {"recall_at_1": "R@1", "recall_at_5": "R@5", "recall_at_10": "R@10", "mrr": "MRR"}
_SYSTEMS: Final = (BM25, HYBRID)


def half_of(files: Sequence[Path], half: str) -> list[Path]:
    """Return every other file by the digest of its name: the halves are the same wherever they lie."""
    ordered = sorted(files, key=lambda one: hashlib.sha256(one.stem.encode()).digest())
    return sorted(ordered[HALVES.index(half) :: len(HALVES)])


def session_rows(files: Sequence[Path], cache: Path, *, lexical: bool, say: Say) -> list[TaskRow]:
    """Return a row for each question of some sessions, oldest first; with `lexical` by words alone."""
    recordings = list(read_recordings([transcript(file) for file in files], lambda done, total, stage: None))
    segments, newest_first = stash_tasks(recordings)
    tasks = newest_first[::-1]
    resolved, note = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    model = None
    if resolved is not None and not lexical:
        embedder = cache_embeddings(resolved, cache / "embeddings")
        model = EmbeddingModel(embedder.model, "", embedder.embed)
    say(f"{len(segments):,} segments of {len(recordings)} sessions, {len(tasks)} questions")
    if resolved is None:
        say(f"no embedding model: {', '.join(note.degraded)}")
    with stash_past(segments, load().config, model) as past:
        moments = StashMoments(
            segments,
            lambda known, at: past.put(known, float(second_of(at))),
            lambda known, query, at: [
                one.segment.segment_id for one in past.find(known, query, float(second_of(at)))
            ],
        )
        return [answer_task(moments, _SYSTEMS, task) for task in tasks]


def sessions(place: Path, half: str, cache: Path, *, lexical: bool, say: Say) -> Iterator[str]:
    """Yield the table of a half of the sessions below a place, by kind of question, too."""
    files = half_of(list(find_files([place])), half)
    rows = session_rows(files, cache, lexical=lexical, say=say)
    if not rows:
        yield "no question: no later prompt used anything again"
        return
    kinds = {"all": rows}
    for row in rows:
        kinds.setdefault(row.query_type, []).append(row)
    yield "| questions | system | " + " | ".join(MEASURES.values()) + " |"
    yield "|---|---|" + "--:|" * len(MEASURES)
    for kind, some in kinds.items():
        yield from compare(f"{kind} ({len(some)})", some)


def compare(label: str, rows: Sequence[TaskRow]) -> Iterator[str]:
    """Yield a line for each system, and for the difference, with intervals (95 %) over whole sessions."""
    clusters = [row.session for row in rows]
    tables = {
        name: np.array([[row.systems[name].measures[measure] for measure in MEASURES] for row in rows])
        for name in _SYSTEMS
    }
    gaps = tables[HYBRID] - tables[BM25]
    for name, table in (*tables.items(), (f"{HYBRID} - {BM25}", gaps)):
        spread = clustered_means(table, clusters)
        sign = "+" if table is gaps else ""
        cells = [
            f"{mean:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"
            for mean, low, high in zip(spread.mean, spread.low, spread.high, strict=True)
        ]
        yield f"| {label} | {name} | " + " | ".join(cells) + " |"
    yield f"| {label} | p | " + " | ".join(f"{one:.4f}" for one in clustered_p(gaps, clusters)) + " |"
