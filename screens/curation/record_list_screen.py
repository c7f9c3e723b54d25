"""A section that lists records: shown as they come, the one under the cursor, those chosen.

When the list changes the cursor stays on its row, and where it was in view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count

from textual import on
from textual.content import Content

from screens.curation.listed_records import ListedRecords, ListedRows, ListQuestion, RecordT, RowT
from screens.curation.record_pane import RecordPane
from screens.jobs import Ahead, Failure, Job, JobOptions
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from screens.widgets.window_rows import WindowRows, place_of
from workbench.lists.tables import TableRebuild, row_number

_LONG = 0.5  # seconds after which is said what is waited for
_GLANCE = 0.04  # seconds the cursor rests on a record before it is shown
_NOTICED = 0.15  # seconds a pane may show the record that the cursor was on before


class RecordListScreen(ListedRecords[RecordT, RowT]):
    """Lists records of one type in the table `#list_id`. Subclasses name their table and show a record."""

    DEFAULT_CSS = style_of("RecordListScreen")

    def __init__(self) -> None:
        super().__init__()
        self.goal = ""
        """The record to have the cursor on once it is listed."""
        self.total = 0
        """How many records there are without a filter."""
        self.is_listed = False
        self._questions = count()
        self._ahead: Ahead[ListedRows[RowT]] | None = None

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one(f"#{self.list_id}", VirtualTable)

    @property
    def bar(self) -> FilterBar:
        """Where the filter is typed."""
        return self.query_one("#filter", FilterBar)

    def columns(self) -> Sequence[Column]:
        """Return the columns for what is listed."""
        return self.table.columns

    @property
    def rows(self) -> WindowRows[RowT] | None:
        """The rows that are listed, None before there are any."""
        rows = self.table.rows
        return rows if isinstance(rows, WindowRows) else None

    @property
    def row(self) -> RowT | None:
        """The row under the cursor, None where it is not there yet."""
        rows = self.rows
        return rows.row(self.table.cursor) if rows else None

    @property
    def current(self) -> RecordT | None:
        """The record under the cursor, None where it is not there yet."""
        row = self.row
        return None if row is None else self.record_of(row)

    @on(VirtualTable.Highlighted)
    def _handle_move(self, event: VirtualTable.Highlighted) -> None:
        if event.table is self.table:
            event.stop()
            self.refresh_bindings()
            self.bench.jobs.later(f"{self.section}/glance", _GLANCE, self.glance)

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        if event.table is self.table:
            event.stop()
            self.open_current()

    @on(VirtualTable.MarksChanged)
    def _handle_mark(self, event: VirtualTable.MarksChanged) -> None:
        if event.table is self.table and self.marks_hint:
            event.stop()
            self.say(f"{event.count:,} marked · {self.marks_hint}" if event.count else self.summary)

    def show_meanwhile(self, pane: RecordPane, key: str, content: Callable[[int], Content]) -> None:
        """Show what is at hand of a record where the rest of it takes long to read."""

        def show() -> None:
            if pane.key != key == self.table.cursor_key:
                pane.show(key, content)

        self.set_timer(_NOTICED, show)

    def go_to(self, key: str) -> None:
        """Have the cursor on a record once it is listed."""
        self.goal = key

    def with_current(self, then: Callable[[RecordT], None]) -> None:
        """Hand over the record under the cursor, once it is there."""
        rows, place = self.rows, self.table.cursor
        if not rows:
            return
        if (row := rows.row(place)) is not None:
            then(self.record_of(row))
            return
        number = int(rows.numbers[place])

        def found(there: Mapping[int, RowT]) -> None:
            if number in there:
                then(self.record_of(there[number]))

        self._fetch([number], found, lambda: None, leads=True)

    def with_chosen(self, then: Callable[[Sequence[RecordT]], None]) -> None:
        """Hand over the marked records by id, or the one under the cursor.

        Those that are listed come as they were shown, so that what others changed since is found out.
        """
        marks, rows = self.table.marks, self.rows
        if not marks or rows is None:
            self.with_current(lambda one: then([one]))
            return
        shown = rows.rows_of(marks)
        others = sorted(marks - shown.keys())

        def work(job: Job) -> dict[str, RowT]:
            return {self.id_of(row): row for row in self.look_up(others, job)}

        def found(read: Mapping[str, RowT]) -> None:
            chosen = {**shown, **read}
            if chosen:
                then([self.record_of(chosen[key]) for key in sorted(chosen)])

        if others:
            self.ask("Reading", work, found, leads=True)
        else:
            found({})

    # Reading.

    def list_rows(
        self,
        *,
        top: bool = False,
        recount: bool = False,
        wanted: bool = False,
        then: Callable[[], None] = lambda: None,
        missed: Callable[[], None] = lambda: None,
    ) -> None:
        """List what is wanted; the cursor goes to its goal, stays, or goes to the top.

        With `recount` records may have come or gone: marks go with theirs. Keys wait for rows
        that are `wanted`: by a filter, an order. `then` is called once rows are
        listed, `missed` where the goal is not among them.
        """
        goal, rows, cursor = self.goal, self.rows, self.table.cursor
        number = int(rows.numbers[cursor]) if rows and not top else None
        total = self.total if self.is_listed and not recount else None
        question = ListQuestion(self.asked, self.base_filter(), self.is_narrowed, goal, number, cursor, total)
        ahead, self._ahead = self._ahead, None

        def work(job: Job) -> ListedRows[RowT]:
            found = None if ahead is None else ahead.answer(question)
            return self.read_list(question, job) if found is None else found

        def listed(found: ListedRows[RowT]) -> None:
            self._show_listing(found, top=top)
            if goal and not found.reached:
                missed()
            if recount and self.table.mark_count:
                self._check_marks()
            then()

        how = JobOptions(quiet=True, lists=wanted, failed=self.not_read)
        self._patiently(self.ask("Listing", work, listed, group="list", **how))

    def list_ahead(self) -> None:
        """Begin to read what is listed first while the widgets that show it are mounted."""
        question = ListQuestion(self.asked, self.base_filter(), self.is_narrowed, self.goal)
        self._ahead = Ahead(question, partial(self.read_list, question))
        self.begin(self._ahead)

    def _patiently(self, job: Job) -> None:
        """Say what is waited for if a question takes long: another process may hold the tables."""

        def still() -> None:
            if not job.over and not job.cancelled:
                self.table.busy = waiting_text(self.engine.table_rebuild)
                self.set_timer(_LONG, still)

        self.set_timer(_LONG, still)

    def _show_listing(self, found: ListedRows[RowT], *, top: bool) -> None:
        table, before = self.table, self.rows
        self.is_listed, self.total = True, found.total
        place = found.place
        if found.reached:
            self.goal = ""
        elif before and not top:
            # The cursor may have moved on since the question was asked.
            place = place_of(found.numbers, int(before.numbers[table.cursor]))
            place = table.cursor if place is None else place
        columns = self.columns()
        if table.columns != columns:
            table.set_columns(columns)
        table.busy = self.busy_text()
        table.set_empty(self.empty_text())
        self.show_rows(
            WindowRows(found.numbers, self._fetch, key=self.id_of, cells=self.cells_of, held=found.rows),
            place,
        )

    def show_rows(self, rows: WindowRows[RowT], place: int | None) -> None:
        """Show rows but for those that are away, the cursor at a place or at the first."""
        if away := self.away():
            before, rows = rows, rows.without(map(row_number, away))
            place = None if place is None else place - rows.count_missing(before.numbers[:place])
        self.table.sort = self.wanted.sort
        self.table.set_rows(rows, place=place)
        self.bar.show_count(len(rows), self.total)
        self.refresh_bindings()
        self.glance()

    def _fetch(
        self,
        numbers: Sequence[int],
        found: Callable[[Mapping[int, RowT]], None],
        failed: Callable[[], None],
        *,
        leads: bool = False,
    ) -> None:
        def came(rows: Mapping[int, RowT]) -> None:
            self.table.busy = self.busy_text()
            found(rows)

        def refused(failure: Failure) -> None:
            failed()
            self.not_read(failure)

        job = self.ask(
            "Reading",
            lambda job: self.read_rows(self.table_of(job), numbers),
            came,
            group=f"rows/{next(self._questions)}",
            quiet=True,
            leads=leads,
            failed=refused,
            stopped=failed,
        )
        self._patiently(job)

    def _check_marks(self) -> None:
        """Take the marks off records that are gone."""
        marks = sorted(self.table.marks)

        def work(job: Job) -> frozenset[str]:
            return frozenset(self.id_of(row) for row in self.look_up(marks, job))

        def then(known: frozenset[str]) -> None:
            self.table.keep_marks(known | (self.table.marks - set(marks)))

        self.ask("Marks", work, then, group="marks", quiet=True)

    def not_read(self, failure: Failure) -> None:
        """Say why the records cannot be read; what is listed stays."""
        self.table.busy = ""
        text = f"the {self.noun}s cannot be read: {failure.message}\n{failure.hint}"
        self.bench.report(text, severity="error")
        self.bench.log_action(self.list_command, failure.details or failure.message, failed=True)


def waiting_text(rebuild: TableRebuild | None) -> str:
    """Return what is waited for: the tables, or that they are rebuilt, and how far that is."""
    if rebuild is None or rebuild.over:
        return "waiting for the tables"
    share = rebuild.done / rebuild.total if rebuild.total else 0.0
    why = "the tables are damaged, rebuilding" if rebuild.set_aside else "rebuilding the tables"
    return f"{why}: {share:.0%}"
