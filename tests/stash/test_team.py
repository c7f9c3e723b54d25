"""What several machines decide of segments: the same state everywhere, and nothing that wins silently."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.journal_lines import encode_line
from store.team.adoption import STASH, adopt_segments
from store.team.peers import PeerJournals
from store.team.replicas import (
    FLOOR,
    TEAM,
    is_for_team,
    name_machine,
    raise_floor,
    replica_root,
)
from tests.adapters import ManualClock, MemoryJournal
from tests.deep import times
from tests.stash.conftest import read_referring, read_texts
from tests.stores import store_parts
from workbench.curation.conflicts import ConflictDecision, ConflictSettled
from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.concurrency import SegmentConflict
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashStore

DECIDED = ("type", "topic", "protected", "expires_at", "references")


class Machine:
    """A machine of a team: its stash, and the replicas of the others' that it received."""

    def __init__(self, root: Path, name: str, clock: ManualClock) -> None:
        self.root, self.name, self.clock = root, name, clock
        self.id = name_machine(root)
        self.journal = FileJournal(root, clock, floor=root / TEAM / FLOOR)
        self.peers = PeerJournals(root, clock)
        self.service = StashService(self._store(self.peers.journals), "cli")
        self.alone = StashService(self._store(lambda: None), "cli")

    def _store(self, peers: Callable[[], Any]) -> StashStore:
        return StashStore(
            **store_parts(self.journal, MemoryJournal(self.clock), self.clock, peers=peers),
            texts=partial(read_texts, self.journal),
            referring=partial(read_referring, self.journal),
            of_session=lambda session: [],
        )

    def receive(self, other: Machine) -> int:
        """Receive what another machine wrote, and take its segments."""
        shared = [entry for _, entry in other.journal.read(STASH) if is_for_team(STASH, entry)]
        path = replica_root(self.root, other.id) / "journal" / f"{STASH}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(map(encode_line, shared))
        path.write_bytes(data)
        mine = [entry.id for _, entry in self.journal.read(STASH) if is_for_team(STASH, entry)]
        raise_floor(self.root, max((*mine, *(one.id for one in shared)), default=""))
        marks = {other.id: (0, len(data), 0)}
        return adopt_segments(self.root, self.journal, self.peers.journals(), marks, {})

    @property
    def conflicts(self) -> tuple[SegmentConflict, ...]:
        """What was decided apart."""
        return self.service.conflicts()

    def held(self) -> dict[str, tuple[Any, ...]]:
        """Return what is decided of the segments that are there, by id."""
        records = self.service.store.ledger().records
        return {
            one: tuple(getattr(found, name) for name in DECIDED) for one, found in sorted(records.items())
        }

    def shown(self) -> list[tuple[Any, ...]]:
        """Return the conflicts as they must be the same everywhere."""
        return sorted(
            (one.id, one.fields, one.contested, *(side.topic for side in (one.left, one.right)))
            for one in self.conflicts
        )


def team_of(root: Path, count: int) -> list[Machine]:
    """Return machines whose clocks are their own."""
    return [Machine(root / name, name, ManualClock()) for name in "abc"[:count]]


def sync(machines: list[Machine]) -> None:
    """Let all receive everything, and their clocks go on."""
    for one, other in itertools.permutations(machines, 2):
        one.receive(other)
    for one in machines:
        one.clock.advance(1)


@pytest.fixture
def team(tmp_path: Path) -> list[Machine]:
    """Three machines that have one segment."""
    machines = team_of(tmp_path, 3)
    machines[0].service.add(ContextSegment(segment_id="seg-1", text="We keep sessions in Redis"))
    sync(machines)
    return machines


def decide(machine: Machine, one: SegmentConflict, action: Action) -> None:
    machine.service.resolve(ConflictDecision(one.id, one.left.id, one.right.id, action))
    machine.clock.advance(1)


