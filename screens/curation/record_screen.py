"""A section that lists records: filter, order, the record under the cursor, and those that are chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from textual import on

from screens.base import SectionScreen
from screens.jobs import Failure
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.lists.tables import ListQuery, Sort

RecordT = TypeVar("RecordT")
QueryT = TypeVar("QueryT", bound=ListQuery)


class RecordScreen(SectionScreen, Generic[RecordT, QueryT]):
    """Lists records of one type in the table `#list_id`. Subclasses read them and show one."""

    noun: ClassVar[str]
    list_id: ClassVar[str]
    list_command: ClassVar[tuple[str, ...]]
    """The command that lists the records."""

    sort_columns: ClassVar[Collection[str]]
    """Columns that can be sorted by, in the order they are cycled through."""

    largest_first: ClassVar[Collection[str]]
    """Columns whose largest values come first when they are chosen."""

    default_sort: ClassVar[Sort]
    """The order of the list where no column was chosen."""

    wanted: QueryT
    goal = ""
    """The record to have the cursor on once it is listed."""

    # What a type of record says.

    def record(self, identifier: str) -> RecordT | None:
        """Return the record with an id."""
        raise NotImplementedError

    def text_of(self, record: RecordT) -> str:
        """Return what is copied of a record."""
        raise NotImplementedError

    def want(self, wanted: QueryT) -> None:
        """Show something else."""
        raise NotImplementedError

    # What is listed.

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one(f"#{self.list_id}", VirtualTable)

    @property
    def current(self) -> RecordT | None:
        """The record under the cursor."""
        key = self.table.cursor_key
        return None if key is None else self.record(key)

    @property
    def chosen(self) -> tuple[RecordT, ...]:
        """The marked records, or the one under the cursor."""
        return tuple(one for key in self.table.chosen if (one := self.record(key)) is not None)

    def go_to(self, key: str) -> None:
        """Have the cursor on a record once it is listed."""
        self.goal = key

    # What is remembered.

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, order and cursor."""
        return {
            "filter": self.query_one(FilterBar).text,
            "sort": list(self.wanted.sort) if self.wanted.sort else None,
            "key": self.table.cursor_key or self.goal,
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        text, sort, key, bar = (
            kept.get("filter"),
            kept.get("sort"),
            kept.get("key"),
            self.query_one(FilterBar),
        )
        if isinstance(text, str):
            bar.set_text(text)
        if isinstance(sort, list) and len(sort) == 2 and sort[0] in self.sort_columns:
            self.wanted = replace(self.wanted, sort=(str(sort[0]), bool(sort[1])))
        self.wanted = replace(self.wanted, filter=bar.filter)
        self.goal = key if isinstance(key, str) else ""
        self.table.focus()

    def not_read(self, failure: Failure) -> None:
        """Say why the records cannot be read; what is listed stays."""
        self.table.busy = ""
        text = f"the {self.noun}s cannot be read: {failure.message}\n{failure.hint}"
        self.bench.report(text, severity="error")
        self.bench.log_action(self.list_command, failure.details or failure.message, failed=True)

    # Filter and order.

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.want(replace(self.wanted, filter=event.query))

    @on(VirtualTable.SortRequested)
    def _header(self, event: VirtualTable.SortRequested) -> None:
        event.stop()
        if event.table is self.table:
            self.sort_by(event.column_id)

    def sort_by(self, column: str) -> None:
        """Sort by a column, or the other way round if it is sorted by already."""
        if column in self.sort_columns:
            now = self.wanted.sort
            descending = not now[1] if now and now[0] == column else column in self.largest_first
            self.want(replace(self.wanted, sort=(column, descending)))

    def action_sort(self) -> None:
        """Sort by the next column, after the last one as it was."""
        names, now = list(self.sort_columns), self.wanted.sort
        place = names.index(now[0]) + 1 if now else 0
        sort = (names[place], names[place] in self.largest_first) if place < len(names) else None
        self.want(replace(self.wanted, sort=sort))

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        column, descending = self.wanted.sort or self.default_sort
        self.want(replace(self.wanted, sort=(column, not descending)))

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(FilterBar).open()

    def action_list(self) -> None:
        """Go back to the list."""
        self.table.focus()

    # The record under the cursor.

    def action_copy(self) -> None:
        """Copy the text."""
        if one := self.current:
            self.bench.copy(self.text_of(one), f"the {self.noun}")

    def action_copy_id(self) -> None:
        """Copy the id."""
        if key := self.table.cursor_key:
            self.bench.copy(key, f"the {self.noun}'s id")
