"""Live sessions enter the past as imported ones do, in one piece or in many, and whatever is told when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import MemoryJournal
from workbench.ports import Entry
from workbench.records.episodes import Completeness, Outcome
from workbench.sessions.episode_ledger import EpisodeLedger, fold, pack_ledger, recall, task_of, unpack_ledger
from workbench.sessions.episodes_fold import (
    ENDED,
    EVENT,
    FEEDBACK,
    FORGOTTEN,
    IMPORTED,
    STARTED,
    STREAM,
    follow_all,
    story,
)

Draft = tuple[str, dict[str, Any]]


def draft(kind: str, session: str, **fields: Any) -> Draft:
    """Return an entry of a live session with what its kind needs."""
    every: dict[str, dict[str, Any]] = {
        STARTED: {"task_text": f"fix {session}", "started_at": 1, "query_type": "bugfix"},
        IMPORTED: {
            "task_text": f"import {session}",
            "started_at": 1,
            "query_type": "feature",
            "issue_refs": [],
            "changes": [["b.py", "modified", 1, 1, ""]],
        },
        EVENT: {"event_type": "edit", "timestamp": 2, "file_path": "a.py"},
        ENDED: {"ended_at": 3},
        FEEDBACK: {"timestamp": 4},
        FORGOTTEN: {},
    }
    named = {"session_ids": [session]} if kind == FORGOTTEN else {"session_id": session}
    return kind, {**named, **every[kind], **fields}


SESSIONS = st.sampled_from(["a", "b", "c", "d"])
OUTCOMES = st.sampled_from([None, *Outcome])
TOLD = st.one_of(
    st.builds(lambda s, at: draft(STARTED, s, started_at=at), SESSIONS, st.integers(0, 4)),
    st.builds(
        lambda s, at, o: draft(IMPORTED, s, started_at=at, outcome=o), SESSIONS, st.integers(0, 4), OUTCOMES
    ),
    st.builds(
        lambda s, kind, path: draft(EVENT, s, event_type=kind, file_path=path),
        SESSIONS,
        st.sampled_from(["read", "edit", "decision"]),
        st.sampled_from(["a.py", "b\udcff.py", None]),
    ),
    st.builds(
        lambda s, o, by: draft(ENDED, s, outcome=o, closed_by=by),
        SESSIONS,
        OUTCOMES,
        st.sampled_from(["", "timeout"]),
    ),
    st.builds(lambda s, o: draft(FEEDBACK, s, outcome=o), SESSIONS, OUTCOMES),
    st.builds(lambda s: draft(FORGOTTEN, s), SESSIONS),
    st.builds(lambda s: draft(EVENT, s, timestamp="soon"), SESSIONS),
)


def ledger_of(journal: MemoryJournal, limit: int = 10) -> EpisodeLedger:
    ledger = EpisodeLedger(limit)
    fold(ledger, lambda start: journal.read(STREAM, start))
    return ledger


def journal_of(*entries: Draft) -> MemoryJournal:
    journal = MemoryJournal()
    journal.append_all(STREAM, entries, by="cli")
    return journal


@given(st.lists(TOLD, max_size=25), st.integers(0, 4), st.sets(st.integers(0, 25)))
def test_a_fold_in_pieces_says_what_the_entries_say(
    entries: list[Draft], limit: int, pauses: set[int]
) -> None:
    """However the journal is read, each episode is what all entries about it add up to."""
    journal = MemoryJournal()
    ledger = EpisodeLedger(limit)

    def read(start: int) -> Iterator[tuple[int, Entry]]:
        return journal.read(STREAM, start)

    for number, entry in enumerate(entries):
        journal.append_all(STREAM, [entry], by="cli")
        if number in pauses:
            fold(ledger, read)
            ledger = unpack_ledger(pack_ledger(ledger))
    fold(ledger, read)
    assert pack_ledger(ledger) == pack_ledger(ledger_of(journal, limit))
    found = [follow_all((entry for _, entry in read(0)), session) for session in "abcd"]
    episodes = {episode.session_id: episode for episode in found if episode is not None}
    ended = {session for session, episode in episodes.items() if episode.ended_at is not None}
    assert ended == set(ledger.alive)
    assert {session: ledger.alive[session][2] for session in ended} == {
        session: story(episodes[session]) for session in ended
    }
    assert {session: one for session, (one, *_) in ledger.live.items()} == {
        session: episode for session, episode in episodes.items() if session not in ended
    }
    for session, remembered in ledger.tasks.items():
        assert remembered.task == task_of(episodes[session])


def test_an_open_session_is_no_past() -> None:
    """What is still being done teaches nothing until it ends; then it does as an imported one."""
    begun = (draft(STARTED, "a"), draft(EVENT, "a"), draft(EVENT, "a", event_type="read", file_path="r.py"))
    assert recall(ledger_of(journal_of(*begun)))[1] == ()
    history, heads = recall(ledger_of(journal_of(*begun, draft(ENDED, "a", outcome="success"))))
    assert (heads, history.paths) == (("fix a",), ("a.py",))


def test_what_is_told_after_the_end_counts() -> None:
    """A late edit adds its file, and feedback changes the verdict, also in a later fold."""
    journal = journal_of(draft(STARTED, "a"), draft(ENDED, "a", outcome="success"))
    ledger = ledger_of(journal)
    assert ledger.tasks["a"].task.verdict is Outcome.SUCCESS
    late = (draft(EVENT, "a", late=True), draft(FEEDBACK, "a", outcome="failed"))
    journal.append_all(STREAM, late, by="cli")
    fold(ledger, lambda start: journal.read(STREAM, start))
    task = ledger.tasks["a"].task
    assert ([change.path for change in task.changes], task.verdict) == (["a.py"], Outcome.FAILED)


def test_feedback_outlives_another_import() -> None:
    """A transcript that grew is imported again; what somebody said of it still counts, in one fold or two."""
    journal = journal_of(draft(IMPORTED, "a", outcome="success"), draft(FEEDBACK, "a", outcome="failed"))
    ledger = ledger_of(journal)
    journal.append_all(STREAM, [draft(IMPORTED, "a", outcome="success", started_at=5)], by="cli")
    fold(ledger, lambda start: journal.read(STREAM, start))
    task = ledger.tasks["a"].task
    assert (task.at, task.verdict) == (5, Outcome.FAILED)
    assert pack_ledger(ledger) == pack_ledger(ledger_of(journal))


def test_a_late_verdict_reads_its_session_alone_again() -> None:
    """From its first entry on, also after the ledger was saved: not a journal of years."""
    journal = journal_of(
        draft(STARTED, "a"), draft(ENDED, "a", outcome="failed"), draft(STARTED, "b"), draft(ENDED, "b")
    )
    ledger = unpack_ledger(pack_ledger(ledger_of(journal)))
    [*_, (first, _), _, _] = [(0, None), *journal.read(STREAM)]
    journal.append_all(STREAM, [draft(FEEDBACK, "b", outcome="success")], by="cli")
    starts: list[int] = []

    def read(start: int) -> Iterator[tuple[int, Entry]]:
        starts.append(start)
        return journal.read(STREAM, start)

    fold(ledger, read)
    assert starts[1:] == [first]
    assert ledger.tasks["b"].task.verdict is Outcome.SUCCESS
    assert pack_ledger(ledger) == pack_ledger(ledger_of(journal))


def test_completeness_counts_sessions() -> None:
    """Commits and open sessions are left out; a whole story has reads, edits and an outcome."""
    journal = journal_of(
        draft(STARTED, "open"),
        draft(IMPORTED, "commit", source="git", outcome="success"),
        draft(IMPORTED, "traced", outcome="success"),
        draft(IMPORTED, "full", outcome="failed", reads=["x.py"]),
        draft(IMPORTED, "unknown"),
        draft(IMPORTED, "untouched", outcome="success", changes=[]),
    )
    assert ledger_of(journal).stories == Completeness(ended=4, traced=2, full=1, open=1)
    assert Completeness(4, 2, 1, 1).share == 0.25
    assert Completeness().share is None
