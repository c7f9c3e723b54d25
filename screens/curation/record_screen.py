"""A section that lists records: people choose filter and order, and find it again as they left it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual import on
from textual.app import ComposeResult

from screens.curation.facets import FacetDialog, plain_facets
from screens.curation.listed_records import RecordT, RowT
from screens.curation.record_list_screen import RecordListScreen
from screens.jobs import Job
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.lists.filters import Facet, parse, write
from workbench.lists.tables import ListQuery, ValueCounts


class RecordScreen(RecordListScreen[RecordT, RowT]):
    """Filters, sorts and counts the records that it lists."""

    def text_of(self, record: RecordT) -> str:
        """Return what is copied of a record."""
        raise NotImplementedError

    def sorts(self) -> Sequence[str]:
        """Return the columns that are cycled through."""
        return self.list_type.sorts

    # What is remembered.

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, order and cursor."""
        return {
            "filter": self.bar.text,
            "sort": list(self.wanted.sort) if self.wanted.sort else None,
            "key": self.table.cursor_key or self.goal,
        }

    def recall_query(self, kept: Mapping[str, Any]) -> None:
        """Take back what is listed, before there are widgets."""
        text, sort, key = kept.get("filter"), kept.get("sort"), kept.get("key")
        if isinstance(text, str):
            self.wanted = replace(self.wanted, filter=parse(text, self.list_type.fields))
        if isinstance(sort, list) and len(sort) == 2 and sort[0] in self.list_type.sorts:
            self.wanted = replace(self.wanted, sort=(str(sort[0]), bool(sort[1])))
        self.goal = key if isinstance(key, str) else ""

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Show what was taken back."""
        self.bar.set_text(str(kept.get("filter") or ""))
        self.table.focus()

    def compose(self) -> ComposeResult:
        """Begin to read what was listed before, then lay out what shows it."""
        self.recall_query(self.bench.place.of(self.section))
        self.list_ahead()
        yield from super().compose()

    # Filter and order.

    def want(self, wanted: ListQuery) -> None:
        """List something else; a filter that ranks brings the cursor to the best match."""
        if wanted != self.wanted:
            top = wanted.filter != self.wanted.filter and wanted.filter.ranks
            self.wanted = wanted
            if self.is_listed:
                self.list_rows(top=top, wanted=True)

    @on(FilterBar.Changed, "#filter")
    def _handle_filter(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.want(replace(self.wanted, filter=event.query))

    @on(VirtualTable.SortRequested)
    def _header(self, event: VirtualTable.SortRequested) -> None:
        event.stop()
        if event.table is self.table:
            self.sort_by(event.column_id)

    def sort_by(self, column: str) -> None:
        """Sort by a column, or the other way round if it is sorted by already."""
        if column in self.list_type.sorts:
            now = self.wanted.sort
            first = column in self.list_type.largest_first
            self.want(replace(self.wanted, sort=(column, not now[1] if now and now[0] == column else first)))

    def action_sort(self) -> None:
        """Sort by the next column, after the last one as it was; the usual order may be of none."""
        names, now = self.sorts(), self.wanted.sort
        place = names.index(now[0]) + 1 if now and now[0] in names else 0
        chosen = self.list_type.sort(names[place]) if place < len(names) else None
        self.want(replace(self.wanted, sort=chosen))

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        column, descending = self.wanted.sort or self.usual_sort() or self.list_type.usual
        self.want(replace(self.wanted, sort=(column, not descending)))

    def action_filter(self) -> None:
        """Type a filter."""
        self.bar.open()

    def action_facets(self) -> None:
        """Count the values of every field among the records shown, and filter by some of them."""
        bar, query = self.bar, self.asked

        def chosen(facets: tuple[Facet, ...] | None) -> None:
            if facets is not None:
                plain = plain_facets(bar.filter)
                bar.set_text(write([*(term for term in bar.filter.terms if term not in plain), *facets]))

        def then(counts: ValueCounts) -> None:
            self.app.push_screen(FacetDialog(self.list_type, counts, plain_facets(bar.filter)), chosen)

        self.ask("Counting", partial(self.count_values, query), then, leads=True)

    def count_values(self, query: ListQuery, job: Job) -> ValueCounts:
        """Count the values of all facets among the rows that a query lists. Called in a job."""
        return self.table_of(job).facets(query)

    # The record under the cursor.

    def action_copy(self) -> None:
        """Copy the text."""
        self.with_current(lambda one: self.bench.copy(self.text_of(one), f"the {self.noun}"))

    def action_copy_id(self) -> None:
        """Copy the id."""
        if key := self.table.cursor_key:
            self.bench.copy(key, f"the {self.noun}'s id")
