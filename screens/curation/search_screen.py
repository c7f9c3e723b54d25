"""A section whose records are searched by meaning and words while one types, best first, with scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from textual import on

from screens.curation.listed_records import RecordT, RowT
from screens.curation.record_screen import RecordScreen
from screens.jobs import Failure, Job
from screens.widgets.filter import FilterBar
from screens.widgets.window_rows import WindowRows
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery, ListTable, ValueCounts

if TYPE_CHECKING:
    from workbench.ports import Int64

FoundT = TypeVar("FoundT")

TYPING: Final = 0.15
"""Seconds without typing after which a search begins."""

SCORE: Final = "score"
"""The column of scores."""


@dataclass(frozen=True, slots=True)
class SearchAnswer(Generic[FoundT]):
    """What a search found by id, best first; `mode` says what answered, `notes` what was amiss."""

    found: Mapping[str, FoundT] = field(default_factory=dict)
    mode: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastSearch(Generic[FoundT]):
    """What was searched for last and what it found by id, best first; None while nothing is searched for."""

    text: str = ""
    found: Mapping[str, FoundT] | None = None


class SearchScreen(RecordScreen[RecordT, RowT], Generic[RecordT, RowT, FoundT]):
    """Lists what a search found instead of everything; filters and orders apply to that."""

    def __init__(self) -> None:
        super().__init__()
        self.sought: LastSearch[FoundT] = LastSearch()

    def find(self, text: str, job: Job) -> SearchAnswer[FoundT]:
        """Search for a text. Called in a job. Raises: WorkbenchError."""
        raise NotImplementedError

    @property
    def search_bar(self) -> FilterBar:
        """Where a search is typed."""
        return self.query_one("#search", FilterBar)

    def found_of(self, identifier: str) -> FoundT | None:
        """Return what a search says of a record, None while nothing is searched for."""
        return None if self.sought.found is None else self.sought.found.get(identifier)

    # What is listed.

    @property
    def is_narrowed(self) -> bool:
        """Whether less is listed than there is."""
        return super().is_narrowed or self.sought.found is not None

    def number_rows(self, table: ListTable[RowT], query: ListQuery, job: Job) -> Int64:
        """Return the rows that match; of a search only what it found, best first unless they are sorted."""
        found = self.sought.found
        if found is None:
            return super().number_rows(table, query, job)
        import numpy as np

        within = self._numbers(table, found)
        order = table.order(query, within=within)
        if query.sort is not None:
            return order.numbers
        return within[np.isin(within, order.numbers)]

    def count_values(self, query: ListQuery, job: Job) -> ValueCounts:
        """Count the values of all facets, of a search only among what it found."""
        table, found = self.table_of(job), self.sought.found
        return table.facets(query, within=None if found is None else self._numbers(table, found))

    def _numbers(self, table: ListTable[RowT], found: Mapping[str, FoundT]) -> Int64:
        """Return the numbers of the rows that a search found, best first; those gone since are left out."""
        import numpy as np

        ids = Filter((Facet("id", tuple(found)),))
        numbers = table.order(ListQuery(ids)).numbers.tolist() if found else []
        places = {self.id_of(row): number for number, row in table.rows(numbers).items()}
        return np.array([places[one] for one in found if one in places], dtype=np.int64)

    def sort_by(self, column: str) -> None:
        """Sort by a column; by scores means as they were found."""
        if column == SCORE:
            self.want(replace(self.wanted, sort=None))
        else:
            super().sort_by(column)

    def show_rows(self, rows: WindowRows[RowT], place: int | None) -> None:
        """Show rows; those of a search are sorted by their scores unless a column was chosen."""
        super().show_rows(rows, place)
        if self.sought.found is not None and self.wanted.sort is None:
            self.table.sort = (SCORE, True)

    # What is remembered.

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, search, order and cursor."""
        return {**super().remember(), "search": self.search_bar.text}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        super().recall(kept)
        self.search_bar.set_text(str(kept.get("search") or ""))

    # Searching.

    @on(FilterBar.Changed, "#search")
    def _handle_search(self, event: FilterBar.Changed) -> None:
        event.stop()
        if self.is_listed and event.text.strip() != self.sought.text:
            self.search_now()

    def search_again(self) -> None:
        """Search again for what is searched for: the records changed."""
        if self.search_bar.text.strip():
            self.search_now()

    def search_now(self) -> None:
        """Search for what is typed, or list everything again."""
        bar = self.search_bar
        text = bar.text.strip()
        if not text:
            self.sought = LastSearch()
            bar.say("")
            self.list_rows()
            return
        bar.say("searching …")
        again = text == self.sought.text

        def then(answer: SearchAnswer[FoundT]) -> None:
            self.sought = LastSearch(text, answer.found)
            notes = f" · {answer.notes[0]}" if answer.notes else ""
            bar.say(f"{len(answer.found):,} by {answer.mode}{notes}")
            self.list_rows(top=not again)

        def failed(failure: Failure) -> None:
            bar.say(failure.message)
            self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="warning")

        self.ask("Searching", partial(self.find, text), then, group="search", failed=failed)

    def action_search(self) -> None:
        """Type a search."""
        self.search_bar.open()
