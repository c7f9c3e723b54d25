"""Conflicts that wait for a person, of rules, learnings and segments, as faces list and settle them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from workbench.curation.conflicts import CONFLICT_SHOWN, ConflictDecision, check_open
from workbench.errors import UnknownRecord, UsageError
from workbench.lists.conflicts import CONFLICTS, ConflictRow
from workbench.lists.tables import Page, read_page
from workbench.records.conflicts import Action
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.curation.records import Record
    from workbench.curation.service import CurationService
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.opening import Progress, ProjectHost
    from workbench.records.rules import Rule
    from workbench.rules.conflicts.queue import Meaning, Queue
    from workbench.rules.keptbook import Rulebook


def rule_queue(
    project: OpenedProject, book: Rulebook, meaning: Meaning | None = None, progress: Progress | None = None
) -> tuple[Queue, dict[str, Rule]]:
    """Return the conflicts among rules that are synced, and by id the rules and versions on their sides.

    Raises: StoreError.
    """
    from workbench.rules.conflicts.queue import conflict_queue, with_edits

    store = project.workspace.rule_store()
    ledger, enabled = store.ledger(), [rule for rule in book.rules if rule.enabled]
    queue = conflict_queue(store, enabled, ledger, meaning, progress=progress)
    return with_edits(queue, {rule.id: rule for rule in book.rules}, ledger, store.names())


Found = tuple["CurationService[Any, Any]", list[ConflictRow]]


def _among_rules(project: OpenedProject, by: str, progress: Progress | None) -> Found:
    from workbench.entry.services.rules import rule_curator
    from workbench.rules.conflicts.queue import conflict_rows

    queue, rules = rule_queue(project, project.workspace.sync_rules()[0], progress=progress)
    return rule_curator(project, by), conflict_rows(queue.open, rules)


def _among_learnings(project: OpenedProject, by: str, progress: Progress | None) -> Found:
    from workbench.entry.services.learnings import learning_service
    from workbench.memory.learnings.review import conflict_rows

    service = learning_service(project, by)
    return service, conflict_rows(service.conflicts())


def _among_segments(project: OpenedProject, by: str, progress: Progress | None) -> Found:
    from workbench.entry.services.stash import stash_service

    service = stash_service(project, by)
    found = service.conflicts()
    if not found:
        return service, []
    from workbench.stash.concurrency import conflict_rows

    return service, conflict_rows(found)


_SOURCES: Final[Mapping[str, Callable[[OpenedProject, str, Progress | None], Found]]] = {
    "rule": _among_rules,
    "learning": _among_learnings,
    "segment": _among_segments,
}


def conflict_page(
    host: ProjectHost, text: str = "", sort: str = "", *, limit: int, cursor: str | None = None
) -> Page[ConflictRow]:
    """Search for conflicts of every type and return so many of a project that is kept open, surest first.

    `text` is a filter. Raises: UsageError for what is no filter, column or cursor; StoreError.
    """
    query = CONFLICTS.query(text, sort)
    with host.operation("conflicts") as work:
        project = work.project
        for of, find in _SOURCES.items():
            project.conflicts.keep(of, find(project, host.by, host.progress)[1])
        page: Page[ConflictRow] = read_page(project.conflicts.list_waiting(), query, cursor, limit)
        work.measurement.candidates = page.total
    return page


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a conflict was settled: what it was, the action, and the records that hold because of it."""

    conflict: ConflictRow
    action: Action
    records: Sequence[Record]


def settle_conflict(
    host: ProjectHost,
    identifier: str,
    action: Action | None,
    *,
    text: str = "",
    keep: str = "",
    scope: Sequence[str] = (),
    reason: str = "",
) -> Settlement:
    """Settle a conflict, by the beginning of its id, in a project that is kept open, as one step.

    Without an action what is suggested is done; the rest is as in `decide`. Raises: UnknownRecord if none
    waits; ConflictSettled if others were faster; UsageError for what makes no sense; StoreError.
    """
    with host.operation("conflicts") as work:
        found = {of: find(work.project, host.by, host.progress) for of, find in _SOURCES.items()}
        fitting = find_beginning([row for _, rows in found.values() for row in rows], identifier)
        if fitting is not None:
            decision = decide(fitting, action, text=text, keep=keep, scope=scope, reason=reason)
            return Settlement(fitting, decision.action, found[fitting.of][0].resolve(decision))
        for service, _ in found.values():
            store = service.store
            reader = store.reader if store.peers() is None else store.team_reader
            reader.read(lambda ledger: check_open(ledger, identifier))
    raise UnknownRecord(
        f"no conflict {identifier[:CONFLICT_SHOWN]!r} waits",
        hint="List them again: one may have been settled.",
    )


def find_beginning(rows: Sequence[ConflictRow], identifier: str) -> ConflictRow | None:
    """Return the conflict whose id begins so, None without one. Raises: UsageError for several."""
    fitting = [
        row for row in rows if identifier and row.id.startswith((identifier, f"conflict-{identifier}"))
    ]
    if len(fitting) > 1:
        raise UsageError(f"{len(fitting)} conflicts begin with {identifier!r}", hint="Give more of the id.")
    return fitting[0] if fitting else None


def decide(
    conflict: ConflictRow,
    action: Action | None,
    *,
    text: str = "",
    keep: str = "",
    scope: Sequence[str] = (),
    reason: str = "",
) -> ConflictDecision:
    """Return what is decided about a conflict; without an action what is suggested.

    `keep` is left or right, empty for the side that is suggested; `text` the words of a merge, empty for
    those that are suggested.
    """
    suggestion = conflict.suggestion
    chosen = suggestion.action if action is None else action
    left, right = conflict.left.id, conflict.right.id
    kept = {"left": left, "right": right}.get(keep, suggestion.keep)
    words = text or (suggestion.text if chosen is Action.MERGE else "")
    why = reason or conflict.why
    return ConflictDecision(conflict.id, left, right, chosen, why, text=words, scope=tuple(scope), keep=kept)
