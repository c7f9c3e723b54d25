"""Journals of a team arrive at all of its machines, whatever is lost, killed, copied or damaged meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from store.files import write_atomic
from store.journal import FileJournal
from store.journal_files import stream_path
from store.rewriting import rewrite_stream
from store.team import outbox, record, replica_files, sync
from store.team.peers import PeerJournals
from store.team.replicas import own_machine, replica_root
from store.team.server import TeamServer
from store.team.settings import TeamSettings
from store.team.sync import Exchange, TeamReplicas, team_lock
from store.team.team import ProjectTeam
from tests.adapters import ManualClock
from tests.store.team.memory_server import MemoryTeam, cut
from workbench.entry.project import find_state
from workbench.errors import ServerUnreachable, StoreBusy, StoreError, UsageError
from workbench.memory.journal import KIND as ITERATION
from workbench.memory.learnings import kinds
from workbench.rules.curation.ledger import AUTOMATIC
from workbench.stash.segmenttype import EMBEDDED

RULES = "rules"
AUTH = f"{kinds.STREAMS}auth"


class Machine:
    """A project directory of a member."""

    def __init__(self, root: Path, team: MemoryTeam, member: str = "ann") -> None:
        self.state = root
        self.team = team
        self.member = member
        self.journal = FileJournal(root, ManualClock())

    def write(self, *texts: str, stream: str = RULES, kind: str = "rule.put", by: str = "cli") -> None:
        self.journal.append(stream, kind, [{"text": text} for text in texts], by=by)

    def sync(self, server: TeamServer | None = None, machines: Collection[str] = ()) -> Exchange:
        """Send and receive what some machines wrote, or all."""
        replicas = TeamReplicas(self.state, self.journal, self.state.name)
        return replicas.exchange(server or self.team.connect(self.member), machines)

    @property
    def id(self) -> str:
        return own_machine(self.state)

    def peers(self, stream: str = RULES) -> dict[str, list[str]]:
        """Return the texts of the other machines, by their names."""
        journals = PeerJournals(self.state, ManualClock()).journals()
        return {
            self.team.machines[machine].name: texts(journal, stream) for machine, journal in journals.items()
        }

    def all(self) -> list[str]:
        """Return all texts that are known here, sorted."""
        journals = (self.journal, *PeerJournals(self.state, ManualClock()).journals().values())
        return sorted(text for journal in journals for text in texts(journal, RULES))


def texts(journal: FileJournal, stream: str) -> list[str]:
    return [entry.body["text"] for _, entry in journal.read(stream) if "text" in entry.body]


@pytest.fixture
def team() -> MemoryTeam:
    return MemoryTeam()


@pytest.fixture
def pair(tmp_path: Path, team: MemoryTeam) -> tuple[Machine, Machine]:
    first, second = Machine(tmp_path / "first", team), Machine(tmp_path / "second", team, "bob")
    first.sync()
    second.sync()
    return first, second


def test_what_one_writes_the_other_has(pair: tuple[Machine, Machine]) -> None:
    """Byte for byte, each entry once, and what follows a checkout or an index stays where it is."""
    first, second = pair
    first.write("one", "two")
    first.write("of a file", by=AUTOMATIC)
    first.write("a file", kind="file.synced")
    first.write("an index", stream="stash", kind=EMBEDDED)
    first.write("put aside", stream="stash", kind="segment.put")
    first.write("learned", stream=AUTH, kind=kinds.PUT)
    first.write("a session", stream="sessions", kind="episode.event")
    first.write("an iteration", stream=AUTH, kind=ITERATION)
    first.write("a correction", stream=AUTH, kind=kinds.SAID)
    second.write("three")

    assert first.sync().sent == 4
    done = second.sync()
    assert (done.sent, done.received, done.notes) == (1, 4, [])
    assert second.peers() == {"first": ["one", "two"]}
    assert second.peers("stash") == {"first": ["put aside"]}
    assert second.peers(AUTH) == {"first": ["learned"]}
    assert second.peers("sessions") == {"first": []}
    first.sync()
    assert first.peers() == {"second": ["three"]}
    assert first.sync() == Exchange()


def test_a_look_at_one_machine_leaves_the_others(
    pair: tuple[Machine, Machine], tmp_path: Path, team: MemoryTeam
) -> None:
    """What that machine and this one wrote is exchanged, what a third one wrote with the next whole look."""
    first, second = pair
    third = Machine(tmp_path / "third", team)
    for one in (first, second, third):
        one.write(f"of {one.state.name}")
    first.sync()
    third.sync()
    done = second.sync(machines=(first.id,))
    assert (done.sent, done.received) == (1, 1)
    assert second.peers() == {"first": ["of first"]}
    assert second.sync().received == 1
    assert second.peers() == {"first": ["of first"], "third": ["of third"]}


def test_a_look_without_news_reads_no_journal(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What did not change is neither read nor written again."""
    first, second = pair
    first.write("one")
    first.sync()
    second.sync()

    def fail(*_: object) -> None:
        raise AssertionError

    for module, name in ((outbox, "reading_stream"), (replica_files, "prefix_crc"), (sync, "write_record")):
        monkeypatch.setattr(module, name, fail)
    assert second.sync() == first.sync() == Exchange()


