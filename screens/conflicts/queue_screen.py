"""The queue of pairs: searched, listed from the tables, and the one under the cursor laid out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from screens.conflicts.pair import PairSide, PairType
from screens.conflicts.pair_panel import KINDS, STATES, PairPanel, describe_unsearched, empty_queue
from screens.conflicts.pair_source import PairSearch, PairSource
from screens.conflicts.queue import PairLook, PairQueue, PairsSeen, QueuedPair, judge_again, look, read_pairs
from screens.conflicts.record_pairs import LearningPairs, RulePairs, SegmentPairs
from screens.curation.record_screen import RecordScreen
from screens.jobs import Ahead, Failure, Job
from screens.safe_text import embolden, safe
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from screens.widgets.window_rows import WindowRows
from workbench.lists.conflicts import CONFLICTS, FIELDS, ConflictRow
from workbench.lists.tables import ListTable

Searches = Mapping[PairType, PairSearch]

_SEARCHING = "searching for conflicts"
_TEXT: Final = 400  # characters of a side that a row may show

COLUMNS: Final = (
    Column(
        "state", "", "» put off, ! a text changed, ✓ settled elsewhere, – gone; none waits.", 1, priority=9
    ),
    Column(
        "glyph",
        "",
        "= the same, ≈ nearly the same, ⊂ one in the other, ≠ a contradiction, ⇄ two versions of one.",
        1,
        priority=9,
    ),
    Column("kind", "Kind", "How the two relate.", 13, priority=3),
    Column("surest", "Score", "How sure the search is, from 0 to 1.", 7, align="right", priority=4),
    Column("of", "Of", "Whether it is two rules, learnings or versions of a segment.", 8, priority=2),
    Column("file", "Left", "The first of the two.", priority=8, least=16),
    Column("right", "Right", "The second of the two.", priority=7, least=16),
    Column("action", "Suggestion", "What is suggested to do with them.", 12, priority=1),
)
"""A column that the list can be sorted by has the name of that order."""


def pair_cells(item: QueuedPair) -> tuple[Content, ...]:
    """Return state, kind, certainty, both texts shortened, and what is suggested."""
    pair = item.pair
    glyph, style = KINDS[pair.kind]
    faint = "" if item.waits else "$text-muted"
    return (
        Content.styled(*STATES[item.state]),
        Content.styled(glyph, style),
        Content.styled(pair.kind.value, faint),
        Content.styled(f"{pair.score:.2f}", faint),
        Content.styled(pair.of.value, "$text-muted"),
        _line(pair.left, faint),
        _line(pair.right, faint),
        Content.styled(pair.suggestion.action.value.replace("_", " "), "$text-muted"),
    )


def _line(side: PairSide, style: str) -> Content:
    return embolden(safe(" ".join(side.text[:_TEXT].split()), style))


class QueueScreen(RecordScreen[QueuedPair, QueuedPair]):
    """Searches for pairs, lists them and shows the one under the cursor; deciding is its subclass's.

    What the last search found is listed at once. A search goes on beside it: the first time, and with few
    records at every change; after that the journals say what became of the pairs.
    """

    list_type: ClassVar = CONFLICTS
    list_id: ClassVar = "conflicts-queue"
    list_command: ClassVar = ("rules", "conflicts", "list")
    DEFAULT_CSS = """
    QueueScreen {
        & #conflicts-body { layout: vertical; }
        & #conflicts-queue { height: 30%; min-height: 6; width: 100%; }
        & .-listless #conflicts-queue { display: none; }
        &.-wide #conflicts-body { layout: horizontal; }
        &.-wide #conflicts-queue { height: 1fr; width: 50%; }
        &.-narrow #conflicts-queue, &.-short #conflicts-queue { display: none; }
        &.-narrow .-listless #conflicts-queue, &.-short .-listless #conflicts-queue {
            display: block;
            height: 1fr;
            width: 100%;
        }
        &.-narrow .-listless PairPanel, &.-short .-listless PairPanel { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.queue = PairQueue()
        self.sources: Mapping[PairType, PairSource[Any]] = {
            PairType.RULE: RulePairs(),
            PairType.LEARNING: LearningPairs(),
            PairType.SEGMENT: SegmentPairs(),
        }
        self.searched: Searches = {}
        """What the last search looked through, empty before the first is over."""
        self._search_job: Job | None = None
        self._searching = ""  # what is said of a search
        self._search_next = False  # once the pairs are listed
        self._look_ahead: Ahead[PairLook] | None = None

    def compose_body(self) -> ComposeResult:
        """Lay out the filter, the queue and the pair."""
        with Container(classes="body"):
            yield FilterBar(FIELDS, placeholder="words  !without  kind:exact  file:CLAUDE.md", id="filter")
            with Container(id="conflicts-body"):
                yield VirtualTable(COLUMNS, empty="No pairs.", id="conflicts-queue")
                yield PairPanel()

    def list_ahead(self) -> None:
        """Begin to read which pairs wait, and the first of them."""
        self._look_ahead = Ahead(None, partial(look, self.engine, self.sources, PairsSeen(None)))
        self.begin(self._look_ahead)
        super().list_ahead()

    # What is remembered.

    def remember(self) -> Mapping[str, Any]:
        """Return filter, order, layout and the pair that is shown."""
        return {**super().remember(), "listless": self._body.has_class("-listless")}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take the place back."""
        self._body.set_class(kept.get("listless") is True, "-listless")
        super().recall(kept)

    def stores(self) -> Iterable[str]:
        """Return the journals of rules, of memory and of the stash."""
        return ("rules", "memory/", "stash")

    # Searching.

    def load(self) -> None:
        """List the pairs that wait; the first time, and with few records always, they are searched, too."""
        first = not self.searched and self._search_job is None
        if first:
            self._searching = self.table.busy = _SEARCHING
            self.glance()
        self._look(search=first or (bool(self.searched) and all(one.few for one in self.searched.values())))

    def action_scan(self) -> None:
        """Search again, and forget the pairs that somebody else settled."""
        self.queue.kept.clear()
        self.bench.log_action(["rules", "conflicts", "list"])
        self._search(busy=True)

    def _look(self, *, search: bool = False, judge: bool = True) -> None:
        """List the pairs as the tables have them now, then search, or judge again those that changed."""
        seen = PairsSeen(self.queue.seen, frozenset(self.queue.settled))
        ahead, self._look_ahead = self._look_ahead, None

        def work(job: Job) -> PairLook:
            found = None if ahead is None else ahead.answer(None)
            return look(self.engine, self.sources, seen, job) if found is None else found

        def then(found: PairLook) -> None:
            self.queue.take_in(found)
            self.goal = found.heirs.get(self.goal or self.table.cursor_key or "", self.goal)
            self._search_next = search or self._search_next
            if judge and found.changed and not search:
                again = partial(judge_again, self.engine, self.sources, found.changed, True)
                self.ask("Conflicts", again, lambda _: self._look(judge=False), group="judge", quiet=True)
            self.list_rows(recount=True, missed=self._drop_goal)

        self._patiently(self.ask("Conflicts", work, then, group="look", quiet=True, failed=self.not_read))

    def _drop_goal(self) -> None:
        """Look no more for a pair that is not listed."""
        self.goal = ""

    def _search(self, *, busy: bool) -> None:
        engine, sources = self.engine, self.sources

        def work(job: Job) -> Searches:
            return {of: source.search(engine, job) for of, source in sources.items()}

        self._searching = self.table.busy = _SEARCHING if busy else ""
        self._search_job = self.ask(
            "Conflicts",
            work,
            self._take_findings,
            group="search",
            failed=self._report_failed_search,
            stopped=self._end_cancelled_search,
        )
        self.glance()

    def _take_findings(self, found: Searches) -> None:
        self.searched, self._search_job, self._searching = found, None, ""
        self._look()
        for note in (note for one in found.values() for note in one.notes):
            self.say(note)

    def _report_failed_search(self, failure: Failure) -> None:
        self.bench.report(f"Conflicts: {failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(["rules", "conflicts", "list"], failure.message, failed=True)
        self._gave_up()

    def _end_cancelled_search(self) -> None:
        """A search is over that was cancelled, by a person or because a newer one took its place."""
        if self._search_job is not None and self._search_job.cancelled:
            self._gave_up()

    def _gave_up(self) -> None:
        """Say what to press; what is known stays."""
        self._search_job = None
        self._searching = self.table.busy = ""
        self.say("The search did not end: D searches again.")
        self.glance()

    def busy_text(self) -> str:
        """Return that pairs are searched, the first time or because somebody wants it."""
        return self._searching

    # The list.

    @property
    def _body(self) -> Container:
        return self.query_one(".body", Container)

    def table_of(self, job: Job) -> ListTable[ConflictRow]:
        """Return the pairs that wait, with what this sitting did to them."""
        return self.engine.lists().conflicts.list_waiting(self.queue.overlay)

    def read_rows(self, table: ListTable[Any], numbers: Sequence[int]) -> Mapping[int, QueuedPair]:
        """Return pairs with the records on both sides."""
        return read_pairs(self.engine.lists(), self.sources, table, numbers, self.queue.to_queued)

    def record_of(self, row: QueuedPair) -> QueuedPair:
        """Return the pair."""
        return row

    def cells_of(self, row: QueuedPair) -> Sequence[Content | str]:
        """Return the pair's cells."""
        return pair_cells(row)

    def away(self) -> Collection[str]:
        """Return the pairs that are decided."""
        return self.queue.away

    def empty_text(self) -> str:
        """Return that there are no pairs; the panel says why."""
        return "No pairs."

    def sorts(self) -> Sequence[str]:
        """Return the orders besides the usual one."""
        return self.list_type.sorts[1:]

    @property
    def item(self) -> QueuedPair | None:
        """The pair that is shown, None where there is none or it is not there yet."""
        return self.row

    def go_to(self, key: str) -> None:
        """Show a pair, now or once it is known."""
        super().go_to(key)
        if self.is_listed:
            self.list_rows(missed=self._drop_goal)

    def show_rows(self, rows: WindowRows[QueuedPair], place: int | None) -> None:
        """Show rows; without a chosen column they are in the usual order unless better matches come first.

        A search that is due begins now: before, it would take its time from the list.
        """
        super().show_rows(rows, place)
        if self.wanted.sort is None and not self.wanted.filter.ranks:
            self.table.sort = self.list_type.usual
        if self._search_next:
            self._search_next = False
            self._search(busy=not self.searched)

    def glance(self) -> None:
        """Show the pair under the cursor, or what an empty queue says."""
        panel, item = self.query_one(PairPanel), self.item
        if item is not None:
            panel.show(item)
            panel.show_pair(item, self.queue.progress, (self.table.cursor + 1, self.table.count))
        elif not self.table.count:
            panel.show_nothing(self._nothing())
        self._focus()
        self.refresh_bindings()
        self.bench.show_badge(self.section, self.queue.waiting)

    def _nothing(self) -> Content:
        if not self.searched:
            return describe_unsearched(self.table.busy)
        if self.queue.waiting and self.wanted.filter:
            return safe("No pair passes this filter: / changes it, escape clears it.")
        return empty_queue(sum(one.count for one in self.searched.values()), len(self.queue.settled))

    def _focus(self) -> None:
        """Keep the focus on something that is there."""
        focused = self.focused
        if focused is None or not focused.display or not focused.is_on_screen:
            target = self.table if self.table.display else self.query_one("#diff-left")
            if self.table.display or self.item is not None:
                target.focus()

    def open_current(self) -> None:
        """Go to the pair."""
        if not self.query_one(PairPanel).display:
            self.action_queue()
        self.query_one("#diff-left").focus()

    def action_sort(self) -> None:
        """Go to the next order."""
        super().action_sort()
        self.say(f"ordered by: {(self.wanted.sort or self.list_type.usual)[0]}")

    def action_queue(self) -> None:
        """Show the list or the pair alone, where both fit the pair with or without the list."""
        self._body.toggle_class("-listless")
        self.call_after_refresh(self._focus)

    def action_next(self) -> None:
        """Show the next pair."""
        self.table.cursor += 1

    def action_previous(self) -> None:
        """Show the pair before."""
        self.table.cursor -= 1
