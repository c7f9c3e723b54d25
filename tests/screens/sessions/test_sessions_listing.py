"""What the list of sessions shows of a row, and how a story becomes lines."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from screens.sessions.listing import SessionClock, SessionQuery, cells, head, span, took, when
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


@pytest.mark.parametrize(
    ("wanted", "sort"),
    [
        (SessionQuery(), None),
        (SessionQuery(reverse=True), ("when", False)),
        (SessionQuery(sort="edits"), ("edits", True)),
        (SessionQuery(sort="task", reverse=True), ("task", True)),
    ],
)
def test_orders_are_those_of_the_table(wanted: SessionQuery, sort: tuple[str, bool] | None) -> None:
    """The newest first is no order that somebody chose, so better matches may come before."""
    assert wanted.list_query.sort == sort


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
