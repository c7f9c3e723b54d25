"""Replays of the stash: recorded conversations are put aside as they went, and later tasks ask for more.

They are put aside in time in a scratch project, whose stash is then as it was at each moment of the past.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.config import Config
from workbench.entry.project import OpenedProject, cached_embedder, find_state
from workbench.entry.services.past_project import PastProject, project_name
from workbench.entry.services.replay import ReplayOutcome, score_replay
from workbench.entry.services.replay_engine import engine_version
from workbench.entry.services.stash import stash_service
from workbench.entry.services.stash_models import segment_model
from workbench.entry.services.stash_search import order_weights
from workbench.errors import ProjectError, WorkbenchError
from workbench.records.replay import ReplayRun, TaskRow
from workbench.records.segments import MAX_SEGMENT, ContextSegment, FoundSegment, StashQuery
from workbench.replay.engine import Progress, replay_tasks
from workbench.replay.row_log import RowLog
from workbench.replay.stash_systems import (
    BM25,
    SOURCE,
    VECTOR,
    StashMoments,
    answer_task,
    second_of,
    whole_text,
)
from workbench.replay.stash_tasks import Recording, StashTask, record_session, stash_tasks
from workbench.replay.statistics import system_scores
from workbench.replay.tasks import ReplayTask
from workbench.sessions.importers.places import (
    TranscriptFile,
    agent_directory_session,
    find_files,
    transcript,
)
from workbench.stash.reading import TranscriptSegments, read_steps
from workbench.stash.retrieval import retrieve
from workbench.stash.scoring import OrderWeights
from workbench.stash.segmentindex import SegmentIndex
from workbench.stash.segmentmodels import EmbeddingModel
from workbench.stash.segmentmodels import Progress as EmbeddingProgress

if TYPE_CHECKING:
    from workbench.ports import Int64

_SIDE: Final = "agent-"
"""What the names of files of sub-agents begin with: their prompts are no user's."""

_BY: Final = "replay"


@dataclass(frozen=True, slots=True)
class StashReplayOptions:
    """What a user asks a replay of the stash for: at most `tasks` questions, the newest."""

    tasks: int
    systems: tuple[str, ...]
    fresh: bool = False


def open_conversations(start: Path) -> PastProject:
    """Find the project at a directory, whose conversations are replayed; it needs no other past.

    Raises: StoreError.
    """
    project = find_state(start)
    return PastProject(project, project_name(project.root), (), ())


def stash_sources(project: OpenedProject, paths: Sequence[Path]) -> tuple[TranscriptFile, ...]:
    """Return the transcripts below paths, else the copies that imports have made of the project's.

    Raises: ProjectError if there are none.
    """
    if paths:
        return tuple(transcript(path) for path in find_files(paths))
    archive = project.archive()
    found = tuple(
        TranscriptFile(Path(copy.path), copy.size, copy.changed, partial(archive.open, copy))
        for copy in archive.copies()
    )
    if not found:
        raise ProjectError(
            f"no conversation of {project.root.name} is kept",
            hint="Import some with `workbench import sessions`, or name transcripts.",
        )
    return found


def read_recordings(sources: Sequence[TranscriptFile], progress: Progress) -> Iterator[Recording]:
    """Yield the transcripts that have segments, in order. Files that cannot be read are passed over."""
    for number, source in enumerate(sources, 1):
        progress(number, len(sources), "Reading conversations")
        with source.open() as handle:
            reading = TranscriptSegments()
            recording = record_session(read_steps(handle, reading, name=source.path.name))
        if agent_directory_session(source.path) or source.path.name.startswith(_SIDE):
            recording.asked.clear()
        if recording.segments:
            yield recording


def replay_stash(
    project: PastProject,
    config: Config,
    sources: Sequence[TranscriptFile],
    wanted: StashReplayOptions,
    *,
    progress: Progress = lambda done, total, stage: None,
) -> ReplayOutcome:
    """Replay the newest questions to the stash, oldest first. Ctrl-C gives back what is done.

    Raises: ProjectError if there is none; StoreError, ModelError.
    """
    recordings = list(read_recordings(sources, progress))
    segments, found = stash_tasks(recordings)
    tasks = found[: wanted.tasks][::-1]
    if not tasks:
        raise ProjectError(
            f"{project.name} has no question for the stash: no later prompt used anything again",
            hint="It takes sessions of several prompts.",
        )
    embedder, missing = cached_embedder(config, project.place.home)
    vectors, model = None, ""
    if embedder is not None:
        model = embedder.model
        wholes = [whole_text(segment) for segment in segments]
        texts = list(dict.fromkeys([*wholes, *(task.text for task in tasks)]))
        try:
            matrix = embedder.embed(texts, progress=lambda done, total: progress(done, total, "Embedding"))
            rows = {text: number for number, text in enumerate(texts)}
            vectors = np.ascontiguousarray(matrix[[rows[whole] for whole in wholes]], np.float32)
        except WorkbenchError as error:
            embedder, model, missing = None, "", error.message
    systems = tuple(system for system in wanted.systems if vectors is not None or system != VECTOR)
    notes = (
        [] if len(systems) == len(wanted.systems) else ["vector was left out: it needs an embedding model"]
    )
    notes += [missing] if missing and vectors is None else []
    by = None
    if embedder is not None:
        default = EmbeddingModel(model, config.models.embedding, embedder.embed)
        by, unready = segment_model(replace(project.place, given=config), default)
        notes += unready
    settings = {
        "engine": engine_version(),
        "source": SOURCE,
        "baseline": BM25,
        "systems": list(systems),
        "embedding": by.model if by is not None else "",
        "stash": repr(config.stash),
    }
    log = RowLog(project.state / "replay" / "rows", settings)
    if wanted.fresh:
        log.path.unlink(missing_ok=True)
    by_id = {task.id: task for task in tasks}
    with stash_past(
        segments, config, by, progress=lambda done, total: progress(done, total, "Embedding")
    ) as past:
        moments = StashMoments(
            segments,
            lambda known, at: past.put(known, float(second_of(at))),
            lambda known, query, at: [
                one.segment.segment_id for one in past.find(known, query, float(second_of(at)))
            ],
            vectors,
            None if embedder is None else lambda text: embedder.embed([text])[0],
        )
        replayed = replay_tasks(
            lambda task: answer_task(moments, systems, by_id[task.id]),
            [_as_replayed(task) for task in tasks],
            stash_keys(tasks, [segment.text for segment in segments]),
            log,
            workers=1,
            progress=progress,
        )
    log.tidy()
    notes += [replayed.note] if replayed.note else []
    degraded = () if vectors is not None else ("embeddings",)
    return ReplayOutcome(tuple(map(_as_replayed, tasks)), replayed, settings, degraded, tuple(notes))


