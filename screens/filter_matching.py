"""Which rows a filter lets through and how well they match, in slices of time so that nothing waits for it.

A word that is looked for fuzzily matches inside one word of the text: its characters in order, the first of
them at the start of a part of an identifier. So `rtok` finds `refresh_token`, and a sentence does not match
for having the right letters somewhere. Better matches come first, equal ones in the order of the rows.
"""

from __future__ import annotations

import re
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

from workbench.lists.filters import Facet, Field, FieldKind, Filter, Op, Words

Value = str | float | bool | Sequence[str] | None
Record = Mapping[str, Value]
"""A row's fields by name: text, numbers, booleans, ISO times, or several words; None where it has none."""

Score = Callable[[Record], int]
"""How well a row matches: 0 if it does not."""

SLICE: Final = 0.008
"""Seconds of work between two steps."""

_MAX_TEXT: Final = 4_000
_BATCH: Final = 32
_WHOLE, _WORD_START, _PART_START, _INSIDE, _SUBSEQUENCE = 100, 80, 70, 60, 40


@dataclass(frozen=True, slots=True)
class Filtered:
    """How far filtering is: `done` of `total` rows seen, `found` let through.

    `order` is None until it is `complete`, then the indexes of the rows let through, best match first.
    """

    done: int
    total: int
    found: int
    order: array[int] | None = None

    @property
    def complete(self) -> bool:
        """Whether this is the last step."""
        return self.order is not None


def filter_rows(
    wanted: Filter,
    records: Callable[[int], Record],
    count: int,
    *,
    fields: Sequence[Field],
    seconds: float = SLICE,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Filtered]:
    """Filter `count` rows, yielding after every `seconds` of work; the last step has the order.

    `records` gives the fields of the row with an index. Whoever stops asking has cancelled it.
    """
    score = scorer(wanted, fields)
    by_score: dict[int, array[int]] = {}
    found, until = 0, clock() + seconds
    for index in range(count):
        if index % _BATCH == 0 and clock() >= until:
            yield Filtered(index, count, found)
            until = clock() + seconds
        if points := score(records(index)):
            by_score.setdefault(points, array("I")).append(index)
            found += 1
    order = array("I")
    for points in sorted(by_score, reverse=True):
        order.extend(by_score[points])
    yield Filtered(count, count, found, order)


def scorer(wanted: Filter, fields: Sequence[Field]) -> Score:
    """Return what scores rows: 0 for rows that are not let through, 1 or more for the others.

    Text is looked for in the searched fields of kind TEXT, then WORD, in their order; a match in an earlier
    one is worth more.
    """
    known = {field.name: field for field in fields}
    prose = [
        field.name
        for kind in (FieldKind.TEXT, FieldKind.WORD)
        for field in fields
        if field.kind is kind and field.searched
    ]
    tests = [_facet(term, known[term.field]) for term in wanted.terms if isinstance(term, Facet)]
    absent = [_absent(term, prose) for term in wanted.terms if isinstance(term, Words) and term.negated]
    texts = [_text(term, prose) for term in wanted.terms if isinstance(term, Words) and not term.negated]
    tests += absent

    def score(record: Record) -> int:
        for test in tests:
            if not test(record):
                return 0
        total = 1
        for text in texts:
            if not (points := text(record)):
                return 0
            total += points
        return total

    return score


def fuzzy(word: str) -> Callable[[str], int]:
    """Return what scores a text by how well it holds a word; 0 if it does not, at most 100."""
    needle = word.lower()
    pattern = _subsequence(needle)

    def points(text: str) -> int:
        lower = text.lower()
        if (exact := _exact(needle, lower, text)) or len(needle) == 1:
            return exact
        place = -1
        for character in needle:
            if (place := lower.find(character, place + 1)) < 0:
                return 0
        found = pattern.search(text)
        return max(_SUBSEQUENCE - (found.end() - found.start(1) - len(needle)), 1) if found else 0

    return points


def _exact(needle: str, lower: str, text: str) -> int:
    """Score the best place of a lower-case needle: a whole word, a word's or a part's start, or inside."""
    best, position = 0, lower.find(needle)
    for _ in range(_BATCH):
        if position < 0 or best == _WHOLE:
            break
        end = position + len(needle)
        before = lower[position - 1] if position else " "
        if not before.isalnum() and before != "_":
            after = lower[end : end + 1]
            best = max(best, _WORD_START if after.isalnum() or after == "_" else _WHOLE)
        elif before == "_" or (len(text) == len(lower) and text[position : position + 1].isupper()):
            best = max(best, _PART_START)
        else:
            best = max(best, _INSIDE)
        position = lower.find(needle, position + 1)
    return best


