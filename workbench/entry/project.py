"""Where the engine meets its adapters: the only module that imports both `workbench` and `store`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from store import generations, locks
from store.clock import SystemClock
from store.embedding import (
    DOWNLOAD,
    OFF,
    PACKAGED,
    EmbeddingSettings,
    resolve_embedder,
    survey,
)
from store.embedding_cache import CachedEmbedder, cached
from store.git_diff import touched_files
from store.git_log import count_commits, log_commits, lost_commits, shallow_edge
from store.git_repository import Repository, head_state, lister, listing_inputs, resolve
from store.journal import FileJournal
from store.location import Location, locate, user_home
from workbench.config import Config, RulesConfig, SessionsConfig, user_cache
from workbench.entry.places import (
    foreign_state,
    project_id,
    replace_user_file,
    repository_at,
    require_consent,
)
from workbench.errors import ProjectError
from workbench.plan.workspace import Adapters, Limits, VersionControl, Workspace
from workbench.ports import Damaged, Embedder
from workbench.project.directories import walk_lister
from workbench.project.scan import Lister
from workbench.records.episodes import Commit
from workbench.records.rules import Level
from workbench.records.worktree import Listing
from workbench.sessions.closing import HOUR
from workbench.sessions.feedback import Trust
from workbench.sessions.past import Commits
from workbench.text.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from workbench.plan.pipeline import Planner, Recheck
    from workbench.rules.matching.match import MatchParams, RuleMatch
    from workbench.rules.matching.recheck import Rechecked

_PATIENCE = 60.0  # seconds
_BUILD_PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class Opened:
    """A project ready for work."""

    root: Path
    repository: Repository | None
    location: Location
    journal: FileJournal
    home_journal: FileJournal
    clock: SystemClock
    workspace: Workspace
    planner: Planner
    config: Config


def project_root(start: Path) -> Path:
    """Return the root of the repository that holds `start`, or `start` itself outside of any."""
    repository = repository_at(start)[0]
    return start.absolute() if repository is None or repository.bare else repository.root


@dataclass(frozen=True, slots=True)
class OpenedWorkspace:
    """A project that can be indexed and asked, without what planning needs besides."""

    root: Path
    repository: Repository | None
    location: Location
    journal: FileJournal
    home_journal: FileJournal
    clock: SystemClock
    counter: TokenCounter
    workspace: Workspace


def open_workspace(
    start: Path, config: Config, environment: Mapping[str, str] = os.environ
) -> OpenedWorkspace:
    """Open the index, history and rules of the project around `start`. Raises as `open_project`."""
    repository, note = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    if repository is not None and repository.bare:
        raise ProjectError(f"{root} is a bare repository: there are no files to plan from", hint="Clone it.")
    if repository is None:
        require_consent(root, environment)
    location = locate(root, environment, distrust=foreign_state(repository))
    clock = SystemClock()
    journal = FileJournal(location.root, clock)
    home_journal = FileJournal(location.home, clock)
    counter = token_counter(config.plan.tokenizer)
    excluded = (*config.privacy.exclude, *config.index.exclude)
    adapters = Adapters(
        root=root,
        project_id=project_id(root),
        home=Path(environment.get("HOME") or Path.home()) if config.rules.home else None,
        journal=journal,
        home_journal=home_journal,
        count_tokens=counter.count,
        latest=partial(_latest, location.root),
        publish=lambda kind, write: generations.publish(location.root, kind, write, clock=clock).path,
        lock=partial(_lock, location.root),
        now=clock.now,
        lister=_excluding(_lister(root, repository), excluded),
        replace_file=partial(replace_user_file, root),
        notes=tuple(filter(None, (note, *location.notes))),
        degraded=() if repository is not None else ("history",),
        control=None if repository is None else _version_control(repository),
    )
    limits = Limits(
        max_files=config.index.max_files,
        max_bytes=config.index.max_file_bytes,
        history_commits=config.index.history_commits,
        excluded=excluded,
        session_timeout=config.sessions.timeout_hours * HOUR,
        trust=trust(config.sessions),
    )
    workspace = Workspace(adapters, limits)
    return OpenedWorkspace(root, repository, location, journal, home_journal, clock, counter, workspace)


def open_project(start: Path, config: Config, environment: Mapping[str, str] = os.environ) -> Opened:
    """Open the project around `start` for planning.

    Raises: StoreError if no directory can hold its state; ModelError.
    """
    # Commands that only read rules do without what plans, which takes as long to import as they take.
    from workbench.plan.chunk_model import load_chunk_model
    from workbench.plan.contents import Contents
    from workbench.plan.pipeline import Planner
    from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model

    found = open_workspace(start, config, environment)
    chunks, worth = load_chunk_model()
    embedder, unprepared = cached_embedder(config, found.location.home)
    planner = Planner(
        ranking=load_model(config.models.ranking or DEFAULT_MODEL),
        plain_ranking=load_model(LEXICAL_MODEL),
        embedder=embedder,
        embedder_note=unprepared,
        chunks=chunks,
        worth=worth,
        counter=found.counter,
        contents=Contents(found.root, found.counter, cap=config.index.max_file_bytes),
        matching=match_params(config.rules),
        recheck=_recheck(config, found.counter) if config.rules.recheck else None,
    )
    return Opened(
        root=found.root,
        repository=found.repository,
        location=found.location,
        journal=found.journal,
        home_journal=found.home_journal,
        clock=found.clock,
        workspace=found.workspace,
        planner=planner,
        config=config,
    )


def trust(sessions: SessionsConfig) -> Trust:
    """Return what the configuration says about how far the outcomes of tasks count."""
    return Trust(
        success=sessions.success_weight,
        failed=sessions.failed_weight,
        half_life=sessions.feedback_half_life,
        min_samples=sessions.feedback_min_samples,
    )


def match_params(rules: RulesConfig) -> MatchParams:
    """Return what the configuration says about matching rules."""
    from workbench.rules.matching.match import MatchParams

    return MatchParams(
        vector_weight=rules.vector_weight,
        bm25_weight=rules.lexical_weight,
        hybrid_weight=rules.hybrid_weight,
        priority_weight=rules.priority_weight,
        scope_weight=rules.scope_weight,
        threshold=rules.threshold,
        over_fetch=rules.over_fetch,
        limit=rules.max,
        level_weights={
            Level.GLOBAL: rules.global_weight,
            Level.SCENARIO: rules.scenario_weight,
            Level.STEP: rules.step_weight,
        },
    )


def _recheck(config: Config, counter: TokenCounter) -> Recheck:
    """Return how matches are checked again by a language model."""

    def again(matches: Sequence[RuleMatch], message: str) -> Rechecked:
        from workbench.entry.services.recheck import rechecked  # where the settings ask for it, and only then

        return rechecked(config, matches, message, counter.count)

    return again


def embedding_settings(config: Config) -> EmbeddingSettings:
    """Return what the configuration says about the embedding model."""
    models = config.models
    return EmbeddingSettings(
        cache=user_cache(), model=models.embedding_path or models.embedding, download=models.download
    )


def alone(
    start: Path, name: str, environment: Mapping[str, str] = os.environ
) -> AbstractContextManager[None]:
    """Hold a lock of a project that nobody waits for. Raises: StoreBusy if another process holds it."""
    repository, _ = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    location = locate(root, environment, distrust=foreign_state(repository))
    return locks.exclusive(location.root / "locks" / f"{name}.lock", timeout=0)


def ready_embedder(config: Config) -> tuple[Embedder | None, str]:
    """Return the embedder if a model is ready, without the cache of vectors, and what is missing if not.

    A model that would first have to be built or fetched is left to `workbench model prepare`: a plan does not
    wait for it.
    """
    settings = embedding_settings(config)
    chosen = next((option for option in survey(settings) if option.available), None)
    if chosen is None or settings.model.lower() in OFF:
        return None, ""
    if chosen.source == DOWNLOAD or (chosen.source == PACKAGED and chosen.reason):
        return None, "the embedding model is not prepared yet: run `workbench model prepare`"
    return resolve_embedder(settings)[0], ""


def cached_embedder(config: Config, home: Path) -> tuple[CachedEmbedder | None, str]:
    """Return the embedder with the cache of vectors in the user's home, as `ready_embedder` otherwise."""
    embedder, unprepared = ready_embedder(config)
    return (None if embedder is None else cached(embedder, home / "embeddings")), unprepared


