"""What of a stash would enter a plan: of tasks it has nothing for, and of later turns of its own sessions.

A plan asks by itself, mostly about things that nobody put aside (ADR 25). The foreign tasks are subjects of
commits of other projects; the own ones are beginnings of turns, each asked of what was said before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import cache_embeddings
from store.git_log import log_commits
from store.git_repository import find_repository
from workbench.config_layers import load
from workbench.entry.services.stash_replay import PastStash, read_recordings, stash_past
from workbench.places import user_cache
from workbench.plan.segments import LOOKED_AT
from workbench.records.segments import ContextSegment, FoundSegment, SegmentFilters, SegmentType, StashQuery
from workbench.replay.stash_systems import second_of
from workbench.replay.stash_tasks import stash_tasks
from workbench.sessions.importers.places import find_files, transcript
from workbench.stash.segmentmodels import EmbeddingModel
from workbench.stash.selection import LEAST_SIMILARITY, is_about

Say = Callable[[str], None]

FOREIGN: Final = 60
"""Commits of each other project, evenly from its newest."""

NEWEST: Final = 200
OWN: Final = 120
"""Turns of the sessions, drawn by their ids."""

_LONGEST: Final = 160  # characters of a turn's first sentence, which is what is asked
_TURN: Final = range(30, 1_500)  # characters of a turn that is one


@dataclass(frozen=True, slots=True)
class GateTask:
    """What a plan would ask; only what was said before `until` is there, everything if that is ""."""

    text: str
    until: str = ""


def gate(transcripts: Path, repositories: Sequence[Path], cache: Path, say: Say) -> Iterator[str]:
    """Yield the rows of a table: tasks that would get a segment, by meaning and words and by words alone."""
    recordings = list(read_recordings([transcript(file) for file in find_files([transcripts])], _quiet))
    segments, _ = stash_tasks(recordings)
    foreign = [GateTask(text) for repository in repositories for text in commit_subjects(repository)]
    own = own_turns(segments)
    yield f"{len(segments):,} segments of {len(recordings)} sessions\n"
    yield "| | tasks | by similarity alone | get a segment | segments each |"
    yield "|---|--:|--:|--:|--:|"
    resolved, _ = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    for evidence in ("dense", "lexical"):
        embedder = (
            None
            if resolved is None or evidence == "lexical"
            else cache_embeddings(resolved, cache / "embeddings")
        )
        if evidence == "dense" and embedder is None:
            continue
        model = None if embedder is None else EmbeddingModel(embedder.model, "", embedder.embed)
        say(f"{evidence}: stashing")
        with stash_past(segments, load().config, model) as past:
            end = float(max(second_of(segment.timestamp) for segment in segments))
            past.put(np.arange(len(segments)), end)
            for name, tasks in (("other projects' commits", foreign), ("later turns", own)):
                answers = [_find(past, task, end) for task in tasks]
                near = [any(hit.similarity >= LEAST_SIMILARITY for hit in answer) for answer in answers]
                entering = [sum(is_about(hit, evidence) for hit in answer) for answer in answers]
                label = f"{name}, {'by meaning and words' if evidence == 'dense' else 'by words alone'}"
                share = np.count_nonzero(entering) / len(entering)
                yield (
                    f"| {label} | {len(tasks)} | {np.mean(np.array(near, np.float64)):.1%} | {share:.1%} "
                    f"| {np.mean(entering):.2f} |"
                )


def commit_subjects(repository: Path) -> list[str]:
    """Return the subjects of commits, evenly among the newest that are no merges."""
    place = find_repository(repository)
    if place is None:
        raise SystemExit(f"{repository} is not a repository")
    subjects = [commit.subject for commit in log_commits(place, limit=NEWEST, line_counts=False)]
    return subjects[:: max(len(subjects) // FOREIGN, 1)][:FOREIGN]


def own_turns(segments: Sequence[ContextSegment]) -> list[GateTask]:
    """Return the first sentences of some turns, each to be asked of what was there a second before."""
    turns = [one for one in segments if one.type is SegmentType.MESSAGE and len(one.text) in _TURN]
    turns.sort(key=lambda one: hashlib.sha256(one.segment_id.encode()).digest())
    tasks = []
    for one in turns[:OWN]:
        before = datetime.fromisoformat(one.timestamp) - timedelta(seconds=1)
        sentence = one.text.strip().split("\n")[0].split(". ")[0][:_LONGEST]
        if any(other.timestamp <= before.isoformat() for other in segments):
            tasks.append(GateTask(sentence, before.isoformat()))
    return tasks


def _find(past: PastStash, task: GateTask, end: float) -> tuple[FoundSegment, ...]:
    query = StashQuery(task=task.text, top_k=LOOKED_AT, min_similarity=0.0)
    if task.until:
        query = replace(query, filters=SegmentFilters(end_time=task.until))
    return past.find(np.arange(len(past.segments)), query, second_of(task.until) if task.until else end)


def _quiet(done: int, total: int, stage: str) -> None:
    """Say nothing of the progress."""
