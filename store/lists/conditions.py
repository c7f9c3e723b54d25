"""Filters as SQL: conditions and scores over the columns of a list, with every value a parameter.

Words are looked for in the haystack of a row, which has all searched texts: first by one cheap expression
that every match passes, then, for the rows that are left, by how well they match: a whole word, the start of
a word, of a part of an identifier, inside of one, and last its characters in order within one word; an
earlier field is worth more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from store.duck import storable
from store.lists import patterns
from store.lists.haystack import FIELD, VALUE, plain
from workbench.lists.filters import Facet, Field, FieldKind, Filter, Op
from workbench.records.dataclass import dataclass

WHOLE, WORD_START, PART_START, INSIDE, SUBSEQUENCE = 100, 80, 70, 60, 40
PLACES: Final = 8
"""A match in a field that comes `n` fields later is worth `n` of the 8 points between two matches less."""

_FIELD: Final = f"chr({ord(FIELD)})"
_VALUE: Final = f"chr({ord(VALUE)})"


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """Where the values of a field are: an expression that is one value, or a list of texts if `many`.

    `counted` is the expression whose values are counted, where that is another one; a list, too, if `many`.
    """

    sql: str
    many: bool = False
    counted: str = ""


@dataclass(slots=True)
class Parameters:
    """The values of a statement by the names they have in it; `letters` are those of the searched texts."""

    values: dict[str, Any] = field(default_factory=dict)
    letters: patterns.Alphabet = patterns.UNICODE

    def add(self, value: object) -> str:
        """Return the placeholder of a value."""
        name = f"p{len(self.values)}"
        self.values[name] = storable(value) if type(value) is str else value  # a pattern has escapes
        return f"${name}"


@dataclass(frozen=True, slots=True)
class Condition:
    """What a filter asks: conditions that all must hold, and expressions of points, 0 where a row fails."""

    tests: tuple[str, ...]
    points: tuple[str, ...]


def compile_filter(
    wanted: Filter, fields: Sequence[Field], columns: Mapping[str, FieldColumn], parameters: Parameters
) -> Condition:
    """Return a filter as SQL over `columns`, `haystack` and `cased`; `parameters` take its values."""
    kinds = {one.name: one for one in fields}
    tests: list[str] = []
    points: list[str] = []
    for term in wanted.terms:
        if isinstance(term, Facet):
            tests.append(_facet(term, kinds[term.field], columns[term.field], parameters))
            continue
        needle = plain(term.text.lower())
        if term.negated:
            tests.append(f"NOT contains(haystack, {parameters.add(needle)})")
        elif term.exact or len(needle) == 1:
            tests.append(f"contains(haystack, {parameters.add(needle)})")
            points.append(_exact_points(needle, "0", parameters))
        else:
            escape = "" if set(needle).isdisjoint("%_~\\") else " ESCAPE '~'"
            tests.append(f"haystack LIKE {parameters.add(patterns.like(needle))}{escape}")
            # Most of a long text is like it; what is left is looked at far more closely.
            near = parameters.add(patterns.in_one_word(needle, parameters.letters))
            tests.append(f"regexp_matches(haystack, {near})")
            points.append(_exact_points(needle, _subsequence_points(needle, parameters), parameters))
    return Condition(tuple(tests), tuple(points))


def _exact_points(needle: str, otherwise: str, parameters: Parameters) -> str:
    """Return the points of the best place of a text; `otherwise` are those of rows without it."""
    given = parameters.add(needle)
    levels = (
        (WHOLE, "haystack", patterns.whole),
        (WORD_START, "haystack", patterns.word_start),
        (PART_START, "cased", patterns.part_start),
    )
    found = []
    for level, text, pattern in levels:
        found_first = parameters.add(patterns.up_to(pattern(needle, parameters.letters)))
        before = f"regexp_extract({text}, {found_first})"
        points = f"CASE WHEN before <> '' THEN {level * PLACES} - {_place('before')} END"
        # A name for what is needed twice: each use of a pattern is compiled, which takes milliseconds.
        found.append(f"list_transform([{before}], lambda before: {points})[1]")
    before = f"left(haystack, strpos(haystack, {given}))"
    found.append(f"{INSIDE * PLACES} - {_place(before)}")
    return f"CASE WHEN contains(haystack, {given}) THEN coalesce({', '.join(found)}) ELSE {otherwise} END"


def _place(before: str) -> str:
    """Return how many fields end before a match; what follows a whole word may be the end of its own."""
    text = f"rtrim({before}, {_FIELD})"
    place = f"least(length({text}) - length(replace({text}, {_FIELD}, '')), {PLACES - 1})"
    return f"CASE WHEN contains({before}, {_FIELD}) THEN {place} ELSE 0 END"


def _subsequence_points(needle: str, parameters: Parameters) -> str:
    """Return the points of the best value with a needle's characters in order, each value's first match.

    Most often only the first value can have one, or one of the first field, which spares looking at all.
    """
    letters = parameters.letters
    found = patterns.subsequence(needle, letters)
    first, each, every = map(
        parameters.add, (found, patterns.first_in_each_value(found), patterns.first_in_every_field(found))
    )
    after_value, after_field = (
        parameters.add(patterns.after_first(separators, needle, letters))
        for separators in (FIELD + VALUE, FIELD)
    )
    most = SUBSEQUENCE + len(needle) + 1
    # What a match takes in includes the character before it. Without a match `most` is left, and then 0.
    span = f"regexp_extract(' ' || cased, {first})"
    in_value = f"{PLACES} * (greatest({most} - length({span}), 1) % {most})"
    points = f"{PLACES} * greatest({most} - length(span), 1)"
    spans = f"regexp_extract_all(' ' || split_part(cased, {_FIELD}, 1), {each}, 1)"
    in_field = f"coalesce(list_max(list_transform({spans}, lambda span: {points})), 0)"
    place = f"len(list_filter(spans[:n], lambda one: one IS NULL OR starts_with(one, {_FIELD})))"
    points = f"CASE WHEN span IS NULL THEN 0 ELSE {points} - least({place}, {PLACES - 1}) END"
    best = f"list_max(list_transform(spans, lambda span, n: {points}))"
    spans = f"regexp_extract_all(' ' || cased, {every}, 1)"
    in_row = f"coalesce(list_transform([{spans}], lambda spans: {best})[1], 0)"
    return (
        f"CASE WHEN NOT regexp_matches(haystack, {after_value}) THEN {in_value} "
        f"WHEN NOT regexp_matches(haystack, {after_field}) THEN {in_field} ELSE {in_row} END"
    )


def _facet(term: Facet, asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    test = _TESTS[asked.kind](term, asked, column, parameters)
    return f"NOT coalesce({test}, false)" if term.negated else f"({test})"


def _comparison(term: Facet, left: str, parameters: Parameters, values: Sequence[object]) -> str:
    op = "=" if term.op is Op.IS else term.op.value
    return " OR ".join(f"{left} {op} {parameters.add(value)}" for value in values)


def _number(term: Facet, _asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    return _comparison(term, column.sql, parameters, [float(value) for value in term.values])


def _yes_no(term: Facet, _asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    values = [value == "yes" for value in term.values]
    return _comparison(term, f"coalesce({column.sql}, false)", parameters, values)


def _time(term: Facet, _asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    op = "=" if term.op is Op.IS else term.op.value
    return " OR ".join(
        f"left({column.sql}, {len(value)}) {op} {parameters.add(value)}" for value in term.values
    )


def _prose(term: Facet, _asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    text = f"array_to_string({column.sql}, {_VALUE})" if column.many else column.sql
    given = [parameters.add(value.lower()) for value in term.values]
    return " OR ".join(f"contains(lower({text}), {value})" for value in given)


def _word(term: Facet, asked: Field, column: FieldColumn, parameters: Parameters) -> str:
    test = _order_test(term, asked, parameters) if term.op is not Op.IS else _value_test(term, parameters)
    if column.many:
        return f"len(list_filter({column.sql}, lambda one: {test('lower(one)')})) > 0"
    return test(f"lower({column.sql})")


def _order_test(term: Facet, asked: Field, parameters: Parameters) -> Callable[[str], str]:
    """Return what makes a condition of an expression: that it is a choice before or after another."""
    choices = parameters.add(list(asked.choices))
    least = asked.choices.index(term.values[0]) + 1

    def test(word: str) -> str:
        place = f"list_position({choices}, {word})"
        return f"({place} > 0 AND {place} {term.op.value} {least})"

    return test


def _value_test(term: Facet, parameters: Parameters) -> Callable[[str], str]:
    """Return what makes a condition of an expression: that it is a value, or has one after its colon."""
    given = [value.lower() for value in term.values]
    equal = parameters.add([storable(value) for value in given if "*" not in value])
    globs = [parameters.add(patterns.glob(value)) for value in given if "*" in value]

    def test(word: str) -> str:
        after = f"CASE WHEN contains({word}, ':') THEN substr({word}, strpos({word}, ':') + 1) ELSE '' END"
        tests = [f"list_contains({equal}::VARCHAR[], {text})" for text in (word, after)]
        tests += [f"regexp_matches({text}, {pattern})" for pattern in globs for text in (word, after)]
        return f"({' OR '.join(tests)})"

    return test


_TESTS: Final = {
    FieldKind.TEXT: _prose,
    FieldKind.WORD: _word,
    FieldKind.NUMBER: _number,
    FieldKind.YES_NO: _yes_no,
    FieldKind.TIME: _time,
}
