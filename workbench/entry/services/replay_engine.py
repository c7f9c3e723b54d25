"""The engine of a replay: what a worker opens to replay tasks of one project, and what its rows depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from workbench import __version__
from workbench.config import Config
from workbench.entry.parameters import match_params, trust
from workbench.entry.project import (
    BlobReader,
    Repository,
    commit_parents,
    diff_hunks,
    log_commits,
    read_tree,
    repository_at,
    resolve,
    second_stage,
)
from workbench.models.registry import RegisteredParams
from workbench.models.rerank import Answers, SecondStage
from workbench.plan.planner import Planner
from workbench.plan.ranking import LEXICAL_MODEL, load_chunk_model
from workbench.plan.representations import Contents
from workbench.project.directories import path_filter
from workbench.records.replay import TaskRow
from workbench.replay.engine import ReplayEngine, Vectors
from workbench.replay.facts_cache import SegmentedFacts
from workbench.replay.packs import RuleHistory, RulePassages
from workbench.replay.systems import OwnRankings, System, load_models
from workbench.replay.tasks import PastSession, ReplayTask, SeenPaths
from workbench.replay.timeline import MAX_BYTES, CommitGraph, PastReader, RepositoryTimeline
from workbench.text.tokens import token_counter

_BRANCHES = ("HEAD", "main", "master")
_LINE = 40_000  # commits of a past whose order is known
COMMITS: Final = 6000  # of the newest that a replay looks at, at least
_NO_PAST: Final = PastReader(
    "", (), CommitGraph(), lambda revision: (), lambda sha: None, lambda old, new: {}
)
"""What is read of a project whose repository is gone."""
PACKAGES: Final = (
    "comparison",
    "curation",
    "models",
    "plan",
    "project",
    "records",
    "replay",
    "rules",
    "sessions",
    "shell",
    "stash",
    "text",
)


@contextmanager
def past_reader(repository: Repository, commits: int = COMMITS) -> Iterator[PastReader]:
    """Open a repository, bare ones too, for reading its past. Raises: GitError."""
    tip = next((found for name in _BRANCHES if (found := resolve(repository, name))), repository.head or "")
    unreadable: set[str] = set()
    log = (
        log_commits(repository, until=tip, limit=commits, line_counts=False, unreadable=unreadable)
        if tip
        else ()
    )
    with BlobReader(repository, MAX_BYTES) as blobs:
        yield PastReader(
            tip=tip,
            commits=tuple(log)[::-1],
            line=CommitGraph(*commit_parents(repository, tip, _LINE)) if tip else CommitGraph(),
            tree=partial(read_tree, repository),
            read=blobs.read,
            hunks=partial(diff_hunks, repository),
            unreadable=len(unreadable),
        )


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What a worker needs to replay tasks of one project; handed to each once."""

    root: Path
    bare: bool
    gone: bool
    project: str
    systems: tuple[System, ...]
    main: str
    budget: int
    tokenizer: str
    history: int
    commits: int
    excluded: tuple[str, ...]
    cache: Path
    version: str
    sessions: tuple[PastSession, ...]
    vectors: Vectors | None
    rules: RuleHistory
    config: Config = field(repr=False)
    own: OwnRankings = field(default_factory=OwnRankings)
    reranker: RegisteredParams | None = None
    answers: Answers | None = None


def open_reader(repository: Repository | None, commits: int, stack: ExitStack) -> PastReader:
    """Return the reader of a repository's past, which the stack closes; an empty one without a repository."""
    return _NO_PAST if repository is None else stack.enter_context(past_reader(repository, commits))


_HELD: list[tuple[EngineSpec, ReplayEngine, ExitStack]] = []
"""The engine of this process, a worker's or its caller's: tasks come one by one, and opening takes longer."""


def replay_one(spec: EngineSpec, task: ReplayTask) -> TaskRow:
    """Replay a task with the engine of this process, opened for the first task of a project."""
    engine = held_engine(spec)
    row = engine.replay(task)
    engine.cache.flush()
    return row


def held_engine(spec: EngineSpec) -> ReplayEngine:
    """Return the engine of this process, opened for the first task of a project."""
    if not _HELD or _HELD[0][0] is not spec:
        release()
        stack = ExitStack()
        _HELD.append((spec, open_engine(spec, stack), stack))
    return _HELD[0][1]


def release() -> None:
    """Close what replaying in this process has opened."""
    while _HELD:
        _HELD.pop()[2].close()


def open_engine(spec: EngineSpec, stack: ExitStack) -> ReplayEngine:
    """Open what replays tasks of a project; the stack closes it. Raises: GitError, ModelError."""
    repository = None if spec.gone else repository_at(spec.root)[0]
    cache = SegmentedFacts(spec.cache, spec.version)
    reader = open_reader(repository, spec.commits, stack)
    if repository is None:
        past: RepositoryTimeline | SeenPaths = SeenPaths(
            spec.sessions, history=spec.history, trust=trust(spec.config.sessions)
        )
    else:
        past = RepositoryTimeline(
            reader,
            sessions=[session.known for session in spec.sessions],
            cache=cache,
            history=spec.history,
            trust=trust(spec.config.sessions),
            admits=path_filter(spec.excluded),
        )
    counter = token_counter(spec.tokenizer)
    chunks = load_chunk_model()
    models = load_models(spec.main, LEXICAL_MODEL, spec.systems, spec.own)
    planner = Planner(
        ranking=models.by_id[models.main],
        plain_ranking=partial(models.by_id.__getitem__, models.plain),
        chunks=chunks,
        counter=counter,
        contents=Contents(spec.root, counter, cap=MAX_BYTES),
        matching=match_params(spec.config.rules),
    )
    return ReplayEngine(
        past=past,
        reader=reader,
        systems=spec.systems,
        models=models,
        planner=planner,
        budget=spec.budget,
        project=spec.project,
        vectors=spec.vectors,
        rules=RulePassages(spec.rules, spec.project, planner.matching),
        second=None if spec.answers is None else _second_stage(spec, spec.answers),
        cache=cache,
    )


def _second_stage(spec: EngineSpec, answers: Answers) -> SecondStage | None:
    return second_stage(spec.config, answers, token_counter(spec.tokenizer).count, spec.reranker)


def engine_version() -> str:
    """Return what distinguishes rows of engines: the version and a digest of the sources."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for name, data in read_sources(package):
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return f"{__version__}-{digest.hexdigest()[:12]}"


def read_sources(folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the files below a package that decide what is planned and how it is scored."""
    for entry in sorted((files("workbench") / folder).iterdir(), key=lambda found: found.name):
        if entry.is_dir():
            yield from read_sources(f"{folder}/{entry.name}")
        elif entry.name.endswith((".json", ".py", ".scm", ".toml", ".txt")):
            yield f"{folder}/{entry.name}", entry.read_bytes()