CALLS = ("register", "heads", "read", "append", "replace", "machines")


@pytest.mark.parametrize("call", [*CALLS, *(f"after {call}" for call in CALLS)])
def test_a_connection_that_is_lost_anywhere_loses_nothing(pair: tuple[Machine, Machine], call: str) -> None:
    """Also where the server did what was asked and the answer never came."""
    first, second = pair
    second.write("theirs")
    second.sync()
    first.write("one", "two", "old")
    if "replace" in call:
        first.sync()
        rewrite_stream(first.state, RULES, lambda line: None if b'"old"' in line else line, dry=False)
    first.team.fail = cut(call)
    with pytest.raises(ServerUnreachable):
        first.sync()
    first.team.fail = lambda call: None
    first.write("three")

    assert first.sync().notes == []
    second.sync()
    wanted = ["old"] * ("replace" not in call)
    assert second.all() == sorted(["one", "two", "three", "theirs", *wanted])
    assert first.all() == second.all()


POINTS = [
    (replica_files, "write_lines"),
    (replica_files, "sync_data"),
    (replica_files, "sync_dir"),
    (replica_files, "_replica"),
    (record, "write_atomic"),
    (outbox, "put_file"),
    (outbox, "extend_file"),
    (sync, "extend_file"),
    (sync, "put_file"),
    (sync, "write_record"),
    (sync, "raise_floor"),
]


def test_who_stays_open_writes_seldom_how_far_it_received(pair: tuple[Machine, Machine]) -> None:
    """Another process that does not know of it receives nothing twice, and is gone on from in turn."""
    first, second = pair
    replicas = TeamReplicas(first.state, first.journal, first.state.name)
    server = first.team.connect(first.member)

    def received(text: str) -> Exchange:
        second.write(text)
        second.sync()
        return replicas.exchange(server)

    assert received("one") == Exchange(received=1)
    known = record.record_stamp(first.state)
    assert received("two") == Exchange(received=1)
    assert record.record_stamp(first.state) == known
    assert replicas.is_current(first.state.name)
    assert not replicas.is_current("another name")

    assert first.sync() == Exchange()
    assert not replicas.is_current(first.state.name)
    first.write("three")
    assert first.sync() == Exchange(sent=1)
    assert received("four") == Exchange(received=1)
    assert first.all() == ["four", "one", "three", "two"]


