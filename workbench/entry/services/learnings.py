"""What was learned in a project, as faces curate it. Neither index nor model nor history is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject
from workbench.entry.services.opening import ProjectHost
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange
    from workbench.memory.learnings.ledger import Note
    from workbench.memory.learnings.review import ReviewItem
    from workbench.records.learnings import FeatureLearning


def learning_service(project: OpenedProject, by: str) -> LearningService:
    """Return the service that curates a project's learnings in the name of a face."""
    return LearningService(store_of(project.workspace.rule_store()), by)


@contextmanager
def curate_learnings(host: ProjectHost, operation: str) -> Iterator[LearningService]:
    """Hold the learnings of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield learning_service(work.project, host.by)


@dataclass(frozen=True, slots=True)
class LearningPast:
    """What journals say of one learning: why it waits, None if it does not, and what was noted and done."""

    item: ReviewItem | None
    hits: tuple[Note, ...] = ()
    against: tuple[Note, ...] = ()
    changes: tuple[RecordChange[FeatureLearning], ...] = ()


def learning_past(project: OpenedProject, identifier: str) -> LearningPast:
    """Return the past of a learning from its own entries and those of what it repeats or contradicts.

    The tables say which these are: of the others nothing is read. Raises: StoreError.
    """
    from workbench.lists.filters import Facet, Filter
    from workbench.lists.tables import ListQuery
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.memory.learnings.review import conflicts_among, queue_of

    pairs = ListQuery(Filter((Facet("of", ("learning",)), Facet("side", (identifier,)))))
    rows = project.conflicts.listed().page(pairs).rows
    older = [row.left.id for row in rows if row.right.id == identifier]
    ledger = LearningLedger()
    for entry, home in project.learning_entries({identifier, *older}):
        ledger.take(entry, home)
    learning, live = ledger.find(identifier), {one.id: one for one in ledger.live()}
    found = [
        pair
        for other in older
        if learning is not None and learning.live and other in live
        for pair in conflicts_among(ledger, (live[other], learning))
    ]
    queue = queue_of(ledger, project.clock.now(), found)
    return LearningPast(
        next((item for item in queue if item.learning.id == identifier), None),
        ledger.hits.get(identifier, ()),
        ledger.contradictions.get(identifier, ()),
        tuple(change for change in ledger.changes if change.record_id == identifier),
    )
