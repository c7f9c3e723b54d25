"""A new type of curated records takes little: what is its own, and everything else comes from the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tests.adapters import ManualClock, MemoryJournal
from tests.stores import store_parts
from workbench.curation.conflicts import ConflictDecision
from workbench.curation.ledger import Ledger
from workbench.curation.records import RecordType, Settling
from workbench.curation.service import CurationService
from workbench.curation.store import CurationStore
from workbench.ports import Journal
from workbench.records.conflicts import Action


@dataclass(frozen=True, slots=True)
class Toy:
    """A toy and the rooms it may be in."""

    id: str
    text: str
    rooms: tuple[str, ...] = ()
    project_id: str | None = "p"


class ToyType(RecordType[Toy]):
    """Toys, all in one stream."""

    record, noun, group, shown = Toy, "toy", "toys", 8
    put, removed, settled, reopened = "toy.put", "toy.removed", "toy.settled", "toy.reopened"
    editable = frozenset({"text", "rooms"})

    one_stream = "toys"

    def create(self, record: Toy, *, now: str, taken: Mapping[str, object]) -> Toy:
        return replace(record, id=f"toy-{len(taken)}")

    def merge_settled(self, left: Toy, right: Toy, text: str, settling: Settling) -> Toy:
        return replace(left, text=text) if text else left

    def narrow_settled(self, record: Toy, scope: Sequence[str], settling: Settling) -> Toy:
        return replace(record, rooms=tuple(scope))


class ToyStore(CurationStore[Ledger[Toy]]):
    """Where toys come from."""

    def empty_ledger(self) -> Ledger[Toy]:
        return Ledger(ToyType())


class ToyService(CurationService[Ledger[Toy], Toy]):
    """Curates toys."""

    LOCK: ClassVar[str] = "toys"


def toy_service(journal: Journal, home: Journal, clock: ManualClock) -> ToyService:
    return ToyService(ToyStore(**store_parts(journal, home, clock)), "test")


def test_a_toy_is_listed_edited_undone_settled_and_remembered() -> None:
    """List, edit, undo, redo, conflict and history come with the core."""
    clock = ManualClock()
    toys = toy_service(MemoryJournal(clock), MemoryJournal(clock), clock)
    ball, cube = toys.create(Toy("", "A ball")), toys.create(Toy("", "A cube"))
    toys.edit(ball.id, text="A red ball", reason="it is red")
    assert [record.text for record in toys.records()] == ["A red ball", "A cube"]
    assert [(one.after, one.reason) for one in toys.history(ball.id)][1] == (
        replace(ball, text="A red ball"),
        "it is red",
    )
    toys.resolve(ConflictDecision("conflict-1", ball.id, cube.id, Action.KEEP_RIGHT))
    assert toys.records() == (cube,)
    assert toys.undo().title == "undo: keep right: toy-0, toy-1"
    assert toys.undo().title == "undo: edit toy-0"
    assert toys.records() == (ball, cube)
    toys.redo()
    toys.redo()
    assert toys.records() == (cube,)
