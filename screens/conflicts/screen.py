"""The review screen of conflicts: a key for each decision about a pair, and the next one at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from screens.commands import bindings, key_of
from screens.conflicts.decisions import PairDialogs
from screens.conflicts.pair import (
    SHORT,
    PairChoice,
    PairSide,
    PairType,
    RecordPair,
    command_of,
    command_of_all,
    in_words,
    suggested_choice,
)
from screens.conflicts.pair_source import COMMANDS, SettledPairs, WalkedPairs
from screens.conflicts.queue import QueuedPair
from screens.conflicts.queue_screen import QueueScreen
from screens.curation.excerpt import Excerpt, excerpt_view, read_excerpt
from screens.curation.steps import StepQueue
from screens.curation.walking import UNDOES
from screens.jobs import Failure, Job
from screens.undo import Undo
from screens.widgets.window_rows import WindowRows, place_of
from workbench.errors import UsageError
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import row_number
from workbench.records.conflicts import Action, ConflictKind

_BATCH = 1_000  # pairs that are read at once
_EXACT = Facet("kind", (ConflictKind.EXACT.value,))
_SHOW = {
    PairType.RULE: ("rules", "conflicts", "show"),
    PairType.LEARNING: ("memory", "conflicts"),
    PairType.SEGMENT: ("stash", "conflicts"),
}


@dataclass(frozen=True, slots=True)
class PairStep:
    """Choices of one source, carried out as one step, and the rows that were listed before it.

    `kind` is set where they are all pairs of that kind there are.
    """

    of: PairType
    choices: tuple[PairChoice, ...]
    rows: WindowRows[QueuedPair]
    kind: str = ""


class ConflictsScreen(QueueScreen):
    """Settles what repeats or contradicts each other."""

    section: ClassVar[str] = "conflicts"
    curates = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("conflicts")]

    def __init__(self) -> None:
        super().__init__()
        self.steps = StepQueue(self, self._step_ended)
        self._walked = PairType.RULE

    # Deciding.

    def available(self, command_id: str) -> bool | None:
        """Commands about a pair need one that waits; what a row is that is not there yet is seen then."""
        if command_id in _ALWAYS:
            return True
        there = self.is_mounted and self.table.count > 0
        if command_id in _LOOKING or command_id == "conflicts.accept-all":
            return there or None
        item = self.item if there else None
        if item is not None and command_id in _OFFERED and _OFFERED[command_id] not in item.pair.actions:
            return None
        return (there and (item is None or item.waits)) or None

    def with_waiting(self, then: Callable[[RecordPair], None], action: Action | None = None) -> None:
        """Hand over the pair under the cursor if it waits and an action is one for it."""

        def found(item: QueuedPair) -> None:
            if action is not None and action not in item.pair.actions:
                name = action.value.replace("_", " ")
                self.say(
                    "One of the two was removed: keep one of them."
                    if action is Action.MERGE
                    else f"{name} is for two records, these are versions of one."
                )
            elif item.waits and item.pair.id not in self.queue.away:
                then(item.pair)

        self.with_current(found)

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

        def accept(pair: RecordPair) -> None:
            choice = suggested_choice(pair)
            if choice is None:
                self._dialogs(pair).narrow()
            else:
                self._decide(choice)

        self.with_waiting(accept)

    def action_merge(self) -> None:
        """Write one text for both; of a segment, whose text never changes, keep what both changed."""

        def merge(pair: RecordPair) -> None:
            if pair.of is PairType.SEGMENT:
                self._decide(PairChoice(pair, Action.MERGE))
            else:
                self._dialogs(pair).merge(self.queue.drafts.get(pair.id))

        self.with_waiting(merge, Action.MERGE)

    def action_narrow(self) -> None:
        """Ask which side is narrowed, and to what."""
        self.with_waiting(lambda pair: self._dialogs(pair).narrow(), Action.NARROW_SCOPE)

    def action_supersede(self) -> None:
        """Ask which side is superseded."""
        self.with_waiting(lambda pair: self._dialogs(pair).supersede(), Action.SUPERSEDE)

    def action_later(self) -> None:
        """Put the pair off."""

        def put_off(pair: RecordPair) -> None:
            self.queue.later.add(pair.id)
            if rows := self.rows:
                self.show_rows(rows.without((), put_last=(row_number(pair.id),)), self.table.cursor)
            self.list_rows()

        self.with_waiting(put_off)

    def action_accept_all(self) -> None:
        """Settle all marked pairs, or all exact duplicates that are listed, as suggested."""
        marks, rows, query = self.table.marks, self.rows, self.asked
        seen = rows.rows_of(marks) if rows else {}
        kind = "" if marks or self.bar.text else ConflictKind.EXACT.value
        if not marks:
            query = replace(query, filter=Filter((*query.filter.terms, _EXACT)))

        def work(job: Job) -> list[RecordPair]:
            table = self.table_of(job)
            numbers: list[int] = table.order(query).numbers.tolist()
            if marks:
                wanted = set(map(row_number, marks))
                numbers = [number for number in numbers if number in wanted]
            found: dict[int, QueuedPair] = {}
            for start in range(0, len(numbers), _BATCH):
                job.check()
                found |= self.read_rows(table, numbers[start : start + _BATCH])
            items = [found[number] for number in numbers if number in found]
            return [seen.get(item.pair.id, item).pair for item in items if item.waits]

        def then(pairs: Sequence[RecordPair]) -> None:
            PairDialogs.all_of(self.bench, pairs, bool(marks), partial(self._decide_all, kind))

        self.ask("Reading", work, then, leads=True)

    def _dialogs(self, pair: RecordPair) -> PairDialogs:
        return PairDialogs(self.bench, pair, self._decide)

    def _decide_plainly(self, action: Action) -> None:
        self.with_waiting(lambda pair: self._decide(PairChoice(pair, action)), action)

    def _decide(self, choice: PairChoice) -> None:
        """Settle the pair of a choice; the next one shows at once."""
        self._submit((choice,))

    def _decide_all(self, kind: str, choices: Sequence[PairChoice]) -> None:
        for of in self.sources:
            mine = tuple(choice for choice in choices if choice.pair.of is of)
            if mine:
                self._submit(mine, kind)
        self.table.set_marks(())

    def _submit(self, choices: tuple[PairChoice, ...], kind: str = "") -> None:
        ids = {choice.pair.id for choice in choices}
        if ids & self.queue.away:
            self.say("That pair was settled meanwhile.")
            return
        if (rows := self.rows) is None:
            return
        self.queue.begin(ids)
        self.show_rows(rows, self.table.cursor)
        step = PairStep(choices[0].pair.of, choices, rows, kind)
        source, engine = self.sources[step.of], self.engine
        self.steps.submit(
            "Settling",
            lambda job: source.settle(engine, job, choices),
            partial(self._finish_step, step),
            failed=partial(self._return_pairs, step),
            stopped=partial(self._give_back, step, "Settling it was cancelled.", set()),
        )

    def _finish_step(self, step: PairStep, outcome: SettledPairs) -> None:
        done = [choice.pair for choice in outcome.done]
        self.queue.finish(done)
        self._give_back(step, "It could not be settled with the others.", {pair.id for pair in done})
        text = self._outcome_text(step, outcome)
        self.say(f"{text} · {UNDOES}")
        if len(step.choices) > 1:
            self.bench.report(f"{text} · {UNDOES}")
        self.bench.log_action(_command(step, outcome.done), text)
        self._walked = step.of

    def _outcome_text(self, step: PairStep, outcome: SettledPairs) -> str:
        text = in_words(outcome.done[0]) if len(step.choices) == 1 else f"{len(outcome.done):,} settled"
        if outcome.skipped:
            text += f", {len(outcome.skipped):,} left alone: {outcome.skipped[0]}"
        if outcome.outdated:
            files = ", ".join(outcome.outdated[:3]) + ("…" if len(outcome.outdated) > 3 else "")
            text += f" · {key_of('app.rules')} then {key_of('rules.drift')} writes {files}"
        return text

    def _return_pairs(self, step: PairStep, failure: Failure) -> None:
        """The pairs stay; the engine is asked again."""
        merged = [one for one in step.choices if one.action is Action.MERGE]
        self.queue.drafts |= {one.pair.id: one.text for one in merged}
        self._give_back(step, failure.message, set())
        kept = "" if all(one.suggested for one in merged) else "What you wrote is in the log (0)."
        self.bench.report("\n".join(filter(None, (failure.message, failure.hint, kept))), severity="error")
        self.bench.log_action(_command(step, step.choices), failure.message, failed=True)

    def _give_back(self, step: PairStep, reason: str, done: set[str]) -> None:
        ids = [choice.pair.id for choice in step.choices if choice.pair.id not in done]
        if ids:
            self.queue.restore(ids, reason)
            self.goal = ids[0]
            place = place_of(step.rows.numbers, row_number(ids[0]))
            self.show_rows(step.rows, self.table.cursor if place is None else place)

    def _step_ended(self) -> None:
        if self.steps.idle.is_set():
            self.load()
        else:
            self.list_rows()

    # Undo, and where things come from.

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Walk the steps of rules, learnings and settled segments, whichever is the newest one."""
        return self._undo, self._redo, COMMANDS[self._walked]

    def _undo(self, job: Job, step: str = "") -> str:
        if not step:  # one that was agreed to is of the source that was asked
            self._find_newest(job, back=True)
        walked = self.sources[self._walked].undo(self.engine, job, step, began=self.bench.began)
        self.app.call_from_thread(self._take_walk, walked)
        return walked.title

    def _redo(self, job: Job) -> str:
        self._find_newest(job, back=False)
        walked = self.sources[self._walked].redo(self.engine, job)
        self.app.call_from_thread(self._take_walk, walked)
        return walked.title

    def _find_newest(self, job: Job, *, back: bool) -> None:
        at = {of: source.walkable(self.engine, job, back=back) for of, source in self.sources.items()}
        self._walked = max(self.sources, key=lambda of: at[of])

    def _take_walk(self, walked: WalkedPairs) -> None:
        """What was settled again was settled here; of what waits again the last is shown."""
        for item in walked.redone:
            self.queue.finish_again(item.id, (item.left, item.right))
        if walked.reopened:
            self.goal = walked.reopened[-1]

    def action_open_left(self) -> None:
        """Show where the left one comes from."""
        self.with_current(lambda item: self._open(item.pair.left))

    def action_open_right(self) -> None:
        """Show where the right one comes from."""
        self.with_current(lambda item: self._open(item.pair.right))

    def _open(self, side: PairSide) -> None:
        root = self.engine.root

        def work(job: Job) -> Excerpt:
            if not side.file:
                raise UsageError(f"{side.where}: no file is behind it", hint="Its facts are in the evidence.")
            return read_excerpt(root, side.file, side.lines)

        def then(found: Excerpt) -> None:
            self.bench.push_screen(excerpt_view(found))

        self.ask("Opening", work, then, quiet=True, leads=True)

    def action_copy(self) -> None:
        """Put the command line that shows this pair on the clipboard."""

        def copy(item: QueuedPair) -> None:
            words = ["workbench", *_SHOW[item.pair.of], item.pair.id[:SHORT]]
            command = " ".join(words if item.pair.of is PairType.RULE else words[:-1])
            self.bench.copy(command, "the command line")

        self.with_current(copy)


_ALWAYS = tuple(f"conflicts.{name}" for name in "scan filter facets queue sort list".split())
_OFFERED = {
    "conflicts.keep-both": Action.KEEP_BOTH,
    "conflicts.merge": Action.MERGE,
    "conflicts.narrow": Action.NARROW_SCOPE,
    "conflicts.supersede": Action.SUPERSEDE,
}
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
