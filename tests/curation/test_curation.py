"""What holds for every type of curated records: undo and redo, settling, what others changed, two writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters import ManualClock, MemoryJournal
from tests.curation.test_toy_record import Toy, toy_service
from tests.deep import times
from tests.stash.conftest import stash_over
from tests.stores import rule_store
from workbench.curation.conflicts import ConflictDecision, ConflictSettled, RecordChanged
from workbench.curation.folding import read_ledger
from workbench.curation.ledger import Ledger
from workbench.curation.service import CurationService
from workbench.curation.steps import BuiltUpon
from workbench.errors import UsageError
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService
from workbench.ports import Entry, Journal
from workbench.records.conflicts import Action
from workbench.records.learnings import FeatureLearning, LearningSource
from workbench.records.rules import Rule
from workbench.records.segments import ContextSegment
from workbench.rules.curation.curator import Curator
from workbench.stash.service import StashService

Service = CurationService[Any, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A record type: the service over two journals, a record that says a text, and the field of its words."""

    service: Callable[[Journal, Journal, ManualClock], Service]
    make: Callable[[str, str | None], Any]
    words: str
    settles: bool = True
    """Whether two of them can be a conflict."""
    id: str = "id"
    """The key of a record's id in its journal entries."""

    def add(self, service: Service, text: str, *, home: bool = False) -> Any:
        record = self.make(text, None if home else "p")
        if isinstance(service, Curator | StashService):
            return service.add(record)
        return service.create(record)

    def edit(self, service: Service, record: Any, text: str, **more: Any) -> Any:
        return service.edit(record.id, **{self.words: text}, **more)

    def texts(self, service: Service) -> list[str]:
        """Return the words of all records in use, sorted."""
        return sorted(getattr(one, self.words) for one in service.records())


def curator(journal: Journal, home: Journal, clock: ManualClock) -> Curator:
    return Curator(rule_store(journal, home, clock), "test")


def learning_service(journal: Journal, home: Journal, clock: ManualClock) -> LearningService:
    return LearningService(store_of(rule_store(journal, home, clock)), "test")


def segment(text: str, project: str | None) -> ContextSegment:
    """Return a segment to be put aside: its text stays, its topic is what is edited."""
    return ContextSegment(text=f"It was said: {text}", topic=text, project_id=project or "p")


def learning(text: str, project: str | None) -> FeatureLearning:
    return FeatureLearning("", text, "seen", LearningSource.HUMAN, feature="auth", project_id=project)


CASES = {
    "rules": Case(curator, lambda text, project: Rule("", "", text, project_id=project), "rule"),
    "learnings": Case(learning_service, learning, "text"),
    "toys": Case(toy_service, lambda text, project: Toy("", text, project_id=project), "text"),
}


EVERY = {
    **CASES,
    "segments": Case(
        lambda journal, home, clock: stash_over(journal, clock),
        segment,
        "topic",
        settles=False,
        id="segment_id",
    ),
}
"""The types whose conflicts are settled, and segments, which have none."""

SETTLING = pytest.mark.parametrize("case", CASES, indirect=True)


@pytest.fixture(params=EVERY)
def case(request: pytest.FixtureRequest) -> Case:
    return EVERY[request.param]


@dataclass(slots=True)
class Bench:
    """A service, its journals and their clock."""

    service: Service
    journal: Any
    home: Any
    clock: ManualClock

    def fresh(self) -> Ledger[Any]:
        store = self.service.store
        ledger: Ledger[Any] = read_ledger(store.empty_ledger, store.journals)
        return ledger


def bench_of(case: Case) -> Bench:
    clock = ManualClock()
    journal, home = MemoryJournal(clock), MemoryJournal(clock)
    return Bench(case.service(journal, home, clock), journal, home, clock)


@pytest.fixture
def bench(case: Case) -> Bench:
    return bench_of(case)


def state(ledger: Ledger[Any]) -> tuple[object, ...]:
    """Return what a ledger says holds, without times and counts."""
    essence = ledger.type.essence
    return {key: essence(one) for key, one in ledger.records.items()}, set(ledger.settled)