@pytest.mark.parametrize(("module", "name"), POINTS, ids=[f"{m.__name__}.{n}" for m, n in POINTS])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_may_end_anywhere(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch, module: object, name: str, when: str
) -> None:
    """The next one goes on: nothing is lost, nothing is there twice, and nobody takes another id."""
    first, second = pair
    second.write("zero", "old")
    second.sync()
    first.sync()
    rewrite_stream(second.state, RULES, lambda line: None if b'"old"' in line else line, dry=False)
    second.sync()
    first.write("one", "two")
    second.write("late", stream="memory/x", kind="learning.put")
    second.sync()
    known = first.id
    real = getattr(module, name)

    def killed(*arguments: object, **options: object) -> object:
        if when == "after":
            real(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(module, name, killed)
        try:
            first.sync()
        except KeyboardInterrupt:
            first.write("three")

    first.sync()
    second.sync()
    assert (first.id, first.sync(), second.sync()) == (known, Exchange(), Exchange())
    assert first.all() == second.all()
    assert first.peers("memory/x") == {"second": ["late"]}
    assert "old" not in first.all()


def test_a_journal_that_was_written_again_is_replaced(pair: tuple[Machine, Machine]) -> None:
    """What a purge took out is gone from the server and from all machines with their next look."""
    first, second = pair
    first.write("keep", "secret", "keep too")
    first.sync()
    second.sync()
    rewrite_stream(first.state, RULES, lambda line: line.replace(b"secret", b"masked"), dry=False)
    first.write("later")

    first.sync()
    assert b"secret" not in first.team.lines[first.id, RULES]
    assert second.sync().notes == []
    assert second.peers() == {"first": ["keep", "masked", "keep too", "later"]}
    rewrite_stream(first.state, RULES, lambda line: None, dry=False)
    first.sync()
    second.sync()
    assert second.peers() == {"first": []}


def test_who_stays_open_reads_again_what_grew_or_when_all_is_asked_for(pair: tuple[Machine, Machine]) -> None:
    """A look at some machines leaves files that were seen to be whole; a damaged one has the next change."""
    first, second = pair
    replicas = TeamReplicas(second.state, second.journal, second.state.name)
    server = second.team.connect(second.member)
    first.write("one")
    first.sync()
    path = stream_path(replica_root(second.state, first.id), RULES)

    def damage() -> list[str]:
        path.write_bytes(whole.replace(b"one", b"uno"))
        return replicas.exchange(server, (first.id,)).notes

    assert replicas.exchange(server, (first.id,)).received == 1
    whole = path.read_bytes()
    assert damage() == []
    assert [note for note in replicas.exchange(server).notes if "damaged" in note]
    assert path.read_bytes() == whole
    assert damage() == []
    first.write("two")
    first.sync()
    assert [note for note in replicas.exchange(server, (first.id,)).notes if "damaged" in note]
    assert second.all() == ["one", "two"]


def test_a_damaged_replica_is_fetched_again(pair: tuple[Machine, Machine]) -> None:
    """With a sentence, whatever happened to its file: other bytes, no end, nothing, or no file at all."""
    first, second = pair
    first.write("one", "two")
    first.sync()
    second.sync()
    path = stream_path(replica_root(second.state, first.id), RULES)
    whole = path.read_bytes()

    for damage in (whole.replace(b"one", b"uno"), whole[:-20], b"", None):
        path.unlink() if damage is None else path.write_bytes(damage)
        done = second.sync()
        assert [note for note in done.notes if "damaged" in note and "first" in note], damage
        assert path.read_bytes() == whole
    path.write_bytes(whole + b'{"v":1,"torn')
    assert second.sync().notes == []
    assert path.read_bytes() == whole
    (second.state / "team" / "replicas.json").write_bytes(b"{")
    assert second.sync().notes == []
    assert second.peers() == {"first": ["one", "two"]}


def test_what_readers_have_of_a_replica_stays(pair: tuple[Machine, Machine]) -> None:
    """Lines that a killed process received and did not write down are not cut off, nor received again."""
    first, second = pair
    first.write("one")
    first.sync()
    second.sync()
    written = second.state / "team" / "replicas.json"
    before = written.read_bytes()
    first.write("two")
    first.sync()
    second.sync()
    [journal] = PeerJournals(second.state, ManualClock()).journals().values()
    place = journal.size(RULES)
    written.write_bytes(before)
    second.team.fail = cut("read")
    assert second.sync().notes == []
    assert (list(journal.read(RULES, place)), second.peers()) == ([], {"first": ["one", "two"]})


def test_a_diverged_replica_is_fetched_again(pair: tuple[Machine, Machine]) -> None:
    """What a server has of others counts, also one that was brought back and went on otherwise."""
    first, second = pair
    first.write("one")
    first.sync()
    second.sync()
    other = first.team.lines[first.id, RULES].replace(b"one", b"uno")
    first.team.lines[first.id, RULES] = other
    done = second.sync()
    assert "not what the server has" in done.notes[0] or "fetched again" in done.notes[0]
    assert second.peers() == {"first": ["uno"]}
    first.team.lines[first.id, RULES] = b""
    assert "has less" in second.sync().notes[0]
    assert second.peers() == {"first": ["uno"]}


def test_a_server_that_lost_its_tail_gets_it_again(pair: tuple[Machine, Machine]) -> None:
    """Each machine has its own journals: what a backup did not have is sent once more."""
    first, second = pair
    first.write("one")
    first.sync()
    backup = dict(first.team.lines)
    first.write("two")
    first.sync()
    second.sync()
    first.team.lines = backup
    known = first.id

    assert (first.sync().notes, first.id) == ([], known)
    assert second.sync().notes == []
    assert second.peers() == {"first": ["one", "two"]}


@pytest.mark.parametrize("member", ["ann", "eve"])
@pytest.mark.parametrize("sent_before", [True, False])
def test_two_copies_of_a_directory_become_two_machines(
    pair: tuple[Machine, Machine], tmp_path: Path, member: str, sent_before: bool
) -> None:
    """Whoever sends second takes a new id; both have all that either wrote, each entry once, as others do."""
    first, second = pair
    first.write("one", "two")
    if sent_before:
        first.sync()
    copied = shutil.copytree(first.state, tmp_path / "copied")
    twin = Machine(copied, first.team, member)
    first.write("of the first")
    first.sync()
    twin.write("of the twin")

    done = twin.sync()

    assert ("copied" if member == "ann" else "another member's") in done.notes[0]
    assert twin.id != first.id
    wanted = sorted(["one", "two", "of the first", "of the twin"])
    assert twin.all() == wanted
    assert (twin.sync(), first.sync().notes) == (Exchange(), [])
    assert first.all() == wanted
    second.sync()
    assert second.all() == wanted
    first.write("later")
    first.sync()
    twin.write("later, too")
    twin.sync()
    first.sync()
    rewrite_stream(first.state, RULES, lambda line: None if b'"two"' in line else line, dry=False)
    first.sync()
    assert (twin.sync().notes, twin.all()) == ([], sorted([*wanted, "later", "later, too"]))
    assert first.peers()["copied"] == ["of the twin", "later, too"]


def test_a_state_from_a_backup_gets_back_what_it_lost(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    """It goes by a new id, and what it had sent since comes back as the old one's."""
    first, second = pair
    first.write("one")
    first.sync()
    backup = shutil.copytree(first.state, tmp_path / "backup")
    first.write("two")
    first.sync()
    shutil.rmtree(first.state)
    shutil.copytree(backup, first.state)

    assert first.sync().notes
    assert first.all() == ["one", "two"]
    first.write("three")
    first.sync()
    second.sync()
    assert second.all() == ["one", "three", "two"]


def test_what_no_journal_could_be_is_left_alone(pair: tuple[Machine, Machine]) -> None:
    """Names of machines and streams that lead elsewhere, streams that are not for a team."""
    first, second = pair
    line = b'{"v":1,"id":"01J00000000000000000000000","at":"x","kind":"rule.put","by":"x","body":{}}\n'
    for key in (("../../x", RULES), (first.id, "../../etc/x"), (first.id, "sessions"), (first.id, "models")):
        first.team.lines[key] = line
    second.sync()
    peers = PeerJournals(second.state, ManualClock()).journals()
    assert list(peers) == []
    assert not list(second.state.parent.glob("x*"))


def test_a_full_disk_is_reported_and_gone_on_with(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is half there, and the next look finishes."""
    first, second = pair
    first.write("one")
    first.sync()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(replica_files, "write_lines", full)
        with pytest.raises(OSError, match="space"):
            second.sync()
    second.sync()
    assert second.peers() == {"first": ["one"]}


def test_long_streams_go_in_parts(pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is lost in the middle costs the last part; a line may be longer than a part."""
    first, second = pair
    for module in (sync, outbox):
        monkeypatch.setattr(module, "MOST", 300)
    lines: Sequence[str] = [f"{number}" * 40 for number in range(20)] + ["x" * 2_000]
    first.write(*lines)
    parts = iter(range(100))
    first.team.fail = lambda call: cut("append")(call) if call == "append" and next(parts) == 3 else None
    with pytest.raises(ServerUnreachable):
        first.sync()
    assert first.team.lines[first.id, RULES]
    first.sync()
    reads = iter(range(100))
    first.team.fail = lambda call: cut("read")(call) if call == "read" and next(reads) == 3 else None
    with pytest.raises(ServerUnreachable):
        second.sync()
    first.team.fail = lambda call: None
    read_before = first.team.calls.count("read")
    second.sync()
    assert second.peers() == {"first": list(lines)}
    assert first.team.calls.count("read") - read_before < 20


def test_own_ids_follow_those_that_were_received(tmp_path: Path, team: MemoryTeam) -> None:
    """A machine whose clock is behind writes after what it has seen."""
    ahead, behind = Machine(tmp_path / "ahead", team), Machine(tmp_path / "behind", team, "bob")
    ahead.journal = FileJournal(ahead.state, ManualClock(1_800_000_000.0))
    ahead.write("first")
    ahead.sync()
    behind.sync()
    behind.journal = FileJournal(behind.state, ManualClock(), floor=behind.state / "team" / "floor")
    behind.write("second")

    seen = [entry.id for _, entry in ahead.journal.read(RULES)]
    own = [entry.id for _, entry in behind.journal.read(RULES)]
    assert own > seen
    write_atomic(behind.state / "team" / "floor", b"nonsense")
    behind.write("third")
    assert len(texts(behind.journal, RULES)) == 2


def test_a_record_of_former_ids_that_cannot_be_read_is_an_error(pair: tuple[Machine, Machine]) -> None:
    """Without it entries of others would count as own ones."""
    first, _ = pair
    (first.state / "team" / "former.json").write_bytes(b"[")
    with pytest.raises(StoreError, match="former"):
        first.sync()


def test_one_process_of_a_machine_exchanges_at_once(tmp_path: Path, team: MemoryTeam) -> None:
    """Another one waits, or leaves it to that one; without a team there is nothing to exchange."""
    project = ProjectTeam(find_state(tmp_path), lambda url, name: team.connect())
    with pytest.raises(UsageError, match="no team"):
        project.sync()
    settings = TeamSettings("postgresql://anna@localhost/x", "shop", "here")
    assert project.join(settings, lambda *_: None).exchange == Exchange()
    with team_lock(find_state(tmp_path).state, 1), pytest.raises(StoreBusy):
        project.sync(0)
    assert project.sync() == Exchange()


def test_entries_of_the_future_wait_until_the_server_has_their_time(tmp_path: Path, team: MemoryTeam) -> None:
    """Also those received by an earlier version; whatever the own clock says, the server's time decides."""
    ahead, other = Machine(tmp_path / "ahead", team), Machine(tmp_path / "other", team, "bob")
    ahead.write("of now")
    ahead.journal = FileJournal(ahead.state, ManualClock(4_000_000_000.0))
    ahead.write("of the future")
    ahead.sync()
    team.time = lambda: 0.0  # an earlier version did not ask
    other.sync()
    assert other.peers() == {"ahead": ["of now", "of the future"]}
    team.time = lambda: 1_800_000_000.0
    other.sync()
    assert other.peers() == {"ahead": ["of now"]}
    late = Machine(tmp_path / "late", team, "carl")
    done = late.sync()
    assert late.peers() == other.peers()
    assert [note for note in done.notes if "of the future" in note and "2096-10-02" in note]
    ahead.write("after it")
    ahead.sync()
    assert late.sync().received == 1
    assert late.peers() == {"ahead": ["of now"]}
    team.time = lambda: 3_999_999_500.0  # nine minutes before
    for one in (late, other):
        one.sync()
        assert one.peers() == {"ahead": ["of now", "of the future", "after it"]}


def test_a_stream_that_was_written_again_waits_no_longer(tmp_path: Path, team: MemoryTeam) -> None:
    """Its machine took the entry of the future out: what is there now counts."""
    ahead, other = Machine(tmp_path / "ahead", team), Machine(tmp_path / "other", team, "bob")
    ahead.journal = FileJournal(ahead.state, ManualClock(4_000_000_000.0))
    ahead.write("of the future", "kept")
    ahead.sync()
    team.time = lambda: 1_800_000_000.0
    other.sync()
    assert other.peers() == {"ahead": []}
    rewrite_stream(ahead.state, RULES, lambda line: None, dry=False)
    ahead.journal = FileJournal(ahead.state, ManualClock())
    ahead.write("of now")
    ahead.sync()
    other.sync()
    assert other.peers() == {"ahead": ["of now"]}