def _subsequence(needle: str) -> re.Pattern[str]:
    """Return a pattern of the characters in order inside a word, the first (a group) at the start of a part.

    No gap takes in the character that ends it, so there is one way to match; and where the first such part of
    a word is none, no later one is, so each word is looked at once.
    """
    first, *rest = [_either(each) for each in list(needle)]
    part = rf"[{first}](?:(?<![^\W_][{first}])|(?<=[a-z0-9][A-Z])|(?<=[A-Z][A-Z])(?=[a-z]))"
    start = rf"(?<!\S)(?>\S*?({part}))"
    return re.compile(start + "".join(rf"[^\s{each}]*[{each}]" for each in rest))


def _either(character: str) -> str:
    """Return a character's cases for the inside of a set of a pattern."""
    upper = character.upper()
    return re.escape(character) + (re.escape(upper) if len(upper) == 1 else "")


def _text(term: Words, names: Sequence[str]) -> Score:
    match = fuzzy(term.text)
    needle = term.text.lower()

    def score(record: Record) -> int:
        best = 0
        for place, name in enumerate(names):
            for text in _texts(record.get(name)):
                points = (_exact(needle, text.lower(), text)) if term.exact else match(text)
                best = max(best, points * 8 - min(place, 7)) if points else best
        return best

    return score


def _absent(term: Words, names: Sequence[str]) -> Callable[[Record], bool]:
    needle = term.text.lower()

    def test(record: Record) -> bool:
        return not any(needle in text.lower() for name in names for text in _texts(record.get(name)))

    return test


def _facet(term: Facet, field: Field) -> Callable[[Record], bool]:
    compare = _MATCHERS[field.kind](term, field)

    def test(record: Record) -> bool:
        return compare(record.get(term.field)) is not term.negated

    return test


def _number(term: Facet, _field: Field) -> Callable[[Value], bool]:
    wanted, holds = [float(value) for value in term.values], _COMPARES[term.op]

    def test(value: Value) -> bool:
        return isinstance(value, (int, float)) and any(holds(float(value), each) for each in wanted)

    return test


def _yes_no(term: Facet, _field: Field) -> Callable[[Value], bool]:
    wanted = {value == "yes" for value in term.values}
    return lambda value: bool(value) in wanted


def _time(term: Facet, _field: Field) -> Callable[[Value], bool]:
    holds = _COMPARES[term.op]

    def test(value: Value) -> bool:
        return isinstance(value, str) and any(holds(value[: len(each)], each) for each in term.values)

    return test


def _prose(term: Facet, _field: Field) -> Callable[[Value], bool]:
    wanted = [value.lower() for value in term.values]
    return lambda value: any(each in text.lower() for text in _texts(value) for each in wanted)


def _word(term: Facet, field: Field) -> Callable[[Value], bool]:
    if term.op is not Op.IS:
        place, holds = field.choices.index, _COMPARES[term.op]
        least = place(term.values[0])
        return lambda value: any(
            holds(place(word.lower()), least) for word in _texts(value) if word.lower() in field.choices
        )
    globs = [re.compile(translate(value.lower())) for value in term.values if "*" in value]
    wanted = {value.lower() for value in term.values if "*" not in value}

    def test(value: Value) -> bool:
        for word in _texts(value):
            lower = word.lower()
            names = (lower, lower.partition(":")[2])
            if wanted.intersection(names) or any(glob.match(name) for glob in globs for name in names):
                return True
        return False

    return test


def _texts(value: Value) -> Sequence[str]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value[:_MAX_TEXT],)
    return (str(value),) if isinstance(value, (int, float)) else value


_COMPARES: Final[Mapping[Op, Callable[[float | str, float | str], bool]]] = {
    Op.IS: lambda left, right: left == right,
    Op.AT_LEAST: lambda left, right: left >= right,  # type: ignore[operator]
    Op.AT_MOST: lambda left, right: left <= right,  # type: ignore[operator]
    Op.ABOVE: lambda left, right: left > right,  # type: ignore[operator]
    Op.BELOW: lambda left, right: left < right,  # type: ignore[operator]
}

_MATCHERS: Final[Mapping[FieldKind, Callable[[Facet, Field], Callable[[Value], bool]]]] = {
    FieldKind.TEXT: _prose,
    FieldKind.WORD: _word,
    FieldKind.NUMBER: _number,
    FieldKind.YES_NO: _yes_no,
    FieldKind.TIME: _time,
}
