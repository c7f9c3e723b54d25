"""What a query asks for: its parts with their weights, and the times it names in words [rag §7].

A query has up to four parts, each searched by itself and weighed: what is looked for, the task, the latest
messages and the open files. One text made of all would mean the mean of them. Identifiers, error codes and
names of files are split into their terms by the one tokenisation (`workbench.text.terms`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import StashQuery
from workbench.stash.filenames import is_path
from workbench.text.terms import clean_task

ASIDE: Final[Mapping[str, float]] = {"text": 1.0, "task": 0.3, "messages": 0.1, "files": 0.3}
"""What a part counts that says what surrounds the request, where the request itself counts 1."""

ELLIPTIC: Final[Mapping[str, float]] = {"task": 0.5, "messages": 1.0}
"""What a part counts besides where the request says nothing by itself: "yes, all four"."""

SAYS: Final = 10.0
"""The information of a request (the sum of its terms' idf, in nats) with which that has fallen to 1/e."""

LATEST: Final = 4
"""Messages that count, the newest ones."""

MOST_CHARACTERS: Final = 8_000

ANSWER_FORM: Final = 0.4
"""What the form of an answer counts in the vector of a question, where both count 1 together."""

_ASKS: Final = frozenset(
    """what which who whom whose when where why how many much kind kinds type types
    did does do is are was were has have had can could would the a an of s""".split()
)
"""Words of questions that answers do not have."""

_NAME: Final = re.compile(r"\b[A-Z]\w+")
_WORD: Final = re.compile(r"[\w'-]+")

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_MONTH: Final = "|".join(f"{name}|{name[:3]}" for name in _MONTHS)
_DATES: Final = re.compile(
    rf"""\b(?:(?P<iso>\d{{4}}-\d{{2}}(?:-\d{{2}})?)
    |(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH})\.?
     (?:\s+(?P<late>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(?P<year>(?:19|20)\d{{2}}))
    |(?P<ago>\d{{1,3}})\s+(?P<unit>day|week|month)s?\s+ago
    |(?P<word>today|yesterday|last\ week|last\ month))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_DAYS: Final = {"day": 1, "week": 7, "month": 30}
_WORDS: Final = {"today": (0, 1), "yesterday": (1, 1), "last week": (7, 7), "last month": (31, 31)}


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A text that is searched for, and what it counts."""

    name: str
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class NamedTime:
    """Seconds since the epoch from `start` to `end` (exclusive) that a query names."""

    start: int
    end: int


def query_parts(query: StashQuery) -> tuple[QueryPart, ...]:
    """Return the parts of a query that have any text; the first is the request, or what there is of it."""
    messages = "\n".join(query.messages[-LATEST:])
    files = "\n".join(_file_text(file) for file in query.files)
    given = (("text", query.text), ("task", query.task), ("messages", messages), ("files", files))
    cleaned = [(name, clean_task(text)[:MOST_CHARACTERS]) for name, text in given if text.strip()]
    found = [(name, text) for name, text in cleaned if text]
    return tuple(QueryPart(name, text, ASIDE[name] if at else 1.0) for at, (name, text) in enumerate(found))


def weigh_parts(parts: Sequence[QueryPart], information: float) -> tuple[QueryPart, ...]:
    """Return the parts with what they count beside a request of so much information.

    The less a request says itself, the more it means what was said before it.
    """
    silence = math.exp(-((information / SAYS) ** 2))
    rest = (replace(part, weight=part.weight + ELLIPTIC.get(part.name, 0.0) * silence) for part in parts[1:])
    return (*parts[:1], *rest)


def answer_form(question: str, is_speaker: Callable[[str], bool]) -> str:
    """Return a question in the form of an answer, "" for what asks nothing.

    It has the words without those that ask, as the person who is asked about would say them: "What does Ana
    like to eat?" is "Ana: I like to eat". `is_speaker` says whether a name is that of somebody who speaks.
    """
    words = question.split()
    if not question.rstrip().endswith("?") and (not words or words[0].casefold() not in _ASKS):
        return ""
    named = [name for name in dict.fromkeys(_NAME.findall(question)) if is_speaker(name)]
    for name in named:
        question = re.sub(rf"\b{re.escape(name)}\b(?:'s)?", "I" if len(named) == 1 else "we", question)
    said = " ".join(word for word in _WORD.findall(question) if word.casefold() not in _ASKS)
    return f"{named[0]}: {said}" if len(named) == 1 and said else said


def named_times(text: str, now: float) -> tuple[NamedTime, ...]:
    """Return the days, months and spans that a text names, by the clock in UTC."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = []
    for match in _DATES.finditer(text):
        try:
            start, end = _span(match, today)
            found.append(NamedTime(int(start.timestamp()), int(end.timestamp())))
        except (ValueError, OverflowError):
            continue  # 31 February
    return tuple(found)


def _span(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
        return _calendar(parts[0], parts[1], parts[2] if len(parts) > 2 else 0)
    if match["month"]:
        month = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3]))
        return _calendar(int(match["year"]), month, int(match["day"] or match["late"] or 0))
    if match["ago"]:
        days = int(match["ago"]) * _DAYS[match["unit"].lower()]
        width = _DAYS[match["unit"].lower()]
        start = today - timedelta(days=days + width // 2)
        return start, start + timedelta(days=width)
    back, width = _WORDS[match["word"].lower()]
    start = today - timedelta(days=back)
    return start, start + timedelta(days=width)


def _calendar(year: int, month: int, day: int) -> tuple[datetime, datetime]:
    start = datetime(year, month, day or 1, tzinfo=UTC)
    if day:
        return start, start + timedelta(days=1)
    return start, (start + timedelta(days=32)).replace(day=1)


def _file_text(given: str) -> str:
    """Return a file as it is searched for: a path by its name and folder, contents as they are."""
    if not is_path(given):
        return given
    path = PurePosixPath(given.replace("\\", "/"))
    return " ".join(part for part in (path.name, path.parent.name) if part)
