"""Which sessions are shown and in which order, and how many began when: worked out in a job's thread."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from screens.filter_matching import filter_rows
from screens.sessions.rows import FIELDS, SORTS, SessionClock, SessionRecord
from screens.widgets.timeline import density, ends
from workbench.lists.filters import Facet, Filter, Op, Problem, Term

if TYPE_CHECKING:
    from workbench.records.episodes import SessionRow

Progress = Callable[[str, int, int], None]
CELLS: Final = 2_000
"""Stretches of time that sessions are counted in: several times what a terminal is wide."""

EVERYTHING: Final = Filter()
_SPAN: Final = re.compile(r"(\d{1,5})([smhdw])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DATE: Final = re.compile(r"\d{4}(-\d\d?(-\d\d?(T[\d:]*)?)?)?", re.ASCII)
_SLICE: Final = 4_096


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """What the list shall show: a filter, whether commits too, and what it is sorted by."""

    filter: Filter = EVERYTHING
    commits: bool = False
    sort: str = "when"
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class SessionListing:
    """Positions of sessions in the order they are shown, and how many of them began in each stretch."""

    order: Sequence[int]
    counts: tuple[int, ...]
    between: tuple[float, float]


def resolve_since(wanted: Filter, now: datetime) -> Filter:
    """Return the filter with `since:` as a comparison of times; what is not a time becomes a problem.

    A span (7d, 24h, 2w) counts back from `now`, in local time; a date is taken as it is.
    """
    terms: list[Term] = []
    problems = list(wanted.problems)
    for term in wanted.terms:
        if not isinstance(term, Facet) or term.field != "since":
            terms.append(term)
        elif at := moment(term.values[-1], now):
            terms.append(Facet("when", (at,), Op.BELOW if term.negated else Op.AT_LEAST))
        else:
            problems.append(Problem(0, 0, f"since: {term.values[-1]!r} is not a time: 7d, 24h or 2026-11-30"))
    return replace(wanted, terms=tuple(terms), problems=tuple(problems))


def moment(text: str, now: datetime) -> str:
    """Return a span or a date as an ISO time, "" if it is neither."""
    if (found := _SPAN.fullmatch(text)) is None:
        return text if _DATE.fullmatch(text) else ""
    try:
        return (now - timedelta(**{_UNITS[found[2]]: int(found[1])})).isoformat(timespec="minutes")
    except OverflowError:
        return "0001-01-01"


def file_terms(wanted: Filter) -> tuple[list[Facet], Filter]:
    """Return the terms about files, which the tables answer, and the filter without them."""
    terms = [term for term in wanted.terms if isinstance(term, Facet) and term.field == "file"]
    rest = tuple(term for term in wanted.terms if term not in terms)
    return terms, replace(wanted, terms=rest)


def list_sessions(
    rows: Sequence[SessionRow],
    wanted: SessionQuery,
    clock: SessionClock,
    touching: Mapping[Facet, frozenset[str]],
    progress: Progress,
) -> SessionListing:
    """Return what is shown of rows that come newest first; `touching` are the sessions of terms about files.

    A filter that ranks puts better matches first unless another order than the newest was chosen.
    """
    base = _sort(rows, wanted, progress)
    if touching:
        base = array(
            "I",
            (
                position
                for position in base
                if all(
                    (rows[position].session_id in found) is not term.negated
                    for term, found in touching.items()
                )
            ),
        )
    if wanted.filter:
        ranked = wanted.sort == "when" and not wanted.reverse
        base = _filter(rows, wanted.filter, base, clock, progress, ranked=ranked)
    times: list[float] = []
    for start in range(0, len(base), _SLICE):
        progress("Counting", start, len(base))
        times += [float(rows[position].started_at) for position in base[start : start + _SLICE]]
    return SessionListing(base, tuple(density(times, CELLS)), ends(times))


def _sort(rows: Sequence[SessionRow], wanted: SessionQuery, progress: Progress) -> array[int]:
    progress("Sorting", 0, 0)
    if wanted.sort == "when":
        positions = range(len(rows))
        return array("I", reversed(positions) if wanted.reverse else positions)
    key = SORTS[wanted.sort]
    keys = [key(row) for row in rows]
    return array("I", sorted(range(len(rows)), key=keys.__getitem__, reverse=wanted.reverse))


def _filter(
    rows: Sequence[SessionRow],
    wanted: Filter,
    base: Sequence[int],
    clock: SessionClock,
    progress: Progress,
    *,
    ranked: bool,
) -> array[int]:
    step = None
    for step in filter_rows(
        wanted, lambda index: SessionRecord(rows[base[index]], clock), len(base), fields=FIELDS
    ):
        progress("Filtering", step.done, step.total)
    assert step is not None
    assert step.order is not None
    kept: Sequence[int] = step.order if ranked or not wanted.ranks else sorted(step.order)
    return array("I", (base[index] for index in kept))
