"""The fold of a journal is the same in one piece or in many, and malformed entries are counted, not fatal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import MemoryJournal
from workbench.ports import Entry
from workbench.sessions.episode_ledger import (
    EpisodeLedger,
    fold,
    newest,
    pack_ledger,
    recall,
    task_of,
    unpack_ledger,
)
from workbench.sessions.episodes_fold import FORGOTTEN, IMPORTED, STREAM, imported_episode


def body(session: str, at: int = 1, **other: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "task_text": f"fix {session}\n\nbody",
        "started_at": at,
        "query_type": "bugfix",
        "issue_refs": ["#7"],
        "changes": [["src/a.py", "modified", 3, 1, ""]],
        **other,
    }


def reader(journal: MemoryJournal) -> Any:
    """Return the function that `fold` reads a journal with."""

    def read(start: int) -> Iterator[tuple[int, Entry]]:
        return journal.read(STREAM, start)

    return read


def ledger_of(journal: MemoryJournal, limit: int = 10) -> EpisodeLedger:
    ledger = EpisodeLedger(limit)
    fold(ledger, reader(journal))
    return ledger


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just(IMPORTED), st.sampled_from("abcdefgh"), st.integers(0, 4)),
        st.tuples(st.just(FORGOTTEN), st.sampled_from("abcdefgh"), st.just(0)),
        st.tuples(st.just("other"), st.just(""), st.just(0)),
        st.tuples(st.just("malformed"), st.just(""), st.just(0)),
    ),
    max_size=25,
)


def write(journal: MemoryJournal, event: tuple[str, str, int]) -> None:
    kind, session, at = event
    if kind == IMPORTED:
        journal.append(STREAM, kind, [body(session, at)], by="test")
    elif kind == FORGOTTEN:
        journal.append(STREAM, kind, [{"session_ids": [session]}], by="test")
    elif kind == "malformed":
        journal.append(STREAM, IMPORTED, [{"session_id": "x"}], by="test")
    else:
        journal.append(STREAM, "episode.dreamt", [{}], by="test")


@given(EVENTS, st.integers(0, 4), st.sets(st.integers(0, 25)))
def test_a_fold_in_pieces_equals_a_fold_at_once(
    events: list[tuple[str, str, int]], limit: int, pauses: set[int]
) -> None:
    """Stopping, storing and going on anywhere changes nothing, though only the newest tasks are held."""
    journal = MemoryJournal()
    ledger = EpisodeLedger(limit)
    for number, event in enumerate(events):
        write(journal, event)
        if number in pauses:
            fold(ledger, reader(journal))
            ledger = unpack_ledger(pack_ledger(ledger))
    fold(ledger, reader(journal))
    assert pack_ledger(ledger) == pack_ledger(ledger_of(journal, limit))
    expected: dict[str, tuple[int, int]] = {}
    for order, (kind, session, at) in enumerate(events, 1):
        if kind == IMPORTED:
            expected[session] = (at, order)
        elif kind == FORGOTTEN:
            expected.pop(session, None)
    ordered = sorted(expected, key=lambda session: (-expected[session][0], -expected[session][1]))
    assert newest(ledger) == ordered[:limit]
    assert recall(ledger)[1] == tuple(f"fix {session}" for session in ordered[:limit])
    assert ledger.malformed == sum(kind == "malformed" for kind, _, _ in events)


def test_the_newest_come_first_whatever_their_place() -> None:
    """Episodes are ordered by time, and by their place in the journal when times are equal."""
    journal = MemoryJournal()
    for session, at in (("old", 1), ("new", 9), ("first", 5), ("second", 5)):
        journal.append(STREAM, IMPORTED, [body(session, at)], by="test")
    history, heads = recall(ledger_of(journal))
    assert heads == ("fix new", "fix second", "fix first", "fix old")
    assert history.times.tolist() == [9, 5, 5, 1]
    assert history.issues == {"#7": (0, 1, 2, 3)}


def test_older_episodes_return_when_newer_ones_are_forgotten() -> None:
    """What was let go because of the limit is read again when room is made."""
    journal = MemoryJournal()
    for number in range(6):
        journal.append(STREAM, IMPORTED, [body(str(number), number)], by="test")
    ledger = ledger_of(journal, 2)
    assert set(ledger.tasks) == {"5", "4"}
    journal.append(STREAM, FORGOTTEN, [{"session_ids": ["5", "4"]}], by="test")
    fold(ledger, reader(journal))
    assert recall(ledger)[1] == ("fix 3", "fix 2")


@pytest.mark.parametrize(
    "broken",
    [
        {"started_at": "soon"},
        {"started_at": None},
        {"changes": None},
        {"changes": [["a.py", "modified", 1]]},
        {"changes": [["a.py", "teleported", 1, 1, ""]]},
        {"changes": [["a\ud800.py", "modified", 1, 1, ""]]},
        {"changes": [[7, "modified", 1, 1, ""]]},
        {"issue_refs": 3},
        {"query_type": None, "changes": [["a.py", "modified", "many", 1, ""]]},
    ],
)
def test_a_malformed_episode_is_counted(broken: dict[str, Any]) -> None:
    """Any nonsense in an entry costs that entry alone."""
    journal = MemoryJournal()
    journal.append(STREAM, IMPORTED, [body("good"), body("bad", **broken), body("fine")], by="test")
    ledger = ledger_of(journal)
    assert (sorted(ledger.alive), ledger.malformed) == (["fine", "good"], 1)


def test_a_malformed_forgetting_is_counted() -> None:
    """An entry that forgets nothing nameable forgets nothing."""
    journal = MemoryJournal()
    journal.append(STREAM, IMPORTED, [body("a")], by="test")
    journal.append(STREAM, FORGOTTEN, [{"session_ids": "a"}, {"session_ids": [["a"], None, "b"]}], by="test")
    ledger = ledger_of(journal)
    assert (sorted(ledger.alive), ledger.malformed) == (["a"], 1)


def test_extreme_values_are_bounded() -> None:
    """Times and counts beyond any clock and any file are clamped; texts that cannot be stored are mended."""
    journal = MemoryJournal()
    hostile = body("x\ud800", 10**30, task_text="\ud800 head" + "y" * 100_000, issue_refs=["#\udfff"])
    hostile["changes"] = [["b\udcff.py", "added", 10**30, -5, ""]]
    journal.append(STREAM, IMPORTED, [hostile], by="test")
    ledger = unpack_ledger(pack_ledger(ledger_of(journal)))
    history, heads = recall(ledger)
    assert history.times.tolist() == [1 << 53]
    assert history.paths == ("b\udcff.py",)
    assert history.edits.tolist() == [1e9]
    assert len(heads[0]) <= 500
    assert heads[0].startswith("? head")


def test_a_past_task_knows_whether_it_was_a_fix() -> None:
    """The kind an importer found is what counts."""
    assert task_of(imported_episode(body("a"))).fix
    assert not task_of(imported_episode(body("a", query_type="feature"))).fix


def test_damaged_bytes_are_an_error() -> None:
    """A ledger cut short or of another format is refused."""
    data = pack_ledger(ledger_of(MemoryJournal()))
    with pytest.raises(ValueError, match=r"."):
        unpack_ledger(data[:-2])
