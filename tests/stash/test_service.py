"""The stash: what is put aside is kept as it was said, decided about in steps, and found again by its id."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters import ManualClock, MemoryJournal
from tests.stash.conftest import stash_over
from workbench.errors import UsageError
from workbench.ports import Entry
from workbench.records.segments import MAX_SEGMENT, ContextSegment, SegmentType
from workbench.stash.segmenttype import STREAM
from workbench.stash.service import StashService

NOW = "2023-11-14T22:13:20+00:00"


def entries(journal: MemoryJournal) -> list[Entry]:
    return [entry for _, entry in journal.read(STREAM)]


def test_a_segment_is_kept_as_it_was_given_and_completed(stash: StashService) -> None:
    """Every field comes back; an id, times, tokens, project and digest are filled in."""
    given = ContextSegment(
        text="Tokens are refreshed in the client.",
        session_id="s1",
        type=SegmentType.DECISION,
        timestamp="2023-11-01T10:00:00+02:00",
        topic="auth",
        source="claude_code:s1#4",
        references=("seg-b", "seg-b", "gone"),
        expires_at="2023-12-01",
        metadata={"part": "1 of 2"},
    )
    made = stash.add(given)
    assert stash.find(made.id[:9]) == made
    assert made == replace(
        given,
        segment_id=made.id,
        timestamp="2023-11-01T08:00:00+00:00",
        stashed_at=NOW,
        tokens=6,
        references=("seg-b", "gone"),
        expires_at="2023-12-01T00:00:00+00:00",
        project_id="p",
        digest=made.digest,
    )
    assert made.id.startswith("seg-")
    assert not made.is_expired(NOW)
    assert made.is_expired("2023-12-01T00:00:00+00:00")


def test_a_batch_is_one_step_and_one_write(stash: StashService, journal: MemoryJournal) -> None:
    """Many are put aside in order; undo takes all of them back, redo brings them, texts and all."""
    made = stash.add_many(
        [ContextSegment(text=f"Line {n}", source=str(n)) for n in range(5)], title="import x"
    )
    assert [one.text for one in made.segments] == [f"Line {n}" for n in range(5)]
    assert len(made.added) == 5
    assert stash.undo().title == "undo: import x"
    assert stash.count() == 0
    stash.redo()
    assert stash.find(made.segments[3].id).text == "Line 3"
    texts = [entry for entry in entries(journal) if "text" in entry.body]
    assert len(texts) == 5


def test_what_is_there_already_is_not_added_again(stash: StashService, journal: MemoryJournal) -> None:
    """An id with the same text is the same segment; with another text it is refused, and nothing is kept."""
    first = stash.add(ContextSegment(text="One", segment_id="a", topic="x"))
    stash.protect(["a"])
    again = stash.add_many([ContextSegment(text="One", segment_id="a"), ContextSegment(text="Two")])
    assert again.segments[0] == replace(first, protected=True)
    assert again.added == {again.segments[1].id}
    before = len(entries(journal))
    with pytest.raises(UsageError, match="another text"):
        stash.add_many([ContextSegment(text="Three"), ContextSegment(text="Four", segment_id="a")])
    assert len(entries(journal)) == before
    stash.unprotect(["a"])
    stash.remove(["a"])
    with pytest.raises(UsageError, match="another text"):
        stash.add(ContextSegment(text="Four", segment_id="a"))
    assert stash.add(ContextSegment(text="One", segment_id="a")).topic is None
    assert stash.find("a").text == "One"


@pytest.mark.parametrize(
    ("segment", "words"),
    [
        (ContextSegment(text=" \n"), "empty"),
        (ContextSegment(text="x" * (MAX_SEGMENT + 1)), "1,000,001 characters"),
        (ContextSegment(text="x", timestamp="yesterday"), "'yesterday' is not a time"),
        (ContextSegment(text="x", segment_id="i" * 201), "its id"),
    ],
)
def test_what_is_no_segment_is_refused(stash: StashService, segment: ContextSegment, words: str) -> None:
    """Empty and huge texts, invalid times and ids are refused with a hint."""
    with pytest.raises(UsageError, match=words) as caught:
        stash.add(segment)
    assert caught.value.hint


def test_secrets_are_masked_before_anything_is_kept(stash: StashService, journal: MemoryJournal) -> None:
    """Neither the journal nor what is returned has a secret, in a text or beside it."""
    token = "ghp_" + "a1B2" * 9
    made = stash.add(ContextSegment(text=f"export GH={token}", source=f"https://{token}@host/x"))
    assert token not in made.text + made.source
    assert token not in repr(entries(journal))


def test_protecting_and_expiring_write_no_text_again(stash: StashService, journal: MemoryJournal) -> None:
    """Decisions are steps without texts; what is like that already is left alone."""
    one, two = (stash.add(ContextSegment(text=text)).id for text in ("One", "Two"))
    stash.protect([one])
    assert [done.id for done in stash.protect([one, two])] == [two]
    with pytest.raises(UsageError, match="nothing to change"):
        stash.protect([one])
    assert stash.expire_in([one], 2)[0].expires_at == "2023-11-16T22:13:20+00:00"
    assert not stash.find(one).is_expired("2024-01-01")
    assert stash.expire_at([one], None)[0].expires_at is None
    assert stash.edit(one, topic="t", type=SegmentType.RESEARCH).topic == "t"
    assert sum("text" in entry.body for entry in entries(journal)) == 2
    with pytest.raises(UsageError, match="never changes"):
        stash.edit(one, text="Another")
    with pytest.raises(UsageError, match="is protected"):
        stash.remove([one])
    assert [change.after is not None and change.after.topic for change in stash.history(one)][-1] == "t"


def test_use_is_counted_and_not_undone(
    stash: StashService, clock: ManualClock, journal: MemoryJournal
) -> None:
    """What was shown and merged is a fact: no step, once an entry, for every reader."""
    one = stash.add(ContextSegment(text="One"))
    stash.note_shown([one.id, one.id, "gone"], query="how")
    stash.note_shown([one.id])
    stash.note_merged([one.id], session_id="s")
    stash.note_merged([])
    assert (stash.uses(one.id).shown, stash.uses(one.id).merged) == (2, 1)
    assert stash.undo().title == f"undo: stash {one.id[:12]}"
    assert stash_over(journal, clock).uses(one.id) == stash.uses(one.id)


def test_an_unknown_id_leads_to_the_one_that_was_meant(stash: StashService) -> None:
    """A beginning is enough where it is one segment's; others are refused with what may have been meant."""
    stash.add_many(
        [ContextSegment(text=name, segment_id=name) for name in ("seg-aa11", "seg-aa22", "note-7")]
    )
    assert stash.find("aa1").id == "seg-aa11"
    with pytest.raises(UsageError, match="2 segments begin"):
        stash.find("seg-a")
    with pytest.raises(UsageError, match="there is no segment") as caught:
        stash.find("seg-aa12")
    assert "Did you mean seg-aa" in caught.value.hint
    stash.remove(["note-7"])
    with pytest.raises(UsageError, match="was removed"):
        stash.find("note-7")


def test_a_put_whose_text_never_was_is_left_out(stash: StashService, journal: MemoryJournal) -> None:
    """A damaged journal gives no segment without a text, and says so."""
    journal.append(STREAM, "segment.put", [{"segment_id": "ghost", "type": "message"}], by="x")
    assert stash.count() == 0
    assert stash.store.ledger().skipped == ["segment 'ghost': its text is missing"]
