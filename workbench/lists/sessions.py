"""What can be asked of the list of sessions. Its rows are `SessionRow` records, commits among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from workbench.lists.filters import Facet, Field, FieldKind, Filter, Op, Problem, Term
from workbench.lists.tables import ListType
from workbench.records.episodes import Outcome

OUTCOMES: Final = tuple(outcome.value for outcome in Outcome)
"""The outcomes, the best first, unknown last."""

SOURCE_NAMES: Final[Mapping[str, str]] = {
    "claude_code": "claude",
    "claude_stream": "stream",
    "git": "commit",
}
"""What sources are called where there is little room; others go by their own name."""

_COMMITS: Final = frozenset({"git", SOURCE_NAMES["git"]})

FIELDS: Final = (
    Field("task", FieldKind.TEXT),
    Field("id", FieldKind.TEXT),
    Field("source", searched=False),
    Field("outcome", choices=tuple(sorted(OUTCOMES)), searched=False),
    Field("since", searched=False),
    Field("when", FieldKind.TIME, searched=False),
    Field("file", FieldKind.TEXT, searched=False),
    Field("open", FieldKind.YES_NO, searched=False),
    Field("kind", searched=False),
    Field("reads", FieldKind.NUMBER, searched=False),
    Field("edits", FieldKind.NUMBER, searched=False),
)
"""`since` is resolved before rows are looked at: see `resolve_since`. Times are local."""

SESSIONS: Final = ListType(
    "session",
    FIELDS,
    sorts=("when", "outcome", "task", "source", "edits", "reads", "took"),
    usual=("when", True),
    largest_first=frozenset({"when", "edits", "reads", "took"}),
    facets=("source", "outcome", "kind", "open"),
)

_SPAN: Final = re.compile(r"(\d{1,5})([smhdw])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DATE: Final = re.compile(r"\d{4}(-\d\d?(-\d\d?(T[\d:]*)?)?)?", re.ASCII)


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


def names_commits(wanted: Filter) -> bool:
    """Return whether a filter asks for commits of version control by their source."""
    return any(
        isinstance(term, Facet)
        and term.field == "source"
        and not term.negated
        and not _COMMITS.isdisjoint(term.values)
        for term in wanted.terms
    )


def moment(text: str, now: datetime) -> str:
    """Return a span or a date as an ISO time, "" if it is neither."""
    if (match := _SPAN.fullmatch(text)) is None:
        return text if _DATE.fullmatch(text) else ""
    try:
        return (now - timedelta(**{_UNITS[match[2]]: int(match[1])})).isoformat(timespec="minutes")
    except OverflowError:
        return "0001-01-01"
