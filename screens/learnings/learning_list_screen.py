"""The list of learnings: what waits for a person first, then all there are, and the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widgets import Static

from screens.chrome import TopBar
from screens.curation.record_screen import RecordScreen
from screens.jobs import Job
from screens.learnings.learning_changes import LearningChanges
from screens.learnings.learning_list import (
    COLUMNS,
    DESCENDING_FIRST,
    FIELDS,
    SORT_KEYS,
    LearningQuery,
    LearningRows,
    arranged,
)
from screens.learnings.learning_pane import (
    EMPTY,
    NONE_LIKE_THAT,
    NONE_WAITS,
    LearningPane,
    ReviewProgress,
    head_content,
)
from screens.learnings.learning_service import FEW, KnownLearnings, LearningLibrary, LearningStory, story
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.memory.learnings.review import ReviewItem
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import counted

_GLANCE: Final = 0.04  # seconds the cursor rests on a learning before it is shown
_QUIET: Final = 1.0  # seconds without a change after which very many are compared again
_FEW: Final = 500  # learnings that are filtered and sorted at once


class LearningListScreen(RecordScreen[FeatureLearning, LearningQuery]):
    """Reads, compares and lists learnings and what waits among them; deciding is its subclass's."""

    noun: ClassVar = "learning"
    list_id: ClassVar = "learnings-list"
    list_command: ClassVar = ("memory", "list")
    sort_columns: ClassVar = SORT_KEYS
    largest_first: ClassVar = DESCENDING_FIRST
    default_sort: ClassVar = ("age", True)
    DEFAULT_CSS = """
    LearningListScreen {
        & #learnings-head { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & #learnings-split { height: 1fr; layout: horizontal; }
        & #learnings-list { width: 3fr; }
        & #learnings-pane { width: 2fr; height: 1fr; border-left: vkey $panel; }
        &.-nothing #learnings-list { width: 1fr; }
        &.-nothing #learnings-pane { display: none; }
        &.-wide #learnings-list { width: 2fr; }
        &.-wide #learnings-pane { width: 1fr; }
        &.-narrow #learnings-split { layout: vertical; }
        &.-narrow #learnings-list { width: 1fr; height: 1fr; }
        &.-narrow #learnings-pane { width: 1fr; height: 45%; border-left: none; border-top: solid $panel; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.library = LearningLibrary()
        self.known = KnownLearnings()
        self.wanted = LearningQuery()
        self.changes = LearningChanges(self)
        self._read = False
        self._order: list[str] = []
        self._from_top = False

    def compose_body(self) -> ComposeResult:
        """Lay out the headline and the filter above the list and the pane."""
        with Vertical(classes="body"):
            yield Static(id="learnings-head")
            yield FilterBar(FIELDS, placeholder="words  !without  feature:auth  source:auto  stale:yes")
            with Container(id="learnings-split"):
                yield VirtualTable(COLUMNS, empty=" ", id="learnings-list")
                yield LearningPane(id="learnings-pane")

    # What is remembered.

    def stores(self) -> Iterable[str]:
        """Return the journals of memory."""
        return ("memory/",)

    def remember(self) -> Mapping[str, Any]:
        """Keep view, filter, order and cursor."""
        return {**super().remember(), "view": self.wanted.view}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        super().recall(kept)
        self.wanted = replace(self.wanted, view="all" if kept.get("view") == "all" else "queue")

    # Reading.

    def load(self) -> None:
        """Read the learnings, then compare them: those in conflict come to the queue."""
        if not self._read:
            self.table.busy = "reading learnings"
        work = partial(self.library.read, self.engine, self.known)
        self.ask("Learnings", work, self._arrived, group="read", failed=self.not_read, quiet=self._read)

    def _arrived(self, known: KnownLearnings) -> None:
        again = self._read
        self._take(known)
        if not known.learnings:
            return
        if known.live > FEW and again:
            self.bench.jobs.later("learnings/compare", _QUIET, self._compare)
        else:
            self._compare()

    def _compare(self) -> None:
        work = partial(self.library.compare, self.engine, self.known)
        many = self.known.live > FEW
        self.ask("Comparing learnings", work, self._compared, group="compare", quiet=not many)
        self._head()

    def _compared(self, known: KnownLearnings) -> None:
        if not self.known.whole and not self.goal and self.table.cursor == 0:
            self._from_top = True  # collisions come before the one that was the first until now
        self._take(known)

    def _take(self, known: KnownLearnings) -> None:
        self._read, self.known = True, known
        self.set_class(not known.learnings, "-nothing")
        self.table.busy = ""
        self.changes.settled()
        for note in known.skipped[:1]:
            self.say(
                f"{counted(len(known.skipped), 'entry', 'entries')} of the journals cannot be read: {note}"
            )
        if self.table.mark_count:
            self.table.keep_marks(known.learnings)
        self._arrange()

    # The list.

    @property
    def pane(self) -> LearningPane:
        """The learning under the cursor."""
        return self.query_one(LearningPane)

    def record(self, identifier: str) -> FeatureLearning | None:
        """Return a learning by its id."""
        return self.known.learnings.get(identifier)

    def text_of(self, record: FeatureLearning) -> str:
        """Return what a learning says."""
        return record.text

    @property
    def item(self) -> ReviewItem | None:
        """Why the learning under the cursor waits, if it does."""
        return self.known.waiting.get(self.table.cursor_key or "")

    @property
    def progress(self) -> ReviewProgress:
        """How far the sitting is."""
        waits, changes = self.known.waiting.keys(), self.changes
        open_ = waits - changes.settling if changes.settling else waits
        return ReviewProgress(len((changes.decided | changes.settling) - open_), len(open_))

    def conflicts(self, identifier: str) -> bool:
        """Whether a learning waits because it contradicts or repeats another."""
        item = self.known.waiting.get(identifier)
        return item is not None and item.conflict is not None

    def _arrange(self) -> None:
        """Filter and sort, very many beside the loop."""
        known, wanted = self.known, self.wanted
        if len(known.learnings) <= _FEW:
            self._arranged(known, arranged(known, wanted))
            return

        def work(job: Job) -> list[str]:
            return arranged(known, wanted, job.progress)

        self.ask("Listing", work, partial(self._arranged, known), group="arrange", quiet=True)

    def _arranged(self, known: KnownLearnings, order: Sequence[str]) -> None:
        if known is not self.known:
            return  # a newer one is on its way
        self._order = list(order)
        self._list()

    def _list(self) -> None:
        """Show the order without those on their way to the journal; the cursor stays, or goes to its goal."""
        table, settling = self.table, self.changes.settling
        order = self._order
        if settling and self.wanted.view == "queue":
            order = [one for one in order if one not in settling]
        table.sort = self.wanted.sort
        table.set_empty(self._empty() if self._read else " ")
        there = self.goal and self.goal in order
        keep = self.goal if there else None if self._from_top else table.cursor_key
        table.set_rows(LearningRows(order, self.known), keep=keep)
        self._from_top = False
        if there:
            self.goal = ""
        total = len(self.known.waiting) if self.wanted.view == "queue" else len(self.known.learnings)
        self.query_one(FilterBar).show_count(len(order), total)
        self._head()
        self.refresh_bindings()
        self._glance()

    def _empty(self) -> str:
        if not self.known.learnings:
            return EMPTY
        return NONE_LIKE_THAT if self.wanted.filter else NONE_WAITS

    def _head(self) -> None:
        progress = self.progress
        comparing = not self.known.whole or any(
            job.group == f"{self.section}/compare" and not job.quiet for job in self.bench.jobs.running
        )
        comparing = comparing and self._read and bool(self.known.learnings)
        head = head_content(self.known, self.wanted.view, progress, comparing=comparing)
        self.query_one("#learnings-head", Static).update(head)
        self.bench.badges[self.section] = f"{progress.waiting:,}" if progress.waiting else ""
        self.query_one(TopBar).refresh()

    def settling_changed(self) -> None:
        """Take what is being decided off the queue; in the list of all go on to the next."""
        table = self.table
        key, marked = table.cursor_key, table.mark_count
        if marked:
            table.set_marks(())
        if self.wanted.view == "queue":
            place = table.cursor
            self._list()
            table.cursor = min(place, max(table.count - 1, 0))
        elif key in self.changes.settling and not marked:
            table.cursor += 1

    def want(self, wanted: LearningQuery) -> None:
        """List something else."""
        if wanted != self.wanted:
            self.wanted = wanted
            if self._read:
                self._arrange()

    def action_sort(self) -> None:
        """Sort by the next column, after the last one as it was."""
        super().action_sort()
        natural = "urgency" if self.wanted.view == "queue" else "newest"
        self.say(f"ordered by: {self.wanted.sort[0] if self.wanted.sort else natural}")

    def action_view(self) -> None:
        """Show the queue, or all there are."""
        self.want(replace(self.wanted, view="all" if self.wanted.view == "queue" else "queue"))

    # The learning under the cursor.

    @on(VirtualTable.Highlighted, "#learnings-list")
    def _moved(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self.refresh_bindings()
        self.bench.jobs.later("learnings/glance", _GLANCE, self._glance)

    @on(VirtualTable.Opened, "#learnings-list")
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.pane.focus()

    @on(VirtualTable.MarksChanged, "#learnings-list")
    def _marked(self, event: VirtualTable.MarksChanged) -> None:
        event.stop()
        self.say(f"{event.count:,} marked · a x d R act on all of them, one step" if event.count else "")

    def _glance(self) -> None:
        key = self.table.cursor_key
        if key is None:
            self.pane.show(None)
            return

        def then(shown_story: LearningStory | None) -> None:
            if shown_story is None or shown_story.learning.id == self.table.cursor_key:
                self.pane.show(shown_story)

        self.ask("Learning", partial(story, self.known, key), then, group="story", quiet=True)
