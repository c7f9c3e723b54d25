"""The desk of conflicts: a queue of pairs, one of them laid out to be decided, the next one at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from screens.base import SectionScreen
from screens.chrome.top_bar import TopBar
from screens.commands.conflicts import CONFLICTS
from screens.commands.model import bindings
from screens.conflicts.choosing import Asking
from screens.conflicts.desk import LISTED, Desk, Item, Scan, State, combined, count, taken
from screens.conflicts.learnings_source import LearningSource
from screens.conflicts.listing import COLUMNS, FIELDS, SORTS, PairRows, arranged
from screens.conflicts.pair import SHORT, Choice, Of, Side, advised, command_of, command_of_all, in_words
from screens.conflicts.pair_panel import PairPanel
from screens.conflicts.places import Place, read_place
from screens.conflicts.rules_source import RuleSource
from screens.conflicts.source import COMMANDS, Asked, Outcome, Source
from screens.conflicts.wording import empty_desk, unsearched
from screens.jobs import Failure, Job
from screens.safe_text import shown
from screens.widgets.details import Details
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.records.conflicts import Action

_FEW = 500  # pairs that are filtered and sorted at once
_SHOW = {Of.RULE: ("rules", "conflicts", "show"), Of.LEARNING: ("memory", "conflicts")}


@dataclass(frozen=True, slots=True)
class Wish:
    """Choices of one source that are carried out as one step, and where the first one stood in the list."""

    of: Of
    choices: tuple[Choice, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Found:
    """What asking the engine came to: how pairs stand now, counted, and the newest step of each source."""

    scan: Scan
    items: dict[str, Item]
    counts: tuple[int, int]
    steps: dict[Of, str]


class ConflictsScreen(SectionScreen):
    """Lists what repeats or contradicts each other and settles it, a key for each decision."""

    section: ClassVar[str] = "conflicts"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(CONFLICTS)]
    DEFAULT_CSS = """
    ConflictsScreen {
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
        self.desk = Desk()
        self.sources: Mapping[Of, Source] = {Of.RULE: RuleSource(), Of.LEARNING: LearningSource()}
        self._order: list[str] = []
        self._sort = next(iter(SORTS))
        self._steps: dict[Of, str] = {}
        self._counts = 0
        self._scanned = False
        self._wishes: deque[Wish] = deque()
        self._wish: Wish | None = None
        self._wanted = ""  # the pair to show once it is there
        self._walked = Of.RULE
        self._drafts: dict[str, str] = {}  # texts of merges that were refused, by pair

    def compose_body(self) -> ComposeResult:
        """Lay out the filter, the queue and the pair."""
        with Container(classes="body"):
            yield FilterBar(FIELDS, placeholder="words  !without  kind:exact  file:CLAUDE.md")
            with Container(id="conflicts-body"):
                yield VirtualTable(COLUMNS, empty="No pairs.", id="conflicts-queue")
                yield PairPanel()

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
        """Bring the pairs in step; the first time, and with few rules always, they are searched."""
        self._ask(whole=not self._scanned)

    def action_scan(self) -> None:
        """Search anew, and forget the pairs that somebody else settled."""
        self.desk.clear()
        self.bench.log_action(["rules", "conflicts", "list"])
        self._ask(whole=True)

    def _ask(self, *, whole: bool) -> None:
        before, touched = self.desk.ask()
        engine, sources, steps = self.engine, self.sources, dict(self._steps)

        def work(job: Job) -> Found:
            known = [item.pair for item in before.values() if item.waits or item.state is State.ALONG]
            scans: dict[Of, Scan] = {}
            for of, source in sources.items():
                mine = tuple(pair for pair in known if pair.of is of)
                scans[of] = source.scan(engine, job, Asked(mine, steps.get(of, ""), whole))
            scan = combined(scans.values())
            items = taken(before, touched, scan)
            return Found(scan, items, count(items), {of: one.step for of, one in scans.items()})

        self._table.busy = "searching for conflicts" if whole else ""
        self.ask("Conflicts", work, self._arrived, group="scan", failed=self._unsearched, stopped=self._idle)
        if not self._scanned:
            self._show()

    def _arrived(self, found: Found) -> None:
        self._scanned, self._table.busy = True, ""
        first, scan = not self._steps, found.scan
        self._steps, self._counts = found.steps, scan.count
        self.desk.adopt(found.items, scan, found.counts)
        shown = self._wanted or self._table.cursor_key or ""
        self._wanted = shown if not scan.reopened or first else scan.reopened[-1]
        self._wanted = scan.heirs.get(self._wanted, self._wanted)
        self._drafts = {scan.heirs.get(one, one): text for one, text in self._drafts.items()}
        self._arrange()
        for note in scan.notes:
            self.say(note)

    def _unsearched(self, failure: Failure) -> None:
        self._idle()
        self.bench.tell(f"Conflicts: {failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(["rules", "conflicts", "list"], failure.message, failed=True)

    def _idle(self) -> None:
        """A search was cancelled or failed: what is known stays."""
        if not [job for job in self.bench.jobs.running if job.group == f"{self.section}/scan"]:
            self._table.busy = ""
            self.say("The search did not end; S searches anew.")
            self._show()

    # The list.

    @property
    def _table(self) -> VirtualTable:
        return self.query_one("#conflicts-queue", VirtualTable)

    @property
    def _body(self) -> Container:
        return self.query_one(".body", Container)

    @property
    def item(self) -> Item | None:
        """The pair that is shown."""
        key = self._table.cursor_key
        return None if key is None else self.desk.items.get(key)

    def _arrange(self) -> None:
        """Filter and sort the pairs, very many of them beside the loop."""
        wanted, sort, items = self.query_one(FilterBar).filter, self._sort, dict(self.desk.items)
        if len(items) <= _FEW:
            self._arranged(arranged(items, wanted, sort))
        else:
            work = partial(arranged, items, wanted, sort)
            self.ask("Sorting", lambda job: work(job), self._arranged, group="arrange", quiet=True)

    def _arranged(self, order: Sequence[str]) -> None:
        items = self.desk.items
        self._order = [one for one in order if one in items and items[one].state in LISTED]
        keep = self._wanted or self._table.cursor_key
        self._wanted = ""
        self._list(keep)
        self.query_one(FilterBar).show_count(len(self._order), self.desk.waiting)

    def _list(self, keep: str | None) -> None:
        self._table.set_rows(PairRows(self._order, self.desk.items), keep)
        self._show()

    def _show(self) -> None:
        """Show the pair under the cursor, or what an empty desk says."""
        panel, item = self.query_one(PairPanel), self.item
        if item is not None:
            panel.show(item)
            self._tell_place(item)
        elif not self._scanned:
            panel.show_nothing(unsearched(self._table.busy))
        elif self.desk.waiting and self.query_one(FilterBar).text:
            panel.show_nothing(shown("No pair passes this filter: / changes it, escape there clears it."))
        else:
            panel.show_nothing(empty_desk(self._counts, len(self.desk.settled)))
        self._focus()
        self.refresh_bindings()
        self._badge()

    def _tell_place(self, item: Item) -> None:
        place = (self._table.cursor + 1, len(self._order))
        self.query_one(PairPanel).tell(item, self.desk.progress, place)

    def _focus(self) -> None:
        """Keep the focus on something that is there."""
        focused = self.focused
        if focused is None or not focused.display or not focused.is_on_screen:
            target = self._table if self._table.display else self.query_one("#diff-left")
            if self._table.display or self.item is not None:
                target.focus()

    def _badge(self) -> None:
        waiting = self.desk.waiting
        self.bench.badges[self.section] = f"{waiting:,}" if waiting else ""
        self.query_one(TopBar).refresh()

    @on(VirtualTable.Highlighted, "#conflicts-queue")
    def _highlighted(self, event: VirtualTable.Highlighted) -> None:
        if event.key is None or event.key in self.desk.items:  # else the list is about to be another one
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

    # Deciding.

    def available(self, command_id: str) -> bool | None:
        """Commands about a pair need one that waits."""
        if command_id in ("conflicts.scan", "conflicts.filter", "conflicts.queue", "conflicts.sort"):
            return True
        item = self.item if self.is_mounted else None
        if command_id in _LOOKING:
            return item is not None or None
        if command_id == "conflicts.accept-all":
            return bool(self._order) or None
        return (item is not None and item.waits) or None

    def action_keep_left(self) -> None:
        """Keep the left one."""
        self._decide_plainly(Action.KEEP_LEFT)

    def action_keep_right(self) -> None:
        """Keep the right one."""
        self._decide_plainly(Action.KEEP_RIGHT)

    def action_keep_both(self) -> None:
        """Keep both."""
        self._decide_plainly(Action.KEEP_BOTH)

    def action_accept(self) -> None:
        """Do what is suggested."""
        item = self.item
        if item is None:
            return
        choice = advised(item.pair)
        if choice is None:
            self.action_narrow()
        else:
            self._decide(choice)

    def action_merge(self) -> None:
        """Write one text for both."""
        if self.item is not None:
            pair = self.item.pair
            Asking(self.bench, pair, self._decide).merge(self._drafts.get(pair.id))

    def action_narrow(self) -> None:
        """Ask which side is narrowed, and to what."""
        if self.item is not None:
            Asking(self.bench, self.item.pair, self._decide).narrow()

    def action_supersede(self) -> None:
        """Ask which side gives way."""
        if self.item is not None:
            Asking(self.bench, self.item.pair, self._decide).supersede()

    def action_later(self) -> None:
        """Put the pair off."""
        key = self._table.cursor_key
        if key is None:
            return
        self.desk.put_off(key)
        place = self._order.index(key)
        self._order = [one for one in self._order if one != key] + [key]
        self._list(self._order[min(place, len(self._order) - 1)])

    def action_accept_all(self) -> None:
        """Settle all marked pairs, or all exact duplicates that are listed, as suggested."""
        marks = self._table.marks
        ids = [one for one in self._order if one in marks] if marks else self._exact()
        items = [self.desk.items[one] for one in ids]
        Asking.all_of(self.bench, [item.pair for item in items if item.waits], bool(marks), self._decide_all)

    def _exact(self) -> list[str]:
        return [one for one in self._order if self.desk.items[one].pair.kind.value == "exact"]

    def _decide_plainly(self, action: Action) -> None:
        if self.item is not None:
            self._decide(Choice(self.item.pair, action))

    def _decide(self, choice: Choice) -> None:
        """Settle the pair of a choice; the next one shows at once."""
        self._wish_for((choice,))

    def _decide_all(self, choices: Sequence[Choice]) -> None:
        for of in self.sources:
            mine = tuple(choice for choice in choices if choice.pair.of is of)
            if mine:
                self._wish_for(mine)
        self._table.set_marks(())

    def _wish_for(self, choices: tuple[Choice, ...]) -> None:
        ids = [choice.pair.id for choice in choices]
        if any(one not in self.desk.items or not self.desk.items[one].waits for one in ids):
            self.say("That pair was settled meanwhile.")
            return
        place = self._order.index(ids[0]) if ids[0] in self._order else 0
        gone = set(ids)
        self.desk.begin(ids)
        self._order = [one for one in self._order if one not in gone]
        at = self._order[min(place, len(self._order) - 1)] if self._order else None
        self._list(at)
        self._wishes.append(Wish(choices[0].pair.of, choices, place))
        self._settle_next()

    def _settle_next(self) -> None:
        """Carry out the next wish, one after the other, so that undo goes back in the same order."""
        if self._wish is not None or not self._wishes:
            return
        wish = self._wish = self._wishes.popleft()
        source, engine = self.sources[wish.of], self.engine

        def work(job: Job) -> Outcome:
            return source.settle(engine, job, wish.choices)

        self.ask(
            "Settling",
            work,
            partial(self._settled, wish),
            group="settle",
            failed=partial(self._refused, wish),
            stopped=partial(self._stopped, wish),
        )

    def _settled(self, wish: Wish, outcome: Outcome) -> None:
        done = [choice.pair.id for choice in outcome.done]
        self.desk.finish(done)
        self._give_back(wish, "It could not be settled with the others.", set(done))
        told = self._told(wish, outcome)
        self.say(told)
        if len(wish.choices) > 1:
            self.bench.tell(told)
        self.bench.log_action(_command(wish, outcome.done), told)
        self._walked = wish.of
        self._go_on()

    def _told(self, wish: Wish, outcome: Outcome) -> str:
        told = in_words(outcome.done[0]) if len(wish.choices) == 1 else f"{len(outcome.done):,} settled"
        if outcome.skipped:
            told += f", {len(outcome.skipped):,} left alone: {outcome.skipped[0]}"
        if outcome.behind:
            files = ", ".join(outcome.behind[:3]) + ("…" if len(outcome.behind) > 3 else "")
            verb = "does" if len(outcome.behind) == 1 else "do"
            told += f". {files} {verb} not say so yet: Rules → D shows what is to be written"
        return told

    def _refused(self, wish: Wish, failure: Failure) -> None:
        """The pairs stay; the engine is asked how they stand."""
        self._drafts |= {one.pair.id: one.text for one in wish.choices if one.action is Action.MERGE}
        self._give_back(wish, failure.message, set())
        self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(_command(wish, wish.choices), failure.message, failed=True)
        self._go_on()

    def _stopped(self, wish: Wish) -> None:
        """Cancelled: whether it was written all the same, the engine says."""
        self._give_back(wish, "Settling it was cancelled.", set())
        self._go_on()

    def _give_back(self, wish: Wish, told: str, done: set[str]) -> None:
        ids = [choice.pair.id for choice in wish.choices if choice.pair.id not in done]
        ids = [one for one in ids if one in self.desk.items]
        if ids:
            self.desk.restore(ids, told)
            self._order[wish.place : wish.place] = ids
            self._list(ids[0])

    def _go_on(self) -> None:
        self._wish = None
        self._settle_next()
        self._show()
        if self._wish is None:
            self._ask(whole=False)

    # Undo, and where things come from.

    def undo_with(self) -> tuple[Callable[[Job], str], Callable[[Job], str], str]:
        """Walk the steps of rules and learnings, whichever is the newer one."""
        return partial(self._walk, True), partial(self._walk, False), COMMANDS[self._walked]

    def _walk(self, back: bool, job: Job) -> str:
        at = {of: source.walkable(self.engine, job, back=back) for of, source in self.sources.items()}
        newest = max(self.sources, key=lambda of: at[of])
        title = self.sources[newest].walk(self.engine, job, back=back)
        self._walked = newest
        return title

    def action_open_left(self) -> None:
        """Show where the left one comes from."""
        if self.item is not None:
            self._open(self.item.pair.left)

    def action_open_right(self) -> None:
        """Show where the right one comes from."""
        if self.item is not None:
            self._open(self.item.pair.right)

    def _open(self, side: Side) -> None:
        root = self.engine.root

        def then(place: Place) -> None:
            line = f":{place.lines[0]}" if place.lines[0] else ""
            self.bench.push_screen(
                Details(f"{place.file}{line}", place.text, path=place.file, lines=place.lines)
            )

        self.ask("Opening", lambda job: read_place(root, side), then, quiet=True)

    def action_copy(self) -> None:
        """Put the command line that shows this pair on the clipboard."""
        if self.item is not None:
            pair = self.item.pair
            words = ["workbench", *_SHOW[pair.of], pair.id[:SHORT]]
            self.bench.copy(" ".join(words if pair.of is Of.RULE else words[:-1]), "the command line")


_LOOKING = (
    "conflicts.next",
    "conflicts.previous",
    "conflicts.open-left",
    "conflicts.open-right",
    "conflicts.copy",
)


def _command(wish: Wish, choices: Sequence[Choice]) -> list[str]:
    if len(wish.choices) == 1:
        return command_of(wish.choices[0])
    return command_of_all(wish.of, tuple(choice.pair for choice in choices))
