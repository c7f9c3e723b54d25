"""A team's server: streams that only grow, each its machine's own, and whoever waits hears of them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.journal_lines import encode_line
from store.postgres import listening
from store.postgres.server import PostgresServer
from store.team.replicas import USES
from store.team.server import MachineTaken, StreamHead, StreamMoved, TeamServer
from tests.processes import LONG
from tests.store.team.memory_server import MemoryTeam
from tests.teams import Team
from workbench.errors import JournalError, TeamError
from workbench.ports import Entry
from workbench.records.ids import IdSource, new_id

Open = Callable[..., TeamServer]


def lines(*bodies: dict[str, Any], by: str = "anna") -> bytes:
    return b"".join(
        encode_line(Entry(new_id(), "2026-01-01T00:00:00Z", "a.kind", by, body)) for body in bodies
    )


@pytest.fixture(params=["memory", "postgres"])
def open_team(request: pytest.FixtureRequest) -> Open:
    """Open one new project as a member, with a machine if one is given."""
    if request.param == "memory":
        shared = MemoryTeam()

        def open_(member: str, machine: str = "") -> TeamServer:
            server = shared.connect(member)
            if machine:
                server.register(machine, f"{member}'s laptop")
            return server

        return open_
    team: Team = request.getfixturevalue("team")
    open_member = request.getfixturevalue("open_member")
    project = team.project("anna", "ben")
    return lambda member, machine="": open_member(project, member, machine)


def test_streams_grow_and_are_read_by_all(open_team: Open) -> None:
    """What one machine appends another reads in whole lines; heads say how far each stream is."""
    anna_machine, ben_machine = new_id(), new_id()
    anna, ben = open_team("anna", anna_machine), open_team("ben", ben_machine)
    first, second = lines({"n": 1}, {"text": "\0 \ud800 é"}), lines({"big": "x" * 1_000_000})
    anna.append("rules", 0, first)
    head = anna.append("rules", len(first), second)
    assert head == StreamHead(0, len(first + second), crc32(first + second), head.last)
    ben.append("learnings/main", 0, first)
    assert ben.heads().keys() == {(anna_machine, "rules"), (ben_machine, "learnings/main")}
    assert ben.heads()[anna_machine, "rules"] == head
    assert ben.read(anna_machine, "rules", 0, 1 << 22) == first + second
    assert ben.read(anna_machine, "rules", 0, len(first)) == first
    assert ben.read(anna_machine, "rules", len(first), 10) == second
    third = lines({"text": "y" * 20_000}, {})
    ben.append("stash", 0, third)
    begin = third.index(b"\n") + 1
    assert ben.read(ben_machine, "stash", begin, begin) == third[begin:]
    assert ben.read(anna_machine, "rules", head.size, 10) == b""
    assert ben.read(anna_machine, "stash", 0, 10) == b""
    assert [(machine.id, machine.name.split("'")[0]) for machine in ben.machines()] == sorted(
        [(anna_machine, "anna"), (ben_machine, "ben")]
    )


def test_only_the_end_grows(open_team: Open) -> None:
    """Lines that begin elsewhere than at the end are refused, and nothing changes."""
    anna = open_team("anna", new_id())
    first = lines({})
    head = anna.append("rules", 0, first)
    with pytest.raises(StreamMoved):
        anna.append("rules", 0, first)
    with pytest.raises(StreamMoved):
        anna.append("stash", 5, first)
    assert set(anna.heads().values()) == {head}


def test_what_is_no_line_is_refused(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """Nothing but whole lines of a journal is taken, and nothing is read from the middle of one."""
    machine = new_id()
    anna = open_member(team.project("anna"), "anna", machine)
    head = anna.append("rules", 0, lines({}, {}))
    with pytest.raises(JournalError, match="beginning of a line"):
        anna.read(machine, "rules", 1, 1 << 22)
    for malformed in (b"{}\n", lines({})[:-1], b"\n", lines({}) + b"[]\n"):
        with pytest.raises(JournalError):
            anna.append("rules", head.size, malformed)
    assert anna.append("rules", head.size, b"") == head
    assert set(anna.heads().values()) == {head}


def test_a_stream_is_replaced_as_a_whole(open_team: Open) -> None:
    """A stream written again is of the next generation; nothing of the former is left, and it grows on."""
    machine = new_id()
    anna, ben = open_team("anna", machine), open_team("ben")
    anna.append("rules", 0, lines({"secret": 1}, {"kept": 2}))
    fresh = lines({"kept": 2})
    head = anna.replace("rules", fresh)
    assert head == StreamHead(1, len(fresh), crc32(fresh), head.last)
    more = lines({})
    assert ben.heads()[machine, "rules"] == head
    anna.append("rules", head.size, more)
    assert ben.read(machine, "rules", 0, 1 << 22) == fresh + more
    assert anna.replace("rules", b"") == StreamHead(2)
    assert ben.read(machine, "rules", 0, 1 << 22) == b""
    assert anna.replace("stash", fresh).generation == 1


def test_a_machine_is_one_members(open_team: Open) -> None:
    """A machine is never another member's; the same member finds it again."""
    machine = new_id()
    open_team("anna", machine)
    open_team("anna", machine)
    with pytest.raises(MachineTaken):
        open_team("ben", machine)


