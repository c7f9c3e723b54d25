"""The list of sessions in SQL: filters, orders and pages, times and families."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store.journal import FileJournal
from store.lists.sessions import SessionList, session_family
from store.tables import Tables
from tests.adapters import ManualClock
from tests.store.engines import open_tables
from workbench.lists.filters import parse
from workbench.lists.sessions import SESSIONS, moment, resolve_since
from workbench.lists.tables import ListQuery

NOW = 1_790_000_000
DAY = 86_400


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let times be those of Greenwich."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def begun(session: str, task: str, at: int, **fields: Any) -> tuple[str, dict[str, Any]]:
    """Return the start of a session, or one that is over if it has an end."""
    body = {
        "session_id": session,
        "project_id": "p",
        "task_text": task,
        "task_fingerprint": "f",
        "query_type": "bugfix",
        "started_at": at,
        **fields,
    }
    return ("episode.imported" if "ended_at" in fields else "episode.started"), body


def edits(*paths: str) -> list[list[str]]:
    return [[path, "modified"] for path in paths]


PAST = (
    begun("live", "change the logout", NOW - 500, source="hook"),
    begun(
        "codex:b",
        "fix the login",
        NOW - 8 * DAY,
        source="codex",
        outcome="failed",
        ended_at=NOW - 8 * DAY + 9,
        changes=edits("a.py", "src/b.py", "c.py"),
        reads=["a.py"],
    ),
    begun(
        "git:c",
        "Fix the login (#7)",
        NOW - 400 * DAY,
        source="git",
        outcome="success",
        ended_at=NOW - 400 * DAY,
        changes=edits("src/B.py"),
    ),
    begun("d", "", NOW - 500 * DAY, query_type="unknown"),
    (
        "episode.event",
        {"session_id": "live", "event_type": "read", "file_path": "a.py", "timestamp": NOW - 125},
    ),
)


@contextmanager
def tables_of_the_past(journal: FileJournal, root: Path, clock: ManualClock) -> Iterator[Tables]:
    """Make the tables of four sessions: a live one, one of Codex, a commit, and one that nobody ended."""
    journal.append_all("sessions", PAST, by="cli")
    found = open_tables(root, {"project": journal}, clock)
    yield found
    found.close()


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> Iterator[Tables]:
    """The tables of the past and of what a test adds to its journal."""
    with tables_of_the_past(journal, tmp_path, clock) as found:
        yield found


@pytest.fixture(scope="module")
def past(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    root, clock = tmp_path_factory.mktemp("past"), ManualClock()
    with tables_of_the_past(FileJournal(root, clock), root, clock) as found:
        yield found


def shown(tables: Tables, text: str, sort: str = "", *, commits: bool = True) -> list[str]:
    """Return the ids of what a filter lets through."""
    query = ListQuery(parse(text, SESSIONS.fields), SESSIONS.sort(sort) if sort else None)
    assert not query.filter.problems
    found = SessionList(tables, quiet_since=NOW - 3_600, commits=commits)
    order = found.order(query)
    rows = found.rows(order.numbers.tolist())
    assert sorted(found.times(query).tolist()) == sorted(row.started_at for row in rows.values())
    pages, cursor = [], None
    while True:
        page = found.page(query, cursor, 1)
        pages += [row.session_id for row in page.rows]
        assert page.total == order.total
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == [rows[number].session_id for number in order.numbers.tolist()]
    return pages


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", ["live", "codex:b", "git:c", "d"]),
        ("login", ["codex:b", "git:c"]),
        ("lgn", ["codex:b", "git:c"]),
        ("xyz", []),
        ("!login", ["live", "d"]),
        ("source:codex", ["codex:b"]),
        ("source:commit", ["git:c"]),
        ("-source:commit outcome:failed,unknown", ["live", "codex:b", "d"]),
        ("open:yes", ["live"]),
        ("open:no", ["codex:b", "git:c", "d"]),
        ("since:2026", ["live", "codex:b"]),
        ("-since:2026-09", ["git:c", "d"]),
        ("when:2025", ["git:c", "d"]),
        ("edits:>2", ["codex:b"]),
        ("id:codex", ["codex:b"]),
        ("kind:bugfix reads:0", ["git:c"]),
        ("file:b.py", ["codex:b", "git:c"]),
        ("file:a.py -file:c.py", ["live"]),
        ("file:%", []),
    ],
)
def test_filters(past: Tables, text: str, ids: list[str]) -> None:
    """By text, source, outcome, time, files, numbers and whether it goes on; the newest first."""
    assert shown(past, text) == ids


def test_commits_are_hidden_unless_asked_for(past: Tables) -> None:
    """They are past tasks of another kind."""
    assert shown(past, "", commits=False) == ["live", "codex:b", "d"]
    assert shown(past, "-source:commit", commits=False) == ["live", "codex:b", "d"]
    assert shown(past, "source:git", commits=False) == ["git:c"]
    assert shown(past, "source:commit,codex", commits=False) == ["codex:b", "git:c"]


@pytest.mark.parametrize(
    ("sort", "ids"),
    [
        ("outcome", ["git:c", "codex:b", "live", "d"]),
        ("task", ["d", "live", "codex:b", "git:c"]),
        ("source", ["d", "codex:b", "git:c", "live"]),
        ("edits", ["codex:b", "git:c", "live", "d"]),
        ("reads", ["live", "codex:b", "git:c", "d"]),
        ("took", ["live", "codex:b", "git:c", "d"]),
        ("-when", ["d", "git:c", "codex:b", "live"]),
    ],
)
def test_orders(past: Tables, sort: str, ids: list[str]) -> None:
    """By any column, in its natural direction or reversed; equal ones by time."""
    assert shown(past, "", sort) == ids


def test_rows_follow_their_sessions(tables: Tables, journal: FileJournal) -> None:
    """A session keeps its number when it is told again; one that is forgotten is gone."""
    found = SessionList(tables, quiet_since=0, commits=True)
    number = found.find("codex:b")
    assert number is not None
    assert found.rows([number])[number].edits == 3
    journal.append_all(
        "sessions", [begun("codex:b", "again", NOW, ended_at=NOW, changes=edits("a.py"))], by="x"
    )
    assert found.find("codex:b") == number
    assert (found.rows([number])[number].edits, found.rows([number])[number].task_text) == (1, "again")
    journal.append("sessions", "episode.forgotten", [{"session_ids": ["codex:b"]}], by="x")
    assert found.find("codex:b") is None
    assert dict(found.rows([number, 1])) == {}


def test_values_are_counted(past: Tables) -> None:
    """Facets count what filters can ask for."""
    counts = SessionList(past, quiet_since=NOW - 3_600, commits=True).facets(ListQuery())
    assert counts.total == 4
    values = {name: {one.value: one.count for one in field} for name, field in counts.fields.items()}
    assert values == {
        "source": {"codex": 1, "commit": 1, "hook": 1, "cli": 1},
        "outcome": {"unknown": 2, "failed": 1, "success": 1},
        "kind": {"bugfix": 3, "unknown": 1},
        "open": {"no": 3, "yes": 1},
    }


def test_times_beyond_calendars_break_nothing(tables: Tables, journal: FileJournal) -> None:
    """What a hostile transcript says of its time is a number; it has no date to filter by."""
    journal.append_all("sessions", [begun("far", "later", 2**53), begun("early", "sooner", -(2**53))], by="x")
    assert shown(tables, "when:>=2025") == ["live", "codex:b", "git:c", "d"]
    assert shown(tables, "")[0] == "far"
    assert len(SessionList(tables, quiet_since=0, commits=True).times(ListQuery()).astype(np.int64)) == 6


def test_families(tables: Tables, journal: FileJournal) -> None:
    """The prompts of one session are found from each other, in their order, and from the session."""
    prompts = [
        begun(f"p{number}", "x", NOW, ended_at=NOW, parent_session="s", prompt_index=number)
        for number in (2, 0, 1)
    ]
    journal.append_all("sessions", prompts, by="import:codex")
    ids = [row.session_id for row in session_family(tables, "p1", "s", 9)]
    assert ids == ["p0", "p1", "p2"] == [row.session_id for row in session_family(tables, "s", "", 9)]
    assert session_family(tables, "p1", "", 9) == []


def test_what_is_no_time_is_a_problem() -> None:
    """It is said, and the rest still filters."""
    understood = resolve_since(parse("since:soon login", SESSIONS.fields), datetime.fromtimestamp(NOW))
    assert [problem.message for problem in understood.problems] == [
        "since: 'soon' is not a time: 7d, 24h or 2026-11-30"
    ]
    assert len(understood.terms) == 1


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("7d", "2026-09-14T13:33"),
        ("2h", "2026-09-21T11:33"),
        ("2026-11", "2026-11"),
        ("99999w", "0110-03-17T13:33"),
        ("soon", ""),
    ],
)
def test_moments(text: str, at: str) -> None:
    """Spans count back from now, dates are taken as they are, and nothing overflows."""
    assert moment(text, datetime(2026, 9, 21, 13, 33)) == at
    assert moment("99999w", datetime(1000, 1, 1)) == "0001-01-01"
