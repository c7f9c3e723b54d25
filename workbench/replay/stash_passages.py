"""Which segments hold what an agent then used: lines of a file, an error, a passage of words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from workbench.records.segments import ContextSegment, SegmentType

if TYPE_CHECKING:
    from workbench.ports import Int64

SHINGLE: Final = 6
"""Words of a passage: so many in the same order are seldom a coincidence."""

LEAST_SHARED: Final = 2
"""Passages that two texts share at least for one to quote the other; of a decision one is enough."""

MOST_HOLDERS: Final = 3
"""A passage that more segments have is a phrase of everyone's."""

LEAST_LINES: Final = 3
"""Lines of a file that a segment shares with what was used of it, if it has as many."""

LEAST_ERROR: Final = 16
"""Characters of an error that is not any error."""

_LINE: Final = 12  # characters of a line that says something
_WORDS: Final = 2_000  # of a text that are compared
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"(?<!\S)\S*\w\S*")
_QUOTED: Final = frozenset(
    {
        SegmentType.MESSAGE,
        SegmentType.DECISION,
        SegmentType.RESEARCH,
        SegmentType.TASK_STATE,
        SegmentType.DEBUG_OUTPUT,
    }
)
_OF_FILES: Final = frozenset({SegmentType.FILE_CONTENT, SegmentType.CODE_BLOCK})


class StashKind(StrEnum):
    """What was needed again."""

    FILE = "file"
    ERROR = "error"
    DECISION = "decision"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class ContentUse:
    """What an agent did after so many segments of its session: `text` it wrote, or read of the file `path`.

    `errors` are those that came up, without their numbers.
    """

    place: int
    text: str = ""
    path: str = ""
    errors: tuple[str, ...] = ()


def error_key(message: str) -> str:
    """Return an error without what differs from one time to the next: numbers and blanks."""
    return " ".join(_DIGITS.sub("0", message).split())


class Passages:
    """Finds which of some segments hold what was used: lines of files, errors, passages of words."""

    def __init__(self, segments: Sequence[ContextSegment]) -> None:
        self._segments = segments
        self._by_path: dict[str, list[int]] = defaultdict(list)
        self._holders: dict[int, list[int]] = defaultdict(list)
        self._lines: dict[int, frozenset[str]] = {}
        self._errors: dict[int, str] = {}
        for row, segment in enumerate(segments):
            if segment.type in _OF_FILES and segment.source:
                self._by_path[segment.source].append(row)
            if segment.type is SegmentType.ERROR_LOG:
                self._errors[row] = error_key(segment.text)
            if segment.type in _QUOTED:
                for shingle in shingles(segment.text):
                    self._holders[shingle].append(row)

    def used_ids(self, known: Int64, uses: Sequence[ContentUse], query: str) -> Mapping[StashKind, set[str]]:
        """Return the ids of the segments among the rows `known` that hold what was used, by kind."""
        among = frozenset(known.tolist())
        rows: dict[StashKind, set[int]] = {kind: set() for kind in StashKind}
        by_path: dict[str, set[str]] = defaultdict(set)
        for use in uses:
            if use.path:
                by_path[use.path] |= lines_of(use.text)
        for path, lines in by_path.items():
            rows[StashKind.FILE] |= {
                row for row in self._by_path.get(path, ()) if row in among and self._shares(row, lines)
            }
        errors = {error for use in uses for error in use.errors}
        rows[StashKind.ERROR] |= {
            row for row, text in self._errors.items() if row in among and any(one in text for one in errors)
        }
        for row in self._quoted_rows(among, uses, query):
            of_decision = self._segments[row].type is SegmentType.DECISION
            rows[StashKind.DECISION if of_decision else StashKind.QUOTE].add(row)
        return {kind: {self._segments[row].segment_id for row in found} for kind, found in rows.items()}

    def _shares(self, row: int, lines: set[str]) -> bool:
        if row not in self._lines:
            self._lines[row] = frozenset(lines_of(self._segments[row].text))
        own = self._lines[row]
        return bool(own) and len(own & lines) >= min(LEAST_LINES, len(own))

    def _quoted_rows(self, among: frozenset[int], uses: Sequence[ContentUse], query: str) -> Iterator[int]:
        asked = shingles(query)
        said = {shingle for use in uses if not use.path for shingle in shingles(use.text)} - asked
        shared: dict[int, int] = defaultdict(int)
        for shingle in said:
            holders = [row for row in self._holders.get(shingle, ()) if row in among]
            if len({self._segments[row].text for row in holders}) <= MOST_HOLDERS:
                for row in holders:
                    shared[row] += 1
        for row, count in shared.items():
            of_decision = self._segments[row].type is SegmentType.DECISION
            if count >= (1 if of_decision else LEAST_SHARED):
                yield row


def shingles(text: str) -> set[int]:
    """Return the passages of `SHINGLE` words of a text, as numbers that mean the same in this process."""
    words = [found[0].casefold() for found in islice(_WORD.finditer(text), _WORDS)]
    return {hash(tuple(words[start : start + SHINGLE])) for start in range(len(words) - SHINGLE + 1)}


def lines_of(text: str) -> set[str]:
    """Return the lines of a text that say something, without their margins."""
    return {line for one in text.split("\n") if len(line := _strip_number(one)) >= _LINE}


def _strip_number(line: str) -> str:
    """Return a line without its number, which agents are shown before it."""
    number, arrow, rest = line.partition("→")
    return (rest if arrow and number.strip().isdecimal() else line).strip()
