"""What every face asks of lists: queries, pages by keyset, orders as row numbers, counts of values.

A `ListTable` answers for one type of record. The command line and servers go from page to page by an opaque
cursor, which holds the place of the last row in the order, so that rows that come or go meanwhile make no
other row appear twice or be left out. The app takes the whole order once, as numbers, and rows by windows.
"""

from __future__ import annotations

import binascii
import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from workbench.errors import UsageError
from workbench.lists.filters import Field, Filter, parse
from workbench.records.dataclass import dataclass
from workbench.suggest import did_you_mean

if TYPE_CHECKING:
    from workbench.ports import Int64


Sort: TypeAlias = tuple[str, bool]
"""A column, and whether its largest values come first."""

NOTHING: Final = Filter()
"""The filter that lets everything through."""

MOST_ROWS: Final = 1_000
"""Rows of a page."""


@dataclass(frozen=True, slots=True)
class ListType:
    """What can be asked of a list: fields to filter by, columns to sort by, fields whose values are counted.

    `sorts` are in the order they are cycled through; of those in `largest_first` the largest values come
    first when they are chosen. `usual` is the order where nobody chose one.
    """

    noun: str
    fields: tuple[Field, ...]
    sorts: tuple[str, ...]
    usual: Sort
    largest_first: frozenset[str] = frozenset()
    facets: tuple[str, ...] = ()

    def sort(self, text: str) -> Sort:
        """Read a column to sort by, `-` before it for the other direction than usual. Raises: UsageError."""
        name = text.removeprefix("-")
        if name not in self.sorts:
            there = f"There are {', '.join(self.sorts)}."
            raise UsageError(
                f"{self.noun}s have no order {name!r}", hint=did_you_mean(name, self.sorts, there)
            )
        return name, (name in self.largest_first) is not text.startswith("-")

    def query(self, text: str, sort: str = "") -> ListQuery:
        """Read a filter and a column to sort by, as a command line has them. Raises: UsageError."""
        wanted = parse(text, self.fields)
        if wanted.problems:
            first = wanted.problems[0]
            shown = _shorten(text[first.start : first.end])
            hint = "Text is looked for as it is in quotation marks: '\"a: b\"'; tag:a,b is one term."
            raise UsageError(f"{shown!r}: {first.message}", hint=hint)
        return ListQuery(wanted, self.sort(sort) if sort else None)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What a list is to show: a filter, and a column to sort by and its direction, if one was chosen.

    Without a column better matches come first where the filter ranks, equal ones in the usual order.
    """

    filter: Filter = NOTHING
    sort: Sort | None = None


RowT_co = TypeVar("RowT_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[RowT_co]):
    """Rows in order. `total` counts all pages; `cursor` is where the next one begins, None on the last."""

    rows: tuple[RowT_co, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """All rows that match, by number: int64 [n], in order.

    `scores` int64 [n] say how well each matches where the filter ranks, larger is better; otherwise None.
    """

    numbers: Int64
    scores: Int64 | None = None

    @property
    def total(self) -> int:
        """How many rows match."""
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value of a field, as a filter writes it, and how many rows have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The values of fields by name, those of the most rows first, among `total` rows that match."""

    total: int
    fields: Mapping[str, tuple[ValueCount, ...]] = field(default_factory=dict)


def row_number(identifier: str) -> int:
    """Return the number of the row of a record: 63 bits of a digest of its id, so that it never changes."""
    data = identifier.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


@dataclass(frozen=True, slots=True)
class TableRebuild:
    """A rebuild of the tables from the journals: why, and how many of `total` bytes are in them.

    `set_aside` is where a damaged file went, empty if none was; `over` once the new tables serve.
    """

    reason: str
    total: int
    done: int = 0
    set_aside: str = ""
    over: bool = False


class ListTable(Protocol[RowT_co]):
    """The rows of one type. A row keeps its number while it is there, also when its record is changed.

    Every method reads tables that are up to date with the journals and raises StoreError and StoreBusy.
    """

    @property
    def type(self) -> ListType:
        """What can be asked."""
        ...

    def page(
        self, query: ListQuery, cursor: str | None = None, limit: int = 100, *, within: Int64 | None = None
    ) -> Page[RowT_co]:
        """Return at most `limit` rows from where the cursor says, or from the first.

        Raises: UsageError for a limit outside 1 to MOST_ROWS and for what is not a cursor of this query.
        """
        ...

    def order(self, query: ListQuery, *, within: Int64 | None = None) -> Order:
        """Return the numbers of all rows that match, in order; `within` are the only ones that may."""
        ...

    def snapshot(self, work: Callable[[], T]) -> T:
        """Return what `work` reads of this list and others of its streams, all of one state of the tables.

        `work` changes nothing, takes no longer than it must and may be called twice.
        """
        ...

    def rows(self, numbers: Sequence[int]) -> Mapping[int, RowT_co]:
        """Return rows by number; those that are gone are missing."""
        ...

    def find(self, identifier: str) -> int | None:
        """Return the number of the row of a record, None if there is none."""
        ...

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        """Return the numbers of records' rows, int64 [n] in no order; those without one are left out."""
        ...

    def record(self, identifier: str) -> RowT_co | None:
        """Return the row of a record, None if there is none."""
        ...

    def facets(
        self, query: ListQuery, names: Sequence[str] = (), *, within: Int64 | None = None
    ) -> ValueCounts:
        """Count the values of fields, by default all of `type.facets`, at most 200 of each."""
        ...


RowT = TypeVar("RowT")


def read_page(
    table: ListTable[RowT],
    query: ListQuery,
    cursor: str | None = None,
    limit: int = 100,
    *,
    within: Int64 | None = None,
) -> Page[RowT]:
    """Return as many rows from where the cursor says as are asked for, a page at a time.

    Raises: UsageError for a limit below 1 and for what is not a cursor of this query; StoreError, StoreBusy.
    """
    rows: list[RowT] = []
    while True:
        page = table.page(query, cursor, min(limit - len(rows), MOST_ROWS), within=within)
        rows += page.rows
        cursor = page.cursor
        if cursor is None or len(rows) >= limit:
            return Page(tuple(rows), page.total, cursor)


Key: TypeAlias = str | int | float | bool | None

_LONGEST: Final = 100_000  # characters; nothing longer is worth decoding
_CHECK: Final = 8  # bytes of the digest that ties a cursor to its query


def encode_cursor(place: Sequence[Key], query: str) -> str:
    """Return the cursor after the row at a place in the answer to a query."""
    payload = json.dumps(place, separators=(",", ":")).encode("ascii")
    return _text(_digest(payload, query) + payload)


def decode_cursor(cursor: str, query: str) -> tuple[Key, ...]:
    """Return the place in a cursor. Raises: UsageError for any text that is not a cursor of this query."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        data = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        check, payload = data[:_CHECK], data[_CHECK:]
        if check != _digest(payload, query) or cursor != _text(data):
            raise ValueError
        place = json.loads(payload)
    except (ValueError, binascii.Error):
        raise UsageError(
            f"{_shorten(cursor)!r} is not a cursor of this query",
            hint="Use next_cursor of the page before with the same filters, or start without a cursor.",
        ) from None
    return tuple(place)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _digest(payload: bytes, query: str) -> bytes:
    text = query.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(payload, digest_size=_CHECK, key=hashlib.sha256(text).digest()).digest()
