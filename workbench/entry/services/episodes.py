"""Sessions recorded while they happen: without an index, a model or tables, because a hook waits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from workbench.config import Config
from workbench.entry.project import find_state
from workbench.entry.services.opening import ProjectHost
from workbench.records.plan import Intent, QueryType
from workbench.sessions.episodes import EpisodeService, EpisodeStore
from workbench.sessions.episodes_fold import HOUR, RECORDING_LOCK, STREAM

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
        ),
        by,
    )


def recording_of(host: ProjectHost) -> EpisodeService:
    """Return where sessions of a project that is kept open are recorded; it waits for nobody's turn."""
    return episode_service(host.root, host.project.config, host.by, host.project.environment)


def _is_excluded(patterns: Sequence[str], path: str) -> bool:
    from workbench.sessions.importers.exclusions import path_filter

    return path_filter(patterns)(path)


def _understand(name: str, task: str, kind: QueryType | None) -> Intent:
    from workbench.plan.intent import parse_intent

    return parse_intent(task, project_id=name, query_type=kind)
