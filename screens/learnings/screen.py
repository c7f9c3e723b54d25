"""The learnings: what waits for a person first, then all there are, a key for each decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.widgets import Static

from screens.chrome import TopBar
from screens.commands.learnings import LEARNINGS
from screens.commands.model import bindings
from screens.curation.excerpt import Excerpt, excerpt_view
from screens.curation.record_screen import RecordScreen
from screens.jobs import Job
from screens.learnings.audit import AuditView, JunkAudit, audited
from screens.learnings.corrections import CorrectionsView, read_corrections
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
from screens.learnings.learning_service import (
    FEW,
    KnownLearnings,
    LearningLibrary,
    LearningStory,
    Verb,
    story,
)
from screens.learnings.origins import LearningOrigin, opened, origins
from screens.learnings.preview import PromptPreview
from screens.widgets.dialogs import Choose, DialogChoice
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.memory.learnings.corrections.report import CorrectionReport
from workbench.memory.learnings.review import ReviewItem
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import counted

_GLANCE: Final = 0.04  # seconds the cursor rests on a learning before it is shown
_QUIET: Final = 1.0  # seconds without a change after which very many are compared again
_FEW: Final = 500  # learnings that are filtered and sorted at once
_ALWAYS: Final = frozenset("new view filter sort reverse audit corrections prompt list".split())


class LearningsScreen(RecordScreen[FeatureLearning, LearningQuery]):
    """Lists learnings and what waits among them; `changes` is what changes them."""

    section: ClassVar[str] = "learnings"
    noun: ClassVar = "learning"
    list_id: ClassVar = "learnings-list"
    list_command: ClassVar = ("memory", "list")
    sort_columns: ClassVar = SORT_KEYS
    largest_first: ClassVar = DESCENDING_FIRST
    default_sort: ClassVar = ("age", True)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LEARNINGS)]
    DEFAULT_CSS = """
    LearningsScreen {
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

    # Deciding.

    def available(self, command_id: str) -> bool | None:
        """Commands about a learning need one that can be decided so."""
        name = command_id.partition(".")[2]
        if name in _ALWAYS or not self.is_mounted:
            return True
        one = self.current
        if one is None:
            return None
        if name == "restore":
            return True if self.table.mark_count or not one.live else None
        if name in ("accept", "reject", "retire"):
            return True if self.table.mark_count or one.live else None
        if name in ("edit", "promote"):
            return True if one.live else None
        if name in ("merge", "conflict"):
            return True if self.item is not None and self.item.conflict is not None else None
        if name == "open":
            return True if origins(one) else None
        return True

    def action_accept(self) -> None:
        """Mark as reviewed."""
        self._decide("accept")

    def action_reject(self) -> None:
        """Take out as wrong."""
        self._decide("reject")

    def action_retire(self) -> None:
        """Take out as over."""
        self._decide("retire")

    def action_restore(self) -> None:
        """Bring back."""
        self._decide("restore")

    def _decide(self, verb: Verb) -> None:
        """Decide what is chosen, of marked ones those it makes sense for."""
        live = verb != "restore"
        self.changes.decide(verb, [one for one in self.chosen if one.live is live])

    def action_edit(self) -> None:
        """Edit in a form."""
        if one := self.current:
            self.changes.edit(one)

    def action_promote(self) -> None:
        """Make a rule of it."""
        if one := self.current:
            self.changes.promote(one)

    def action_merge(self) -> None:
        """Merge with the one it conflicts with."""
        if item := self.item:
            self.changes.merge(item)

    def action_new(self) -> None:
        """Add a learning."""
        self.changes.new(self.current.feature if self.current else "")

    async def action_conflict(self) -> None:
        """Go to the pair among the conflicts."""
        item = self.item
        if item is not None and item.conflict is not None:
            await self.bench.go_to("conflicts", item.conflict.id)

    def undo_with(self) -> tuple[Callable[[Job], str], Callable[[Job], str], str]:
        """Walk the steps of curating learnings."""
        service, idle = self.changes.service, self.changes.steps.idle
        return partial(service.undo, idle), partial(service.redo, idle), "memory"

    # Looking.

    def action_audit(self) -> None:
        """Look for junk."""

        def closed(answer: str | None) -> None:
            if answer == "prune":
                self.changes.prune()
            elif answer:
                self._show_one(answer)

        def then(audit: JunkAudit) -> None:
            junk = sum(len(mine) for mine in audit.findings.values()) - len(audit.prunable)
            self.bench.log_action(["memory", "audit"], f"{junk:,} findings")
            self.app.push_screen(AuditView(audit), closed)

        self.ask("Audit", partial(audited, self.engine, self.known), then)

    def action_corrections(self) -> None:
        """Look at what was said of how things are done, and make a rule of it."""

        def chosen(one: CorrectionReport | None) -> None:
            learning = None if one is None else self.known.learnings.get(one.learning_id)
            if learning is not None and learning.live:
                self.changes.promote(learning)
            elif one is not None:
                self.changes.rule_of(one)

        def then(found: tuple[CorrectionReport, ...]) -> None:
            self.bench.log_action(["memory", "corrections"], f"{len(found):,} corrections")
            self.app.push_screen(CorrectionsView(found), chosen)

        self.ask("Corrections", partial(read_corrections, self.engine), then)

    def _show_one(self, identifier: str) -> None:
        """Have the cursor on a learning, whatever the list shows now."""
        self.goal = identifier
        if identifier not in self._order:
            self.query_one(FilterBar).set_text("")
            self.wanted = LearningQuery(view="all")
        self._arrange()

    def action_prompt(self) -> None:
        """See what a prompt would contain."""
        one = self.current
        names = [learning.feature for learning in self.known.learnings.values() if learning.live][:1]
        feature = one.feature if one else names[0] if names else "general"
        self.app.push_screen(PromptPreview(self, feature, (one.task_id or "") if one else ""))

    def action_open(self) -> None:
        """Open what it was learned from."""
        one = self.current
        if one is None:
            return
        found = origins(one)

        def chosen(origin: LearningOrigin | None) -> None:
            if origin is not None:
                self.ask("Opening", partial(opened, self.engine, one, origin), self._show_excerpt)

        if len(found) == 1:
            chosen(found[0])
        elif found:
            choices = [DialogChoice(origin, origin.name) for origin in found]
            self.app.push_screen(Choose("Where it comes from", choices), chosen)

    def _show_excerpt(self, excerpt: Excerpt) -> None:
        self.app.push_screen(excerpt_view(excerpt))
