"""The tables of learnings say what the engine's ledger says, whoever wrote what in whatever order."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.tables import Tables
from tests.adapters import ManualClock
from workbench.errors import UsageError
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.service import LearningService
from workbench.records.learnings import LearningSource

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
        self.tables = Tables(root, self.journals, self.clock)
        self.store = LearningStore(
            project_id="p",
            journal=self.journals["project"],
            home_journal=self.journals["home"],
            latest=lambda kind: None,
            publish=lambda kind, write: Path("."),
            lock=lambda name: contextlib.nullcontext(),
            now=self.clock.now,
            count_tokens=len,
            rules=lambda: pytest.fail("no rule is asked for"),
        )
        self.desk = LearningService(self.store, "test")

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of the tables."""
        return self.tables.query(COLUMNS)

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
                    place.desk.note_hit(one, session_id=f"s{number % 3}")
                case "contradict":
                    place.desk.contradict(one, session_id=f"s{number % 3}", why="failed")
                case "undo" | "redo":
                    getattr(place.desk, verb)()
                case _:
                    getattr(place.desk, verb)([one])


STEPS = st.lists(
    st.tuples(
        st.sampled_from("add add hit contradict accept reject restore undo redo".split()), st.integers(0, 5)
    ),
    max_size=12,
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
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
