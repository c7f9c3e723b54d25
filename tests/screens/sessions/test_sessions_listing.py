"""What the list of sessions shows of rows, filters and orders, and how a story becomes lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from screens.sessions.listing import SessionQuery, file_terms, list_sessions, moment, resolve_since
from screens.sessions.rows import FIELDS, SessionClock, cells, head, session_rows, span, took, when
from workbench.lists.filters import Filter, parse
from workbench.records.episodes import SessionRow

NOW = 1_790_000_000
CLOCK = SessionClock(NOW, 3_600.0)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let times be those of Greenwich."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def row(session: str, task: str = "fix it", **fields: object) -> SessionRow:
    """Return a session that ended well."""
    usual: dict[str, object] = {
        "query_type": "bugfix",
        "started_at": NOW - 86_400,
        "ended_at": NOW - 86_000,
        "outcome": "success",
        "source": "claude_code",
        "parent_session": "",
        "prompt_index": None,
        "outcome_evidence": "",
        "closed_by": "",
        "reads": 2,
        "edits": 1,
        "events": 3,
        "last_at": NOW - 86_000,
    }
    return SessionRow(session, task, **{**usual, **fields})  # type: ignore[arg-type]


ROWS = (
    row("live", "change the logout", ended_at=None, started_at=NOW - 500, last_at=NOW - 125, source="hook"),
    row(
        "codex:b",
        "fix the login",
        source="codex",
        outcome="failed",
        started_at=NOW - 8 * 86_400,
        ended_at=NOW - 8 * 86_400 + 9,
        edits=9,
    ),
    row(
        "git:c",
        "Fix the login (#7)",
        source="git",
        started_at=NOW - 400 * 86_400,
        ended_at=NOW - 400 * 86_400,
        reads=0,
    ),
    row("d", "", ended_at=None, started_at=NOW - 500 * 86_400, last_at=NOW - 500 * 86_400, outcome="unknown"),
)


def shown(text: str, **wanted: object) -> list[str]:
    """Return the ids of what a filter lets through."""
    understood = resolve_since(parse(text, FIELDS), datetime.fromtimestamp(NOW))
    assert not understood.problems
    asked = SessionQuery(filter=understood, **wanted)  # type: ignore[arg-type]
    found = list_sessions(ROWS, asked, CLOCK, {}, lambda stage, done, total: None)
    assert sum(found.counts) == len(found.order)
    return [ROWS[position].session_id for position in found.order]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", ["live", "codex:b", "git:c", "d"]),
        ("login", ["codex:b", "git:c"]),
        ("!login", ["live", "d"]),
        ("source:codex", ["codex:b"]),
        ("source:commit", ["git:c"]),
        ("-source:commit outcome:failed,unknown", ["codex:b", "d"]),
        ("open:yes", ["live"]),
        ("since:7d", ["live"]),
        ("-since:1d", ["codex:b", "git:c", "d"]),
        ("since:2026", ["live", "codex:b"]),
        ("edits:>2", ["codex:b"]),
        ("id:codex", ["codex:b"]),
        ("kind:bugfix reads:0", ["git:c"]),
    ],
)
def test_filters(text: str, ids: list[str]) -> None:
    """By text, source, outcome, time, numbers and whether it goes on; the newest first."""
    assert shown(text) == ids


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("outcome", "live"),
        ("task", "d"),
        ("source", "d"),
        ("edits", "codex:b"),
        ("reads", "live"),
        ("took", "live"),
    ],
)
def test_orders(sort: str, first: str) -> None:
    """By any column, in its natural direction or reversed; equal ones by time."""
    order = shown("", sort=sort)
    assert sorted(order) == sorted(one.session_id for one in ROWS)
    assert order[0] == first
    assert shown("", sort="when", reverse=True)[0] == "d"


def test_files_are_asked_of_the_tables() -> None:
    """Terms about files are taken out of the filter and hold by the sessions that were found."""
    wanted = parse("login file:a.py -file:b.py", FIELDS)
    terms, rest = file_terms(wanted)
    assert [(term.values, term.negated) for term in terms] == [(("a.py",), False), (("b.py",), True)]
    assert [term.text for term in rest.terms] == ["login"]  # type: ignore[union-attr]
    touching = {terms[0]: frozenset({"codex:b", "git:c"}), terms[1]: frozenset({"git:c"})}
    found = list_sessions(
        ROWS, SessionQuery(filter=Filter()), CLOCK, touching, lambda stage, done, total: None
    )
    assert [ROWS[position].session_id for position in found.order] == ["codex:b"]


def test_what_is_no_time_is_a_problem() -> None:
    """It is said, and the rest still filters."""
    understood = resolve_since(parse("since:soon login", FIELDS), datetime.fromtimestamp(NOW))
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
    ],
)
def test_spans_and_dates_are_times(text: str, at: str) -> None:
    """A span counts back, a date stands for itself."""
    assert moment(text, datetime(2026, 9, 21, 13, 33)) == at


def test_a_span_beyond_the_calendar_is_its_beginning() -> None:
    """Nothing overflows."""
    assert moment("99999w", datetime(1000, 1, 1)) == "0001-01-01"


def test_cells_tell_the_state_by_a_glyph() -> None:
    """An open session says when it was heard of last, an ended one how long it took."""
    told = [[str(cell) for cell in cells(one, CLOCK)] for one in ROWS]
    assert [one[2] for one in told] == ["▶", "✗", "✓", "·"]
    assert [one[1] for one in told] == ["● hook", "◇ codex", "○ commit", "✻ claude"]
    assert took(ROWS[0], CLOCK).plain == "2m ago"
    assert took(ROWS[3], CLOCK).plain == "·"
    assert told[3][3] == "(no task)"
    assert [one[0] for one in told[:3]] == ["09-21 14:05", "09-13 14:13", "2025-08-17"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (59, "59s"), (61, "1m"), (3_660, "1h01"), (7_200, "2h"), (200_000, "2d")],
)
def test_spans_are_short(seconds: int, text: str) -> None:
    """The largest unit, minutes beside hours."""
    assert span(seconds) == text


def test_times_that_no_calendar_has_do_not_break_a_row() -> None:
    """They are shown as unknown."""
    assert when(1 << 53, NOW) == "?"
    assert head("\n \n  second line\nthird") == "second line"


def test_rows_know_where_a_session_is() -> None:
    """By its place among what is shown; those a filter hides are nowhere."""
    rows = session_rows(ROWS, [2, 0], lambda: CLOCK)
    assert [rows.key(n) for n in range(len(rows))] == ["git:c", "live"]
    assert (rows.find("live"), rows.find("codex:b")) == (1, None)
