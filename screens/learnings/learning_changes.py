"""Changes of learnings from their screen: decisions of a key or of a form, each as one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from screens.conflicts.decisions import PairDialogs
from screens.conflicts.pair import PairChoice, command_of, pair_of
from screens.conflicts.pair_source import SettledPairs
from screens.conflicts.record_pairs import LearningPairs, learning_side
from screens.curation.changes import Overtaken, RecordChanges, Refused, ResultT, Saved
from screens.curation.record_form import RecordFields, RecordForm
from screens.curation.walking import UNDOES
from screens.learnings.learning_form import (
    LEARNING_FIELDS,
    add_command,
    decide_command,
    edit_command,
    edit_fields,
    new_fields,
    promote_command,
    promote_fields,
    promote_problems,
    promote_values,
    rule_command,
    rule_fields,
)
from screens.learnings.learning_service import DONE, Decided, LearningWriter, Verb
from screens.widgets.form import FormField
from workbench.memory.learnings.corrections.report import CorrectionReport
from workbench.memory.learnings.review import ReviewItem, conflict_rows
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.text.counts import plural
from workbench.text.sanitize import quote

if TYPE_CHECKING:
    from screens.jobs import Job
    from screens.learnings.learning_list_screen import LearningListScreen
    from workbench.memory.learnings.promotion import Promotion


class LearningChanges(RecordChanges[FeatureLearning]):
    """Changes learnings for their screen.

    `settling` are those on their way to the journal, off the queue meanwhile; `decided` those decided in this
    sitting.
    """

    noun: ClassVar = "learning"

    def __init__(self, screen: LearningListScreen) -> None:
        super().__init__(screen)
        self._screen = screen
        self._drafts: dict[str, str] = {}  # texts of merges that were refused, by pair
        self.settling: set[str] = set()
        self.decided: set[str] = set()

    # What learnings say.

    @property
    def service(self) -> LearningWriter:
        """What changes learnings."""
        return LearningWriter(self._screen.engine)

    @property
    def fields(self) -> RecordFields:
        """How the fields of learnings are called, written and read."""
        return LEARNING_FIELDS

    def form_fields(self, record: FeatureLearning) -> Sequence[FormField]:
        """Return the fields that people decide."""
        return edit_fields(record)

    def edit_command(self, identifier: str, changes: Mapping[str, Any]) -> list[str]:
        """Return the command that makes changes of a learning."""
        return edit_command(identifier, changes)

    def again_commands(self, found: Overtaken[FeatureLearning]) -> list[list[str]]:
        """Return the commands that restore a learning and edit it."""
        return [decide_command("restore", [found.seen.id]), edit_command(found.seen.id, found.changes)]

    def report(
        self, text: str, commands: Sequence[Sequence[str]], saved: Saved[FeatureLearning] | None = None
    ) -> None:
        """Say over the screen what was done; the cursor stays with what is next. An edit is a review."""
        if saved is not None:
            self.decided |= {one.id for one in saved.records}
        self._screen.bench.report(f"{text} · {UNDOES}")
        self._note(text, commands)

    def _note(self, text: str, commands: Sequence[Sequence[str]]) -> None:
        self._screen.say(text)
        for command in commands:
            self._screen.bench.log_action(command, text)
        self._screen.mark_stale()

    # Decisions that need no more than a key.

    def decide(self, verb: Verb, learnings: Sequence[FeatureLearning]) -> None:
        """Accept, reject, retire or restore learnings as one step; the next one shows at once."""
        if not learnings:
            return
        service, words = self.service, {learning.id: learning.text for learning in learnings}
        ids = tuple(words)

        def then(decided: Decided) -> None:
            count = len(decided.done)
            named = quote(words[decided.done[0]]) if count == 1 else plural(count, "learning")
            text = f"{DONE[verb]} {named}"
            if decided.skipped:
                text += f"; {len(decided.skipped):,} left alone: {decided.skipped[0]}"
            if verb != "restore":
                self.decided |= set(decided.done)
            clashing = verb == "accept" and decided.conflicting
            if clashing:
                text += "; it still conflicts with another: S settles that, m merges them"
            aloud = len(ids) > 1 or bool(decided.skipped) or clashing
            (self.report if aloud else self._note)(text, [decide_command(verb, decided.done)])

        def work(job: Job) -> Decided:
            return service.decide(verb, learnings, job)

        self._settle(verb.capitalize(), work, then, ids, decide_command(verb, ids))

    def prune(self) -> None:
        """Take out what may be pruned automatically; it was asked for."""
        command = ["memory", "prune"]

        def then(found: tuple[FeatureLearning, ...]) -> None:
            self.report(f"pruned {plural(len(found), 'learning')}", [command])

        self.step("Pruning", self.service.prune, then, command=command)

    def saved_text(self, seen: FeatureLearning, after: FeatureLearning) -> str:
        """Return what is said of an edit; new words may contradict another learning."""
        more = _contradiction(after) if after.text != seen.text else ""
        return f"saved {quote(after.text)}{more}"

    # Decisions that need words.

    def new(self, feature: str) -> None:
        """Add a learning."""
        service = self.service

        def save(form: RecordForm, values: dict[str, Any]) -> None:
            command = add_command(values)

            def then(made: FeatureLearning) -> None:
                form.close_saved()
                self._screen.go_to(made.id)
                self.report(f"added {quote(made.text)}{_contradiction(made)}", [command])

            def work(job: Job) -> FeatureLearning:
                return service.add(values, job)

            self.step("Adding", work, then, command=command, refused=form.show_refusal)

        self._open("New learning", new_fields(feature), save, new=True)

    def promote(self, one: FeatureLearning) -> None:
        """Make a rule of a learning, in a form that has what it would say."""
        service = self.service

        def save(form: RecordForm, fields: dict[str, Any]) -> None:
            command = promote_command(one.id, one.text, fields)

            def then(made: Promotion) -> None:
                form.close_saved()
                self.decided.add(one.id)
                whose = "your own rules" if made.rule.project_id is None else "the rules of this project"
                text = f"{quote(one.text)} is a rule now, among {whose}"
                self.report(text, [command])

            def work(job: Job) -> Promotion:
                return service.promote(one, fields, job)

            self._settle("Promoting", work, then, (one.id,), command, form.show_refusal)

        self._open_rule("Make a rule of the learning", promote_fields(one), save)

    def rule_of(self, one: CorrectionReport) -> None:
        """Make a rule of a correction that was given too seldom to be learned, in the same form."""
        service, said = self.service, " ".join(one.said[-1].quote.split())

        def save(form: RecordForm, fields: dict[str, Any]) -> None:
            given = {**fields, "reason": fields["reason"] or f"said in a prompt: {said}"}
            command = rule_command(given)

            def then(rule: Rule) -> None:
                form.close_saved()
                text = f"added {quote(rule.rule)}; u among the rules takes it back"
                self._screen.bench.report(text)
                self._note(text, [command])

            def work(job: Job) -> Rule:
                return service.add_rule(given, job)

            self.step("Adding", work, then, command=command, refused=form.show_refusal)

        self._open_rule("Make a rule of a correction", rule_fields(one.text), save)

    def merge(self, item: ReviewItem) -> None:
        """Merge a learning with the one it conflicts with, in three panes."""
        if item.conflict is None:
            return
        records = [item.conflict.left, *([] if item.conflict.concurrent else [item.conflict.right])]
        sides = {one.id: learning_side(one) for one in records}
        pair = pair_of(conflict_rows([item.conflict])[0], sides)
        engine, source = self._screen.engine, LearningPairs()

        def decided(choice: PairChoice) -> None:
            def then(outcome: SettledPairs) -> None:
                self.decided.add(item.learning.id)
                self._screen.go_to(pair.left.id)
                self.report(f"merged into {quote(choice.text)}", [command_of(choice)])

            def refused(message: str, hint: str) -> None:
                self._drafts[pair.id] = choice.text
                self.report_refused(f"{message}. Your text is kept: m continues with it.", hint)

            def work(job: Job) -> SettledPairs:
                return source.settle(engine, job, [choice])

            self._settle("Merging", work, then, (item.learning.id,), command_of(choice), refused)

        PairDialogs(self._screen.bench, pair, decided).merge(self._drafts.pop(pair.id, None))

    def _open_rule(
        self, title: str, fields: Sequence[FormField], save: Callable[[RecordForm, dict[str, Any]], None]
    ) -> None:
        form = RecordForm(title, fields, save, validate=promote_problems, convert=promote_values, new=True)
        self._screen.app.push_screen(form)

    # Steps.

    def _settle(
        self,
        name: str,
        work: Callable[[Job], ResultT],
        then: Callable[[ResultT], None],
        ids: Sequence[str],
        command: Sequence[str],
        refused: Refused | None = None,
    ) -> None:
        """Carry out a step about learnings that are off the queue meanwhile."""
        self.settling |= set(ids)
        self._screen.settling_changed()

        def returned() -> None:
            self.settling -= set(ids)
            self._screen.mark_stale()

        self.step(name, work, then, command=command, refused=refused, returned=returned)

    def clear_settling(self) -> None:
        """The journals were read after all steps: what they say is current."""
        if self.steps.idle.is_set():
            self.settling.clear()


def _contradiction(learning: FeatureLearning) -> str:
    return "; it contradicts another: S settles that" if learning.conflicts_with else ""
