"""What the keys of the plan do. Each changes what is asked, or asks once more and plans again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from screens.jobs import Failure, Job
from screens.plan import query, work
from screens.plan.candidates import FILES, PackCandidate
from screens.plan.exports import PlanExports
from screens.plan.first_run import FirstRun
from screens.plan.query import PlanQuery
from screens.widgets.filter import FilterBar
from screens.widgets.prompt_editor import PromptEditor
from screens.widgets.table import VirtualTable
from screens.widgets.table_rows import ListRows

_MARGIN, _WIDEST = 12, 88  # cells of the screen beside a dialog's text, and of the text
TASKS_KEPT: Final = 50
_PULSE = 0.25  # seconds between two looks at how far the first index is


class PlanActions(PlanExports):
    """The commands of the plan. The screen below it composes, asks and shows."""

    UNDO_ELSEWHERE = (
        "i and x again clear a pin or an exclusion, R clears all; u undoes curation on other screens."
    )
    indexing: Job | None
    compares: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.past_tasks: list[str] = []
        """What was asked here, newest first."""

    # What the screen gives.

    def replan(self, asked: PlanQuery, *, log: bool = True) -> None:
        """Plan as asked from now on."""
        raise NotImplementedError

    def show_candidate(self) -> None:
        """Show the candidate under the cursor."""
        raise NotImplementedError

    @property
    def candidate(self) -> PackCandidate | None:
        """The candidate under the cursor."""
        rows = self.table.rows
        return rows.thing(self.table.cursor) if isinstance(rows, ListRows) and len(rows) else None

    @property
    def editor(self) -> PromptEditor:
        """Where the task is written."""
        return self.query_one(PromptEditor)

    @property
    def table(self) -> VirtualTable:
        """The candidates."""
        return self.query_one(VirtualTable)

    @property
    def filter(self) -> FilterBar:
        """What the candidates are filtered by."""
        return self.query_one(FilterBar)

    @property
    def first(self) -> bool:
        """Whether the project was never indexed."""
        return self.has_class("-first")

    def chosen_candidates(self) -> list[PackCandidate]:
        """Return the candidates a command is for: the marked ones, else the one under the cursor."""
        known = {} if self.plan is None else {one.key: one for one in self.plan.candidates}
        return [known[key] for key in self.table.chosen if key in known]

    def available(self, command_id: str) -> bool | None:
        """Before the first index only indexing is; what needs a plan waits for one."""
        if command_id in ("plan.index", "plan.index-all"):
            panel = self.query_one(FirstRun)
            more = panel.counted if command_id == "plan.index" else panel.transcripts
            return self.first and self.indexing is None and more
        if self.first:
            return False
        if command_id == "plan.copy-pack" and not self.editor.has_focus:
            return False
        if command_id in _NEED_A_PLAN and self.plan is None:
            return None
        if command_id == "plan.clear" and not (self.asked.pinned or self.asked.excluded):
            return None
        return True

    # The first index.

    def action_index(self) -> None:
        """Index the project."""
        self._index(sessions=False)

    def action_index_all(self) -> None:
        """Import sessions and index the project."""
        self._index(sessions=True)

    def _index(self, *, sessions: bool) -> None:
        panel = self.query_one(FirstRun)
        work_ = partial(work.index, self.engine, sessions)
        then = partial(self._finish_indexing, sessions)
        self.indexing = self.ask(
            "Indexing", work_, then, group="index", failed=self._not_indexed, writes=True
        )
        self.say("reading the project for the first time")
        panel.show_progress(self.indexing)
        self.set_timer(_PULSE, self._pulse)
        self.refresh_bindings()

    def _pulse(self) -> None:
        """Show how far the first index is; once it was cancelled the counts come back."""
        job = self.indexing
        if job is None:
            return
        if job.cancelled:
            self._no_longer_indexing()
        else:
            self.query_one(FirstRun).show_progress(job)
            self.set_timer(_PULSE, self._pulse)

    def _no_longer_indexing(self) -> None:
        self.indexing = None
        self.say("not indexed yet")
        self.query_one(FirstRun).show_counts()
        self.refresh_bindings()

    def _finish_indexing(self, sessions: bool, _: None) -> None:
        self.indexing = None
        if sessions:
            self.bench.log_action(("import", "sessions"))
        self.bench.log_action(("index",))
        self.load()

    def _not_indexed(self, failure: Failure) -> None:
        self._no_longer_indexing()
        self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self.bench.log_action(("index",), failure.message, failed=True)

    # The task and how it is planned.

    def recall_tasks(self, heads: Iterable[str]) -> None:
        """Have up bring back what was asked here, then other tasks."""
        self.editor.recall(tuple(dict.fromkeys((*self.past_tasks, *heads))))

    def note_task(self, task: str) -> None:
        """Have a task first among those that up brings back."""
        self.past_tasks = [task, *(one for one in self.past_tasks if one != task)][:TASKS_KEPT]
        self.recall_tasks(self.plan.heads if self.plan is not None else ())

    def action_new(self) -> None:
        """Start a new task; the last one is a key up."""
        if not self.asked.blank:
            self.note_task(self.asked.task)
        self.editor.text = ""
        self.editor.focus()
        self.replan(replace(self.asked, task="", pinned=(), excluded=()), log=False)

    def action_task(self) -> None:
        """Write the task."""
        self.editor.focus()

    def action_step_budget(self, steps: int) -> None:
        """Enlarge or reduce the budget."""
        self._budget(query.step_budget(self._budget_now, steps))

    def action_budget(self) -> None:
        """Ask for a budget."""
        from screens.widgets.dialogs import Ask

        def answered(text: str | None) -> None:
            if text is not None:
                self._budget(query.parse_budget(text))

        self.app.push_screen(
            Ask(
                "Token budget",
                body="Maximum tokens in the pack, headings included.",
                value=str(self._budget_now),
                validate=query.check_budget,
            ),
            answered,
        )

    def action_mode(self) -> None:
        """Switch between the learned ranking and the baseline."""
        self.replan(replace(self.asked, baseline=not self.asked.baseline))

    def action_kind(self) -> None:
        """Choose the kind of task."""
        from screens.widgets.dialogs import Choose, DialogChoice

        kinds = ("", *query.KINDS)

        def chosen(kind: str | None) -> None:
            if kind is not None and kind != self.asked.query_type:
                self.replan(replace(self.asked, query_type=kind))

        choices = [DialogChoice(kind, kind or "predicted from the words") for kind in kinds]
        self.app.push_screen(
            Choose("Kind of task", choices, selected=kinds.index(self.asked.query_type)), chosen
        )

    def action_strict(self) -> None:
        """Switch whether a changed project is refused."""
        settings = self.engine.config.plan.strict
        now = settings if self.asked.strict is None else self.asked.strict
        self.replan(replace(self.asked, strict=not now))

    @property
    def _budget_now(self) -> int:
        return self.asked.budget or self.engine.config.plan.budget

    def _budget(self, tokens: int) -> None:
        if tokens != self._budget_now:
            self.replan(replace(self.asked, budget=tokens))

    # Overrides.

    def action_pin(self) -> None:
        """Pin the chosen candidates, or take their pins out."""
        self._override(self.asked.pinning)

    def action_exclude(self) -> None:
        """Exclude the chosen candidates, or let them back in."""
        self._override(self.asked.excluding)

    def action_clear(self) -> None:
        """Take back all pins and exclusions."""
        self.replan(replace(self.asked, pinned=(), excluded=()))

    def _override(self, change: Callable[[tuple[str, ...]], PlanQuery]) -> None:
        found = [one for one in self.chosen_candidates() if one.named]
        if not found:
            self.say("this candidate has no name that could be pinned or excluded")
            return
        self.table.set_marks(())
        self.replan(change(tuple(one.name for one in found)))

    # What is looked at.

    def action_filter(self) -> None:
        """Filter the candidates."""
        self.filter.open()

    def action_pack(self) -> None:
        """Show the whole pack, or one candidate."""
        self.toggle_class("-whole")
        self.show_candidate()

    def action_why(self) -> None:
        """Show or hide why."""
        self.remove_class("-whole") if self.has_class("-whole") else self.toggle_class("-why")
        self.show_candidate()

    def action_reasons(self) -> None:
        """Show every reason as one text."""
        from screens.widgets.code import Details
        from workbench.plan.response import why_text

        if self.plan is not None:
            response = self.plan.response
            reasons = why_text(response, dropped=len(response.dropped_candidates))
            self.app.push_screen(Details("Why this pack", reasons))

    def action_explain(self) -> None:
        """Show what each signal gives the file under the cursor, and what would bring it in."""
        one = self.candidate
        if one is None or one.kind != FILES:
            self.say("only files are explained by signals; Why has the reason for this one")
            return
        job = partial(work.explain_candidate, self.engine, self.asked, one.name, self._text_width)
        self.ask("Explaining", job, partial(self._show_text, f"Explain · {one.name}"), group="explain")

    def action_compare(self) -> None:
        """List baseline and hybrid side by side from now on, or the pack again."""
        self.compares = not self.compares
        self.replan(self.asked, log=False)

    @property
    def _text_width(self) -> int:
        """Cells of a text in a dialog."""
        return min(self.app.size.width - _MARGIN, _WIDEST)

    def _show_text(self, title: str, text: str) -> None:
        from screens.widgets.code import Details

        self.app.push_screen(Details(title, text))


_NEED_A_PLAN = frozenset(
    """
    plan.pin plan.exclude plan.copy plan.copy-pack plan.export plan.save plan.pack plan.reasons plan.explain
    plan.compare
    """.split()
)