VERBS = st.sampled_from(("add", "add-home", "edit", "remove", *Action, "undo", "redo"))
STEPS = st.lists(st.tuples(VERBS, st.integers(0, 9), st.integers(0, 9)), max_size=16)
Steps = list[tuple[str, int, int]]


def play(case: Case, bench: Bench, steps: Steps) -> Iterator[str]:
    """Do steps, yielding the verb of each that made sense."""
    for number, (verb, first, second) in enumerate(steps):
        bench.clock.advance(1)  # the order of entries of two journals is that of their times
        records = bench.service.records()
        pick = [records[at % len(records)] for at in (first, second)] if records else []
        try:
            if verb.startswith("add"):
                case.add(bench.service, f"Word {number} of {first}", home=verb == "add-home")
            elif verb in ("undo", "redo"):
                getattr(bench.service, verb)()
            elif not pick:
                continue
            elif verb == "edit":
                case.edit(bench.service, pick[0], f"Other word {number}")
            elif verb == "remove":
                bench.service.remove([pick[0].id])
            elif pick[0].id != pick[1].id and case.settles:
                text = f"Both words {number}" if first % 2 else ""
                decision = ConflictDecision(
                    f"c{number}", pick[0].id, pick[1].id, Action(verb), text=text, scope=("path:src/**",)
                )
                bench.service.resolve(decision)
            else:
                continue
        except UsageError:
            continue
        yield verb


@given(STEPS)
@settings(max_examples=times(13, 40))
def test_undo_and_redo_restore_exactly(case: Case, steps: Steps) -> None:
    """Whatever the steps were, each undo leads to the state before its step, each redo to the one after.

    Each entry is folded once, and what comes of it is what a new process reads.
    """
    bench = bench_of(case)
    reader = bench.service.store.reader
    past: list[object] = []
    future: list[object] = []
    now: object = state(bench.fresh())
    for verb in play(case, bench, steps):
        seen = state(bench.service.store.ledger())
        if verb == "undo":
            future.append(now)
            now = past.pop()
            assert seen == now
        elif verb == "redo":
            past.append(now)
            now = future.pop()
            assert seen == now
        else:
            past.append(now)
            future.clear()
            now = seen
    bench.clock.advance(1)
    going, fresh = bench.service.store.ledger(), bench.fresh()
    assert (going.records, going.versions, going.successors) == (
        fresh.records,
        fresh.versions,
        fresh.successors,
    )
    assert (going.done, going.undone, going.changes) == (fresh.done, fresh.undone, fresh.changes)
    assert (list(going.steps.values()), going.settled) == (list(fresh.steps.values()), fresh.settled)
    journals = (bench.journal, bench.home)
    assert reader.folded == sum(len([*one.read(stream)]) for one in journals for stream in one.streams())


def test_an_edit_folds_its_own_entry_and_nothing_else(case: Case, bench: Bench) -> None:
    """However many records there are, what was folded before is not folded again."""
    records = [case.add(bench.service, f"Word {number} holds") for number in range(50)]
    bench.service.store.ledger()
    before = bench.service.store.reader.folded
    case.edit(bench.service, records[7], "Another word holds")
    assert "Another word holds" in case.texts(bench.service)
    assert bench.service.store.reader.folded - before == 1


def test_what_is_previewed_is_in_no_other_ledger(case: Case, bench: Bench) -> None:
    """A caller may bring drafts into its ledger; neither another ledger nor the next fold has them."""
    case.add(bench.service, "One word")
    mine, other = bench.service.store.ledger(), bench.service.store.ledger()
    entry = next(entry for _, entry in bench.journal.read(bench.journal.streams()[0]))
    body = {**entry.body, case.id: "other", "curation": {**entry.body["curation"], "reason": "tried"}}
    mine.take(Entry("z", entry.at, entry.kind, "test", body))
    assert ("other" in mine.records, "other" in other.records) == (True, False)
    assert [len(one.changes) for one in (*mine.steps.values(), *other.steps.values())] == [2, 1]
    assert state(bench.service.store.ledger()) == state(bench.fresh())


def test_a_journal_that_took_the_place_of_another_is_read_from_its_beginning(case: Case) -> None:
    """What was folded of the journal before is forgotten."""
    bench, other = bench_of(case), bench_of(case)
    case.add(bench.service, "One word")
    case.add(bench.service, "Another word")
    bench.service.store.ledger()
    for number in range(3):
        case.add(other.service, f"Restored word {number}")
    bench.journal._streams = other.journal._streams
    assert state(bench.service.store.ledger()) == state(other.fresh())


