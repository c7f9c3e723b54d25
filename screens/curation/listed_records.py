"""What a list of records is to show, and the answer: read from a table in jobs, for any type of record.

The order of a query is taken once, as row numbers; rows come by windows as they are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from textual.content import Content

from screens.base import SectionScreen
from screens.jobs import Job
from screens.widgets.window_rows import place_of, window_around
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery, ListTable, ListType, Sort

if TYPE_CHECKING:
    from workbench.ports import Int64


class Identified(Protocol):
    """A record that can be listed."""

    @property
    def id(self) -> str:
        """What tells it from every other record of its type."""
        ...


RecordT = TypeVar("RecordT", bound=Identified)
RowT = TypeVar("RowT")

_BATCH = 1_000  # records that are looked up at once


@dataclass(frozen=True, slots=True)
class ListedRows(Generic[RowT]):
    """What a list is to show: the numbers of its rows in order, out of how many, and the rows to begin with.

    `place` is where the cursor goes, None where its row is gone; `reached` whether that is its goal.
    """

    numbers: Int64
    total: int
    rows: Mapping[int, RowT]
    place: int | None
    reached: bool = False


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """What a list is to show: records that `base` lets through, as `query` wants them.

    The cursor goes to the record `goal`, else stays on the row `number`, else at its place `cursor`. `total`
    is how many there are without a filter, None to count them.
    """

    query: ListQuery
    base: Filter
    is_narrowed: bool
    goal: str = ""
    number: int | None = None
    cursor: int = 0
    total: int | None = None


class ListedRecords(SectionScreen, Generic[RecordT, RowT]):
    """A section that lists records: what their type says of them, and what is read of them in jobs."""

    list_type: ClassVar[ListType]
    list_id: ClassVar[str]
    list_command: ClassVar[tuple[str, ...]]
    """The command that lists the records."""
    marks_hint: ClassVar[str] = ""
    """What acts on marked records, empty where none can be marked."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = ListQuery()

    @property
    def noun(self) -> str:
        """What a record is called."""
        return self.list_type.noun

    def table_of(self, job: Job) -> ListTable[Any]:
        """Return the table of the records. Called in jobs."""
        raise NotImplementedError

    def read_rows(self, table: ListTable[Any], numbers: Sequence[int]) -> Mapping[int, RowT]:
        """Return rows by number; those that are gone are missing. Called in jobs."""
        return table.rows(numbers)

    def record_of(self, row: RowT) -> RecordT:
        """Return the record of a row."""
        raise NotImplementedError

    def id_of(self, row: RowT) -> str:
        """Return the id of a row's record."""
        return self.record_of(row).id

    def cells_of(self, row: RowT) -> Sequence[Content | str]:
        """Return a row's cells."""
        raise NotImplementedError

    def empty_text(self) -> str:
        """Return what is shown where no row is."""
        raise NotImplementedError

    def busy_text(self) -> str:
        """Return what is still going on once rows are listed."""
        return ""

    def away(self) -> Collection[str]:
        """Return the ids of records that are decided and that no list shows, whatever the tables say yet."""
        return ()

    def glance(self) -> None:
        """Show the record under the cursor."""
        raise NotImplementedError

    def open_current(self) -> None:
        """Go to what shows the record under the cursor."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """What is said of the list while nothing is marked."""
        return ""

    def base_filter(self) -> Filter:
        """Return what holds for all that is listed, besides what is typed."""
        return Filter()

    def usual_sort(self) -> Sort | None:
        """Return the order where no column was chosen, None for that of the type."""
        return None

    @property
    def is_narrowed(self) -> bool:
        """Whether less is listed than there is."""
        return bool(self.wanted.filter)

    def number_rows(self, table: ListTable[Any], query: ListQuery, job: Job) -> Int64:
        """Return the numbers of the rows to list, in order. Called in a job."""
        return table.order(query).numbers

    @property
    def asked(self) -> ListQuery:
        """What the list is to show, with what holds for all that is listed."""
        wanted = self.wanted
        terms = (*self.base_filter().terms, *wanted.filter.terms)
        sort = wanted.sort or (None if wanted.filter.ranks else self.usual_sort())
        return ListQuery(Filter(terms), sort)

    # Read in jobs.

    def read_list(self, asked: ListQuestion, job: Job) -> ListedRows[RowT]:
        """Answer a question, all from one state of the tables. Called in a job."""
        table = self.table_of(job)

        def read() -> ListedRows[RowT]:
            numbers = self.number_rows(table, asked.query, job)
            sought = table.find(asked.goal) if asked.goal else None
            place = None if sought is None else place_of(numbers, sought)
            reached = place is not None
            if place is None and asked.number is not None:
                place = place_of(numbers, asked.number)
            nearest = 0 if asked.number is None else min(asked.cursor, len(numbers))
            everything = asked.total if asked.is_narrowed else len(numbers)
            if everything is None:
                everything = table.order(ListQuery(asked.base)).total
            held = self.read_rows(table, window_around(numbers, nearest if place is None else place))
            return ListedRows(numbers, everything, held, place, reached)

        return table.snapshot(read)

    def look_up(self, identifiers: Sequence[str], job: Job) -> Iterator[RowT]:
        """Yield the rows of records that are there. Called in a job."""
        table = self.table_of(job)
        for start in range(0, len(identifiers), _BATCH):
            job.check()
            some = tuple(identifiers[start : start + _BATCH])
            query = ListQuery(Filter((Facet("id", some),)))
            rows = self.read_rows(table, table.order(query).numbers.tolist())
            wanted = set(some)
            yield from (row for row in rows.values() if self.id_of(row) in wanted)
