"""Several machines of a team: each folds the same state out of the same entries, however late they arrive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters import ManualClock, MemoryJournal
from tests.curation.test_curation import CASES, Case, Service
from tests.deep import times
from workbench.curation import folding
from workbench.curation.concurrency import ConcurrentEdit, concurrent_edits
from workbench.curation.conflicts import ConflictDecision
from workbench.curation.ledger import Ledger
from workbench.curation.steps import BuiltUpon
from workbench.errors import UsageError
from workbench.ports import Entry
from workbench.records.conflicts import Action
from workbench.records.rules import Rule
from workbench.rules.conflicts.queue import open_forks
from workbench.rules.curation.ledger import RuleLedger


class Replica(MemoryJournal):
    """The journal of another machine, as far as it was received."""

    def __init__(self, machine: str, journal: MemoryJournal) -> None:
        super().__init__()
        self.machine, self.journal = machine, journal
        self.ends: dict[str, int] = {}

    def receive(self) -> None:
        self.ends = {stream: self.journal.size(stream) for stream in self.journal.streams()}

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield what was received, with the machine's id."""
        for after, entry in self.journal.read(stream, start):
            if after > self.ends.get(stream, 0):
                return
            yield after, replace(entry, machine=self.machine)

    def size(self, stream: str) -> int:
        """Return the offset after the last entry that was received."""
        return self.ends.get(stream, 0)

    def revision(self, stream: str) -> str:
        """Return a text that differs with what was received."""
        return str(self.ends.get(stream, 0))

    def streams(self) -> list[str]:
        """Return the names of the streams of which something was received."""
        return sorted(self.ends)


@dataclass
class Machine:
    """A machine: its service, its journal, and what it received of the others."""

    name: str
    service: Service
    journal: MemoryJournal
    peers: dict[str, Replica] = field(default_factory=dict)

    def receive(self) -> None:
        for peer in self.peers.values():
            peer.receive()
            self.journal._ids.several(1, after=peer.journal._ids.new())  # as a journal of a team does

    @property
    def ledger(self) -> Ledger[Any]:
        """What it folds, going on from before."""
        found: Ledger[Any] = self.service.store.ledger()
        return found

    @property
    def alone(self) -> Service:
        return replace(self.service, store=replace(self.service.store, peers=lambda: None))

    def begin_as(self, other: Machine) -> None:
        """Be a copy of another machine's directory."""
        for stream in other.journal.streams():
            self.journal._streams[stream] = [entry for _, entry in other.journal.read(stream)]
        self.journal._ids.several(1, after=other.journal._ids.new())

    @property
    def conflicts(self) -> tuple[ConcurrentEdit[Any], ...]:
        return concurrent_edits(self.ledger)


@dataclass
class Team:
    """Machines whose clocks go the same."""

    case: Case
    clock: ManualClock
    machines: list[Machine]

    def sync(self) -> None:
        """Let all machines receive everything."""
        for machine in self.machines:
            machine.receive()


def team_of(case: Case, count: int) -> Team:
    clock, machines = ManualClock(), []
    for name in "abc"[:count]:
        journal = MemoryJournal(clock)
        peers: dict[str, Replica] = {}
        service = case.service(journal, MemoryJournal(clock), clock)
        store = replace(service.store, peers=partial(dict[str, Replica].copy, peers))
        machines.append(Machine(name, replace(service, store=store), journal, peers))
    for one, other in itertools.permutations(machines, 2):
        one.peers[other.name] = Replica(other.name, other.journal)
    return Team(case, clock, machines)


def content(case: Case, ledger: Ledger[Any]) -> dict[str, Any]:
    """Return what must be the same on all machines: records, their order, successors and open conflicts."""
    return {
        "records": [(key, ledger.find(key)) for key in ledger.records],
        "successors": ledger.successors,
        "settled": {key: (one.action, one.at) for key, one in ledger.settled.items()},
        "changes": [(one.record_id, one.step, one.before, one.after) for one in ledger.changes],
        "conflicts": [
            (one.id, getattr(one.left.after, case.words, None), getattr(one.right.after, case.words, None))
            for one in concurrent_edits(ledger)
        ],
    }


ACTIONS = ("add", "edit", "remove", "undo", "redo", "keep_left", "keep_right", "merge")
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(ACTIONS), st.integers(0, 5), st.sampled_from(["x", "y", "z"])
    ),
    max_size=14,
)
SYNCS = st.lists(st.sets(st.integers(0, 2)), min_size=1, max_size=14)