def test_a_clock_that_goes_back_changes_no_order(case: Case, bench: Bench) -> None:
    """Within a stream the order of lines is the order of events, for whoever reads it and whenever."""
    first = case.add(bench.service, "First word")
    bench.clock.advance(-3600)
    later = case.service(MemoryJournalView(bench.journal, bench.clock), bench.home, bench.clock)
    case.edit(later, first, "Last word")
    assert case.texts(bench.service) == ["Last word"]
    assert state(bench.service.store.ledger()) == state(bench.fresh())
    bench.service.undo()
    assert case.texts(bench.service) == ["First word"]


class MemoryJournalView(MemoryJournal):
    """The streams of a journal as another process writes them, with a clock and ids of its own."""

    def __init__(self, journal: MemoryJournal, clock: ManualClock) -> None:
        super().__init__(clock)
        self._streams = journal._streams


def test_two_writers_have_one_history(case: Case, bench: Bench) -> None:
    """What two processes write into the same journals is one history; either undoes the other's last step."""
    other = case.service(MemoryJournalView(bench.journal, bench.clock), bench.home, bench.clock)
    record = case.add(bench.service, "First word")
    bench.clock.advance(1)
    case.edit(other, record, "Second word")
    bench.clock.advance(1)
    bench.service.undo()
    assert case.texts(other) == ["First word"]
    bench.clock.advance(1)
    other.redo()
    assert case.texts(bench.service) == ["Second word"]


def test_journals_are_merged_alike_in_any_order(case: Case, bench: Bench) -> None:
    """The home's entries and the project's are put in order by their ids, also those that came late."""
    for number in range(4):
        bench.clock.advance(1)
        record = case.add(bench.service, f"Word {number} holds", home=number % 2 == 0)
        bench.service.store.ledger()
    bench.clock.advance(-2)  # the home's next entry is older than what the project has
    case.edit(bench.service, record, "Late word holds")
    store = bench.service.store
    backwards = read_ledger(store.empty_ledger, tuple(reversed(store.journals)))
    assert state(store.ledger()) == state(bench.fresh()) == state(backwards)


def test_an_edit_of_what_others_changed_is_refused(case: Case, bench: Bench) -> None:
    """Who decided about a record as it was seen is told how it is now."""
    seen = case.add(bench.service, "First word")
    now = case.edit(bench.service, seen, "Second word")
    with pytest.raises(RecordChanged) as caught:
        case.edit(bench.service, seen, "Third word", seen=seen)
    assert caught.value.seen == seen
    assert case.texts(bench.service) == ["Second word"]
    again = case.edit(bench.service, now, "Third word", seen=bench.service.store.ledger().find(now.id))
    assert case.texts(bench.service) == [getattr(again, case.words)]


def test_an_edit_that_changes_nothing_is_refused(case: Case, bench: Bench) -> None:
    """Nothing is recorded of it, nor of one of a field that nobody decides or a record that is not there."""
    record = case.add(bench.service, "First word")
    size = bench.journal.size(bench.journal.streams()[0])
    with pytest.raises(UsageError, match="nothing to change"):
        case.edit(bench.service, record, "First word")
    with pytest.raises(UsageError, match="cannot be edited"):
        bench.service.edit(record.id, project_id="q")
    with pytest.raises(UsageError):
        case.edit(bench.service, case.make("x", "p"), "Second word")
    assert bench.journal.size(bench.journal.streams()[0]) == size


def test_a_step_that_others_built_upon_is_not_undone(case: Case, bench: Bench) -> None:
    """What a face that acts by itself changed since is not overwritten, and its step is nobody's to undo."""
    first = case.add(bench.service, "First word")
    robot = type(bench.service)(bench.service.store, "auto:test")
    changed = case.edit(robot, first, "Word of a robot")
    with pytest.raises(BuiltUpon, match="changed since"):
        bench.service.undo()
    assert case.texts(bench.service) == [getattr(changed, case.words)]


