"""Replays tasks: every system ranks the files as of a task's start, and is measured by what the task changed.

That truth is read only after all systems have ranked and packed: nothing they are given holds it. Many tasks
are replayed by several processes; every row is recorded at once, so that a replay resumes where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import GitError, ParseError
from workbench.models.rerank import SecondStage
from workbench.plan.compose import Pack
from workbench.plan.intent import understand_prompt
from workbench.plan.planner import Planner
from workbench.plan.representations import Content
from workbench.plan.semantics import QueryAdapter, head_texts, task_text
from workbench.project.declared import Manifest
from workbench.project.manifests import is_manifest, parse_manifest
from workbench.project.workers import spread
from workbench.records.plan import Intent, TaskText
from workbench.records.project import Skipped, Symbol
from workbench.records.replay import TaskRow
from workbench.replay.facts_cache import FactsCache
from workbench.replay.file_reasons import reasons_of_system
from workbench.replay.packs import (
    BlobContents,
    RulePassages,
    Truth,
    changed_lines,
    explored_measures,
    make_pack,
)
from workbench.replay.row_log import RowLog
from workbench.replay.systems import (
    BASELINE,
    FileReading,
    Models,
    Situation,
    System,
    SystemRanking,
    compact_exploration,
    rank,
)
from workbench.replay.task_rows import LOOKED_AT, NOTHING, backed_files, build_row, failed_row, measure_system
from workbench.replay.tasks import ReplayTask, relevant
from workbench.replay.timeline import Moment, PastReader
from workbench.sessions.episode_ledger import templates_of
from workbench.text.terms import parse_task
from workbench.text.vectors import cosines

Float32 = NDArray[np.float32]

_TEXT = 20_000

BATCH = 8  # consecutive revisions a process replays at a time: its index goes along with them
_CRASHED = "the process that replayed it ended"

Progress = Callable[[int, int, str], None]
"""Called with (tasks done, tasks in all, text)."""


class PastMoments(Protocol):
    """What was known at a revision and a second; see `Timeline` and `SeenPaths`."""

    def at(self, revision: str, moment: int) -> Moment:
        """Return the moment. Raises: GitError."""
        ...


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of texts: `rows` leads from a text to a row of float32 [n, d]."""

    rows: Mapping[str, int]
    matrix: Float32
    model: str = ""

    def cosines(
        self, heads: Sequence[str], task: TaskText, adapter: QueryAdapter | None = None
    ) -> Float32 | None:
        """Return float32 [heads], cosines of a task to past ones; None if one of them has no vector."""
        wanted = [self.rows.get(text, -1) for text in head_texts(heads)]
        query = self.rows.get(task_text(task), -1)
        if not wanted or query < 0 or min(wanted) < 0:
            return None
        vector = self.matrix[query]
        return cosines(self.matrix[wanted], vector if adapter is None else adapter.adapt(vector, self.model))