def act(team: Team, machine: Machine, action: str, number: int, text: str, *, alone: bool = False) -> None:
    """Do something on a machine, maybe before the team; what makes no sense there is refused."""
    case, service = team.case, machine.alone if alone else machine.service
    records = service.records()
    try:
        if action == "add":
            case.add(service, f"Use {text} for {len(machine.journal.streams())} {number} and {machine.name}.")
        elif action == "undo":
            service.undo()
        elif action == "redo":
            service.redo()
        elif action in ("keep_left", "keep_right", "merge"):
            conflicts = () if alone else machine.conflicts
            if conflicts:
                one = conflicts[number % len(conflicts)]
                sides = (one.left.version, one.right.version)
                service.resolve(ConflictDecision(one.id, *sides, Action(action), text=f"Third {text}."))
        elif records:
            record = records[number % len(records)]
            if action == "edit":
                case.edit(service, record, f"Prefer {text} over {number}.")
            else:
                service.remove([record.id])
    except UsageError:
        pass


@pytest.mark.parametrize("name", CASES)
@given(STEPS, SYNCS, st.tuples(st.integers(1, 6), st.integers(1, 3)), st.integers(0, 6))
@settings(max_examples=times(8, 25), deadline=None)
def test_machines_with_the_same_entries_have_the_same_state(
    name: str,
    steps: list[tuple[int, str, int, str]],
    syncs: list[set[int]],
    recent: tuple[int, int],
    before: int,
) -> None:
    """Whatever was done where, and whoever received what when, also where the base of a fold moves on.

    The first steps are from before the team, when two machines were copies of one.
    """
    team = team_of(CASES[name], 3)
    team.case.add(team.machines[0].alone, "Use npm.")
    for copied in team.machines[1:]:
        copied.begin_as(team.machines[0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(folding, "RECENT", recent[0])
        patched.setattr(folding, "LATELY", recent[1])
        for number, (who, action, which, text) in enumerate(steps):
            team.clock.advance(1)
            act(team, team.machines[who], action, which, text, alone=number < before)
            for one in syncs[number % len(syncs)]:
                team.machines[one].receive()
                _ = team.machines[one].ledger
        team.sync()
        contents = [content(team.case, machine.ledger) for machine in team.machines]
        assert contents[0] == contents[1] == contents[2]
        store = team.machines[0].service.store
        fresh = folding.read_ledger(store.empty_ledger, store.all_journals)
        assert content(team.case, fresh) == contents[0]
        assert fresh.done == team.machines[0].ledger.done


@pytest.fixture(params=CASES)
def team(request: pytest.FixtureRequest) -> Team:
    """Three machines that all have one record, for each record type in turn."""
    team = team_of(CASES[request.param], 3)
    team.case.add(team.machines[0].service, "Use npm.")
    later(team)
    return team


def later(team: Team) -> None:
    """Let all receive everything, and some time go by."""
    team.sync()
    team.clock.advance(1)


def edit(team: Team, machine: Machine, text: str) -> None:
    """Change the words of the only record in use."""
    (record,) = machine.service.records()
    team.case.edit(machine.service, record, text)
    team.clock.advance(1)


def texts(team: Team) -> list[list[str]]:
    return [team.case.texts(machine.service) for machine in team.machines]


def sides(team: Team, machine: Machine) -> list[tuple[str | None, str | None]]:
    words = team.case.words
    return [
        (getattr(conflict.left.after, words, None), getattr(conflict.right.after, words, None))
        for conflict in machine.conflicts
    ]


def resolve(team: Team, machine: Machine, action: Action, text: str = "") -> None:
    (one,) = machine.conflicts
    machine.service.resolve(ConflictDecision(one.id, one.left.version, one.right.version, action, text=text))
    team.clock.advance(1)


@pytest.mark.parametrize("name", ["rules", "learnings"])
def test_what_is_ones_own_takes_nothing_from_a_team(name: str) -> None:
    """A settlement that leaves the person's own alone is refused in a team; alone it is theirs to decide."""
    team = team_of(CASES[name], 2)
    service, alone = team.machines[0].service, team.machines[0].alone
    shared, mine = team.case.add(service, "Use npm."), team.case.add(service, "Use pnpm.", home=True)
    team.clock.advance(1)
    for left, right, action in (
        (shared, mine, Action.KEEP_RIGHT),
        (mine, shared, Action.KEEP_LEFT),
        (shared, mine, Action.SUPERSEDE),
    ):
        with pytest.raises(UsageError, match="all others would lose"):
            service.resolve(ConflictDecision("c", left.id, right.id, action))
    alone.resolve(ConflictDecision("c", shared.id, mine.id, Action.KEEP_RIGHT))
    team.clock.advance(1)
    alone.undo()
    team.clock.advance(1)
    service.resolve(ConflictDecision("c", shared.id, mine.id, Action.KEEP_LEFT))
    assert team.case.texts(service) == ["Use npm."]


def forks_of(machine: Machine) -> list[tuple[str, Rule, Rule]]:
    """Return the merges and edits of what they merged that are both in force on a machine."""
    ledger = machine.ledger
    assert isinstance(ledger, RuleLedger)
    return open_forks(ledger)


def apart(team: Team, mine: str = "Use pnpm.", yours: str = "Use yarn.") -> None:
    """Edit the record on two machines that have not seen each other's edit; all receive both."""
    one, other, _ = team.machines
    edit(team, one, mine)
    edit(team, other, yours)
    later(team)


def test_edits_apart_are_a_conflict_that_shows_both(team: Team) -> None:
    """The later one holds on every machine, and each says who wrote which version where."""
    apart(team)

    assert texts(team) == [["Use yarn."]] * 3
    assert [sides(team, machine) for machine in team.machines] == [[("Use yarn.", "Use pnpm.")]] * 3
    (found,) = team.machines[2].conflicts
    assert (found.left.machine, found.left.by, found.right.machine) == ("b", "test", "a")


def test_edits_one_after_the_other_are_none(team: Team) -> None:
    """Nor are edits to the same words, nor removals of the same record."""
    one, other, _ = team.machines
    edit(team, one, "Use pnpm.")
    later(team)
    edit(team, other, "Use yarn.")
    later(team)
    assert [machine.conflicts for machine in team.machines] == [()] * 3
    apart(team, "Use bun.", "Use bun.")
    assert (texts(team), [machine.conflicts for machine in team.machines]) == ([["Use bun."]] * 3, [()] * 3)

    edit(team, other, "Use deno.")
    later(team)
    for machine in (one, other):
        (record,) = machine.service.records()
        machine.service.remove([record.id])
    later(team)
    assert (texts(team), [machine.conflicts for machine in team.machines]) == ([[]] * 3, [()] * 3)


@pytest.mark.parametrize(
    ("action", "text", "holds"),
    [
        (Action.KEEP_LEFT, "", "Use yarn."),
        (Action.KEEP_RIGHT, "", "Use pnpm."),
        (Action.MERGE, "Use bun.", "Use bun."),
    ],
)
def test_a_choice_holds_everywhere_and_undo_brings_the_conflict_back(
    team: Team, action: Action, text: str, holds: str
) -> None:
    """Any machine may choose, once for all."""
    apart(team)
    third = team.machines[2]

    resolve(team, third, action, text)
    later(team)

    assert texts(team) == [[holds]] * 3
    assert [machine.conflicts for machine in team.machines] == [()] * 3
    third.service.undo()
    later(team)
    assert texts(team) == [["Use yarn."]] * 3
    assert [sides(team, machine) for machine in team.machines] == [[("Use yarn.", "Use pnpm.")]] * 3
    third.service.redo()
    later(team)
    assert (texts(team), third.conflicts) == ([[holds]] * 3, ())


def test_choices_apart_are_a_conflict_again_unless_they_are_the_same(team: Team) -> None:
    """Never a silent winner: whoever chose what, the other one's choice is shown beside it."""
    one, other, third = team.machines
    apart(team)
    resolve(team, one, Action.KEEP_RIGHT)
    resolve(team, third, Action.KEEP_LEFT)
    later(team)
    assert [sides(team, machine) for machine in team.machines] == [[("Use yarn.", "Use pnpm.")]] * 3

    resolve(team, one, Action.KEEP_RIGHT)
    resolve(team, other, Action.KEEP_RIGHT)
    later(team)
    assert (texts(team), third.conflicts) == ([["Use pnpm."]] * 3, ())


def test_an_edit_of_what_holds_leaves_the_other_version_open(team: Team) -> None:
    """Whoever edits the record without a choice says nothing of the version that does not hold."""
    apart(team)
    edit(team, team.machines[2], "Use bun.")
    later(team)
    assert [sides(team, machine) for machine in team.machines] == [[("Use bun.", "Use pnpm.")]] * 3


def test_three_edits_apart_are_two_conflicts_with_the_one_that_holds(team: Team) -> None:
    """Each is settled for itself."""
    for machine, text in zip(team.machines, ("Use pnpm.", "Use yarn.", "Use bun."), strict=True):
        edit(team, machine, text)
    later(team)
    assert sorted(sides(team, team.machines[0])) == [("Use bun.", "Use pnpm."), ("Use bun.", "Use yarn.")]

    one = next(
        one for one in team.machines[1].conflicts if getattr(one.right.after, team.case.words) == "Use pnpm."
    )
    decision = ConflictDecision(one.id, one.left.version, one.right.version, Action.KEEP_RIGHT)
    team.machines[1].service.resolve(decision)
    later(team)
    assert [sides(team, machine) for machine in team.machines] == [[("Use pnpm.", "Use yarn.")]] * 3


@pytest.mark.parametrize("first", ["edit", "remove"])
@pytest.mark.parametrize("action", [Action.KEEP_LEFT, Action.KEEP_RIGHT])
def test_a_removal_against_an_edit_is_a_conflict(team: Team, first: str, action: Action) -> None:
    """The later one holds until somebody chooses."""
    one, other, third = team.machines
    editor, remover = (one, other) if first == "edit" else (other, one)
    for machine in (one, other):
        if machine is editor:
            edit(team, machine, "Use pnpm.")
        else:
            (record,) = remover.service.records()
            remover.service.remove([record.id])
            team.clock.advance(1)
    later(team)
    versions = (None, "Use pnpm.") if first == "edit" else ("Use pnpm.", None)
    assert [sides(team, machine) for machine in team.machines] == [[versions]] * 3

    resolve(team, third, action)
    later(team)
    chosen = versions[action is Action.KEEP_RIGHT]
    assert texts(team) == [[] if chosen is None else [chosen]] * 3
    assert [machine.conflicts for machine in team.machines] == [()] * 3


@pytest.mark.parametrize("action", [Action.KEEP_BOTH, Action.NARROW_SCOPE, Action.SUPERSEDE, Action.MERGE])
def test_what_makes_no_sense_of_two_versions_is_refused(team: Team, action: Action) -> None:
    """With a sentence that says what does; a merge needs words."""
    apart(team)
    with pytest.raises(UsageError, match=r"is for two records|needs its words"):
        resolve(team, team.machines[0], action)


def test_people_undo_their_own_steps(team: Team) -> None:
    """And not what a peer changed since; the history has the steps of all, with their machines."""
    one, other, third = team.machines
    edit(team, one, "Use pnpm.")
    later(team)
    with pytest.raises(UsageError, match="nothing to undo"):
        third.service.undo()
    edit(team, other, "Use yarn.")
    later(team)
    with pytest.raises(BuiltUpon, match="was changed since"):
        one.service.undo()
    other.service.undo()
    later(team)
    assert texts(team) == [["Use pnpm."]] * 3
    assert [step.machine for step in third.ledger.steps.values()] == ["a", "a", "b", "b"]


@pytest.mark.parametrize("name", CASES)
def test_edits_from_before_the_team_are_a_conflict(name: str) -> None:
    """As are those of a program that knows of no team; what one machine wrote follows on its own."""
    team = team_of(CASES[name], 3)
    one, other, third = team.machines
    first = team.case.add(one.alone, "Use npm.")
    for machine in (other, third):
        machine.begin_as(one)
    team.clock.advance(1)
    team.case.edit(one.alone, first, "Use yarn.")
    team.clock.advance(1)
    (again,) = one.alone.records()
    team.case.edit(other.alone, first, "Use pnpm.")
    team.clock.advance(1)
    team.case.edit(one.alone, again, "Use bun.")
    later(team)

    assert texts(team) == [["Use bun."]] * 3
    assert [sides(team, machine) for machine in team.machines] == [[("Use bun.", "Use pnpm.")]] * 3
    resolve(team, third, Action.KEEP_RIGHT)
    later(team)
    assert texts(team) == [["Use pnpm."]] * 3
    (now,) = other.alone.records()
    team.case.edit(other.alone, now, "Use deno.")
    later(team)
    assert [sides(team, machine) for machine in team.machines] == [[("Use deno.", "Use pnpm.")]] * 3


def test_a_machine_without_the_first_version_sees_the_same_conflict() -> None:
    """As of a rule that two read from the same file, which is not shared, and edited before the team."""
    team = team_of(CASES["rules"], 3)
    one, other, third = team.machines
    reading = replace(one.alone, by="import:rule-files")
    first = team.case.add(reading, "Use npm.")
    other.begin_as(one)
    team.clock.advance(1)
    for machine, text in ((one, "Use yarn."), (other, "Use pnpm.")):
        team.case.edit(machine.alone, first, text)
        team.clock.advance(1)

    def share() -> None:
        """Let all receive what people wrote: what was read from files stays where it was read."""
        team.sync()
        for peer, machine in zip(third.peers.values(), (one, other), strict=True):
            peer.journal = MemoryJournal(team.clock)
            written = [entry for _, entry in machine.journal.read("rules") if entry.by == "test"]
            peer.journal._streams["rules"] = written
            peer.receive()

    share()
    assert [sides(team, machine) for machine in team.machines] == [[("Use pnpm.", "Use yarn.")]] * 3
    resolve(team, other, Action.KEEP_RIGHT)
    share()
    assert (texts(team), third.conflicts) == ([["Use yarn."]] * 3, ())


@pytest.mark.parametrize("name", CASES)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(-3, 3)), min_size=2, max_size=10),
    st.integers(0, 4),
)
@settings(max_examples=times(8, 25), deadline=None)
def test_every_edit_holds_or_is_in_a_conflict_until_who_saw_it_changes_it(
    name: str, steps: list[tuple[int, bool, int]], before: int
) -> None:
    """Whoever receives what when, with clocks that go wrong, also for edits from before the team."""
    team = team_of(CASES[name], 3)
    team.case.add(team.machines[0].alone, "Use npm.")
    for copied in team.machines[1:]:
        copied.begin_as(team.machines[0])
    there, words = {"Use npm."}, team.case.words
    for number, (who, receives, skew) in enumerate(steps):
        machine, text = team.machines[who], f"Use package manager {number}."
        if receives and number >= before:
            machine.receive()
        team.clock.advance(1 + skew)
        service = machine.alone if number < before else machine.service
        (held,) = service.records()
        team.case.edit(service, held, text)
        there -= {getattr(held, words)}
        there |= {text}
    later(team)
    for machine in team.machines:
        shown = {side for pair in sides(team, machine) for side in pair}
        assert there == shown | set(team.case.texts(machine.service))