def score_stash_replay(project: PastProject, found: ReplayOutcome) -> ReplayRun:
    """Return what a replay of the stash found as a run, scored by kind of question, too."""
    run = score_replay(project, found)
    systems, baseline = found.settings["systems"], found.settings["baseline"]
    kinds: dict[str, list[TaskRow]] = {}
    for row in run.rows:
        kinds.setdefault(row.query_type, []).append(row)
    return replace(
        run,
        systems=system_scores(run.rows, systems, baseline),
        kinds={kind: system_scores(rows, systems, baseline) for kind, rows in sorted(kinds.items())},
    )


def stash_keys(tasks: Sequence[StashTask], texts: Sequence[str]) -> list[str]:
    """Return the key of each task's row: it changes with the question and with all that may be found."""
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    keys = []
    for task in tasks:
        found = hashlib.sha256(b"".join(digests[row] for row in task.known.tolist()))
        asked = [task.id, task.text, task.goal, task.messages, task.files, task.at, sorted(task.truth)]
        found.update(json.dumps(asked).encode("ascii"))
        keys.append(found.hexdigest())
    return keys


def _as_replayed(task: StashTask) -> ReplayTask:
    return ReplayTask(task.id, task.session, SOURCE, task.text, "", "", second_of(task.at), (), packed=False)


@dataclass(slots=True)
class MomentClock:
    """A clock that shows what it was set to, in seconds since the epoch."""

    moment: float = 0.0

    def now(self) -> float:
        """Return the moment."""
        return self.moment


@dataclass(slots=True)
class PastStash:
    """The stash of a scratch project. Segments are known by their rows among `segments`."""

    segments: Sequence[ContextSegment]
    project: OpenedProject
    clock: MomentClock
    index: SegmentIndex
    model: EmbeddingModel | None
    weights: OrderWeights
    progress: EmbeddingProgress | None = None
    stashed: set[int] = field(default_factory=set)

    def put(self, known: Int64, at: float) -> None:
        """Put aside, at a moment, those of the rows `known` that are not there yet, and embed them.

        Raises: StoreError, ModelError.
        """
        new = [row for row in known.tolist() if row not in self.stashed]
        self.stashed.update(new)
        self.clock.moment = max(self.clock.moment, at)
        usable = [one for row in new if 0 < len((one := self.segments[row]).text) <= MAX_SEGMENT]
        if usable:
            stash_service(self.project, _BY).add_many(usable)
        self.index.refresh()
        if self.index.is_behind("" if self.model is None else self.model.model):
            self.index.publish(self.model, self.progress)  # all of a tail is read again whenever it grows
        elif self.model is not None:
            self.index.embed_tail(self.model, self.progress)

    def find(self, known: Int64, query: StashQuery, at: float) -> tuple[FoundSegment, ...]:
        """Return what is found of the rows `known`, which were put aside, at a moment. Raises: ModelError."""
        allowed = {self.segments[row].segment_id for row in known.tolist()}
        spare = len(self.stashed) - len(allowed)
        segments = retrieve(
            self.index,
            replace(query, top_k=query.top_k + spare),
            embed=None if self.model is None else self.model.embed_query,
            now=at,
            weights=self.weights,
            per_session=self.project.config.stash.per_session,
        )
        return tuple(one for one in segments if one.segment.segment_id in allowed)[: query.top_k]


@contextmanager
def stash_past(
    segments: Sequence[ContextSegment],
    config: Config,
    model: EmbeddingModel | None,
    weights: OrderWeights | None = None,
    progress: EmbeddingProgress | None = None,
) -> Iterator[PastStash]:
    """Open an empty stash for segments, which goes with the context. Raises: StoreError."""
    with tempfile.TemporaryDirectory(prefix="workbench-stash-") as scratch:
        root = Path(scratch) / "project"
        (root / ".workbench").mkdir(parents=True)
        environment = {**os.environ, "WORKBENCH_HOME": str(Path(scratch) / "home")}
        clock = MomentClock()
        project = replace(find_state(root, config, environment), clock=clock)
        yield PastStash(
            segments,
            project,
            clock,
            project.segment_index,
            model,
            weights or order_weights(config.stash),
            progress,
        )
