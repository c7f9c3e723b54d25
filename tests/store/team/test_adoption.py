"""Segments of others come into the own stash, each once, the same everywhere, and go from it with a purge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from store.journal import FileJournal
from store.rewriting import rewrite_stream
from store.team import adoption
from store.team.adoption import STASH, adopt_segments, give_up_segments
from store.team.replicas import is_for_team
from store.team.server import Mark
from tests.adapters import ManualClock
from workbench.curation.records import AUTOMATIC
from workbench.entry.project import find_state
from workbench.entry.services.stash import stash_service
from workbench.records.segments import ContextSegment
from workbench.stash.lifecycle import RetentionPolicy
from workbench.stash.stashstore import StashLedger

MACHINES = ("01J0000000000000000000000A", "01J0000000000000000000000B")
NAMES = dict(zip(MACHINES, ("anna", "bob"), strict=True))


class Stash:
    """The stash of a machine, and what it shares of it."""

    def __init__(self, root: Path, machine: str, clock: ManualClock) -> None:
        self.root, self.machine, self.clock = root, machine, clock
        self.journal = FileJournal(root, clock)
        self.generation = 0

    def put(self, identifier: str, text: str = "", **fields: object) -> None:
        """Put a segment, or change what is known of it."""
        self.clock.advance(1)
        body = {"segment_id": identifier, "curation": {"step": "mine"}, **fields}
        self.journal.append(STASH, "segment.put", [{**body, "text": text} if text else body], by="cli")

    def remove(self, identifier: str) -> None:
        self.clock.advance(1)
        self.journal.append(STASH, "segment.removed", [{"id": identifier}], by="cli")

    def share(self) -> FileJournal:
        replica = FileJournal(self.root / "replica", self.clock)
        lines = [
            (entry.id, entry.kind, entry.body)
            for _, entry in self.journal.read(STASH)
            if is_for_team(STASH, entry)
        ]
        path = replica.root / "journal" / "stash.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"".join(
                msgspec.json.encode({"v": 1, "id": i, "at": "x", "kind": k, "by": "cli", "body": b}) + b"\n"
                for i, k, b in lines
            )
        )
        return replica

    def take(self, other: Stash) -> int:
        """Take what another machine shares."""
        replica = other.share()
        mark = (other.generation, replica.size(STASH), replica.checksum(STASH, replica.size(STASH)))
        peers: Mapping[str, FileJournal] = {other.machine: replica}
        marks: Mapping[str, Mark] = {other.machine: mark}
        return adopt_segments(self.root, self.journal, peers, marks, NAMES)

    def known(self) -> dict[str, str | None]:
        """Return the topics of the segments that are there, by id."""
        ledger = StashLedger()
        for _, entry in self.journal.read(STASH):
            ledger.take(entry)
        return {identifier: one.topic for identifier, one in sorted(ledger.records.items())}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Stash, Stash]:
    """Return two machines with one clock."""
    clock = ManualClock()
    return Stash(tmp_path / "a", MACHINES[0], clock), Stash(tmp_path / "b", MACHINES[1], clock)


def test_segments_arrive_once_and_are_not_sent_back(pair: tuple[Stash, Stash]) -> None:
    """They say who wrote them, belong to no step that could be undone here, and edits go both ways."""
    anna, bob = pair
    anna.put("seg-1", "We keep sessions in Redis", topic="auth")
    assert (bob.take(anna), bob.take(anna)) == (1, 0)
    [entry] = [entry for _, entry in bob.journal.read(STASH)]
    assert (entry.by, "curation" in entry.body) == ("auto:team:anna", False)
    assert entry.by.startswith(AUTOMATIC)
    assert anna.take(bob) == 0
    bob.put("seg-1", topic="sessions")
    bob.put("seg-2", "Tokens live for a day")
    assert anna.take(bob) == 2
    assert anna.known() == bob.known() == {"seg-1": "sessions", "seg-2": None}
    (bob.root / "team" / "adopted.json").unlink()
    assert bob.take(anna) == 0


def test_the_entry_with_the_highest_id_holds_everywhere(pair: tuple[Stash, Stash]) -> None:
    """In whichever order they arrive: an edit before a removal brings nothing back."""
    anna, bob = pair
    anna.put("seg-1", "one")
    anna.put("seg-2", "two")
    bob.take(anna)
    bob.put("seg-1", topic="older")
    anna.remove("seg-1")
    anna.put("seg-2", topic="older")
    bob.put("seg-2", topic="newer")
    anna.take(bob)
    bob.take(anna)
    assert anna.known() == bob.known() == {"seg-2": "newer"}


def test_what_its_writer_took_out_goes_here_too(
    pair: tuple[Stash, Stash], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that are gone, texts that are masked, as the next generation has them; or all, on leaving."""
    anna, bob = pair
    anna.put("seg-1", "a secret of ours")
    anna.put("seg-2", "gone")
    anna.put("seg-3", "stays")
    bob.put("seg-4", "mine")
    bob.take(anna)
    rewrite_stream(anna.root, STASH, lambda line: line.replace(b"a secret", b"a masked"), dry=False)
    rewrite_stream(anna.root, STASH, lambda line: None if b"gone" in line else line, dry=False)
    anna.generation += 1
    with monkeypatch.context() as during:
        during.setattr(adoption, "write_atomic", _killed)
        with pytest.raises(KeyboardInterrupt):
            bob.take(anna)
    bob.take(anna)
    data = (bob.root / "journal" / "stash.jsonl").read_bytes()
    assert (b"a secret" in data, b"gone" in data, data.count(b"a masked")) == (False, False, 1)
    assert list(bob.known()) == ["seg-1", "seg-3", "seg-4"]
    give_up_segments(bob.root)
    assert list(bob.known()) == ["seg-4"]
    assert bob.take(anna) == 2


def test_retention_is_each_machines_own(tmp_path: Path) -> None:
    """What one gives up by its settings stays with the others; what a person removes goes everywhere."""
    project = find_state(tmp_path)
    service = stash_service(project, "cli")
    for number in range(3):
        service.add(ContextSegment(segment_id=f"seg-{number}", text=f"Segment number {number}"))
    assert len(service.collect(RetentionPolicy(max_segments=2)).disposals) == 1
    service.remove([service.store.reader.read(lambda ledger: next(iter(ledger.records)))])
    project.close()
    gone = [entry for _, entry in project.journal.read(STASH) if entry.kind == "segment.removed"]
    assert [is_for_team(STASH, entry) for entry in gone] == [False, True]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt
