"""Sessions recorded while they happen: without an index, a model or tables, because a hook waits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config import Config
from workbench.entry.project import find_state
from workbench.entry.services.opening import ProjectHost
from workbench.records.plan import Intent, QueryType
from workbench.sessions.disk import MOST_FILES, WorkDisk
from workbench.sessions.episodes import EpisodeService, EpisodeStore
from workbench.sessions.episodes_fold import HOUR, RECORDING_LOCK, STREAM

if TYPE_CHECKING:
    from workbench.entry.project import Repository
    from workbench.records.episodes import Commit
    from workbench.records.worktree import DiskState

_PATIENCE: Final = 10.0  # seconds that a hook may wait for others that record


def episode_service(
    start: Path, config: Config, by: str, environment: Mapping[str, str] = os.environ
) -> EpisodeService:
    """Return where sessions of the project around a directory are recorded. Raises: StoreError."""
    project = find_state(start, config, environment)
    return EpisodeService(
        EpisodeStore(
            root=str(project.root),
            project_id=project.project_id,
            journal=project.journal,
            mentioning=partial(project.mentioning, STREAM),
            lock=partial(project.lock, RECORDING_LOCK, _PATIENCE),
            understand=partial(_understand, project.project_id),
            now=project.clock.now,
            timeout=config.sessions.timeout_hours * HOUR,
            excluded=partial(_is_excluded, config.privacy.exclude),
            disk=None if project.repository is None else _disk_of(project.repository),
        ),
        by,
    )


def recording_of(host: ProjectHost) -> EpisodeService:
    """Return where sessions of a project that is kept open are recorded; it waits for nobody's turn."""
    return episode_service(host.root, host.project.config, host.by, host.project.environment)


def _disk_of(repository: Repository) -> WorkDisk:
    """Return the disk of a repository; what asks git is loaded when it is asked."""

    def look() -> DiskState | None:
        from workbench.entry.project import disk_state

        return disk_state(repository, MOST_FILES)

    def commits(since: str | None) -> Iterable[Commit]:
        from workbench.entry.project import log_commits, resolve

        known = None if since is None else resolve(repository, since)
        return log_commits(repository, since_sha=known, limit=MOST_FILES, line_counts=False)

    def stamp(path: str) -> tuple[int, int]:
        from workbench.entry.project import file_stamp

        return file_stamp(repository, path)

    return WorkDisk(look, commits, stamp)


def _is_excluded(patterns: Sequence[str], path: str) -> bool:
    from workbench.sessions.importers.exclusions import path_filter

    return path_filter(patterns)(path)


def _understand(name: str, task: str, kind: QueryType | None) -> Intent:
    from workbench.plan.intent import parse_intent

    return parse_intent(task, project_id=name, query_type=kind)
