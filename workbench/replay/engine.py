"""Replays one task: every system ranks the files of the moment it was begun in, and is measured by truth.

What truth is, is looked at only after all systems have ranked and packed: nothing they are given holds it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import GitError, ParseError
from workbench.plan.compose import Pack
from workbench.plan.intent import parse_intent
from workbench.plan.planner import Planner
from workbench.plan.semantics import cosines, head_texts, task_text
from workbench.project.declared import Manifest
from workbench.project.manifests import is_manifest, parse_manifest
from workbench.records.plan import Intent, RankedFile
from workbench.records.project import Skipped, Symbol
from workbench.records.replay import SystemRow, TaskRow
from workbench.replay.metrics import ndcg, precision, recall, reciprocal_rank
from workbench.replay.packing import (
    BlobContents,
    Truth,
    changed_lines,
    make_pack,
    pack_measures,
    packed_files,
)
from workbench.replay.rankers import Models, Ranking, Situation, System, rank
from workbench.replay.rules_then import RulePassages
from workbench.replay.tasks import Task, relevant
from workbench.replay.timeline import FactsCache, Moment, PastReader

Float32 = NDArray[np.float32]

NOTHING = "nothing that was modified was indexed when it began"
TOP = 20  # files of a ranking that are kept
_LOOKED_AT = 10
_FEATURES = 8  # contributions that are kept of a file
_TEXT = 20_000
_EVIDENCE = ("affinity", "affinity_head")


class Past(Protocol):
    """What was known at a revision and a second; see `Timeline` and `SeenPaths`."""

    def at(self, revision: str, moment: int) -> Moment:
        """Return the moment. Raises: GitError."""
        ...


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of texts: `rows` leads from a text to a row of float32 [n, d]."""

    rows: Mapping[str, int]
    matrix: Float32

    def compared(self, heads: Sequence[str], task: TaskText) -> Float32 | None:
        """Return float32 [heads], cosines of a task to past ones; None if one of them has no vector."""
        wanted = [self.rows.get(text, -1) for text in head_texts(heads)]
        query = self.rows.get(task_text(task), -1)
        if not wanted or query < 0 or min(wanted) < 0:
            return None
        return cosines(self.matrix[wanted], self.matrix[query])


@dataclass(slots=True)
class Engine:
    """Everything that replaying tasks of one project takes. Not thread-safe.

    `rules` gives the passages of the rules that were in force; `budget` is in tokens.
    """

    past: Past
    reader: PastReader
    systems: Sequence[System]
    models: Models
    planner: Planner
    budget: int
    project: str
    vectors: Vectors | None = None
    rules: RulePassages | None = None
    cache: FactsCache = field(default_factory=FactsCache)
    _contents: BlobContents | None = None
    _manifests: dict[tuple[str, str], Manifest | None] = field(default_factory=dict)

    def replay(self, task: Task) -> TaskRow:
        """Replay a task. A fault of the repository becomes the row's `fault`."""
        try:
            moment = self.past.at(task.revision, task.at)
        except GitError as error:
            return failed_row(task, error.message)
        intent = parse_intent(task.text[:_TEXT], project_id=self.project)
        truth, missing = relevant(task, moment.blobs)
        if not truth:
            return _row(task, intent, (), missing, {}, NOTHING)
        situation = self._situation(task, moment, intent)
        answers = {
            system.name: answer
            for system in self.systems
            if (answer := self._answer(system, situation, task)) is not None
        }
        changed = self._truth(task, moment, truth)
        backed = _backed(situation, self.models)
        systems = {
            name: _measured(ranking, pack, changed, moment, backed, milliseconds)
            for name, (ranking, pack, milliseconds) in answers.items()
        }
        return _row(task, intent, truth, missing, systems)

    def weigh(self, task: Task, system: System) -> Ranking | None:
        """Return the whole ranking of a system for a task, with everything that features add to scores.

        `replay` keeps the first files of it. None if the system lacks what it needs. Raises: GitError.
        """
        moment = self.past.at(task.revision, task.at)
        intent = parse_intent(task.text[:_TEXT], project_id=self.project)
        return rank(system, self._situation(task, moment, intent), self.models)

    def _situation(self, task: Task, moment: Moment, intent: Intent) -> Situation:
        heads = [known.head for known in moment.past]
        semantic = None if self.vectors is None else self.vectors.compared(heads, intent.task)
        return Situation(intent, moment, lambda: self._declared(moment), semantic)

    def _answer(
        self, system: System, situation: Situation, task: Task
    ) -> tuple[Ranking, Pack | None, float] | None:
        ranking = rank(system, situation, self.models)
        if ranking is None:
            return None
        if not task.packed:
            return ranking, None, ranking.milliseconds
        moment, contents = situation.moment, self._reading()
        index = moment.view.index

        def symbols(path: str) -> tuple[Symbol, ...]:
            return tuple(index.record(index.positions[path])[0])

        waited, started = contents.milliseconds, time.perf_counter()
        budget = round(self.budget * system.share)
        paths = [found.path for found in ranking.files[:_LOOKED_AT]]
        rules = [] if self.rules is None else self.rules.passages(situation.intent, task.at, paths, budget)
        pack = make_pack(
            self.planner,
            situation.intent,
            ranking,
            lambda path: contents.get(path, moment.blobs.get(path, ""), lambda: symbols(path)),
            budget,
            rules,
        )
        elapsed = (time.perf_counter() - started) * 1000 - (contents.milliseconds - waited)
        return ranking, pack, ranking.milliseconds + elapsed

    def _reading(self) -> BlobContents:
        if self._contents is None:
            self._contents = BlobContents(self.reader.read, self.planner.counter)
        return self._contents

    def _declared(self, moment: Moment) -> list[Manifest]:
        found = []
        for path in filter(is_manifest, sorted(moment.blobs)):
            key = (path, moment.blobs[path])
            if key not in self._manifests:
                self._manifests[key] = self._manifest(*key)
            manifest = self._manifests[key]
            if manifest is not None:
                found.append(manifest)
        return found

    def _manifest(self, path: str, sha: str) -> Manifest | None:
        data = self.reader.read(sha) if sha else None
        try:
            return None if data is None else parse_manifest(path, data.decode("utf-8", "replace"))
        except ParseError:
            return None  # malformed then: the baseline did without it, too

    def _truth(self, task: Task, moment: Moment, files: tuple[str, ...]) -> Truth:
        """Return what the task changed; lines only where its commit has them."""
        if not (task.packed and task.revision and task.commit):
            return Truth(files, {})
        try:
            hunks = self.reader.hunks(task.revision, task.commit)
        except GitError:  # a blob that the clone lacks
            return Truth(files, {})
        after = dict(zip(task.modified, task.names, strict=False))
        lines: dict[str, frozenset[int]] = {}
        for path in files:
            content = self._reading().get(path, moment.blobs[path], tuple)
            found = hunks.get(after.get(path, path), ())
            if not isinstance(content, Skipped) and (
                changed := changed_lines(found, len(content.text.lines))
            ):
                lines[path] = changed
        return Truth(files, lines)


