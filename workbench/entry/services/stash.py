"""The stash of a project, as faces keep it; putting things aside needs no model and no index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.entry.project import OpenedProject
from workbench.entry.services.opening import ProjectHost
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashStore


def stash_service(project: OpenedProject, by: str) -> StashService:
    """Return the service that keeps a project's stash in the name of a face."""
    return StashService(stash_store(project), by)


def stash_store(project: OpenedProject) -> StashStore:
    """Return where the segments of a project come from and go to."""
    return StashStore(
        project_id=project.project_id,
        journal=project.journal,
        home_journal=project.home_journal,
        latest=project.usable,
        publish=project.publish,
        lock=project.lock,
        now=project.clock.now,
        count_tokens=lambda text: project.counter.count(text),
        texts=project.segment_texts,
    )


@contextmanager
def curate_stash(host: ProjectHost, operation: str) -> Iterator[StashService]:
    """Hold the stash of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield stash_service(work.project, host.by)