@dataclass(slots=True)
class ReplayEngine:
    """Everything that replaying tasks of one project takes. Not thread-safe.

    `rules` makes the passages of the rules that were in force; `budget` is in tokens. `second` rates the
    first files again for systems that ask for it.
    """

    past: PastMoments
    reader: PastReader
    systems: Sequence[System]
    models: Models
    planner: Planner
    budget: int
    project: str
    vectors: Vectors | None = None
    rules: RulePassages | None = None
    second: SecondStage | None = None
    cache: FactsCache = field(default_factory=FactsCache)
    _contents: BlobContents | None = None
    _manifests: dict[tuple[str, str], Manifest | None] = field(default_factory=dict)

    def replay(self, task: ReplayTask) -> TaskRow:
        """Replay a task. A fault of the repository becomes the row's `fault`."""
        try:
            moment = self.past.at(task.revision, task.at)
        except GitError as error:
            return failed_row(task, error.message)
        intent = self._intent(task, moment)
        truth, missing = relevant(task, moment.blobs)
        if not truth:
            return build_row(task, intent, (), missing, {}, NOTHING)
        situation = self._situation(task, moment, intent)
        answers = {
            system.name: answer
            for system in self.systems
            if (answer := self._answer(system, situation, task)) is not None
        }
        changed = self._truth(task, moment, truth)
        backed = backed_files(situation, self.models)
        systems = {
            name: measure_system(
                ranking, reasons_of_system(ranking, situation), pack, changed, moment, backed, milliseconds
            )
            for name, (ranking, pack, milliseconds) in answers.items()
        }
        if task.packed and BASELINE in systems:
            explored = explored_measures(compact_exploration(situation), changed, self.planner.counter)
            row = systems[BASELINE]
            systems[BASELINE] = replace(row, measures={**row.measures, **explored})
        return build_row(task, intent, truth, missing, systems)

    def look(self, task: ReplayTask) -> tuple[Situation, tuple[str, ...]] | None:
        """Return what rankers get of a task and the files it took; None without any. Raises: GitError."""
        moment = self.past.at(task.revision, task.at)
        truth, _ = relevant(task, moment.blobs)
        return (self._situation(task, moment, self._intent(task, moment)), truth) if truth else None

    def weigh(
        self, task: ReplayTask, system: System, paths: Collection[str]
    ) -> tuple[SystemRanking, dict[str, tuple[str, ...]]] | None:
        """Return the whole ranking of a system for a task, and the reasons of some files, by path.

        It has everything that features add to scores; `replay` keeps the first files of it.
        None if the system lacks what it needs. Raises: GitError.
        """
        moment = self.past.at(task.revision, task.at)
        intent = self._intent(task, moment)
        situation = self._situation(task, moment, intent)
        ranking = rank(system, situation, self.models)
        if ranking is None:
            return None
        reasons = reasons_of_system(ranking, situation)
        return ranking, {file.path: reasons.of(file) for file in ranking.files if file.path in paths}

    def _intent(self, task: ReplayTask, moment: Moment) -> Intent:
        """Return the intent as a plan had it then: words count less that earlier prompts share."""
        templates = templates_of(known.task for known in moment.past)
        text = parse_task(task.text[:_TEXT])
        return understand_prompt(text, templates, project_id=self.project, query_type=None)[0]

    def _situation(self, task: ReplayTask, moment: Moment, intent: Intent) -> Situation:
        heads = [known.head for known in moment.past]
        files = self.planner.chunks.files
        reading = None if files is None else FileReading(files, self._reader(moment))
        if self.vectors is None:
            return Situation(intent, moment, lambda: self._read_manifests(moment), reading=reading)
        compared = partial(self.vectors.cosines, heads, intent.task)
        return Situation(intent, moment, lambda: self._read_manifests(moment), compared(), compared, reading)

    def _answer(
        self, system: System, situation: Situation, task: ReplayTask
    ) -> tuple[SystemRanking, Pack | None, float] | None:
        contents, read = self._reading(), self._reader(situation.moment)
        waited = contents.milliseconds
        ranking = rank(system, situation, self.models)
        if ranking is None:
            return None
        ranking = replace(ranking, milliseconds=ranking.milliseconds - (contents.milliseconds - waited))
        budget = round(self.budget * system.share)
        if system.second and self.second is not None:
            ranking = self._rate(self.second, ranking, situation.intent, read, budget)
        if not task.packed:
            return ranking, None, ranking.milliseconds
        waited, started = contents.milliseconds, time.perf_counter()
        paths = [file.path for file in ranking.files[:LOOKED_AT]]
        rules = [] if self.rules is None else self.rules.passages(situation.intent, task.at, paths, budget)
        pack = make_pack(self.planner, situation.intent, ranking, read, budget, rules)
        elapsed = (time.perf_counter() - started) * 1000 - (contents.milliseconds - waited)
        return ranking, pack, ranking.milliseconds + elapsed

    def _reader(self, moment: Moment) -> Callable[[str], Content | Skipped]:
        """Return what reads a file as it was at a moment."""
        index = moment.view.index

        def symbols(path: str) -> tuple[Symbol, ...]:
            return tuple(index.record(index.positions[path])[0])

        def read(path: str) -> Content | Skipped:
            return self._reading().get(path, moment.blobs.get(path, ""), lambda: symbols(path))

        return read

    def _rate(
        self,
        stage: SecondStage,
        ranking: SystemRanking,
        intent: Intent,
        read: Callable[[str], Content | Skipped],
        budget: int,
    ) -> SystemRanking:
        """Return a ranking as the second stage leaves it, a fallback where it gives no answer."""
        from workbench.plan.second_stage import first_excerpts, rated_files  # only where it is asked for

        started = time.perf_counter()
        paths = [file.path for file in ranking.files[:LOOKED_AT]]
        excerpts = first_excerpts(self.planner, intent, paths, read, stage.top)
        given = stage.rate(intent.task.text, excerpts, stage.timeout)
        elapsed = ranking.milliseconds + (time.perf_counter() - started) * 1000
        if given.failed or not excerpts:
            return replace(ranking, fallback=True, milliseconds=elapsed)
        ratings = {excerpt.path: value for excerpt, value in zip(excerpts, given.values, strict=True)}
        files = rated_files(ranking.files, ratings, stage, budget, ranking.model)
        return replace(ranking, files=files, milliseconds=elapsed)

    def _reading(self) -> BlobContents:
        if self._contents is None:
            self._contents = BlobContents(self.reader.read, self.planner.counter)
        return self._contents

    def _read_manifests(self, moment: Moment) -> list[Manifest]:
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

    def _truth(self, task: ReplayTask, moment: Moment, files: tuple[str, ...]) -> Truth:
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
            if not isinstance(content, Skipped) and (changed := changed_lines(found, content.cut.lines)):
                lines[path] = changed
        return Truth(files, lines)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows in the order of the tasks; `reused` of them were known. Not `complete` after Ctrl-C."""

    rows: tuple[TaskRow, ...]
    reused: int
    complete: bool
    note: str = ""


def replay_tasks(
    function: Callable[[ReplayTask], TaskRow],
    tasks: Sequence[ReplayTask],
    keys: Sequence[str],
    log: RowLog | None,
    *,
    workers: int,
    progress: Progress = lambda done, total, text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Replayed:
    """Return a row for each task. `function` must be importable by name where there are several workers.

    A task whose process ends, or for which git fails, has a row with a fault, which is not kept. After Ctrl-C
    the rows that were done come back, and are in the log.
    """
    known = {} if log is None else log.read()
    found = {key: known[key] for key in keys if key in known}
    reused = len(found)
    waiting = [(key, task) for key, task in zip(keys, tasks, strict=True) if key not in found]
    note, complete, started = "", True, clock()
    results = spread(
        function,
        [task for _, task in waiting],
        workers=min(workers, max(1, len(waiting) // BATCH)),
        batch=BATCH,
        failed=partial(failed_row, why=_CRASHED),
    )
    done = 0
    try:
        with closing(results):
            for rows in results:
                pairs = [(key, row) for (key, _), row in zip(waiting[done:], rows, strict=False)]
                done += len(rows)
                found.update(pairs)
                note = note or _keep(log, [(key, row) for key, row in pairs if row.fault in ("", NOTHING)])
                progress(reused + done, len(tasks), _eta(clock() - started, done, len(waiting)))
    except KeyboardInterrupt:
        complete = False
    return Replayed(tuple(found[key] for key in keys if key in found), reused, complete, note)


def _keep(log: RowLog | None, rows: Sequence[tuple[str, TaskRow]]) -> str:
    if log is None or not rows:
        return ""
    try:
        log.append(rows)
    except OSError as error:
        return f"rows are not saved for the next run: {error}"
    return ""


def _eta(seconds: float, done: int, total: int) -> str:
    """Return e.g. `Replaying, 2 min left`."""
    left = seconds / done * (total - done) if done else 0.0
    if left < 1:
        return "Replaying"
    return f"Replaying, {left / 60:.0f} min left" if left >= 90 else f"Replaying, {left:.0f} s left"
