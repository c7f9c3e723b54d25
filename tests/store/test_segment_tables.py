"""The tables of segments say what the ledger of the stash says, whoever wrote what in whatever order."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.lists.segments import referring_segments, segment_list, segment_texts, session_segments
from tests.adapters import ManualClock
from tests.deep import times
from tests.store.engines import open_tables
from tests.stores import store_parts
from workbench.errors import UsageError
from workbench.lists.segments import PREVIEW, SEGMENTS, SegmentRow
from workbench.lists.tables import ListQuery, ValueCount
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.segmenttype import STREAM
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashStore


class Place:
    """A project with a journal on disk, its tables, and its stash."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.journals = {name: FileJournal(root / name, self.clock) for name in ("project", "home")}
        self.tables = open_tables(root / "project", self.journals, self.clock)
        self.list = segment_list(self.tables, self.clock)
        parts = store_parts(self.journals["project"], self.journals["home"], self.clock)
        store = StashStore(
            **parts,
            texts=partial(segment_texts, self.tables),
            referring=partial(referring_segments, self.tables),
            of_session=partial(session_segments, self.tables),
        )
        self.stash = StashService(store, "test")

    def rows(self) -> dict[str, SegmentRow]:
        return {row.segment.id: row for row in self.list.page(ListQuery()).rows}

    def query(self, text: str, sort: str = "") -> list[str]:
        """Return the ids of the rows that a filter lets through, in order."""
        return [row.segment.id for row in self.list.page(SEGMENTS.query(text, sort)).rows]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def play(place: Place, steps: list[tuple[str, int]]) -> None:
    """Do steps; those that make no sense are refused."""
    for verb, number in steps:
        place.clock.advance(1)
        one = f"seg-{number}"
        with contextlib.suppress(UsageError):
            match verb:
                case "add":
                    place.stash.add(
                        ContextSegment(
                            segment_id=one,
                            text=f"Text \udcff\x1e {number}",
                            topic="İa" if number % 2 else None,
                            references=("seg-1", "seg-2", one)[number:],
                        )
                    )
                case "edit":
                    place.stash.edit(one, topic="Σ", references=("seg-0", "gone"), metadata={"a": "b"})
                case "protect":
                    place.stash.protect([one])
                case "remove":
                    place.stash.remove([one])
                case "undo":
                    place.stash.undo()
                case "redo":
                    place.stash.redo()
                case "shown":
                    place.stash.note_shown([one, "seg-0"], query="q")
                case "embedded":
                    place.stash.note_embedded(
                        {"": f"model {number}", "decision": "other"} if number else {"": "one"}
                    )
                case "retype":
                    place.stash.edit(one, type="decision" if number else "message")
                case "merged":
                    place.stash.note_merged([one])
                case _:
                    place.rows()


VERBS = ("add", "edit", "protect", "remove", "undo", "redo", "shown", "merged", "embedded", "retype", "read")


@settings(
    max_examples=times(3, 5), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 2)), max_size=12))
