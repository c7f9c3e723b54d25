"""The queue of pairs: searched, listed, filtered, ordered, and the one under the cursor laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from screens.base import SectionScreen
from screens.chrome import TopBar
from screens.conflicts.learning_pairs import LearningPairs
from screens.conflicts.pair import PairType
from screens.conflicts.pair_list import COLUMNS, FIELDS, SORTS, PairRows, arranged
from screens.conflicts.pair_panel import PairPanel, empty_queue, unsearched
from screens.conflicts.pair_source import PairQuestion, PairSource
from screens.conflicts.queue import LISTED, PairQueue, PairScan, PairState, QueuedPair, combined, count, taken
from screens.conflicts.rule_pairs import RulePairs
from screens.jobs import Failure, Job
from screens.safe_text import shown
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable

_FEW = 500  # pairs that are filtered and sorted at once


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a scan found: how pairs are settled now, counted, and the newest step of each source."""

    scan: PairScan
    items: dict[str, QueuedPair]
    counts: tuple[int, int]
    steps: dict[PairType, str]


class QueueScreen(SectionScreen):
    """Searches for pairs, lists them and shows the one under the cursor; deciding is its subclass's."""

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
        }
        self._order: list[str] = []
        self._sort = next(iter(SORTS))
        self._steps: dict[PairType, str] = {}
        self._counts = 0
        self._scanned = False
        self._search: Job | None = None
        self._wanted = ""  # the pair to show once it is there

    def compose_body(self) -> ComposeResult:
        """Lay out the filter, the queue and the pair."""
        with Container(classes="body"):
            yield FilterBar(FIELDS, placeholder="words  !without  kind:exact  file:CLAUDE.md")
            with Container(id="conflicts-body"):
                yield VirtualTable(COLUMNS, empty="No pairs.", id="conflicts-queue")
                yield PairPanel()

    def go_to(self, key: str) -> None:
        """Show a pair, now or once it is known."""
        self._wanted = key
        if self._scanned:
            self._arrange()

    # What is remembered.

    def remember(self) -> Mapping[str, Any]:
        """Return filter, order, layout and the pair that is shown."""
        bar = self.query_one(FilterBar)
        return {
            "filter": bar.text,
            "history": list(bar.history),
            "sort": self._sort,
            "listless": self._body.has_class("-listless"),
            "pair": self._table.cursor_key or "",
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take the place back."""
        if kept.get("sort") in SORTS:
            self._sort = str(kept["sort"])
        if isinstance(kept.get("filter"), str):
            self.query_one(FilterBar).set_text(kept["filter"])
        self._body.set_class(kept.get("listless") is True, "-listless")
        self._wanted = str(kept.get("pair") or "")
        self._table.sort = SORTS[self._sort][0]

    def stores(self) -> Iterable[str]:
        """Return the journals of rules and of memory."""
        return ("rules", "memory/")

    # Searching.

    def load(self) -> None:
        """Update the pairs; the first time, and with few rules always, they are searched."""
        self._ask(whole=not self._scanned)

    def action_scan(self) -> None:
        """Search again, and forget the pairs that somebody else settled."""
        self.queue.clear()
        self.bench.log_action(["rules", "conflicts", "list"])
        self._ask(whole=True)

    def _ask(self, *, whole: bool) -> None:
        before, touched = self.queue.ask()
        engine, sources, steps = self.engine, self.sources, dict(self._steps)

        def work(job: Job) -> ScanResult:
            known = [item.pair for item in before.values() if item.waits or item.state is PairState.ALONG]
            scans: dict[PairType, PairScan] = {}
            for of, source in sources.items():
                mine = tuple(pair for pair in known if pair.of is of)
                scans[of] = source.scan(engine, job, PairQuestion(mine, steps.get(of, ""), whole))
            scan = combined(scans.values())
            items = taken(before, touched, scan)
            return ScanResult(scan, items, count(items), {of: one.step for of, one in scans.items()})

        self._table.busy = "searching for conflicts" if whole else ""
        self._search = self.ask(
            "Conflicts", work, self._arrived, group="scan", failed=self._unsearched, stopped=self._cancelled
        )
        if not self._scanned:
            self._show()

    def _arrived(self, found: ScanResult) -> None:
        self._scanned, self._table.busy = True, ""
        first, scan = not self._steps, found.scan
        self._steps, self._counts = found.steps, scan.count
        self.queue.adopt(found.items, scan, found.counts)
        shown = self._wanted or self._table.cursor_key or ""
        self._wanted = shown if not scan.reopened or first else scan.reopened[-1]
        self._wanted = scan.heirs.get(self._wanted, self._wanted)
        self._arrange()
        for note in scan.notes:
            self.say(note)

    def _unsearched(self, failure: Failure) -> None:
        self.bench.report(f"Conflicts: {failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(["rules", "conflicts", "list"], failure.message, failed=True)
        self._gave_up()

    def _cancelled(self) -> None:
        """A search is over that was cancelled, by a person or because a newer one took its place."""
        if self._search is not None and self._search.cancelled:
            self._gave_up()

    def _gave_up(self) -> None:
        """Say what to press; what is known stays."""
        self._table.busy = ""
        self.say("The search did not end: S searches again.")
        self._show()

    # The list.

    @property
    def _table(self) -> VirtualTable:
        return self.query_one("#conflicts-queue", VirtualTable)

    @property
    def _body(self) -> Container:
        return self.query_one(".body", Container)

    @property
    def item(self) -> QueuedPair | None:
        """The pair that is shown."""
        key = self._table.cursor_key
        return None if key is None else self.queue.items.get(key)

    def _arrange(self) -> None:
        """Filter and sort the pairs, very many of them beside the loop."""
        wanted, sort, items = self.query_one(FilterBar).filter, self._sort, dict(self.queue.items)
        if len(items) <= _FEW:
            self._arranged(arranged(items, wanted, sort))
        else:
            work = partial(arranged, items, wanted, sort)
            self.ask("Sorting", lambda job: work(job), self._arranged, group="arrange", quiet=True)

    def _arranged(self, order: Sequence[str]) -> None:
        items = self.queue.items
        self._order = [one for one in order if one in items and items[one].state in LISTED]
        keep = self._wanted or self._table.cursor_key
        self._wanted = ""
        self._list(keep)
        self.query_one(FilterBar).show_count(len(self._order), self.queue.waiting)

    def _list(self, keep: str | None) -> None:
        self._table.set_rows(PairRows(self._order, self.queue.items), keep)
        self._show()

    def _show(self) -> None:
        """Show the pair under the cursor, or what an empty queue says."""
        panel, item = self.query_one(PairPanel), self.item
        if item is not None:
            panel.show(item)
            self._tell_place(item)
        elif not self._scanned:
            panel.show_nothing(unsearched(self._table.busy))
        elif self.queue.waiting and self.query_one(FilterBar).text:
            panel.show_nothing(shown("No pair passes this filter: / changes it, escape there clears it."))
        else:
            panel.show_nothing(empty_queue(self._counts, len(self.queue.settled)))
        self._focus()
        self.refresh_bindings()
        self._badge()

    def _tell_place(self, item: QueuedPair) -> None:
        place = (self._table.cursor + 1, len(self._order))
        self.query_one(PairPanel).show_pair(item, self.queue.progress, place)

    def _focus(self) -> None:
        """Keep the focus on something that is there."""
        focused = self.focused
        if focused is None or not focused.display or not focused.is_on_screen:
            target = self._table if self._table.display else self.query_one("#diff-left")
            if self._table.display or self.item is not None:
                target.focus()

    def _badge(self) -> None:
        waiting = self.queue.waiting
        self.bench.badges[self.section] = f"{waiting:,}" if waiting else ""
        self.query_one(TopBar).refresh()

    @on(VirtualTable.Highlighted, "#conflicts-queue")
    def _highlighted(self, event: VirtualTable.Highlighted) -> None:
        if event.key is None or event.key in self.queue.items:  # else the list is about to be another one
            self._show()

    @on(VirtualTable.Opened, "#conflicts-queue")
    def _opened(self, event: VirtualTable.Opened) -> None:
        if not self.query_one(PairPanel).display:
            self.action_queue()
        self.query_one("#diff-left").focus()

    @on(VirtualTable.SortRequested, "#conflicts-queue")
    def _header(self, event: VirtualTable.SortRequested) -> None:
        found = [name for name, (sort, _) in SORTS.items() if sort[0] == event.column_id]
        if found:
            self._order_by(found[0])

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        if self._scanned:
            self._arrange()

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(FilterBar).open()

    def action_sort(self) -> None:
        """Go to the next order."""
        names = list(SORTS)
        self._order_by(names[(names.index(self._sort) + 1) % len(names)])

    def _order_by(self, name: str) -> None:
        self._sort = name
        self._table.sort = SORTS[name][0]
        self.say(f"ordered by: {name}")
        self._arrange()

    def action_queue(self) -> None:
        """Show the list or the pair alone, where both fit the pair with or without the list."""
        self._body.toggle_class("-listless")
        self.call_after_refresh(self._focus)

    def action_next(self) -> None:
        """Show the next pair."""
        self._table.cursor += 1

    def action_previous(self) -> None:
        """Show the pair before."""
        self._table.cursor -= 1
