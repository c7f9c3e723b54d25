"""The desk of conflicts: a key for each decision about the pair that is shown, and the next one at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from screens.commands.conflicts import CONFLICTS
from screens.commands.model import bindings
from screens.conflicts.decisions import Asking
from screens.conflicts.pair import SHORT, Choice, Of, Side, advised, command_of, command_of_all, in_words
from screens.conflicts.pair_source import COMMANDS, Outcome
from screens.conflicts.queue_screen import QueueScreen
from screens.curation.excerpt import Place, read_place
from screens.jobs import Failure, Job
from screens.widgets.details import Details
from screens.widgets.filter import FilterBar
from workbench.records.conflicts import Action, ConflictKind

_SHOW = {Of.RULE: ("rules", "conflicts", "show"), Of.LEARNING: ("memory", "conflicts")}


@dataclass(frozen=True, slots=True)
class Wish:
    """Choices of one source that are carried out as one step, and where the first one stood in the list.

    `kind` is set where they are all pairs of that kind there are.
    """

    of: Of
    choices: tuple[Choice, ...]
    place: int
    kind: str = ""


class ConflictsScreen(QueueScreen):
    """Settles what repeats or contradicts each other."""

    section: ClassVar[str] = "conflicts"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(CONFLICTS)]

    def __init__(self) -> None:
        super().__init__()
        self._wishes: deque[Wish] = deque()
        self._wish: Wish | None = None
        self._walked = Of.RULE

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
            Asking(self.bench, pair, self._decide).merge(self.desk.drafts.get(pair.id))

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
        kind = "" if marks or self.query_one(FilterBar).text else ConflictKind.EXACT.value
        decide = partial(self._decide_all, kind)
        Asking.all_of(self.bench, [item.pair for item in items if item.waits], bool(marks), decide)

    def _exact(self) -> list[str]:
        return [one for one in self._order if self.desk.items[one].pair.kind is ConflictKind.EXACT]

    def _decide_plainly(self, action: Action) -> None:
        if self.item is not None:
            self._decide(Choice(self.item.pair, action))

    def _decide(self, choice: Choice) -> None:
        """Settle the pair of a choice; the next one shows at once."""
        self._wish_for((choice,))

    def _decide_all(self, kind: str, choices: Sequence[Choice]) -> None:
        for of in self.sources:
            mine = tuple(choice for choice in choices if choice.pair.of is of)
            if mine:
                self._wish_for(mine, kind)
        self._table.set_marks(())

    def _wish_for(self, choices: tuple[Choice, ...], kind: str = "") -> None:
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
        self._wishes.append(Wish(choices[0].pair.of, choices, place, kind))
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
            writes=True,
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
        self.desk.drafts |= {one.pair.id: one.text for one in wish.choices if one.action is Action.MERGE}
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
    pairs = [choice.pair for choice in choices]
    return command_of_all(wish.of, pairs, wish.kind)