@SETTLING
@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("text", ["", "Both words hold"])
def test_every_settlement_is_undone_and_done_again(
    case: Case, bench: Bench, action: Action, text: str
) -> None:
    """A settled conflict is remembered, open again once that is undone, and settled once it is redone."""
    left, right = (case.add(bench.service, f"The {side} word") for side in ("left", "right"))
    before = state(bench.fresh())
    decision = ConflictDecision("c1", left.id, right.id, action, text=text, scope=("path:src/**",))
    found = bench.service.resolve(decision, seen=(left, right))
    after = bench.service.store.ledger()
    assert after.settled["c1"].action == action.value
    both = action in (Action.KEEP_BOTH, Action.NARROW_SCOPE)
    assert len(found) == len(bench.service.records()) == (2 if both else 1)
    with pytest.raises(ConflictSettled, match=action.value.replace("_", "-")):
        bench.service.resolve(decision)
    bench.service.undo()
    assert state(bench.service.store.ledger()) == before
    bench.service.redo()
    assert state(bench.service.store.ledger()) == state(after)


@SETTLING
@pytest.mark.parametrize(
    ("action", "options", "wanted"),
    [
        (Action.KEEP_LEFT, {}, ["The left word"]),
        (Action.KEEP_RIGHT, {}, ["The right word"]),
        (Action.MERGE, {}, ["The left word"]),
        (Action.MERGE, {"text": "Both words"}, ["Both words"]),
        (Action.SUPERSEDE, {}, ["The right word"]),
        (Action.SUPERSEDE, {"keep": "left"}, ["The left word"]),
    ],
)
def test_each_settlement_leaves_what_it_says(
    case: Case, bench: Bench, action: Action, options: dict[str, str], wanted: list[str]
) -> None:
    """One of the two holds, or one in the place of both."""
    sides = {side: case.add(bench.service, f"The {side} word") for side in ("left", "right")}
    keep = sides[options["keep"]].id if "keep" in options else ""
    bench.service.resolve(
        ConflictDecision(
            "c1", sides["left"].id, sides["right"].id, action, text=options.get("text", ""), keep=keep
        )
    )
    assert case.texts(bench.service) == wanted


@SETTLING
def test_narrowing_needs_a_scope(case: Case, bench: Bench) -> None:
    """A settlement that lacks what it needs leaves all as it was."""
    if case.service is toy_service:
        return  # a toy may be in no room
    left, right = (case.add(bench.service, f"The {side} word") for side in ("left", "right"))
    with pytest.raises(UsageError, match="scope"):
        bench.service.resolve(ConflictDecision("c1", left.id, right.id, Action.NARROW_SCOPE))
    assert len(bench.service.records()) == 2


@SETTLING
def test_several_conflicts_are_settled_as_one_step(case: Case, bench: Bench) -> None:
    """What others changed, and what an earlier decision took out, is left alone; one undo brings all back."""
    one, two, three, four = (case.add(bench.service, f"The {n}th word") for n in range(4, 8))
    decisions = [
        ConflictDecision("c1", one.id, two.id, Action.KEEP_LEFT),
        ConflictDecision("c2", two.id, three.id, Action.KEEP_LEFT),
        ConflictDecision("c3", three.id, four.id, Action.KEEP_BOTH),
    ]
    before = state(bench.fresh())
    done, skipped = bench.service.resolve_all(decisions, seen={one.id: one, two.id: two, three.id: three})
    assert (done, len(skipped)) == ((decisions[0], decisions[2]), 1)
    bench.service.undo()
    assert state(bench.service.store.ledger()) == before
    case.edit(bench.service, one, "Another word")
    assert bench.service.resolve_all(decisions[:1], seen={one.id: one})[0] == ()


def test_history_names_who_and_why(case: Case, bench: Bench) -> None:
    """Every change of a record is there in order, with its step."""
    record = case.add(bench.service, "First word")
    bench.service.remove([record.id], reason="it is wrong")
    bench.service.undo()
    found = bench.service.history(record.id)
    assert [(one.by, one.reason) for one in found] == [("test", ""), ("test", "it is wrong"), ("test", "")]
    assert [one.after is None for one in found] == [False, True, False]
    titles = [bench.service.store.ledger().steps[one.step].title for one in found]
    assert titles[2] == f"undo: {titles[1]}"
