"""The tables of learnings say what the engine's ledger says, whoever wrote what in whatever order."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.lists.conflicts import ConflictTable
from store.lists.learnings import learning_list
from tests.adapters import ManualClock
from tests.deep import times
from tests.memory.learnings.facts import contradict, note_hit
from tests.store.engines import open_tables
from tests.stores import store_parts
from workbench.curation.conflicts import ConflictDecision
from workbench.errors import UsageError
from workbench.lists.conflicts import CONFLICTS, ConflictOverlay
from workbench.lists.filters import parse
from workbench.lists.tables import ListQuery, Sort, ValueCount, row_number
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.learningtype import stale_days
from workbench.memory.learnings.review import conflict_rows, conflicts_of, queue_of
from workbench.memory.learnings.service import LearningService
from workbench.records.conflicts import Action
from workbench.records.learnings import LearningKind, LearningSource

COLUMNS = """
SELECT id, origin, feature, task_id, text, source, state, reviewed, hit_count, contradictions, project_id
FROM learnings ORDER BY id
"""


class Place:
    """A project and a home with journals on disk and tables of both."""

    def __init__(self, root: Path) -> None:
        self.clock = ManualClock()
        self.journals = {
            "project": FileJournal(root, self.clock),
            "home": FileJournal(root / "home", self.clock),
        }
        self.tables = open_tables(root, self.journals, self.clock)
        journals = self.journals["project"], self.journals["home"]
        self.store = LearningStore(
            **store_parts(*journals, self.clock, rules=lambda: pytest.fail("no rule is asked for"))
        )
        self.desk = LearningService(self.store, "test")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.tables.query(COLUMNS)

    def say(self, identifier: str, number: int) -> None:
        """Note that a user said something, of a learning, of what became one, or of none yet."""
        body = {
            "at": self.store.now() if number else "",
            "key": f"Key {number % 2}",
            "text": "x",
            "quote": f"quote {number % 3}",
            "session_id": ("", "s1", "s2")[number % 3],
            "prompt": number,
            "strength": "standing" if number == 4 else "passing",
            "learning_id": identifier if number % 2 else "",
            "rule": "Do not." if number == 5 else "",
            "against": number == 5,
            "template": "t" if number == 2 else "",
        }
        self.journals["project"].append("memory/auth", "correction.said", [body], by="t")

    def expected(self) -> list[tuple[Any, ...]]:
        """Return the rows that the ledger says there are."""
        ledger = self.store.ledger()
        return [
            (
                one.id,
                "home" if one.project_id is None else "project",
                one.feature,
                one.task_id,
                one.text,
                one.source.value,
                one.state.value,
                one.reviewed,
                one.hit_count,
                len(ledger.contradictions.get(one.id, ())),
                one.project_id,
            )
            for one in ledger.all()
        ]


def play(place: Place, steps: list[tuple[str, int]]) -> None:
    """Do steps; those that make no sense are refused."""
    for verb, number in steps:
        place.clock.advance(1)
        ids = sorted(place.store.ledger().records)
        one = ids[number % len(ids)] if ids else "none"
        with contextlib.suppress(UsageError):
            match verb:
                case "add":
                    place.desk.add(
                        f"The service {chr(97 + number) * 5} listens on port 80{number}",
                        feature=("auth", "Ünï/code")[number % 2],
                        reason="seen",
                        source=LearningSource.AGENT,
                        session_id="s1",
                        personal=number == 3,
                    )
                case "hit":
                    note_hit(place.desk, one, session_id=f"s{number % 3}")
                case "contradict":
                    contradict(place.desk, one, session_id=f"s{number % 3}", why="failed")
                case "undo" | "redo":
                    getattr(place.desk, verb)()
                case "say":
                    place.say(one, number)
                case "wait":
                    place.clock.advance(100 * 86_400)
                case _:
                    getattr(place.desk, verb)([one])


STEPS = st.lists(
    st.tuples(
        st.sampled_from("add add hit contradict accept reject restore undo redo say say wait".split()),
        st.integers(0, 5),
    ),
    max_size=12,
)


@settings(
    max_examples=times(2, 3),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(STEPS, STEPS)
def test_tables_and_ledger_agree(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    """Caught up in between or not, rebuilt or not, the rows are those of the fold."""
    place = Place(tmp_path_factory.mktemp("p"))
    play(place, before)
    place.tables.catch_up()
    play(place, after)
    place.tables.catch_up()
    expected = place.expected()
    assert place.rows() == expected
    digest = place.tables.digest()
    place.tables.rebuild()
    assert (place.rows(), place.tables.digest()) == (expected, digest)

    ledger, now = place.store.ledger(), place.clock.now()
    conflicts = conflicts_of(ledger)
    ConflictTable(place.tables, place.clock).keep("learning", conflict_rows(conflicts))
    listed = learning_list(place.tables, place.clock)
    page = listed.page(ListQuery(sort=("why", False)), limit=1000)
    waiting = {item.learning.id: item.why.value for item in queue_of(ledger, now, conflicts)}
    assert {row.learning.id: row.learning for row in page.rows} == {one.id: one for one in ledger.all()}
    assert [(row.learning.id, row.why) for row in page.rows if row.why] == list(waiting.items())
    assert [row.heard for row in page.rows] == [stale_days(row.learning, now) for row in page.rows]
    place.tables.close()


def test_what_users_say_makes_a_learning_wait(tmp_path: Path) -> None:
    """Said twice in two sessions it could be a rule; where a rule says otherwise, that is a conflict."""
    place = Place(tmp_path)
    one = place.desk.add("Use tabs.", feature="auth", reason="seen", kind=LearningKind.CORRECTION)
    listed = learning_list(place.tables, place.clock)
    whys = []
    for session, rule in (("s1", ""), ("s2", ""), ("s3", "Use blanks.")):
        place.clock.advance(60)
        body = {
            "at": "2030-01-01T00:00:00Z",
            "key": "Use tabs.",
            "text": "Use tabs.",
            "quote": f"Tabs, {session}",
            "session_id": session,
            "prompt": 1,
            "strength": "passing",
            "learning_id": one.id,
            "rule": rule,
            "against": bool(rule),
        }
        place.journals["project"].append("memory/auth", "correction.said", [body], by="t")
        row = listed.record(one.id)
        assert row is not None
        whys.append(row.why)
        ledger = place.store.ledger()
        assert [item.why for item in queue_of(ledger, place.clock.now(), ())] == [row.why] * bool(row.why)
    assert whys == ["", "suggested-rule", "conflict"]


def test_conflicts_wait_until_somebody_settles_them(tmp_path: Path) -> None:
    """What a search found is listed, filtered and counted while both sides say what they said."""
    place = Place(tmp_path)
    for port in (8080, 9090, 7070):
        place.desk.add(f"The auth service listens on port {port}", feature="auth", reason="seen")
    table = ConflictTable(place.tables, place.clock)
    listed = table.list_waiting()
    found = conflict_rows(conflicts_of(place.store.ledger()))
    assert len(found) == 3
    table.keep("learning", found)

    def ids(text: str = "") -> set[str]:
        page = listed.page(ListQuery(parse(text, CONFLICTS.fields)))
        assert page.total == listed.order(ListQuery(parse(text, CONFLICTS.fields))).total
        return {row.id for row in page.rows}

    assert ids() == {one.id for one in found}
    assert {row.id: row for row in listed.page(ListQuery()).rows} == {one.id: one for one in found}
    assert ids("9090") == {one.id for one in found if "9090" in f"{one.left.text} {one.right.text}"}
    assert ids("kind:exact") == set()
    counts = listed.facets(ListQuery()).fields
    assert counts["of"] == (ValueCount("learning", 3),)
    assert set(counts) == set(CONFLICTS.facets)
    about = learning_list(place.tables, place.clock).facets(ListQuery()).fields
    assert about["feature"] == (ValueCount("auth", 3),)
    assert about["why"] == (ValueCount("conflict", 2),)

    sides = found[0].left.id, found[0].right.id
    place.desk.resolve(ConflictDecision(found[0].id, *sides, Action.KEEP_BOTH, reason="both"))
    assert ids() == {one.id for one in found[1:]}
    place.desk.undo()
    assert ids() == {one.id for one in found}
    place.desk.edit(found[0].left.id, text="The auth service listens nowhere")
    assert ids() == {one.id for one in found if found[0].left.id not in (one.left.id, one.right.id)}
    table.keep("learning", [])
    assert ids() == set()


def test_what_a_sitting_did_is_laid_over_the_conflicts(tmp_path: Path) -> None:
    """Decided ones are not listed, put off ones come last in every order, settled and gone ones say so."""
    place = Place(tmp_path)
    for port in (8080, 9090, 7070):
        place.desk.add(f"The auth service listens on port {port}", feature="auth", reason="seen")
    table = ConflictTable(place.tables, place.clock)
    found = conflict_rows(conflicts_of(place.store.ledger()))
    table.keep("learning", found)
    [first, second, third] = listed = [row.id for row in table.list_waiting().page(ListQuery()).rows]
    numbers = dict(zip(listed, map(row_number, listed), strict=True))
    before = table.waiting()
    assert before.numbers.tolist() == sorted(numbers.values())

    def states(text: str = "", sort: Sort | None = None, **overlay: str) -> list[tuple[str, str]]:
        given = {name: (numbers[one],) for name, one in overlay.items()}
        query = ListQuery(parse(text, CONFLICTS.fields), sort)
        page = table.list_waiting(ConflictOverlay(**given)).page(query)
        return [(row.id, row.state) for row in page.rows]

    assert states(away=first) == [(second, "open"), (third, "open")]
    for sort in (None, ("surest", False), ("newest", True)):
        assert states(sort=sort, later=first)[-1] == (first, "later")
    assert states("state:later", later=second) == [(second, "later")]
    assert states("state:changed", later=first, changed=second) == [(second, "changed")]

    by_id = {one.id: one for one in found}
    sides = by_id[first].left.id, by_id[first].right.id
    place.desk.resolve(ConflictDecision(first, *sides, Action.KEEP_BOTH, reason="both"))
    assert states("state:elsewhere", kept=first) == [(first, "elsewhere")]
    kept = table.list_waiting(ConflictOverlay(kept=(numbers[first],))).record(first)
    assert kept is not None
    assert kept.settled == "test: keep both"
    table.amend("learning", [], [second])
    assert states(kept=second) == [(second, "gone"), (third, "open")]
    table.keep("learning", found)
    assert [one for one, _ in states()] == [one for one in listed if one != first]
    place.clock.advance(100_000)
    table.keep("learning", [by_id[third]])
    place.clock.advance(100_000)
    table.keep("learning", [])
    assert states(kept=first) == states(kept=second) == []
    assert states(kept=third) == [(third, "gone")]


def test_marks_differ_with_what_people_decide(tmp_path: Path) -> None:
    """Another reason is another mark, another hit is not."""
    place = Place(tmp_path)
    one, *_ = [
        place.desk.add(f"The auth service listens on port {port}", feature="auth", reason="seen")
        for port in (8080, 9090)
    ]
    table = ConflictTable(place.tables, place.clock)
    found = conflict_rows(conflicts_of(place.store.ledger()))
    assert [table.keep("learning", found) for _ in range(2)] == [True, False]
    before = table.waiting().marks.tolist()
    note_hit(place.desk, one.id, session_id="s9")
    assert table.waiting().marks.tolist() == before
    place.desk.edit(one.id, reason_text="seen again")
    assert table.waiting().marks.tolist() != before


def test_a_search_that_finds_nothing_new_writes_nothing(tmp_path: Path) -> None:
    """Neither the first search nor a later one; pairs that were judged since are taken from the list."""
    place = Place(tmp_path)
    for port in (8080, 9090):
        place.desk.add(f"The auth service listens on port {port}", feature="auth", reason="seen")
    table = ConflictTable(place.tables, place.clock)
    found = conflict_rows(conflicts_of(place.store.ledger()))
    assert [table.keep("learning", rows) for rows in ([], found, [], [])] == [False, True, True, False]
    table.amend("learning", found, [])
    assert table.list_waiting().order(ListQuery()).total == 1
    assert [table.keep("learning", []) for _ in range(2)] == [True, False]
    assert table.list_waiting().order(ListQuery()).total == 0
    place.tables.close()


def test_entries_of_another_form_are_set_aside(tmp_path: Path) -> None:
    """A put without a text and a hit without an id are rejected and named, iterations are passed over."""
    place = Place(tmp_path)
    journal = place.journals["project"]
    journal.append("memory/auth", "learning.put", [{"id": "x"}], by="t")
    journal.append("memory/auth", "learning.hit", [{"id": 7}], by="t")
    journal.append("memory/auth", "iteration", [{}], by="t")
    report = place.tables.catch_up()
    assert [one.kind for one in report.rejected] == ["learning.put", "learning.hit"]
    assert not report.unknown
    assert place.rows() == []
    place.tables.close()
