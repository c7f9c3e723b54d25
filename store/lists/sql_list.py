"""A list over one table: pages by keyset, orders as numbers, rows by number, counts of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from store.duck import Columns, execute_staged
from store.lists.conditions import FieldColumn, Parameters, compile_filter
from store.lists.patterns import ENGLISH, NOT_ENGLISH, UNICODE, Alphabet
from store.projector import ALL
from store.tables import Tables
from workbench.errors import UsageError
from workbench.lists.filters import MOST_VALUES
from workbench.lists.tables import (
    MOST_ROWS,
    Key,
    ListQuery,
    ListType,
    Order,
    Page,
    ValueCount,
    ValueCounts,
    decode_cursor,
    encode_cursor,
    row_number,
)
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.duck import Connection, Result
    from workbench.ports import Int64

RowT = TypeVar("RowT")
T = TypeVar("T")

SortKey = tuple[str, bool]
"""An expression that is never NULL, and whether its largest values come first."""

_MATCH: Final = "how well it matches"
"""Stands among sort keys for the points of a filter's words."""

SELECT_ORDER: Final = "SELECT number, {score} AS score FROM ({matched}) ORDER BY {order}"
SELECT_PAGE: Final = """
WITH matched AS MATERIALIZED ({matched})
SELECT (SELECT count(*) FROM matched), number, {keys}
FROM matched WHERE {after} ORDER BY {order} LIMIT {limit}
"""
SELECT_NOT_ENGLISH: Final = """
SELECT 1 FROM {table} WHERE strlen(haystack) <> length(haystack) AND regexp_matches(cased, $letter) LIMIT 1
"""
SELECT_TOTAL: Final = "SELECT count(*) FROM ({matched})"
SELECT_ROWS: Final = """
SELECT number, {row} FROM {joined}
WHERE {table}.rowid IN (SELECT rowid FROM {table} WHERE number IN (SELECT number FROM staged)) AND {visible}
"""
SELECT_NUMBER: Final = "SELECT number FROM {table} WHERE number = {number} AND id = {id} AND {visible}"
SELECT_NUMBERS: Final = "SELECT number FROM {table} WHERE id IN (SELECT id FROM staged) AND {visible}"
SELECT_COUNTS: Final = """
WITH matched AS MATERIALIZED ({matched}), counted AS ({each})
SELECT field, value, times, place FROM (
    SELECT field, value, times, row_number() OVER (PARTITION BY field ORDER BY times DESC, value) AS place
    FROM (SELECT field, value, count(*) AS times FROM counted GROUP BY field, value)
) WHERE place <= {most}
UNION ALL SELECT '', '', count(*), 0 FROM matched ORDER BY field, place
"""


@dataclass(frozen=True, slots=True)
class ListColumns(Generic[RowT]):
    """Where the rows of a type are: the columns of fields, orders and whole rows.

    They are those of `table`, `visible` is the condition of the rows that are shown. The table has
    `number`, `id` and, with what is searched, `haystack` and `cased`. `row` are the expressions that
    `decode` makes a row of. Every order begins with `ahead`, whichever way round it is. The rows are made of
    the streams whose names begin with one of `streams`: what came of others is not waited for. `joins` are
    those of statements that name a column of theirs, by its name.
    """

    type: ListType
    table: str
    fields: Mapping[str, FieldColumn]
    sorts: Mapping[str, tuple[SortKey, ...]]
    row: str
    decode: Callable[[Sequence[Any]], RowT]
    visible: str = "true"
    ahead: tuple[SortKey, ...] = ()
    streams: tuple[str, ...] = ALL
    joins: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_joins(self, expressions: str) -> str:
        """Return the table with the joins that expressions need."""
        return self.table + "".join(join for name, join in self.joins.items() if name in expressions)


