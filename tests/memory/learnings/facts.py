"""Facts about learnings, as taking iterations in notes them."""

from __future__ import annotations

from workbench.curation.store import record
from workbench.memory.learnings.ledger import draft_contradiction, draft_hit
from workbench.memory.learnings.service import LearningService


def note_hit(service: LearningService, identifier: str, *, session_id: str, why: str = "") -> None:
    note = draft_hit(service.find(identifier), session_id=session_id, iteration=None, why=why)
    record(service.store, [note], by=service.by)


def contradict(service: LearningService, identifier: str, *, session_id: str, why: str) -> None:
    """Note that an outcome spoke against a learning."""
    learning = service.find(identifier)
    note = draft_contradiction(learning, session_id=session_id, iteration=None, why=why)
    record(service.store, [note], by=service.by)
