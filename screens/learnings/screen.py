"""The learnings: a key for each decision, and what else can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import BindingType

from screens.commands import bindings
from screens.curation.excerpt import Excerpt, excerpt_view
from screens.jobs import Job
from screens.learnings.audit import AuditView, JunkAudit, request_audit
from screens.learnings.learning_list_screen import LearningListScreen
from screens.learnings.learning_service import LearningStory, Verb, story
from screens.learnings.origins import LearningOrigin, origins, read_origin
from screens.learnings.preview import PromptPreview
from screens.learnings.sources import (
    CorrectionsView,
    IterationsView,
    learning_of,
    read_corrections,
    read_iterations,
)
from screens.widgets.dialogs import Choose, DialogChoice
from workbench.lists.tables import ListQuery
from workbench.memory.learnings.corrections.report import CorrectionReport
from workbench.memory.learnings.review import ReviewItem, Why
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import plural

_ALWAYS: Final = frozenset(
    "new view filter facets sort reverse audit corrections iterations prompt list".split()
)

if TYPE_CHECKING:
    from screens.undo import Undo
    from workbench.entry.services.memory import RememberedIterations


class LearningsScreen(LearningListScreen):
    """Decides about learnings."""

    section: ClassVar[str] = "learnings"
    curates = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("learnings")]

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
            return True if self._in_conflict() else None
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
        self.with_chosen(
            lambda chosen: self.changes.decide(verb, [one for one in chosen if one.live is live])
        )

    def action_edit(self) -> None:
        """Edit in a form."""
        self.with_current(self.changes.edit)

    def action_promote(self) -> None:
        """Make a rule of it."""
        self.with_current(self.changes.promote)

    def action_merge(self) -> None:
        """Merge with the one it conflicts with."""
        self._with_item(self.changes.merge)

    def action_new(self) -> None:
        """Add a learning."""
        self.changes.new(self.current.feature if self.current else "")

    def action_conflict(self) -> None:
        """Go to the pair among the conflicts."""

        def go(item: ReviewItem) -> None:
            if item.conflict is not None:
                self.app.call_next(self.bench.go_to, "conflicts", item.conflict.id)

        self._with_item(go)

    def _in_conflict(self) -> bool:
        """Whether the learning under the cursor is in a pair, as far as is known before it is shown."""
        if self.item is not None:
            return self.item.conflict is not None
        return self.row is not None and self.row.why in (Why.CONFLICT, Why.DUPLICATE)

    def _with_item(self, then: Callable[[ReviewItem], None]) -> None:
        """Hand over why the learning under the cursor waits, once it is read."""
        if self.item is not None:
            then(self.item)
            return

        def read(found: LearningStory) -> None:
            if found.past.item is not None:
                then(found.past.item)

        if self.row is not None:
            self.ask("Reading", partial(story, self.engine, self.row), read, leads=True)

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Walk the steps of curating learnings."""
        service, idle = self.changes.service, self.changes.steps.idle
        return partial(service.undo, idle, self.bench.began), partial(service.redo, idle), "memory"

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
            self.bench.log_action(["memory", "audit"], plural(junk, "finding"))
            self.app.push_screen(AuditView(audit), closed)

        self.ask("Audit", partial(request_audit, self.engine), then, leads=True)

    def action_corrections(self) -> None:
        """Look at what was said of how things are done, and make a rule of it."""

        def chosen(one: CorrectionReport | None) -> None:
            if one is not None:
                work = partial(learning_of, self.engine, one)
                self.ask("Reading", work, partial(make_rule, one), leads=True)

        def make_rule(one: CorrectionReport, learning: FeatureLearning | None) -> None:
            if learning is not None and learning.live:
                self.changes.promote(learning)
            else:
                self.changes.rule_of(one)

        def then(found: tuple[CorrectionReport, ...]) -> None:
            self.bench.log_action(["memory", "corrections"], plural(len(found), "correction"))
            self.app.push_screen(CorrectionsView(found), chosen)

        self.ask("Corrections", partial(read_corrections, self.engine), then, leads=True)

    def action_iterations(self) -> None:
        """Look at the iterations that learnings are made of."""

        def then(found: RememberedIterations) -> None:
            self.bench.log_action(["memory", "status"], f"{found.total:,} iterations")
            self.app.push_screen(IterationsView(found, self.engine))

        self.ask("Iterations", partial(read_iterations, self.engine), then, leads=True)

    def _show_one(self, identifier: str) -> None:
        """Have the cursor on a learning, whatever the list shows now."""
        self.go_to(identifier)
        self.list_rows(missed=self._show_all)

    def _show_all(self) -> None:
        self.view = "all"
        self.bar.set_text("")
        self.want(ListQuery())
        self.list_rows(recount=True)

    def action_prompt(self) -> None:
        """See what a prompt would contain."""
        one = self.current
        feature = one.feature if one else "general"
        self.app.push_screen(PromptPreview(self, feature, (one.task_id or "") if one else ""))

    def action_open(self) -> None:
        """Open what it was learned from."""
        one = self.current
        if one is None:
            return
        found = origins(one)

        def chosen(origin: LearningOrigin | None) -> None:
            if origin is not None:
                self.ask(
                    "Opening", partial(read_origin, self.engine, one, origin), self._show_excerpt, leads=True
                )

        if len(found) == 1:
            chosen(found[0])
        elif found:
            choices = [DialogChoice(origin, origin.name) for origin in found]
            self.app.push_screen(Choose("Where it comes from", choices), chosen)

    def _show_excerpt(self, excerpt: Excerpt) -> None:
        self.app.push_screen(excerpt_view(excerpt))