def test_whoever_waits_hears_of_others(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """Waiting ends with what another machine sends, but uses, not with one's own, and with the connection."""
    project = team.project("anna", "ben")
    sender = new_id()
    anna, ben = open_member(project, "anna", sender), open_member(project, "ben", new_id())
    while ben.wait(0) is not None:
        pass
    ben.append("rules", 0, lines({}))
    assert ben.wait(0.01) is None
    size = 0
    for _ in range(3):
        size = anna.append("stash", size, lines({})).size
    assert ben.wait(LONG) == {sender}
    assert ben.heads({sender}).keys() == {(sender, "stash")}
    anna.append(USES, 0, lines({}))
    assert ben.wait(0.01) is None
    heard: list[Collection[str] | None] = []
    waiting = threading.Thread(target=lambda: heard.append(ben.wait(LONG)))
    waiting.start()
    anna.append("rules", 0, lines({}))
    waiting.join()
    assert heard == [{sender}]
    waiting = threading.Thread(target=lambda: heard.append(ben.wait(LONG)))
    waiting.start()
    ben.close()
    waiting.join()
    assert heard == [{sender}, None]


def test_whoever_waits_can_be_woken(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """At once, also while more announcements are waited for, and before waiting; calls in a row are one."""
    project, sender = team.project("anna", "ben"), new_id()
    anna, ben = open_member(project, "anna", sender), open_member(project, "ben", new_id())
    ben.wake()  # before it ever listened: nothing waits
    while ben.wait(0) is not None:
        pass
    for _ in range(3):
        ben.wake()
    assert ben.wait(LONG) is None
    assert ben.wait(0.01) is None
    anna.append("rules", 0, lines({}))
    ben.wake()
    while (heard := ben.wait(LONG)) is None:
        pass
    assert heard == {sender}
    waiting = threading.Thread(target=ben.wait, args=(LONG,))
    waiting.start()
    ben.wake()
    waiting.join()


def test_machines_do_not_all_ask_at_once(
    team: Team, open_member: Callable[..., PostgresServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long each waits for more announcements is chance: between the least and the most."""
    project, sender = team.project("anna", "ben"), new_id()
    anna, ben = open_member(project, "anna", sender), open_member(project, "ben", new_id())
    while ben.wait(0) is not None:
        pass
    asked: list[tuple[float, float]] = []

    def uniform(least: float, most: float) -> float:
        asked.append((least, most))
        return 0.0

    monkeypatch.setattr(random, "uniform", uniform)
    anna.append("rules", 0, lines({}))
    assert ben.wait(LONG) == {sender}
    [(least, most)] = asked
    assert 0 < least < most


def test_where_nothing_is_announced_the_server_is_asked(
    team: Team, open_member: Callable[..., PostgresServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a pooler that delivers no announcements changes are seen all the same."""
    project = team.project("anna", "ben")
    anna, ben = open_member(project, "anna", new_id()), open_member(project, "ben", new_id())
    monkeypatch.setattr(listening, "announce", lambda *_: None)
    monkeypatch.setattr(listening.Listener, "_hear", lambda *_: set())
    monkeypatch.setattr(listening, "_POLL", 0.0)
    assert ben.wait(0) == ()  # not known before
    assert ben.wait(0.01) is None
    anna.append("rules", 0, lines({}))
    assert ben.wait(LONG) == ()


def test_the_future_is_refused(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """Entries of a machine whose clock is far ahead are refused with the offset, and nothing is kept."""
    anna = open_member(team.project("anna"), "anna", new_id())
    late = IdSource(lambda: int(4e12))
    line = encode_line(Entry(late.new(), "2096-01-01T00:00:00Z", "k", "anna", {}))
    with pytest.raises(TeamError, match=r"\d+ minutes in the future"):
        anna.append("rules", 0, line)
    with pytest.raises(TeamError, match="in the future"):
        anna.replace("rules", line)
    assert anna.heads() == {}


def test_of_writers_at_once_one_succeeds(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """Two processes of a machine that append at the same byte: one does, the other finds the stream moved."""
    project, machine = team.project("anna"), new_id()
    servers = [open_member(project, "anna", machine) for _ in range(4)]
    outcomes: list[object] = []
    barrier = threading.Barrier(len(servers))

    def append(server: PostgresServer) -> None:
        barrier.wait()
        try:
            outcomes.append(server.append("rules", 0, lines({"x": "y" * 10_000})))
        except StreamMoved as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=append, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(StreamMoved) == 3
    assert [head for head in outcomes if isinstance(head, StreamHead)] == [*servers[0].heads().values()]


BODIES = st.dictionaries(
    st.text(max_size=5),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=20) | st.integers(-(2**60), 2**60),
    max_size=3,
)


@given(
    batches=st.lists(st.lists(BODIES, max_size=4), max_size=4),
    by=st.text(st.characters(exclude_categories=())),
)
def test_any_entries_come_back(
    team: Team, shared_machine: tuple[PostgresServer, str], batches: list[list[dict[str, Any]]], by: str
) -> None:
    """Whatever entries hold, what is read is what was appended."""
    server, machine = shared_machine
    server.replace("stash", b"")
    sent = b""
    for batch in batches:
        sent += (part := lines(*batch, by=by))
        server.append("stash", len(sent) - len(part), part)
    assert server.read(machine, "stash", 0, 1 << 22) == sent
    assert server.heads()[machine, "stash"].crc == crc32(sent)


@pytest.fixture
def shared_machine(team: Team, open_member: Callable[..., PostgresServer]) -> tuple[PostgresServer, str]:
    machine = new_id()
    return open_member(team.project("anna"), "anna", machine), machine
