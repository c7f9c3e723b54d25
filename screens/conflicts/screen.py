"""The review screen of conflicts: a key for each decision about a pair, and the next one at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from screens.commands import bindings
from screens.conflicts.decisions import PairDialogs
from screens.conflicts.pair import (
    SHORT,
    PairChoice,
    PairSide,
    PairType,
    advised,
    command_of,
    command_of_all,
    in_words,
)
from screens.conflicts.pair_source import COMMANDS, SettledPairs
from screens.conflicts.queue_screen import QueueScreen
from screens.curation.excerpt import Excerpt, excerpt_view, read_excerpt
from screens.curation.steps import StepQueue
from screens.jobs import Failure, Job
from screens.widgets.filter import FilterBar
from workbench.errors import UsageError
from workbench.records.conflicts import Action, ConflictKind

_SHOW = {PairType.RULE: ("rules", "conflicts", "show"), PairType.LEARNING: ("memory", "conflicts")}


@dataclass(frozen=True, slots=True)
class PairStep:
    """Choices of one source that are carried out as one step, and where the first one was in the list.

    `kind` is set where they are all pairs of that kind there are.
    """

    of: PairType
    choices: tuple[PairChoice, ...]
    place: int
    kind: str = ""


class ConflictsScreen(QueueScreen):
    """Settles what repeats or contradicts each other."""

    section: ClassVar[str] = "conflicts"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("conflicts")]

    def __init__(self) -> None:
        super().__init__()
        self.steps = StepQueue(self, self._step_ended)
        self._walked = PairType.RULE

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
            PairDialogs(self.bench, pair, self._decide).merge(self.queue.drafts.get(pair.id))

    def action_narrow(self) -> None:
        """Ask which side is narrowed, and to what."""
        if self.item is not None:
            PairDialogs(self.bench, self.item.pair, self._decide).narrow()

    def action_supersede(self) -> None:
        """Ask which side is superseded."""
        if self.item is not None:
            PairDialogs(self.bench, self.item.pair, self._decide).supersede()

    def action_later(self) -> None:
        """Put the pair off."""
        key = self._table.cursor_key
        if key is None:
            return
        self.queue.put_off(key)
        place = self._order.index(key)
        self._order = [one for one in self._order if one != key] + [key]
        self._list(self._order[min(place, len(self._order) - 1)])

    def action_accept_all(self) -> None:
        """Settle all marked pairs, or all exact duplicates that are listed, as suggested."""
        marks = self._table.marks
        ids = [one for one in self._order if one in marks] if marks else self._exact()
        items = [self.queue.items[one] for one in ids]
        kind = "" if marks or self.query_one(FilterBar).text else ConflictKind.EXACT.value
        decide = partial(self._decide_all, kind)
        PairDialogs.all_of(self.bench, [item.pair for item in items if item.waits], bool(marks), decide)

    def _exact(self) -> list[str]:
        return [one for one in self._order if self.queue.items[one].pair.kind is ConflictKind.EXACT]

    def _decide_plainly(self, action: Action) -> None:
        if self.item is not None:
            self._decide(PairChoice(self.item.pair, action))

    def _decide(self, choice: PairChoice) -> None:
        """Settle the pair of a choice; the next one shows at once."""
        self._submit((choice,))

    def _decide_all(self, kind: str, choices: Sequence[PairChoice]) -> None:
        for of in self.sources:
            mine = tuple(choice for choice in choices if choice.pair.of is of)
            if mine:
                self._submit(mine, kind)
        self._table.set_marks(())

    def _submit(self, choices: tuple[PairChoice, ...], kind: str = "") -> None:
        ids = [choice.pair.id for choice in choices]
        if any(one not in self.queue.items or not self.queue.items[one].waits for one in ids):
            self.say("That pair was settled meanwhile.")
            return
        place = self._order.index(ids[0]) if ids[0] in self._order else 0
        gone = set(ids)
        self.queue.begin(ids)
        self._order = [one for one in self._order if one not in gone]
        at = self._order[min(place, len(self._order) - 1)] if self._order else None
        self._list(at)
        step = PairStep(choices[0].pair.of, choices, place, kind)
        source, engine = self.sources[step.of], self.engine
        self.steps.submit(
            "Settling",
            lambda job: source.settle(engine, job, choices),
            partial(self._settled, step),
            failed=partial(self._refused, step),
            stopped=partial(self._give_back, step, "Settling it was cancelled.", set()),
        )

    def _settled(self, step: PairStep, outcome: SettledPairs) -> None:
        done = [choice.pair.id for choice in outcome.done]
        self.queue.finish(done)
        self._give_back(step, "It could not be settled with the others.", set(done))
        text = self._outcome_text(step, outcome)
        self.say(text)
        if len(step.choices) > 1:
            self.bench.report(text)
        self.bench.log_action(_command(step, outcome.done), text)
        self._walked = step.of

    def _outcome_text(self, step: PairStep, outcome: SettledPairs) -> str:
        text = in_words(outcome.done[0]) if len(step.choices) == 1 else f"{len(outcome.done):,} settled"
        if outcome.skipped:
            text += f", {len(outcome.skipped):,} left alone: {outcome.skipped[0]}"
        if outcome.outdated:
            files = ", ".join(outcome.outdated[:3]) + ("…" if len(outcome.outdated) > 3 else "")
            verb = "is" if len(outcome.outdated) == 1 else "are"
            text += f". {files} {verb} out of date: Rules → D shows what is to be written"
        return text

    def _refused(self, step: PairStep, failure: Failure) -> None:
        """The pairs stay; the engine is asked again."""
        self.queue.drafts |= {one.pair.id: one.text for one in step.choices if one.action is Action.MERGE}
        self._give_back(step, failure.message, set())
        self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(_command(step, step.choices), failure.message, failed=True)

    def _give_back(self, step: PairStep, reason: str, done: set[str]) -> None:
        ids = [choice.pair.id for choice in step.choices if choice.pair.id not in done]
        ids = [one for one in ids if one in self.queue.items]
        if ids:
            self.queue.restore(ids, reason)
            self._order[step.place : step.place] = ids
            self._list(ids[0])

    def _step_ended(self) -> None:
        self._show()
        if self.steps.idle.is_set():
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

    def _open(self, side: PairSide) -> None:
        root = self.engine.root

        def work(job: Job) -> Excerpt:
            if not side.file:
                raise UsageError(f"{side.where}: no file is behind it", hint="Its facts are in the evidence.")
            return read_excerpt(root, side.file, side.lines)

        def then(found: Excerpt) -> None:
            self.bench.push_screen(excerpt_view(found))

        self.ask("Opening", work, then, quiet=True)

    def action_copy(self) -> None:
        """Put the command line that shows this pair on the clipboard."""
        if self.item is not None:
            pair = self.item.pair
            words = ["workbench", *_SHOW[pair.of], pair.id[:SHORT]]
            self.bench.copy(" ".join(words if pair.of is PairType.RULE else words[:-1]), "the command line")


_LOOKING = (
    "conflicts.next",
    "conflicts.previous",
    "conflicts.open-left",
    "conflicts.open-right",
    "conflicts.copy",
)


def _command(step: PairStep, choices: Sequence[PairChoice]) -> list[str]:
    if len(step.choices) == 1:
        return command_of(step.choices[0])
    pairs = [choice.pair for choice in choices]
    return command_of_all(step.of, pairs, step.kind)
