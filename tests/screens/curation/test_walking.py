"""Undo as the sections ask for it: steps of others are asked about, and what is said are words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from screens.curation.walking import AskedFirst, in_words, last_step_words, walk_back
from tests.adapters import ManualClock, MemoryJournal
from tests.stash.conftest import stash_over
from workbench.curation.steps import BuiltUpon
from workbench.errors import UsageError
from workbench.records.segments import ContextSegment
from workbench.stash.service import StashService

LONG_AGO, LATER = "2000-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z"


@pytest.fixture
def stash() -> StashService:
    """A stash that the app works on."""
    clock = ManualClock()
    return stash_over(MemoryJournal(clock), clock, by="tui")


def test_a_step_of_this_sitting_is_undone_in_words(stash: StashService) -> None:
    """The ids of the title are the words of the segments; redo says them as well."""
    made = stash.add(ContextSegment(text="We keep sessions in Redis\nsince Postgres took 40 ms."))
    stash.protect([made.id])
    words = "“We keep sessions in Redis since Postgre…”"
    assert walk_back(stash, "", began=LONG_AGO) == f"undo: protect {words}"
    assert last_step_words(stash, stash.redo().summary) == f"redo: protect {words}"
    assert walk_back(stash, "", began=LONG_AGO).startswith("undo: protect")


def test_what_a_step_left_as_it_was_is_in_words_too(stash: StashService) -> None:
    """A settlement names two records and changes one: no id is left in what is asked."""
    kept = stash.add(ContextSegment(text="Sessions live an hour"))
    gone = stash.add(ContextSegment(text="Sessions live a day"))
    stash.remove([gone.id])
    [step] = stash.store.reader.read(lambda ledger: [ledger.steps[ledger.done[-1]]])
    ids = [stash.store.empty_ledger().type.short(record.id) for record in (gone, kept)]
    title = in_words(stash, step, f"keep right: {', '.join(ids)}")
    assert title == "keep right: “Sessions live a day”, “Sessions live an hour”"


def test_a_step_that_wrote_files_is_in_words_too(stash: StashService) -> None:
    """What wrote the files is a later step, and new words gave the record another id: either id is known."""
    before = stash.add(ContextSegment(text="Sessions live an hour"))
    after = stash.add(ContextSegment(text="Sessions live a day"))
    name = stash.store.empty_ledger().type.short
    stash.remove([before.id])
    [step] = stash.store.reader.read(lambda ledger: [ledger.steps[ledger.done[-1]]])
    edit = replace(step, changes=[replace(step.changes[0], before=before, after=after)])
    assert in_words(stash, edit, f"redo: edit {name(before.id)}") == "redo: edit “Sessions live an hour”"
    [title] = stash.store.reader.read(lambda ledger: [ledger.steps[ledger.done[-1]].title])
    stash.protect([after.id])
    assert (
        last_step_words(stash, f"{title}, also in AGENTS.md")
        == "remove “Sessions live an hour”, also in AGENTS.md"
    )


def test_an_older_step_is_undone_once_that_is_agreed_to(stash: StashService) -> None:
    """The question names the step; agreed to, exactly that one is undone."""
    made = stash.add(ContextSegment(text="We keep sessions in Redis"))
    with pytest.raises(AskedFirst, match="before this sitting") as asked:
        walk_back(stash, "", began=LATER)
    assert asked.value.older_title == "stash “We keep sessions in Redis”"
    assert stash.count() == 1
    walk_back(stash, asked.value.older, began=LATER)
    assert stash.count() == 0
    with pytest.raises(UsageError, match="nothing to undo"):
        walk_back(stash, "", began=LATER)
    assert made.id


def test_a_step_of_another_face_is_asked_about(stash: StashService) -> None:
    """Whoever did it is named, unless it is built upon: then that is the question."""
    made = replace(stash, by="cli").add(ContextSegment(text="We keep sessions in Redis"))
    with pytest.raises(AskedFirst, match="not done in the app, but by cli"):
        walk_back(stash, "", began=LONG_AGO)
    replace(stash, by="auto:x").protect([made.id])
    with pytest.raises(BuiltUpon):
        walk_back(stash, "", began=LONG_AGO)
