"""The plan: a task above, its budget, what is in and out of the pack at the left, why and what beside it.

The screen only wires: what is asked is a `PlanQuery`, what is shown a `ShownPlan`, and everything that takes
time runs in `work`. Wide terminals have three columns, normal ones two with the bars over the text, narrow
ones a list over one panel at a time; short ones give up frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content

from screens.commands import SECTIONS, bindings
from screens.jobs import Failure
from screens.plan import candidates, query, work
from screens.plan.actions import TASKS_KEPT, PlanActions
from screens.plan.candidates import (
    COLUMNS,
    FIELDS,
    PackCandidate,
    ShownPlan,
    fold_passages,
    list_rows,
)
from screens.plan.differences import COMPARED, compared_rows, pack_difference
from screens.plan.first_run import FirstRun
from screens.plan.panels import PlanHeader, PreviewPanel, WhyPanel
from screens.plan.query import PlanQuery
from screens.safe_text import safe, shown_lines
from screens.sitting import text_of, texts_of
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.prompt_editor import PromptEditor
from screens.widgets.table import VirtualTable
from screens.widgets.table_rows import NoRows
from workbench.entry.project import seems_indexed

_REST: Final = 0.05  # seconds the cursor rests on a candidate before its text is drawn
_TEACH: Final = (
    "Write above what is to be done, in your own words or as a pasted error.\n"
    "What an agent should read for it appears here as you type:\n"
    "the rules that hold, the files that matter, and why.\n\n"
    "up    earlier tasks and what was done in this project\n"
    "enter or escape to the list; t comes back here\n"
    "f1    all keys"
)


class PlanScreen(PlanActions):
    """Shows what an agent should read for a task, live, and lets a person decide otherwise."""

    section: ClassVar[str] = "plan"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("plan")]
    DEFAULT_CSS = style_of("PlanScreen")

    def __init__(self) -> None:
        super().__init__()
        self.asked = PlanQuery()
        self.plan: ShownPlan | None = None
        self._keep = ""
        self._anew = False
        self._packed = True
        self._open_yet = False
        self._opened_kinds: frozenset[str] = frozenset()
        self.indexing = None

    def compose_body(self) -> ComposeResult:
        """Lay out the task over the panes, or over what a project without an index sees."""
        self.set_class(not seems_indexed(self.engine.root), "-first")
        with Vertical(id="plan-work", classes="body"):
            yield PromptEditor(placeholder="What is to be done?")
            yield FirstRun()
            yield PlanHeader()
            with Container(id="plan-panes"):
                with Vertical(id="plan-list"):
                    yield FilterBar(FIELDS)
                    yield VirtualTable(COLUMNS, empty=safe(""))
                with Container(id="plan-side"):
                    yield WhyPanel()
                    yield PreviewPanel()

    # What is kept.

    def remember(self) -> Mapping[str, Any]:
        """Return the task and all that was decided about it, and how it is looked at."""
        return {
            **query.dump_query(self.asked),
            "task": self.editor.text,
            "history": self.past_tasks[:TASKS_KEPT],
            "cursor": self.table.cursor_key or self._keep,
            "filter": self.filter.text,
            "why": self.has_class("-why"),
            "whole": self.has_class("-whole"),
            "packed": self._packed,
            "opened": sorted(self._opened_kinds),
            "compared": self.compares,
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take it back."""
        self.asked = query.load_query(kept)
        self.past_tasks = texts_of(kept, "history")[:TASKS_KEPT]
        if not self.asked.blank and self.asked.task not in self.past_tasks:
            self.past_tasks.insert(0, self.asked.task)
        self._keep = text_of(kept, "cursor")
        self.set_class(kept.get("why") is not False, "-why")
        self.set_class(kept.get("whole") is True, "-whole")
        self._packed = kept.get("packed") is not False
        self._opened_kinds = frozenset(texts_of(kept, "opened"))
        self.compares = kept.get("compared") is True
        self.editor.recall(self.past_tasks)
        self.editor.offer(self.asked.task)
        self.set_focus(self.table if kept.get("listed") is True and not self.asked.blank else self.editor)
        if text := text_of(kept, "filter"):
            self.filter.set_text(text)
        self._show_nothing()

    def stores(self) -> Iterable[str]:
        """Name what plans are made of and others may change."""
        return ("rules", "memory/", "sessions", "models")

    # Asking.

    def load(self) -> None:
        """Find out whether there is an index; plan if there is. A first index loads when it is done."""
        if self.indexing is not None:
            return
        if self.plan is not None:
            self.replan(self.asked, log=False)
        else:
            # The engine is loaded when the screen is painted, which is what the start is measured by.
            self.call_after_refresh(self._open)

    def _open(self) -> None:
        self.say("looking at the project …")
        self.ask("Opening", partial(work.find_opening, self.engine), self._take_first_look)

    def replan(self, asked: PlanQuery, *, log: bool = True) -> None:
        """Plan as asked from now on; `log` notes the command line that does the same."""
        self.asked = asked
        self._show_how()
        if not self._open_yet:  # planning indexes: what would be read was not shown yet
            return
        if asked.blank:
            self.bench.jobs.cancel(f"{self.section}/plan")
            self.plan = None
            self._show_nothing()
            self.say("ready")
            return
        if self.plan is None:
            self.table.busy = "planning"
            self.say("planning …")
        self.ask(
            "Planning",
            partial(work.make_plan, self.engine, asked, compared=self.compares),
            partial(self._take_plan, asked, log),
            group="plan",
            failed=partial(self._not_planned, asked),
            stopped=partial(self._report_stop, asked),
        )

    def _report_stop(self, asked: PlanQuery) -> None:
        """Say that what was asked last was cancelled: an older plan would pass for its answer."""
        if asked is self.asked and not any(
            job.group == f"{self.section}/plan" for job in self.bench.jobs.running
        ):
            why = safe("Cancelled. enter in the task, or f5, plans it.", "$text-muted")
            self._show_no_plan(why, "it was cancelled")

    def _take_first_look(self, found: work.Opening) -> None:
        self.set_class(not found.indexed, "-first")
        self.refresh_bindings()
        if found.look is not None:
            panel = self.query_one(FirstRun)
            panel.show(self.engine.root.name, found.look)
            panel.show_counts()
            self.say("nothing was read yet")
            self.refresh_bindings()
            return
        self._open_yet = True
        if self.asked.blank:
            self.ask("Syncing", partial(work.warm_up, self.engine), self._warm, quiet=False)
        else:
            self.replan(self.asked, log=False)

    def _warm(self, heads: tuple[str, ...]) -> None:
        self.recall_tasks(heads)
        if self.plan is None:
            self.say("ready")

    def _take_plan(self, asked: PlanQuery, log: bool, plan: ShownPlan) -> None:
        before, self.plan = self.plan, plan
        self.table.busy = ""
        if plan.gone:
            self.asked = asked.without(plan.gone)
        self.recall_tasks(plan.heads)
        self._show_how()
        status = candidates.plan_status(plan)
        if before is not None and before.task == asked.task:
            changed = pack_difference(before, plan) or ("the same pack" if log else "")
            status = f"{changed} · {status}" if changed else status
        self.say(status)
        self._anew = before is None or before.task != asked.task
        self._list()
        self.refresh_bindings()
        if log:
            used = plan.response.budget_report.estimated_used
            outcome = f"{used:,} of {plan.limit:,} tokens, {plan.selected} in"
            self.bench.log_action(self.asked.arguments(), outcome)

    def _not_planned(self, asked: PlanQuery, failure: Failure) -> None:
        said = safe(f"! {failure.message}", "bold $text-error")
        why = Content.assemble(said, "\n", safe(failure.hint, "$text-muted"))
        self._show_no_plan(why, failure.message)
        self.bench.log_action(asked.arguments(), failure.details or failure.message, failed=True)

    def _show_no_plan(self, why: Content, sentence: str) -> None:
        self.plan = None
        self._show_nothing()
        self.table.set_empty(why)
        self.say(f"no plan: {sentence}")

    # Showing.

    def _list(self) -> None:
        """List the candidates that the filter lets through; the cursor stays with its own."""
        plan = self.plan
        if plan is None:
            return
        wanted = self.filter.filter
        if wanted:
            job = partial(work.filter_candidates, plan.candidates, wanted)
            self.ask("Filtering", job, partial(self._show_listing, plan), group="filter", quiet=True)
        else:
            self._show_listing(plan, None)

    def _show_listing(self, plan: ShownPlan, order: list[int] | None) -> None:
        if plan is not self.plan:
            return
        total = len(plan.candidates)
        self.filter.show_count(total if order is None else len(order), total)
        empty = _no_candidates(plan) if order is None else "Nothing matches the filter; escape clears it."
        self.table.set_empty(shown_lines(empty, "$text-muted"))
        keep = self._keep or (None if self._anew else self.table.cursor_key)
        self._keep, self._anew = "", False
        self.set_class(plan.comparison is not None, "-compared")
        if plan.comparison is not None:
            self.table.set_columns(COMPARED)
            self.table.set_rows(compared_rows(plan, plan.comparison, order), keep=keep)
        else:
            self.table.set_columns(COLUMNS)
            rows = fold_passages(plan, self._opened_kinds) if order is None else plan.candidates
            self.table.set_rows(list_rows(rows, order), keep=keep)
        self.show_candidate()

    def _show_nothing(self) -> None:
        self._show_how()
        self.table.busy = ""
        self.table.set_empty(shown_lines(_TEACH, "$text-muted"))
        self.table.set_rows(NoRows())
        self.query_one(WhyPanel).show_none()
        self.query_one(PreviewPanel).show_none()
        self.refresh_bindings()

    def _show_how(self) -> None:
        settings = self.engine.config.plan
        strict = settings.strict if self.asked.strict is None else self.asked.strict
        budget = self.asked.budget or settings.budget
        parts = candidates.header_parts(self.asked, self.plan, budget, strict=strict)
        self.query_one(PlanHeader).show(parts)

    def show_candidate(self) -> None:
        """Show why the candidate under the cursor is in or out, and its text or the whole pack."""
        plan, one = self.plan, self.candidate
        preview = self.query_one(PreviewPanel)
        if plan is None:
            return
        if one is None:
            self.query_one(WhyPanel).show_none()
        else:
            self.query_one(WhyPanel).show(one, plan)
        if self.has_class("-whole"):
            preview.show_pack(plan)
        elif one is None:
            preview.show_none()
        elif preview.show_packed(one, as_file=not self._packed):
            then = partial(self._read, one)
            reading = partial(work.read_file_text, self.engine.root, one.name)
            self.ask("Reading", reading, then, group="file", quiet=True)

    def _read(self, one: PackCandidate, text: bytes | str) -> None:
        if self.candidate is not None and self.candidate.key == one.key and not self.has_class("-whole"):
            self.query_one(PreviewPanel).show_file(one, text)

    # Messages.

    @on(PromptEditor.Settled)
    def _handle_text(self, message: PromptEditor.Settled) -> None:
        message.stop()
        if message.asked and message.text.strip():
            self.note_task(message.text)
            if not self.first:
                self.table.focus()
        if message.text != self.asked.task or message.asked:
            self._keep = self._keep if message.text == self.asked.task else ""
            self.replan(replace(self.asked, task=message.text), log=message.asked)
        if message.asked and self.available("plan.index"):
            self.action_index()

    @on(PromptEditor.DigitTyped)
    def _handle_digit(self, message: PromptEditor.DigitTyped) -> None:
        message.stop()
        for section in SECTIONS:
            if section.key == message.digit:
                self.bench.action_show_section(section.id)

    @on(PromptEditor.Left)
    def _handle_leave(self, message: PromptEditor.Left) -> None:
        message.stop()
        (self.query_one(FirstRun) if self.first else self.table).focus()

    @on(VirtualTable.Highlighted)
    def _handle_move(self, message: VirtualTable.Highlighted) -> None:
        message.stop()
        self.bench.jobs.later("plan/rest", _REST, self.show_candidate)

    @on(VirtualTable.Opened)
    def _handle_enter(self, message: VirtualTable.Opened) -> None:
        message.stop()
        if self.candidate is not None and self.candidate.folds:
            self._opened_kinds ^= {self.candidate.folds}
            self._list()
            return
        self.remove_class("-why") if self.has_class("-narrow") else None
        self.show_candidate()
        self.query_one(PreviewPanel).code.focus()

    @on(FilterBar.Changed)
    def _handle_filter(self, message: FilterBar.Changed) -> None:
        message.stop()
        self._list()

    def action_file(self) -> None:
        """Switch between what is packed of a file and all of it."""
        self._packed = not self._packed
        self.show_candidate()


def _no_candidates(plan: ShownPlan) -> str:
    """Say why there are no candidates at all."""
    notes = "\n".join(plan.response.decision_trace)
    return f"Nothing here is relevant to this task.\n{notes}".strip()