class SqlList(Generic[RowT]):
    """The rows of a type as a `ListTable`, read from tables that are brought up to date first.

    `given` returns the values of the parameters that the columns have.
    """

    def __init__(
        self,
        tables: Tables,
        columns: ListColumns[RowT],
        given: Callable[[], Mapping[str, Any]] = dict[str, Any],
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._given = given

    @property
    def type(self) -> ListType:
        """What can be asked."""
        return self._columns.type

    def page(
        self, query: ListQuery, cursor: str | None = None, limit: int = 100, *, within: Int64 | None = None
    ) -> Page[RowT]:
        """Return at most `limit` rows from where the cursor says, or from the first.

        Raises: UsageError for a limit outside 1 to MOST_ROWS and for what is not a cursor of this query.
        """
        if not 1 <= limit <= MOST_ROWS:
            raise UsageError(f"limit {limit} is outside 1 to {MOST_ROWS}", hint="Read page by page instead.")
        asked = f"{self.type.noun}\0{query.filter.terms!r}\0{query.sort!r}"
        place = None if cursor is None else decode_cursor(cursor, asked)
        keys = self._keys(query)
        names = ", ".join(f"k{at}" for at in range(len(keys)))

        def work(connection: Connection) -> tuple[int, list[Any], list[Any]]:
            parameters = self._parameters(self._letters(connection, query))
            matched = self._select_matches(query, parameters, within, keys)
            after = "true" if place is None else _after(place, keys, parameters)
            statement = SELECT_PAGE.format(
                matched=matched, keys=names, after=after, order=_order(keys), limit=limit + 1
            )
            staged = _numbers(within)
            found = _execute(connection, statement, parameters.values, staged).fetchall()
            total = found[0][0] if found else 0
            if not found and place is not None:
                counting = self._parameters(parameters.letters)
                only = SELECT_TOTAL.format(matched=self._select_matches(query, counting, within, ()))
                [(total,)] = _execute(connection, only, counting.values, staged).fetchall()
            return total, found, self._select(connection, [row[1] for row in found[:limit]])

        total, found, selected = self._read(work)
        rows, shown = self._decode(selected), found[:limit]
        following = encode_cursor(shown[-1][2:], asked) if len(found) > limit else None
        return Page(tuple(rows[row[1]] for row in shown), total, following)

    def order(self, query: ListQuery, *, within: Int64 | None = None) -> Order:
        """Return the numbers of all rows that match, in order; `within` are the only ones that may."""
        keys, ranked = self._keys(query), query.filter.ranks
        score = "score" if ranked else "0"

        def work(connection: Connection) -> Order:
            parameters = self._parameters(self._letters(connection, query))
            matched = self._select_matches(query, parameters, within, keys)
            statement = SELECT_ORDER.format(matched=matched, score=score, order=_order(keys))
            found = _execute(connection, statement, parameters.values, _numbers(within)).fetchnumpy()
            return Order(found["number"], found["score"] if ranked else None)

        return self._read(work)

    def snapshot(self, work: Callable[[], T]) -> T:
        """Return what `work` reads of this list and others of its streams, all of one state of the tables."""
        return self._read(lambda _: work())

    def rows(self, numbers: Sequence[int]) -> Mapping[int, RowT]:
        """Return rows by number; those that are gone are missing."""
        return self._decode(self._read(lambda connection: self._select(connection, numbers)))

    def find(self, identifier: str) -> int | None:
        """Return the number of the row of a record, None if there is none."""
        parameters = self._parameters()
        statement = SELECT_NUMBER.format(
            table=self._columns.table,
            number=parameters.add(row_number(identifier)),
            id=parameters.add(identifier),
            visible=self._columns.visible,
        )
        found = self._read(lambda connection: _execute(connection, statement, parameters.values).fetchall())
        return found[0][0] if found else None

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        """Return the numbers of records' rows, int64 [n] in no order; those without one are left out."""
        columns = self._columns
        statement = SELECT_NUMBERS.format(table=columns.table, visible=columns.visible)
        ids = {"id": ("str", identifiers)}

        def work(connection: Connection) -> Int64:
            found: Int64 = _execute(connection, statement, self._given(), ids).fetchnumpy()["number"]
            return found

        return self._read(work)

    def record(self, identifier: str) -> RowT | None:
        """Return the row of a record, None if there is none."""
        number = self.find(identifier)
        return None if number is None else self.rows([number]).get(number)

    def facets(
        self, query: ListQuery, names: Sequence[str] = (), *, within: Int64 | None = None
    ) -> ValueCounts:
        """Count the values of fields, by default all of `type.facets`, at most MOST_VALUES of each."""
        asked = names or self.type.facets
        columns = {name: self._columns.fields[name] for name in asked}
        wanted = ", ".join(f"{one.counted or one.sql} AS f{at}" for at, one in enumerate(columns.values()))

        def work(connection: Connection) -> list[Any]:
            parameters = self._parameters(self._letters(connection, query))
            matched = self._select_matches(query, parameters, within, (), wanted)
            each = " UNION ALL ".join(
                _values(f"f{at}", name, one, parameters) for at, (name, one) in enumerate(columns.items())
            )
            statement = SELECT_COUNTS.format(matched=matched, each=each, most=MOST_VALUES)
            return _execute(connection, statement, parameters.values, _numbers(within)).fetchall()

        (_, _, total, _), *found = self._read(work)
        counts: dict[str, list[ValueCount]] = {name: [] for name in asked}
        for name, value, times, _ in found:
            counts[name].append(ValueCount(value, times))
        return ValueCounts(total, {name: tuple(values) for name, values in counts.items()})

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self._tables.read(work, self._columns.streams)

    def _parameters(self, letters: Alphabet = UNICODE) -> Parameters:
        return Parameters(dict(self._given()), letters)

    def _keys(self, query: ListQuery) -> tuple[SortKey, ...]:
        """Return what decides the order, the id at last."""
        column, descending = query.sort or self.type.usual
        chosen = tuple((sql, desc is not descending) for sql, desc in self._columns.sorts[column])
        if query.sort is None and query.filter.ranks:
            chosen = ((_MATCH, True), *chosen)
        return (*self._columns.ahead, *chosen, ("id", False))

    def _letters(self, connection: Connection, query: ListQuery) -> Alphabet:
        """Return the letters of what is listed, as far as a query asks for words."""
        if not query.filter.ranks:
            return ENGLISH
        statement = SELECT_NOT_ENGLISH.format(table=self._columns.table)
        found = _execute(connection, statement, {**self._given(), "letter": NOT_ENGLISH}).fetchall()
        return UNICODE if found else ENGLISH

    def _select_matches(
        self,
        query: ListQuery,
        parameters: Parameters,
        within: Int64 | None,
        keys: Sequence[SortKey],
        more: str = "",
    ) -> str:
        """Return a SELECT of the rows that match: their numbers, scores and keys, and what else is wanted."""
        columns = self._columns
        condition = compile_filter(query.filter, self.type.fields, columns.fields, parameters)
        tests = [columns.visible, *condition.tests]
        if within is not None:
            tests.append("number IN (SELECT number FROM staged)")
        points = [f"{point} AS w{at}" for at, point in enumerate(condition.points)]
        listed = [f"({sql}) AS k{at}" for at, (sql, _) in enumerate(keys) if sql != _MATCH]
        inner = ", ".join(("number", *points, *listed, *((more,) if more else ())))
        conditions = " AND ".join(tests)
        rows = f"SELECT {inner} FROM {columns.with_joins(inner + conditions)} WHERE {conditions}"
        if not points:
            return f"SELECT *, 0 AS score FROM ({rows})"
        found = [f"w{at}" for at in range(len(points))]
        total = f"(1 + {' + '.join(found)})::BIGINT"
        ranked = "".join(f", {total} AS k{at}" for at, (sql, _) in enumerate(keys) if sql == _MATCH)
        matching = " AND ".join(f"{one} > 0" for one in found)
        # Otherwise the condition and the result would each have the points worked out.
        scored = f"WITH scored AS MATERIALIZED ({rows}) SELECT *, {total} AS score{ranked} FROM scored"
        return f"{scored} WHERE {matching}"

    def _given_rows(self) -> Mapping[str, Any]:
        """Return the values that decide whether a row asked for by its number is still there."""
        return self._given()

    def _select(self, connection: Connection, numbers: Sequence[int]) -> list[Any]:
        if not len(numbers):
            return []
        columns = self._columns
        statement = SELECT_ROWS.format(
            row=columns.row,
            joined=columns.with_joins(columns.row),
            table=columns.table,
            visible=columns.visible,
        )
        staged = {"number": ("int64", numbers)}
        return _execute(connection, statement, self._given_rows(), staged).fetchall()

    def _decode(self, selected: Sequence[Any]) -> dict[int, RowT]:
        """Return records by number. It is done when the lock is free again: writers wait for readers."""
        return {row[0]: self._columns.decode(row[1:]) for row in selected}


def _execute(
    connection: Connection, statement: str, values: Mapping[str, Any], staged: Columns | None = None
) -> Result:
    """Run a statement with those of the values that it names: DuckDB refuses any other."""
    named = {name: value for name, value in values.items() if f"${name}" in statement}
    return execute_staged(connection, statement, staged or {}, named)


def _numbers(within: Int64 | None) -> Columns:
    return {} if within is None else {"number": ("int64", within)}  # type: ignore[dict-item]


def _order(keys: Sequence[SortKey]) -> str:
    return ", ".join(f"k{at}{' DESC' if descending else ''}" for at, (_, descending) in enumerate(keys))


def _after(place: Sequence[Key], keys: Sequence[SortKey], parameters: Parameters) -> str:
    given = [parameters.add(value) for value in place]
    condition = "false"
    for at, (_, descending) in reversed(list(enumerate(keys))):
        beyond = f"k{at} {'<' if descending else '>'} {given[at]}"
        condition = f"({beyond} OR (k{at} = {given[at]} AND {condition}))"
    return condition


def _values(name: str, label: str, column: FieldColumn, parameters: Parameters) -> str:
    """Return a SELECT of the values of a field as text, one row each; what is empty is none."""
    shown = parameters.add(label)
    if column.many:
        each = f"SELECT unnest({name}) AS value FROM matched"
    else:
        each = f"SELECT {name} AS value FROM matched"
    return f"SELECT {shown} AS field, value::VARCHAR AS value FROM ({each}) WHERE value::VARCHAR <> ''"
