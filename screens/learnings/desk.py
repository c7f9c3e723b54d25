"""The desk: what is asked before learnings change, the change as one step in a job, and what is said of it.

Steps are carried out one after the other in the order they were asked for, so that undo goes back the same
way; the screen shows the next learning meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from screens.conflicts.decisions import Asking
from screens.conflicts.learning_pairs import LearningSource, pair_of
from screens.conflicts.pair import Choice, command_of
from screens.conflicts.pair_source import Outcome
from screens.curation.overtaken import OvertakenRecord, field_merges
from screens.curation.record_form import RecordForm
from screens.jobs import Failure, Job
from screens.learnings.learning_form import (
    LABELS,
    OWNER,
    SHORT,
    WORDING,
    add_command,
    decide_command,
    edit_command,
    edit_fields,
    new_fields,
    problems,
    promote_command,
    promote_fields,
    promote_problems,
    promote_values,
    record_values,
    rule_command,
    rule_fields,
)
from screens.learnings.learning_service import (
    DONE,
    Decided,
    Overtaken,
    Verb,
    decide,
    promote,
    prune,
    save_edit,
    save_new,
    save_rule,
)
from screens.widgets.confirm import Confirm
from workbench.memory.learnings.heard import Heard
from workbench.memory.learnings.reviewing import ReviewItem
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.text.counts import counted

if TYPE_CHECKING:
    from screens.learnings.screen import LearningsScreen

Refused = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """Something to be done: in a job, and with what it came to. `ids` are off the queue meanwhile."""

    name: str
    work: Callable[[Job], Any]
    then: Callable[[Any], None]
    command: Sequence[str]
    ids: tuple[str, ...] = ()
    refused: Refused | None = None


class Desk:
    """Changes learnings for the screen.

    `settling` are those on their way to the journal, `decided` those decided in this sitting. `idle` is set
    while nothing is on its way.
    """

    def __init__(self, screen: LearningsScreen) -> None:
        self._screen = screen
        self._steps: deque[Step] = deque()
        self._step: Step | None = None
        self._drafts: dict[str, str] = {}  # texts of merges that were refused, by pair
        self.settling: set[str] = set()
        self.decided: set[str] = set()
        self.idle = Event()
        self.idle.set()

    # Decisions that need no more than a key.

    def decide(self, verb: Verb, learnings: Sequence[FeatureLearning]) -> None:
        """Accept, reject, retire or restore learnings as one step; the next one shows at once."""
        if not learnings:
            return
        ids = tuple(one.id for one in learnings)
        command = decide_command(verb, ids)

        def then(decided: Decided) -> None:
            count = len(decided.done)
            named = decided.done[0][:SHORT] if count == 1 else counted(count, "learning")
            told = f"{DONE[verb]} {named}"
            if decided.skipped:
                told += f"; {len(decided.skipped):,} left alone: {decided.skipped[0]}"
            if verb != "restore":
                self.decided |= set(decided.done)
            clashing = verb == "accept" and any(self._screen.collides(one) for one in decided.done)
            if clashing:
                told += "; it still collides with another: c settles that, m merges them"
            self._did(
                told,
                decide_command(verb, decided.done),
                aloud=len(ids) > 1 or bool(decided.skipped) or clashing,
            )

        work = partial(decide, self._engine, verb, tuple(learnings))
        self._ask(Step(verb.capitalize(), work, then, command, ids))

    # Decisions that need words.

    def edit(self, one: FeatureLearning) -> None:
        """Edit a learning in a form."""
        form = RecordForm(
            f"Edit {one.id[:SHORT]}",
            edit_fields(one),
            lambda form, changes: self._save(one, changes, form),
            validate=problems,
            convert=record_values,
        )
        self._screen.app.push_screen(form)

    def new(self, feature: str) -> None:
        """Add a learning."""

        def save(form: RecordForm, values: Mapping[str, Any]) -> None:
            def then(made: FeatureLearning) -> None:
                form.done()
                against = made.conflicts_with
                more = f"; it contradicts {against[0][:SHORT]}: c settles that" if against else ""
                self._screen.go_to(made.id)
                self._did(f"added {made.id[:SHORT]}{more}", command, aloud=True)

            command = add_command(values)
            self._ask(
                Step("Adding", partial(save_new, self._engine, values), then, command, (), form.refused)
            )

        self._screen.app.push_screen(
            RecordForm(
                "New learning",
                new_fields(feature),
                save,
                validate=problems,
                convert=lambda values: {**record_values(values), OWNER: values[OWNER]},
                new=True,
            )
        )

    def promote(self, one: FeatureLearning) -> None:
        """Make a rule of a learning, in a form that has what it would say."""

        def save(form: RecordForm, fields: Mapping[str, Any]) -> None:
            def then(made: Any) -> None:
                form.done()
                self.decided.add(one.id)
                whose = "your own rules" if made.rule.project_id is None else "the rules of this project"
                told = f"{one.id[:SHORT]} is {made.rule.id[:13]} now, among {whose}; u takes back both"
                self._did(told, command, aloud=True)

            command = promote_command(one.id, one.text, fields)
            work = partial(promote, self._engine, one, fields)
            self._ask(Step("Promoting", work, then, command, (one.id,), form.refused))

        self._screen.app.push_screen(
            RecordForm(
                f"Make a rule of {one.id[:SHORT]}",
                promote_fields(one),
                save,
                validate=promote_problems,
                convert=promote_values,
                new=True,
            )
        )

    def rule_of(self, one: Heard) -> None:
        """Make a rule of what was said too seldom to be learned, in the same form."""
        quote = " ".join(one.said[-1].quote.split())

        def save(form: RecordForm, fields: Mapping[str, Any]) -> None:
            given = {**fields, "reason": fields["reason"] or f"said in a prompt: {quote}"}
            command = rule_command(given)

            def then(rule: Rule) -> None:
                form.done()
                self._did(f"added {rule.id[:13]}; u among the rules takes it back", command, aloud=True)

            work = partial(save_rule, self._engine, given)
            self._ask(Step("Adding", work, then, command, (), form.refused))

        self._screen.app.push_screen(
            RecordForm(
                "Make a rule of what was said",
                rule_fields(one.text),
                save,
                validate=promote_problems,
                convert=promote_values,
                new=True,
            )
        )

    def merge(self, item: ReviewItem) -> None:
        """Merge a learning with the one it collides with, in three panes."""
        if item.conflict is None:
            return
        source = LearningSource()

        def decided(choice: Choice) -> None:
            def then(outcome: Outcome) -> None:
                self.decided.add(item.learning.id)
                self._screen.go_to(choice.pair.left.id)
                self._did(f"merged into {choice.pair.left.id[:SHORT]}", command_of(choice), aloud=True)

            def work(job: Job) -> Outcome:
                return source.settle(self._engine, job, [choice])

            def refused(message: str, hint: str) -> None:
                self._drafts[choice.pair.id] = choice.text
                told = f"{message}. Your text is kept: m goes on with it.\n{hint}"
                self._bench.tell(told.strip(), severity="error")

            self._ask(Step("Merging", work, then, command_of(choice), (item.learning.id,), refused))

        pair = pair_of(item.conflict)
        Asking(self._screen.bench, pair, decided).merge(self._drafts.pop(pair.id, None))

    def prune(self) -> None:
        """Take out what may go by itself; it was asked for."""

        def then(found: tuple[FeatureLearning, ...]) -> None:
            self._did(
                f"pruned {counted(len(found), 'learning')}; u takes it back", ["memory", "prune"], aloud=True
            )

        self._ask(Step("Pruning", partial(prune, self._engine), then, ["memory", "prune"]))

    # How it works.

    @property
    def _bench(self) -> Any:
        return self._screen.bench

    @property
    def _engine(self) -> Any:
        return self._screen.engine

    def _save(self, seen: FeatureLearning, changes: Mapping[str, Any], form: RecordForm) -> None:
        """Save an edit; what others did meanwhile is shown first."""

        def then(saved: FeatureLearning | Overtaken) -> None:
            if isinstance(saved, Overtaken):
                self._overtaken(saved, form)
                return
            form.done()
            self._did(f"saved {saved.id[:SHORT]}", edit_command(seen.id, changes), aloud=True)

        work = partial(save_edit, self._engine, seen, changes)
        self._ask(Step("Saving", work, then, edit_command(seen.id, changes), (), form.refused))

    def _overtaken(self, found: Overtaken, form: RecordForm) -> None:
        form.refused("the learning was changed by somebody else meanwhile: nothing was saved")
        now = found.now
        if now is None:
            body = (
                "Somebody else took it out while you edited it. R brings it back; what you wrote stays here."
            )
            self._screen.app.push_screen(
                Confirm("The learning was taken out meanwhile", body, yes="Good", no="Back")
            )
            self._screen.mark_stale()
            return

        def merged(changes: dict[str, Any] | None) -> None:
            if changes is None:
                self._bench.tell("Nothing was saved. What you wrote is kept.", severity="warning")
            elif changes:
                self._save(now, changes, form)
            else:
                form.done()
                self._bench.tell("theirs holds; nothing was changed")
                self._screen.mark_stale()

        merges = field_merges(LABELS, found.seen, now, found.changes)
        self._screen.app.push_screen(OvertakenRecord(now.id[:SHORT], merges, WORDING), merged)

    def _ask(self, step: Step) -> None:
        self.settling |= set(step.ids)
        self._steps.append(step)
        self.idle.clear()
        self._screen.settling_changed()
        self._next()

    def _next(self) -> None:
        if self._step is not None or not self._steps:
            return
        step = self._step = self._steps.popleft()
        self._screen.ask(
            step.name,
            step.work,
            partial(self._over, step),
            group="step",
            writes=True,
            failed=partial(self._failed, step),
            stopped=partial(self._stopped, step),
        )

    def _over(self, step: Step, result: Any) -> None:
        step.then(result)
        self._go_on()

    def _failed(self, step: Step, failure: Failure) -> None:
        """The learnings come back to the queue; why is said in the form, or in a toast."""
        if step.refused is not None:
            step.refused(failure.message, failure.hint)
        else:
            self._bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self._bench.log_action(step.command, failure.details or failure.message, failed=True)
        self._give_back(step)

    def _stopped(self, step: Step) -> None:
        """Cancelled: whether it was written all the same, the journals say."""
        if step.refused is not None:
            step.refused("It was cancelled.", "")
        self._give_back(step)

    def _give_back(self, step: Step) -> None:
        self.settling -= set(step.ids)
        self._screen.mark_stale()
        self._go_on()

    def _go_on(self) -> None:
        self._step = None
        self._next()
        if self._step is None:
            self.idle.set()

    def settled(self) -> None:
        """The journals were read after all steps: what they say holds."""
        if self._step is None and not self._steps:
            self.settling.clear()

    def _did(self, told: str, command: Sequence[str], *, aloud: bool) -> None:
        self._screen.say(told)
        if aloud:
            self._bench.tell(told)
        self._bench.log_action(command, told)
        self._screen.mark_stale()
