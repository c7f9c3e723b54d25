"""What was learned in a project, as faces curate it. Neither index nor model nor history is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.entry.project import OpenedProject
from workbench.entry.services.opening import ProjectHost
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService


def learning_service(project: OpenedProject, by: str) -> LearningService:
    """Return the service that curates a project's learnings in the name of a face."""
    return LearningService(store_of(project.workspace.rule_store()), by)


@contextmanager
def curate_learnings(host: ProjectHost, operation: str) -> Iterator[LearningService]:
    """Hold the learnings of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield learning_service(work.project, host.by)