def failed_row(task: Task, why: str) -> TaskRow:
    """Return the row of a task that could not be replayed."""
    return TaskRow(
        task.id,
        task.session,
        task.source,
        task.head,
        task.revision,
        task.commit,
        task.at,
        "",
        (),
        {},
        (),
        why,
    )


def _row(
    task: Task,
    intent: Intent,
    truth: tuple[str, ...],
    missing: tuple[str, ...],
    systems: Mapping[str, SystemRow],
    fault: str = "",
) -> TaskRow:
    return TaskRow(
        id=task.id,
        session=task.session,
        source=task.source,
        head=task.head,
        revision=task.revision,
        commit=task.commit,
        at=task.at,
        query_type=str(intent.predicted),
        truth=truth,
        systems=systems,
        missing=missing,
        fault=fault,
    )


def _backed(situation: Situation, models: Models) -> frozenset[str]:
    """Return the files that past tasks speak for, whatever a system makes of that."""
    candidates = situation.candidates(models.used(situation.semantic))
    columns = [
        number for number, name in enumerate(candidates.names) if name in ("affinity", "affinity_head")
    ]
    spoken = (candidates.values[:, columns] > 0).any(axis=1)
    paths = situation.moment.view.index.paths
    return frozenset(paths[position] for position in candidates.positions[spoken].tolist())


def _measured(
    ranking: Ranking,
    pack: Pack | None,
    truth: Truth,
    moment: Moment,
    backed: frozenset[str],
    milliseconds: float,
) -> SystemRow:
    paths = [found.path for found in ranking.files]
    hits = [path in truth.files for path in paths]
    count = len(truth.files)
    right = {path for path in paths[:_LOOKED_AT] if path in truth.files}
    measures = {
        "precision_at_10": precision(hits, 10),
        "recall_at_5": recall(hits, count, 5),
        "recall_at_10": recall(hits, count, 10),
        "mrr": reciprocal_rank(hits),
        "ndcg_at_10": ndcg(hits, count, 10),
        **({} if pack is None else pack_measures(pack, truth)),
        "affinity_hit_rate": float(bool(right & backed)),
        "rerank_invocation_rate": 0.0,
        "fallback_rate": float(ranking.fallback),
        "cache_hit_ratio": round(moment.reused, 4),
        "latency_ms": round(milliseconds, 3),
    }
    by_path = {found.path: (place, found) for place, found in enumerate(ranking.files, 1)}
    missed = [path for path in truth.files if path not in right]
    explained = (
        [*paths[:_LOOKED_AT], *(path for path in missed if path in by_path)] if ranking.weighed else []
    )
    return SystemRow(
        ranking=tuple(paths[:TOP]),
        measures=measures,
        packed={} if pack is None else packed_files(pack),
        tokens=None if pack is None else pack.report.estimated_used,
        contributions={path: _largest(by_path[path][1].contributions) for path in explained},
        missed={path: _why(by_path.get(path), ranking.weighed) for path in missed},
    )


def _largest(contributions: Mapping[str, float]) -> dict[str, float]:
    order = sorted(contributions, key=lambda name: (-abs(contributions[name]), name))
    return {name: contributions[name] for name in order[:_FEATURES]}


def _why(found: tuple[int, RankedFile] | None, weighed: bool) -> str:
    """Say why a relevant file is not among the first ten."""
    if found is None:
        return "no signal proposes it" if weighed else "not in its ranking"
    place, file = found
    lacking = [
        told
        for told, names in (
            ("none of the task's words are in it", ("bm25_body", "bm25_path", "bm25_name")),
            ("no similar past task touched it", ("affinity", "affinity_head")),
            ("nothing likely changed together with it", ("cochange",)),
        )
        if weighed and not any(file.features.get(name) for name in names)
    ]
    return f"place {place}" + (f": {', '.join(lacking)}" if lacking else "")