def test_edits_of_one_field_apart_are_a_conflict_everywhere(team: list[Machine]) -> None:
    """The later one is in force; whoever chooses, chooses for all, and undo brings the conflict back."""
    one, other, third = team
    one.service.edit("seg-1", topic="auth")
    other.clock.advance(1)
    other.service.edit("seg-1", topic="sessions", reason="not only logins")
    sync(team)

    assert [machine.held()["seg-1"][1] for machine in team] == ["sessions"] * 3
    assert one.shown() == other.shown() == third.shown()
    (found,) = third.conflicts
    assert (found.fields, found.contested) == (("topic",), ("topic",))
    assert (found.left.text, found.suggestion.action) == ("We keep sessions in Redis", Action.KEEP_LEFT)
    assert [item.detail for item in found.evidence][2:] == ["topic sessions | auth (base none)"]
    decide(third, found, Action.KEEP_RIGHT)
    sync(team)
    assert [(machine.held()["seg-1"][1], machine.conflicts) for machine in team] == [("auth", ())] * 3
    with pytest.raises(ConflictSettled):
        decide(one, found, Action.KEEP_LEFT)
    third.service.undo()
    sync(team)
    assert [machine.held()["seg-1"][1] for machine in team] == ["sessions"] * 3
    sides = [[(one.left.topic, one.right.topic) for one in machine.conflicts] for machine in team]
    assert sides == [[("sessions", "auth")]] * 3


def test_edits_of_different_fields_can_both_hold(team: list[Machine]) -> None:
    """That is suggested; of a field that both changed the value in force stays."""
    one, other, third = team
    one.service.edit("seg-1", topic="auth", type=SegmentType.DECISION)
    one.service.protect(["seg-1"])
    other.clock.advance(5)
    other.service.edit("seg-1", type=SegmentType.RESEARCH)
    other.service.expire_at(["seg-1"], "2030-01-01")
    sync(team)
    (found,) = third.conflicts
    assert set(found.fields) == {"topic", "type", "protected", "expires_at"}
    assert (found.contested, found.suggestion.action) == (("type",), Action.MERGE)
    decide(third, found, found.suggestion.action)
    sync(team)
    held = (SegmentType.RESEARCH, "auth", True, "2030-01-01T00:00:00+00:00", ())
    assert [(machine.held(), machine.conflicts) for machine in team] == [({"seg-1": held}, ())] * 3


@pytest.mark.parametrize("removes_last", [True, False])
def test_a_removal_against_an_edit_is_a_conflict(team: list[Machine], removes_last: bool) -> None:
    """It can be brought back, with what was decided of it, or be gone for all."""
    one, other, third = team
    (one if removes_last else other).clock.advance(3)
    one.service.remove(["seg-1"])
    other.service.edit("seg-1", topic="auth")
    sync(team)
    assert [list(machine.held()) for machine in team] == [[] if removes_last else ["seg-1"]] * 3
    (found,) = third.conflicts
    assert sorted((found.left.text, found.right.text)) == ["(removed)", "We keep sessions in Redis"]
    decide(third, found, Action.KEEP_RIGHT)
    sync(team)
    assert [list(machine.held()) for machine in team] == [["seg-1"] if removes_last else []] * 3
    assert [machine.conflicts for machine in team] == [()] * 3


def test_the_same_text_put_apart_with_other_facts_is_a_conflict(team: list[Machine]) -> None:
    """With the same facts it is not, whenever it was; nor is what retention took on one machine."""
    one, other, _ = team
    for machine, topic in ((one, "auth"), (other, "sessions")):
        machine.service.add(ContextSegment(text="Tokens live for a day", topic=topic))
        machine.service.add(ContextSegment(text="Of the same topic", topic="both"))
        machine.clock.advance(60)
    sync(team)
    assert [[item.fields for item in machine.conflicts] for machine in team] == [[("topic",)]] * 3
    assert one.held() == other.held()