def user_embedder(
    config: Config, environment: Mapping[str, str] = os.environ
) -> tuple[CachedEmbedder | None, str]:
    """Return `cached_embedder` of the user's home, for what needs no project."""
    return cached_embedder(config, user_home(environment))


def _lock(root: Path, name: str) -> AbstractContextManager[None]:
    """Return the lock of a kind of state; an index being built by another process is worth waiting for."""
    timeout = _BUILD_PATIENCE if name == "index" else _PATIENCE
    return locks.exclusive(root / "locks" / f"{name}.lock", timeout=timeout)


def _lister(root: Path, repository: Repository | None) -> Lister:
    return walk_lister(root) if repository is None else lister(repository)


def _excluding(inner: Lister, patterns: Sequence[str]) -> Lister:
    """Return a lister without the paths that match gitignore patterns: their content is never read."""
    if not patterns:
        return inner

    def listed(only: Sequence[str] | None) -> Listing:
        import pathspec

        # Python's own expressions, whatever engine is installed: names may hold what is no UTF-8.
        spec = pathspec.GitIgnoreSpec.from_lines(patterns, backend="simple")
        found = inner(only)
        return Listing(tuple(path for path in found.paths if not spec.match_file(path)), found.skipped)

    return listed


def _latest(root: Path, kind: str) -> Path | Damaged | None:
    found = generations.latest(root, kind)
    if isinstance(found, generations.DamagedGeneration):
        return Damaged(found.reason)
    return None if found is None else found.path


def _version_control(repository: Repository) -> VersionControl:
    return VersionControl(
        head=partial(head_state, repository),
        inputs=lambda: listing_inputs(repository),
        touched=partial(touched_files, repository),
        commits=Commits(
            newest=partial(_newest_commits, repository),
            count=lambda since: count_commits(repository, since_sha=_present(repository, since)),
            lost=partial(lost_commits, repository),
            edge=partial(shallow_edge, repository),
        ),
    )


def _newest_commits(repository: Repository, limit: int | None, since: str | None) -> Iterator[Commit]:
    present = _present(repository, since)
    return log_commits(repository, limit=limit, since_sha=present, line_counts=False)


def _present(repository: Repository, sha: str | None) -> str | None:
    """Return a commit that is still there, None for one that was pruned."""
    return None if sha is None else resolve(repository, sha)