def test_tables_say_what_the_ledger_says(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After any steps, projected in any rounds, rows are the records; rebuilt tables are the same."""
    place = Place(tmp_path_factory.mktemp("stash"))
    play(place, [("add", 0), *steps])
    ledger = place.stash.store.ledger()
    known = place.stash.with_texts(place.stash.records())
    rows = place.rows()
    assert {one.id: one for one in known} == {key: row.segment for key, row in rows.items()}
    uses = {key: (row.shown, row.merged) for key, row in rows.items()}
    assert uses == {key: (ledger.shown.get(key, 0), ledger.merged.get(key, 0)) for key in ledger.records}
    names = ("seg-0", "seg-1", "seg-2", "gone")
    assert referring_segments(place.tables, names) == {
        name: tuple(sorted(one.id for one in known if name in one.references)) for name in names
    }
    sessions = {one.session_id for one in known}
    assert {name: {*session_segments(place.tables, name)} for name in sessions} == {
        name: {one.id for one in known if one.session_id == name} for name in sessions
    }
    found = place.tables.query("SELECT cased, haystack FROM segments")
    assert [cased.lower() for cased, _ in found] == [haystack for _, haystack in found]
    before = place.tables.digest()
    place.tables.rebuild()
    assert place.tables.digest() == before


def test_the_list_filters_sorts_and_counts(place: Place) -> None:
    """Every field and order of the list type works over the table."""
    day = 86_400
    place.stash.add_many(
        [
            ContextSegment(
                text="Tokens are refreshed by the client\n" + "x" * 3_000,
                segment_id="seg-a",
                type=SegmentType.DECISION,
                session_id="s1",
                topic="auth",
                source="src/auth.py",
                expires_at="2023-11-15",
            ),
            ContextSegment(
                text="Traceback", segment_id="seg-b", type=SegmentType.ERROR_LOG, timestamp="2023-10-01"
            ),
        ]
    )
    place.clock.advance(2 * day)
    place.stash.add(ContextSegment(text="A note", segment_id="seg-c", topic="Build", protected=True))
    place.stash.note_merged(["seg-b"])
    first = place.rows()["seg-a"]
    assert first.segment.text == place.stash.find("seg-a").text[:PREVIEW]
    assert (first.age, first.expired) == (2, True)
    for text, wanted in {
        "refreshed": ["seg-a"],
        "type:error_log": ["seg-b"],
        "topic:auth,build": ["seg-c", "seg-a"],
        "session:s1 source:src/*": ["seg-a"],
        "created:2023-10": ["seg-b"],
        "stashed:>2023-11-15": ["seg-c"],
        "expires:<2024": ["seg-a"],
        "tokens:>100 age:>=2": ["seg-a"],
        "age:>40": ["seg-b"],
        "protected:yes": ["seg-c"],
        "expired:yes": ["seg-a"],
        "merged:>=1 shown:0": ["seg-b"],
        "id:seg-c": ["seg-c"],
    }.items():
        assert (text, place.query(text)) == (text, wanted)
    orders = {sort: "".join(one[-1] for one in place.query("", sort)) for sort in SEGMENTS.sorts}
    assert orders == {
        "newest": "cab",
        "stashed": "cab",
        "expires": "acb",
        "tokens": "abc",
        "type": "cba",
        "topic": "bac",
        "merged": "bac",
    }
    counts = place.list.facets(ListQuery()).fields
    assert counts["topic"] == (ValueCount("Build", 1), ValueCount("auth", 1))
    assert counts["protected"] == (ValueCount("no", 2), ValueCount("yes", 1))
    assert place.list.record("seg-c") == place.rows()["seg-c"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("segment.put", {"segment_id": "x", "text": "t", "tokens": 1e300}),
        ("segment.put", {"segment_id": "x", "text": "t", "tokens": 2**60}),
        ("segment.put", {"segment_id": "x", "text": "t", "type": "poem"}),
        ("segment.removed", {"id": 5}),
        ("segment.shown", {"ids": "all"}),
    ],
)
def test_what_has_another_form_is_left_out(place: Place, kind: str, body: dict[str, Any]) -> None:
    """A damaged or foreign entry is counted and hides no other."""
    place.journals["project"].append(STREAM, kind, [body], by="x")
    made = place.stash.add(ContextSegment(text="One"))
    assert list(place.rows()) == [made.id]
    assert place.tables.rejected_entries()[0] == 1


def test_texts_are_read_by_id(place: Place) -> None:
    """Those of removed segments too; unknown ids are missing."""
    place.stash.add_many([ContextSegment(text=name, segment_id=name) for name in "abc"])
    place.stash.remove(["b"])
    assert segment_texts(place.tables, ["b", "c", "c", "gone"]) == {"b": "b", "c": "c"}
    assert segment_texts(place.tables, []) == {}
