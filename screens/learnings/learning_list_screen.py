"""The list of learnings: what waits for a person first, then all there are, and the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Static

from screens.conflicts.pair_source import PairSearch
from screens.conflicts.record_pairs import FEW, LearningPairs
from screens.curation.record_pane import RecordPane
from screens.curation.record_screen import RecordScreen
from screens.jobs import Job
from screens.learnings.learning_changes import LearningChanges
from screens.learnings.learning_service import (
    LearningCounts,
    LearningStory,
    begin_story,
    count_learnings,
    story,
)
from screens.learnings.learning_view import (
    COLUMNS,
    NONE_LIKE_THAT,
    NONE_WAITS,
    ReviewProgress,
    View,
    head_content,
    learning_cells,
    nothing_learned,
    story_content,
)
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from screens.widgets.window_rows import WindowRows
from workbench.lists.filters import Facet, Filter
from workbench.lists.learnings import FIELDS, LEARNINGS, LearningRow
from workbench.lists.tables import ListTable, Sort, row_number
from workbench.memory.learnings.review import ReviewItem
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import plural

_QUIET: Final = 1.0  # seconds without a change after which very many are compared again


class LearningListScreen(RecordScreen[FeatureLearning, LearningRow]):
    """Reads, compares and lists learnings and what waits among them; deciding is its subclass's."""

    list_type: ClassVar = LEARNINGS
    list_id: ClassVar = "learnings-list"
    list_command: ClassVar = ("memory", "list")
    marks_hint: ClassVar = "a r d R act on all of them, one step"
    DEFAULT_CSS = style_of("LearningListScreen")

    def __init__(self) -> None:
        super().__init__()
        self.counts = LearningCounts()
        self.view: View = "queue"
        self.changes = LearningChanges(self)
        self._story: LearningStory | None = None
        self._read = False
        self._compared = False

    def compose_body(self) -> ComposeResult:
        """Lay out the headline and the filter above the list and the pane."""
        with Vertical(classes="body"):
            yield Static(id="learnings-head")
            yield FilterBar(
                FIELDS, placeholder="words  !without  feature:auth  source:auto  stale:yes", id="filter"
            )
            with Container(classes="split"):
                yield VirtualTable(COLUMNS, empty=" ", id="learnings-list")
                yield RecordPane("learning", id="learnings-pane")

    # What is remembered.

    def stores(self) -> Iterable[str]:
        """Return the journals of memory."""
        return ("memory/",)

    def remember(self) -> Mapping[str, Any]:
        """Keep view, filter, order and cursor."""
        return {**super().remember(), "view": self.view}

    def recall_query(self, kept: Mapping[str, Any]) -> None:
        """Take back what is listed, the view with it."""
        super().recall_query(kept)
        self.view = "all" if kept.get("view") == "all" else "queue"

    # Reading.

    def load(self) -> None:
        """List and count the learnings, then compare them: those in conflict come to the queue."""
        if not self._read:
            self.table.busy = "reading learnings"
        self.list_rows(recount=True)
        self._count(self._take_counts)

    def _count(self, then: Callable[[LearningCounts], None]) -> None:
        work = partial(count_learnings, self.engine, frozenset(self.changes.decided | self.changes.settling))
        self.ask("Learnings", work, then, group="read", failed=self.not_read, quiet=self._read)

    def _take_counts(self, counts: LearningCounts) -> None:
        again = self._read
        self._take(counts, relist=not again or bool(self.changes.settling))
        if not counts.total:
            self._compared = True
        elif counts.live > FEW and again:
            self.bench.jobs.later("learnings/compare", _QUIET, self._compare)
        else:
            self._compare()

    def _compare(self) -> None:
        work = partial(LearningPairs().search, self.engine)
        self.ask(
            "Comparing learnings", work, self._take_conflicts, group="compare", quiet=self.counts.live <= FEW
        )
        self._head()

    def _take_conflicts(self, found: PairSearch) -> None:
        # Collisions come before the one that was the first until now.
        top = not self._compared and not self.goal and self.table.cursor == 0
        self._compared = True
        if found.changed:
            self._count(partial(self._take, top=top))
        else:  # what is listed and counted is so
            self._head()

    def _take(self, counts: LearningCounts, *, top: bool = False, relist: bool = True) -> None:
        self._read, self.counts = True, counts
        self.set_class(not counts.total, "-nothing")
        self.table.busy = ""
        self.changes.clear_settling()
        if counts.unreadable:
            entries = plural(counts.unreadable, "entry", "entries")
            self.say(f"{entries} of the journals cannot be read: {counts.reason}")
        if relist:
            self.list_rows(recount=True, top=top)
        else:
            self._head()

    # The list.

    @property
    def pane(self) -> RecordPane:
        """The learning under the cursor."""
        return self.query_one(RecordPane)

    def table_of(self, job: Job) -> ListTable[LearningRow]:
        """Return the table of the learnings."""
        return self.engine.lists().learning_list

    def record_of(self, row: LearningRow) -> FeatureLearning:
        """Return a row's learning."""
        return row.learning

    def text_of(self, record: FeatureLearning) -> str:
        """Return what a learning says."""
        return record.text

    def cells_of(self, row: LearningRow) -> Sequence[Content | str]:
        """Return the learning's cells."""
        return learning_cells(row)

    def away(self) -> Collection[str]:
        """Return what is on its way to the journal, which the queue lists no more."""
        return self.changes.settling if self.view == "queue" else ()

    def base_filter(self) -> Filter:
        """Return what the queue lists: what waits."""
        return Filter((Facet("waits", ("yes",)),)) if self.view == "queue" else Filter()

    def sorts(self) -> Sequence[str]:
        """Return the columns that are cycled through: the newest first is how all are listed anyway."""
        return [column.id for column in COLUMNS if column.id in LEARNINGS.sorts]

    def usual_sort(self) -> Sort | None:
        """Return the order of the queue: by urgency."""
        return ("why", False) if self.view == "queue" else None

    @property
    def item(self) -> ReviewItem | None:
        """Why the learning under the cursor waits, once it is shown."""
        shown = self._story
        return shown.past.item if shown is not None and shown.learning.id == self.table.cursor_key else None

    @property
    def progress(self) -> ReviewProgress:
        """How far the sitting is."""
        changes = self.changes
        done = changes.decided | changes.settling
        again = {one for one in changes.decided if row_number(one) in self.counts.again} - changes.settling
        settling = len(changes.settling) if self.view == "queue" else 0
        return ReviewProgress(len(done - again), max(self.counts.waiting - settling, 0))

    def show_rows(self, rows: WindowRows[LearningRow], place: int | None) -> None:
        """Show rows, and what waits above them."""
        super().show_rows(rows, place)
        self._head()

    def busy_text(self) -> str:
        """Return that learnings are read first where none is known yet."""
        return "" if self._read or self.total else "reading learnings"

    def empty_text(self) -> str:
        """Return what to do without learnings, or that none matches or waits."""
        if not self._read:
            return " "
        if not self.counts.total:
            return nothing_learned(self.engine.root)
        return NONE_LIKE_THAT if self.wanted.filter else NONE_WAITS

    def _head(self) -> None:
        progress = self.progress
        comparing = not self._compared or any(
            job.group == f"{self.section}/compare" and not job.quiet for job in self.bench.jobs.running
        )
        comparing = comparing and self._read and self.counts.total > 0
        head = head_content(self.counts, self.view, progress, comparing=comparing)
        self.query_one("#learnings-head", Static).update(head)
        self.bench.show_badge(self.section, progress.waiting)

    def settling_changed(self) -> None:
        """Take what is being decided off the queue; in the list of all go on to the next."""
        table, rows = self.table, self.rows
        key, marked = table.cursor_key, table.mark_count
        if marked:
            table.set_marks(())
        if self.view == "queue" and rows is not None:
            self.show_rows(rows, table.cursor)
        elif key in self.changes.settling and not marked:
            table.cursor += 1

    def action_sort(self) -> None:
        """Sort by the next column, after the last one as it was."""
        super().action_sort()
        natural = "urgency" if self.view == "queue" else "newest"
        self.say(f"ordered by: {self.wanted.sort[0] if self.wanted.sort else natural}")

    def action_view(self) -> None:
        """Show the queue, or all there are."""
        self.view = "all" if self.view == "queue" else "queue"
        self.list_rows(recount=True)

    # The learning under the cursor.

    def open_current(self) -> None:
        """Go to the pane."""
        self.pane.focus()

    def glance(self) -> None:
        """Show the learning under the cursor with everything known of it."""
        row = self.row
        if row is None:
            if not self.table.count:
                self._story = None
                self.pane.show()
            return

        def then(found: LearningStory) -> None:
            if found.learning.id == self.table.cursor_key:
                self._story = found
                self.pane.show(found.learning.id, partial(story_content, found))

        self.ask("Learning", partial(story, self.engine, row), then, group="story", quiet=True)
        self.show_meanwhile(self.pane, row.learning.id, lambda width: story_content(begin_story(row), width))
