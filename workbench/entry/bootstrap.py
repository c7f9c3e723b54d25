"""Where the engine meets its adapters: the only module that imports both `workbench` and `store`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from store import generations, locks
from store.clock import SystemClock
from store.git import (
    Repository,
    commits_ancestor,
    count_commits,
    diff_files,
    find_repository,
    head_state,
    lister,
    listing_inputs,
    log_commits,
    reachable_commits,
)
from store.journal import FileJournal
from store.location import Location, locate
from workbench.config import Config
from workbench.errors import GitError
from workbench.plan.contents import Contents
from workbench.plan.pipeline import Planner
from workbench.plan.ranking import DEFAULT_MODEL, load_model
from workbench.plan.representations import Shares
from workbench.plan.snippets import ChunkModel
from workbench.plan.workspace import Adapters, Limits, VersionControl, Workspace
from workbench.project.scan import Lister
from workbench.project.walk import walk_lister
from workbench.records.worktree import Listing
from workbench.rules.match import MatchParams
from workbench.text.tokens import token_counter


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
    repository = _repository(start)[0]
    return start.absolute() if repository is None or repository.bare else repository.root


def project_id(root: Path) -> str:
    """Return a short readable name for a project directory, the same on every run."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:8]
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in root.name)
    return f"{name or 'root'}-{digest}"


def open_project(start: Path, config: Config, environment: Mapping[str, str] = os.environ) -> Opened:
    """Open the project around `start`. Raises: StoreError if no directory can hold its state."""
    repository, note = _repository(start)
    root = start.absolute() if repository is None or repository.bare else repository.root
    if repository is not None and repository.bare:
        repository, note = None, "the repository is bare: there are no files to plan from"
    location = locate(root, environment)
    clock = SystemClock()
    journal = FileJournal(location.root, clock)
    home_journal = FileJournal(location.home, clock)
    counter = token_counter(config.plan.tokenizer)
    adapters = Adapters(
        root=root,
        project_id=project_id(root),
        home=Path(environment.get("HOME") or Path.home()) if config.rules.home else None,
        journal=journal,
        home_journal=home_journal,
        count_tokens=counter.count,
        latest=partial(_latest, location.root),
        publish=lambda kind, write: generations.publish(location.root, kind, write, clock=clock).path,
        lock=lambda name: locks.exclusive(location.root / "locks" / f"{name}.lock", timeout=600.0),
        now=clock.now,
        lister=_excluding(_lister(root, repository), (*config.privacy.exclude, *config.index.exclude)),
        notes=tuple(found for found in (note, location.fallback_reason) if found),
        degraded=() if repository is not None else ("history",),
        control=None if repository is None else _version_control(repository),
    )
    limits = Limits(
        max_files=config.index.max_files,
        max_bytes=config.index.max_file_bytes,
        history_commits=config.index.history_commits,
    )
    planner = Planner(
        ranking=load_model(config.models.ranking or DEFAULT_MODEL),
        chunks=ChunkModel({"bm25": 1.0, "bm25_rank": 1.0, "name": 1.0}),
        worth=Shares(),
        counter=counter,
        contents=Contents(root, counter, cap=config.index.max_file_bytes),
        matching=MatchParams(
            vector_weight=config.rules.vector_weight,
            bm25_weight=config.rules.lexical_weight,
            hybrid_weight=config.rules.hybrid_weight,
            priority_weight=config.rules.priority_weight,
            scope_weight=config.rules.scope_weight,
            threshold=config.rules.threshold,
            over_fetch=config.rules.over_fetch,
            limit=config.rules.max,
        ),
    )
    workspace = Workspace(adapters, limits)
    return Opened(root, repository, location, journal, home_journal, clock, workspace, planner, config)


def _repository(start: Path) -> tuple[Repository | None, str]:
    try:
        repository = find_repository(start)
    except GitError as error:
        return None, f"git cannot be used here: {error.message}"
    return repository, "" if repository is not None else "not a git repository: planning without history"


def _lister(root: Path, repository: Repository | None) -> Lister:
    return walk_lister(root) if repository is None else lister(repository)


def _excluding(inner: Lister, patterns: Sequence[str]) -> Lister:
    """Return a lister without the paths that match gitignore patterns: their content is never read."""
    if not patterns:
        return inner

    def listed(only: Sequence[str] | None) -> Listing:
        import pathspec

        spec = pathspec.GitIgnoreSpec.from_lines(patterns)
        found = inner(only)
        return Listing(tuple(path for path in found.paths if not spec.match_file(path)), found.skipped)

    return listed


def _latest(root: Path, kind: str) -> Path | None:
    found = generations.latest(root, kind)
    return found.path if isinstance(found, generations.Generation) else None


def _version_control(repository: Repository) -> VersionControl:
    return VersionControl(
        head=lambda: head_state(repository).sha,
        inputs=lambda: listing_inputs(repository),
        commits=lambda limit: log_commits(repository, limit=limit, line_counts=False),
        count_commits=lambda: count_commits(repository),
        is_ancestor=lambda older, newer: commits_ancestor(repository, older, newer),
        reachable=lambda: reachable_commits(repository),
        touched=lambda: tuple(change.path for change in diff_files(repository, "HEAD")),
    )
