"""What was learned in a project, as faces curate it. Neither index nor model nor history is needed for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject
from workbench.entry.services.opening import ProjectHost
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange
    from workbench.lists.tables import Page
    from workbench.memory.learnings.ledger import Note
    from workbench.memory.learnings.prompt import Candidate
    from workbench.memory.learnings.review import ReviewItem
    from workbench.ports import Entry
    from workbench.records.learnings import FeatureLearning


def learning_service(project: OpenedProject, by: str) -> LearningService:
    """Return the service that curates a project's learnings in the name of a face."""
    return LearningService(store_of(project.workspace.rule_store()), by)


@contextmanager
def curate_learnings(host: ProjectHost, operation: str) -> Iterator[LearningService]:
    """Hold the learnings of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield learning_service(work.project, host.by)


def learning_page(
    host: ProjectHost, text: str, sort: str, *, gone: bool, limit: int, cursor: str | None
) -> Page[FeatureLearning]:
    """Return so many learnings of a project that is kept open, from where a cursor says.

    `text` is a filter; with `gone` those that hold no longer are listed, too.
    Raises: UsageError for what is no filter, column or cursor; StoreError.
    """
    from workbench.lists.filters import Facet
    from workbench.lists.learnings import LEARNINGS
    from workbench.lists.tables import Page

    query = LEARNINGS.query(text, sort)
    if not gone:
        live = Facet("live", ("yes",))
        query = replace(query, filter=replace(query.filter, terms=(live, *query.filter.terms)))
    with host.operation("memory") as work:
        page = work.project.learning_list.page(query, cursor, limit)
        work.measurement.candidates = page.total
    return Page(tuple(row.learning for row in page.rows), page.total, page.cursor)


def recall_learnings(project: OpenedProject, text: str) -> tuple[Candidate, ...]:
    """Return the learnings that may be given and are about a text, as a plan finds them; best first.

    It is found by meaning where an embedding model is ready, and by words; no index is needed.
    Raises: StoreError, ModelError.
    """
    kept = project.workspace.learnings()
    if kept is None or not kept.known.live:
        return ()
    from workbench.memory.learnings.prompt import candidates
    from workbench.plan.intent import parse_intent
    from workbench.plan.passages import learning_relevance
    from workbench.plan.semantics import TaskVector
    from workbench.rules.matching.match import RuleQuery

    planner, now = project.planner, project.clock.now()
    intent = parse_intent(text, project_id=project.project_id)
    references = intent.entities.issue_refs
    query = RuleQuery(text, project.project_id, None, now)
    vector = TaskVector(planner.embedder, intent.task)
    relevance, _ = learning_relevance(planner, intent.task, vector.get, query, kept)
    tasks = (*references, *(reference.lstrip("#") for reference in references))
    return candidates(kept.known, now, tasks=tasks, relevance=relevance).candidates


def note_recalled(project: OpenedProject, found: Sequence[FeatureLearning], session: str = "") -> None:
    """Note that learnings were given to an agent that asked, so that they are never learned again."""
    from workbench.memory.learnings.echoes import note_injected

    if found:
        texts = {one.id: one.text for one in found}
        note_injected(store_of(project.workspace.rule_store()), texts, surface="recall", session=session)


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
    from workbench.curation.concurrency import sign_changes
    from workbench.lists.filters import Facet, Filter
    from workbench.lists.tables import ListQuery
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.memory.learnings.review import conflicts_among, edits_of, queue_of

    pairs, ledger = Filter((Facet("of", ("learning",)), Facet("side", (identifier,)))), LearningLedger()
    waiting = project.conflicts.list_waiting()

    def read() -> tuple[list[str], list[tuple[Entry, bool]]]:
        rows = waiting.page(ListQuery(pairs)).rows
        found = [row.left.id for row in rows if row.right.id == identifier]
        return found, project.learning_entries({identifier, *found})

    older, entries = waiting.snapshot(read)
    for entry, home in entries:
        ledger.take(entry, home)
    learning, live = ledger.find(identifier), {one.id: one for one in ledger.live()}
    found = [
        pair
        for other in older
        if learning is not None and learning.live and other in live
        for pair in conflicts_among(ledger, (live[other], learning))
    ]
    found += edits_of(ledger, project.machine_names)
    queue = queue_of(ledger, project.clock.now(), found)
    return LearningPast(
        next((item for item in queue if item.learning.id == identifier), None),
        ledger.hits.get(identifier, ()),
        ledger.contradictions.get(identifier, ()),
        sign_changes((one for one in ledger.changes if one.record_id == identifier), project.machine_names),
    )