def test_only_what_is_new_is_read(team: list[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of others' journals and of the own one, also where a machine comes back that was away."""
    one, other, third = team
    for number in range(50):
        one.service.add(ContextSegment(text=f"Segment number {number}"))
        one.clock.advance(1)
        if number % 10 == 9:
            other.receive(one)
    third.clock.advance(200)
    third.service.add(ContextSegment(text="From the train"))
    other.receive(one)
    other.receive(third)
    read: list[str] = []
    scan = FileJournal.scan

    def counted(self: FileJournal, *args: Any) -> Iterator[Any]:
        for found in scan(self, *args):
            read.append(self.root.name)
            yield found

    one.service.edit("seg-1", topic="auth")
    monkeypatch.setattr(FileJournal, "scan", counted)
    shared = [entry for _, entry in one.journal.read(STASH) if is_for_team(STASH, entry)]
    read.clear()
    path = replica_root(other.root, one.id) / "journal" / f"{STASH}.jsonl"
    path.write_bytes(b"".join(map(encode_line, shared)))
    mark = {one.id: (0, path.stat().st_size, 0)}
    assert adopt_segments(other.root, other.journal, other.peers.journals(), mark, {}) == 1
    assert len(read) < 20
    assert other.held()["seg-1"][1] == "auth"


ACTS = ("add", "topic", "protect", "type", "remove", "undo", "left", "right", "merge")
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(ACTS),
        st.integers(0, 2),
        st.integers(-3, 4),
        st.sets(st.integers(0, 2)),
    ),
    max_size=10,
)


def act(machine: Machine, action: str, number: int, step: int) -> None:
    """Do something on a machine; what makes no sense there is refused."""
    service, name = machine.service, f"seg-{number}"
    with contextlib.suppress(UsageError):
        if action == "add":
            service.add(ContextSegment(segment_id=name, text=f"Text {number}", topic=f"added {step}"))
        elif action in ("topic", "type"):
            types = list(SegmentType)
            changed = {"topic": f"topic {step}"} if action == "topic" else {"type": types[step % len(types)]}
            service.edit(name, **changed)
        elif action == "protect":
            service.protect([name])
        elif action == "remove":
            service.remove([name])
        elif action == "undo":
            service.undo()
        else:
            for one in machine.conflicts[:1]:
                ways = {"left": Action.KEEP_LEFT, "right": Action.KEEP_RIGHT, "merge": Action.MERGE}
                service.resolve(ConflictDecision(one.id, one.left.id, one.right.id, ways[action]))


@given(STEPS)
@settings(max_examples=times(5, 15), deadline=None)
def test_machines_with_the_same_entries_have_the_same_stash(
    steps: list[tuple[int, str, int, int, set[int]]],
) -> None:
    """Whoever received what when, with wrong clocks; a topic holds, is in a conflict, or was seen."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patched:
        for name in ("fsync", "fdatasync"):
            patched.setattr(os, name, lambda descriptor: None)  # nothing here is to outlive a power cut
        machines = team_of(Path(directory), 3)
        there: set[str] = set()
        for step, (who, action, number, skew, senders) in enumerate(steps):
            machine = machines[who]
            for sender in senders - {who}:
                machine.receive(machines[sender])
            machine.clock.advance(skew)
            before = topics(machine)
            act(machine, action, number, step)
            after = topics(machine)
            there = (there - (before - after)) | (after - before)
        sync(machines)
        sync(machines)
        one, other, third = machines
        assert one.held() == other.held() == third.held()
        assert one.shown() == other.shown() == third.shown()
        assert there <= topics(one)
        fresh = replace(one.service, store=replace(one.service.store))
        assert fresh.conflicts() == one.conflicts


def topics(machine: Machine) -> set[str]:
    held = {str(found[1]) for found in machine.held().values()}
    return held | {str(side.topic) for one in machine.conflicts for side in (one.left, one.right)}
