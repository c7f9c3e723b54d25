"""The stash of a project, as faces keep it; putting things aside needs no model and no index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.config import StashConfig
from workbench.entry.project import OpenedProject
from workbench.entry.services.opening import ProjectHost
from workbench.stash.lifecycle import RetentionPolicy, StashCollection
from workbench.stash.service import StashService


def stash_service(project: OpenedProject, by: str) -> StashService:
    """Return the service that keeps a project's stash in the name of a face."""
    return StashService(project.stash_store, by)


def retention_policy(
    settings: StashConfig,
    *,
    keep_days: float | None = None,
    max_segments: int | None = None,
    max_tokens: int | None = None,
) -> RetentionPolicy:
    """Return how long and how much is kept: as given, else as the settings say."""
    return RetentionPolicy(
        settings.keep_days if keep_days is None else keep_days,
        settings.max_segments if max_segments is None else max_segments,
        settings.max_tokens if max_tokens is None else max_tokens,
    )


def collect_daily(project: OpenedProject, service: StashService) -> StashCollection | None:
    """Give up what the settings do not keep, before the first addition of a day; None if there is nothing.

    It is a step of its own, before that of the addition. Raises: StoreError.
    """
    settings = project.config.stash
    done = service.collect_daily(retention_policy(settings)) if settings.collect else None
    return done if done is not None and done.disposals else None


@contextmanager
def curate_stash(host: ProjectHost, operation: str) -> Iterator[StashService]:
    """Hold the stash of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield stash_service(work.project, host.by)
