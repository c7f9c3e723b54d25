"""A project's past as replays need it: tasks, their vectors, the rules of then, what the engine is given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from workbench.config import Config
from workbench.curation.folding import read_ledger
from workbench.entry.parameters import excluded_patterns
from workbench.entry.project import OpenedProject, Repository, cached_embedder, find_state
from workbench.entry.services.replay_engine import EngineSpec
from workbench.errors import ProjectError, WorkbenchError
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model
from workbench.plan.semantics import head_texts, task_text
from workbench.records.rules import Rule
from workbench.replay.engine import Progress, Vectors
from workbench.replay.packs import RuleHistory, collect_rules
from workbench.replay.systems import OWN, PLAIN, OwnRankings, System
from workbench.replay.tasks import (
    PastSession,
    ReplayTask,
    TaskSource,
    commit_tasks,
    recorded_sessions,
    session_tasks,
)
from workbench.replay.timeline import PastReader, known_commit
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.ruletype import STREAM as RULES
from workbench.rules.rulebook import visible_rules
from workbench.sessions.episodes_fold import STREAM
from workbench.text.terms import parse_task

PACKS: Final = 300
"""Packs take as long as everything else, and the figures of this many have narrow intervals."""
PER_TASK: Final = 4
"""Commits looked at for each task wanted: merges, sweeping changes and new files do not count."""
_SPARE = 300


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What a user asks a replay for.

    `tasks` is how many at most; packs of `budget` tokens are made for the newest `packs` of them. `fresh`
    computes every row again.
    """

    source: TaskSource
    tasks: int
    systems: tuple[System, ...]
    budget: int
    packs: int = PACKS
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class PastProject:
    """A project whose past can be replayed. `repository` is None where only its sessions are left."""

    place: OpenedProject
    name: str
    sessions: tuple[PastSession, ...]
    notes: tuple[str, ...]

    @property
    def root(self) -> Path:
        """The project's directory, or that of its bare repository."""
        return self.place.root

    @property
    def state(self) -> Path:
        """The project's state directory."""
        return self.place.state

    @property
    def repository(self) -> Repository | None:
        """The project's repository."""
        return self.place.repository


def open_past(start: Path, environment: Mapping[str, str] = os.environ) -> PastProject:
    """Find the project at a directory, a bare repository included, and what it recorded of its sessions.

    Raises: ProjectError where there is neither a repository nor a recorded session; StoreError.
    """
    project = find_state(start, environment=environment)
    root, repository = project.root, project.repository
    sessions, malformed = recorded_sessions(entry for _, entry in project.journal.read(STREAM))
    if repository is None and not sessions:
        raise ProjectError(
            f"{root} has no past to replay: it is not a git repository, and no session of it was imported",
            hint="Name a repository, or run `workbench import sessions` first.",
        )
    notes = [f"{malformed} recorded sessions are malformed and left out"] if malformed else []
    if repository is None:
        notes.append(f"{project.note}: files are ranked by the paths that sessions had seen")
    return PastProject(project, project_name(root), tuple(sessions), tuple(notes))


def project_name(root: Path) -> str:
    """Return what a project is called in reports."""
    return root.name.removesuffix(".git") if root.name not in ("repo", "git") else root.parent.name


def engine_spec(
    project: PastProject,
    config: Config,
    wanted: ReplayOptions,
    systems: tuple[System, ...],
    commits: int,
    version: str,
    vectors: Vectors | None,
    rules: RuleHistory,
) -> EngineSpec:
    """Return what a process needs to replay tasks of a project."""
    main = config.models.ranking or DEFAULT_MODEL
    second = any(system.second for system in systems)
    return EngineSpec(
        root=project.root,
        bare=project.repository is not None and project.repository.bare,
        gone=project.repository is None,
        project=project.place.project_id,
        systems=systems,
        main=main,
        budget=wanted.budget,
        tokenizer=config.plan.tokenizer,
        history=max(config.index.history_commits, 0),
        commits=commits,
        excluded=excluded_patterns(config),
        cache=project.state / "replay" / "facts",
        version=version,
        sessions=project.sessions,
        vectors=vectors,
        rules=rules,
        config=config,
        own=own_rankings(project, main, systems),
        reranker=project.place.active_reranker() if second else None,
        answers=project.place.answer_cache if second else None,
    )