@pytest.mark.parametrize("merges_first", [True, False])
@pytest.mark.parametrize("edited", [0, 1])
def test_a_merge_against_an_edit_of_one_of_both_is_a_conflict(merges_first: bool, edited: int) -> None:
    """Of the first rule two versions; of the other one two rules in force, until somebody decides."""
    team = team_of(CASES["rules"], 3)
    one, other, third = team.machines
    rules = [team.case.add(one.service, text) for text in ("Use npm.", "Install by npm.")]
    later(team)
    merge = ConflictDecision("conflict-x", rules[0].id, rules[1].id, Action.MERGE, text="Install with npm.")
    for merges in (merges_first, not merges_first):
        if merges:
            one.service.resolve(merge)
        else:
            team.case.edit(other.service, rules[edited], "Use pnpm.")
        team.clock.advance(1)
    later(team)

    forks = [forks_of(machine) for machine in team.machines]
    if edited == 0:
        pair = ("Use pnpm.", "Install with npm.") if merges_first else ("Install with npm.", "Use pnpm.")
        assert [sides(team, machine) for machine in team.machines] == [[pair]] * 3
        assert forks == [[]] * 3
        return
    assert texts(team) == [["Install with npm.", "Use pnpm."]] * 3
    assert forks[0] == forks[1] == forks[2] != []
    [(identifier, left, right)] = forks[0]
    third.service.edit(left.id, priority=70)
    assert [found[0] for found in forks_of(third)] == [identifier]
    third.service.resolve(ConflictDecision(identifier, left.id, right.id, Action.KEEP_LEFT))
    later(team)
    assert texts(team) == [[left.rule]] * 3
    assert [forks_of(machine) for machine in team.machines] == [[]] * 3
    third.service.undo()
    later(team)
    assert [forks_of(machine)[0][0] for machine in team.machines] == [identifier] * 3