def own_rankings(project: PastProject, main: str, systems: Sequence[System]) -> OwnRankings:
    """Return what models of the project make of the packaged ones: those in use, and those systems name.

    Raises: UsageError for one that the project does not have; ModelError for one that cannot be used.
    """
    wanted = sorted({system.model for system in systems if system.model and system.model.startswith(OWN)})
    if not project.place.has_models and not wanted:
        return OwnRankings()
    from workbench.entry.services.models import find_model
    from workbench.plan.own_models import apply_models

    own, bases = project.place.own_models, [load_model(name) for name in dict.fromkeys((main, LEXICAL_MODEL))]
    active = {base.model_id: own.apply(base, canary=False)[0] for base in bases}
    named = {}
    for name in wanted:
        model = find_model(own.registry(), name)
        for base, key in zip(bases, (name, f"{name}{PLAIN}"), strict=False):
            named[key] = apply_models(base, {model.model_kind: model})
    return OwnRankings(active, named)


def past_tasks(project: PastProject, reader: PastReader, wanted: ReplayOptions) -> list[ReplayTask]:
    """Return the newest tasks of the sources wanted; a commit that answers a prompt is not listed twice."""
    found: list[ReplayTask] = []
    if wanted.source is not TaskSource.COMMITS:
        gone = project.repository is None
        found += session_tasks(project.sessions, reader.commits, wanted.tasks, gone=gone)
    if wanted.source is not TaskSource.SESSIONS:
        answered = {task.commit for task in found if task.commit}
        commits = [commit for commit in reader.commits if commit.sha not in answered]
        found += commit_tasks(commits, reader.line, wanted.tasks)
    found.sort(key=lambda task: -task.at)
    if not found:
        is_shallow = project.repository is not None and project.repository.shallow
        first = "Bring the history with `git fetch --unshallow`" if is_shallow else "Commit something first"
        raise ProjectError(
            f"{project.name} has no task to replay: nothing that was done modified a file that existed",
            hint=f"{first}, or import sessions with `workbench import sessions`.",
        )
    most = wanted.packs if project.repository is not None else 0
    return [replace(task, packed=place < most) for place, task in enumerate(found[: wanted.tasks])]


def task_vectors(
    project: PastProject,
    config: Config,
    reader: PastReader,
    tasks: Sequence[ReplayTask],
    history: int,
    progress: Progress,
) -> tuple[Vectors | None, str, str]:
    """Return vectors of all tasks and of all past ones, the model's identity, and what is missing if not."""
    embedder, missing = cached_embedder(config, project.place.home)
    if embedder is None:
        return None, "", missing or "there is no embedding model: see `workbench model list`"
    begun = {tasks[-1].revision, tasks[-1].commit}
    oldest = max((place for place, commit in enumerate(reader.commits) if commit.sha in begun), default=0)
    past = islice(reader.commits, oldest + history + _SPARE)
    heads = [known.head for commit in past if (known := known_commit(commit)) is not None]
    heads += [session.known.head for session in project.sessions]
    texts = list(dict.fromkeys([*head_texts(heads), *(task_text(parse_task(task.text)) for task in tasks)]))
    try:
        matrix = embedder.embed(texts, progress=lambda done, total: progress(done, total, "Embedding tasks"))
    except WorkbenchError as error:
        return None, "", error.message
    rows = {text: number for number, text in enumerate(texts)}
    return Vectors(rows, np.ascontiguousarray(matrix, dtype=np.float32), embedder.model), embedder.model, ""


def past_rules(project: PastProject, config: Config, tasks: Sequence[ReplayTask]) -> RuleHistory:
    """Return the rules that were in force when each task began. Raises: StoreError."""
    journals = [(journal, origin == "home") for origin, journal in project.place.journals.items()]
    changes = [entry.at for one, _ in journals for _, entry in one.read(RULES)]

    def in_force(until: str) -> list[Rule]:
        live = read_ledger(RuleLedger, journals, until).live.values()
        return visible_rules(live, project.place.project_id, home=config.rules.home)

    return collect_rules(changes, [task.at for task in tasks], in_force)
