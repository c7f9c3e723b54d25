"""The models of the project: a table beside the story of one, and the commands that train and switch them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from screens.base import SectionScreen
from screens.commands import bindings, pane_title
from screens.engine import BY
from screens.headless import CommandOutput, run_command
from screens.jobs import Failure, Job
from screens.models.lines import (
    LEAST,
    PACKAGED,
    ModelLine,
    headline,
    kind_to_roll_back,
    model_cells,
    model_lines,
    progress_line,
    story,
    training_minimum,
)
from screens.safe_text import safe, shown_lines
from screens.themes import style_of
from screens.widgets.dialogs import Ask, Confirm
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.answers.models import ModelStatus

_COLUMNS: Final = (
    Column("state", "", "● in use, ◐ tried on a share of plans, ✗ cannot be used.", 1, priority=9),
    Column("id", "Model", "The model's id.", 24, priority=8, path=True),
    Column(
        "kind",
        "Kind",
        "What it does: orders files, reads the kind of a task, or rates the first files again.",
        13,
        priority=4,
    ),
    Column("made", "Added", "When it was added, in local time.", 11, priority=2),
    Column("tasks", "Tasks", "Past tasks it was trained on.", 6, "right", priority=5),
    Column(
        "gain",
        "Gain",
        "How much its nDCG@10 is above that of the model before, on later tasks.",
        6,
        "right",
        priority=7,
    ),
    Column("remark", "Use", "Whether plans use it.", priority=6, least=10, share=1),
)
_SHARE: Final = 20
_OWN: Final = frozenset({"activate", "canary", "replay", "copy"})


class ModelsScreen(SectionScreen):
    """Lists models, shows one, trains and switches them."""

    section: ClassVar[str] = "models"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("models")]
    DEFAULT_CSS = style_of("ModelsScreen")

    def __init__(self) -> None:
        super().__init__()
        self.found: ModelStatus | None = None
        self._told = ""

    def compose_body(self) -> ComposeResult:
        """Put what is used above the table and the story of a model."""
        with Vertical(classes="body"):
            yield Static(id="models-headline", markup=False)
            yield Static(id="models-progress", markup=False)
            with Horizontal(id="models-parts"):
                yield VirtualTable(_COLUMNS, id="models-table", empty="Reading the models.")
                with VerticalScroll(id="models-story") as story:
                    story.border_title = pane_title("Model", "next-pane")
                    yield Static(id="models-text", markup=False)

    def stores(self) -> Iterable[str]:
        """The journal of the models."""
        return ("models",)

    def remember(self) -> Mapping[str, Any]:
        """Keep the model under the cursor."""
        return {"model": self.query_one(VirtualTable).cursor_key or ""}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take it back."""
        self._told = str(kept.get("model") or "")

    def available(self, command_id: str) -> bool | None:
        """Commands about a model of the project need one, going back one that is in use."""
        name = command_id.partition(".")[2]
        if not self.is_mounted:
            return True
        if name == "rollback":
            return True if self.found is not None and kind_to_roll_back(self.found, self.line) else None
        if name not in _OWN:
            return True
        line = self.line
        return True if line is not None and (line.kind != PACKAGED or name == "copy") else None

    @property
    def line(self) -> ModelLine | None:
        """The model under the cursor."""
        key = self.query_one(VirtualTable).cursor_key
        lines = () if self.found is None else model_lines(self.found)
        return next((one for one in lines if one.id == key), None)

    def load(self) -> None:
        """Ask what is registered and used."""
        self.ask("Reading models", self._read, self._show, quiet=True)

    def _read(self, job: Job) -> ModelStatus:
        from workbench.entry.services.models import model_status

        with self.engine.open_project(job.progress) as project:
            return model_status(project)

    def _show(self, found: ModelStatus) -> None:
        self.found = found
        lines = model_lines(self.found)
        table = self.query_one(VirtualTable)
        keep = table.cursor_key or self._told or None
        table.set_rows(ListRows(lines, key=lambda one: one.id, cells=model_cells), keep=keep)
        self.query_one("#models-headline", Static).update(safe(headline(self.found), "bold"))
        line = progress_line(self.found)
        notes = "".join(f"\nnote: {note}" for note in self.found.notes)
        self.query_one("#models-progress", Static).update(shown_lines(f"{line}{notes}"))
        self._glance()

    @on(VirtualTable.Highlighted)
    def _glance(self) -> None:
        self.refresh_bindings()
        line = self.line
        if line is not None:
            self.ask(
                "Model", partial(self._story, line), partial(self._tell, line.id), group="story", quiet=True
            )

    def _story(self, line: ModelLine, job: Job) -> str:
        from workbench.entry.services.models import find_model, largest_weights

        if line.entry is None:
            return story(line, {})
        with self.engine.open_project(job.progress) as project:
            model = find_model(project.own_models.registry(), line.id)
            return story(line, largest_weights(model), model.params)

    def _tell(self, key: str, text: str) -> None:
        if self.query_one(VirtualTable).cursor_key == key:
            self.query_one("#models-text", Static).update(shown_lines(text))

    # Deciding.

    def _change(self, name: str, arguments: list[str], change: Callable[[OpenedProject], str]) -> None:
        """Do what a command line does, here, and say what came of it."""

        def work(job: Job) -> str:
            with self.engine.open_project(job.progress) as project:
                return change(project)

        self.ask(name, work, partial(self._finish_command, arguments))

    def _run(self, name: str, arguments: list[str], after: str = "") -> None:
        """Run a command that takes long in a process of its own, and say what came of it."""

        def work(job: Job) -> CommandOutput:
            return run_command(job, self.engine.root, arguments)

        def then(result: CommandOutput) -> None:
            last = result.output.strip().splitlines()[-1:]
            self._finish_command(arguments, after or " ".join(last))

        def failed(failure: Failure) -> None:
            reason = failure.hint.strip() or failure.message
            self.bench.report(f"{name} failed: {reason}", severity="error")
            self.bench.log_action(arguments, failure.details or failure.message, failed=True)
            self.say(f"{name} failed: {reason.splitlines()[0]}")  # longer than the note is there
            self.load()

        self.ask(name, work, then, failed=failed)

    def _finish_command(self, arguments: list[str], outcome: str) -> None:
        self.bench.log_action(arguments, outcome)
        self.say(outcome)
        self.load()

    def _activate(self, model_id: str, share: int, project: OpenedProject) -> str:
        from workbench.entry.services.models import activate_model

        activate_model(project, model_id, share=share / 100, by=BY)
        return f"{model_id} is active" if share == 100 else f"{model_id} is tried on {share} % of plans"

    def action_activate(self) -> None:
        """Let plans rank with the model under the cursor."""
        line = self.line
        if line is not None and line.entry is not None:
            change = partial(self._activate, line.id, 100)
            self._change("Activating", ["model", "activate", line.id], change)

    def action_canary(self) -> None:
        """Ask on which share of plans the model is tried first."""
        line = self.line
        if line is None or line.entry is None:
            return

        def answered(text: str | None) -> None:
            if text is not None:
                share = text.strip() or str(_SHARE)
                command = ["model", "activate", line.id, "--canary", share]
                self._change("Starting the canary", command, partial(self._activate, line.id, int(share)))

        body = f"On how many per cent of plans is {line.id} tried? It becomes active, or is rolled back."
        self.app.push_screen(
            Ask("Canary", body=body, placeholder=str(_SHARE), validate=_share_problem), answered
        )

    def action_rollback(self) -> None:
        """Stop the canary, or go back to the model before, once that is agreed to."""

        found = self.found
        kind = "" if found is None else kind_to_roll_back(found, self.line)
        if found is None or not kind:
            return

        def answered(agreed: bool | None) -> None:
            if agreed:
                option = [] if kind == "linear" else ["--kind", kind]
                self._change("Rolling back", ["model", "rollback", *option], partial(_roll_back, kind))

        if found.canary:
            what = f"{found.canary.model_id} is no longer tried"
        else:
            what = f"{found.active[kind]} gives way to the model before it"
        self.app.push_screen(Confirm("Roll back", f"Plans change: {what}.", yes="Roll back"), answered)

    def action_train(self) -> None:
        """Ask how many tasks it takes at least, then train in a process of its own."""
        self.ask("Counting past tasks", self._count_tasks, self._ask_training, leads=True)

    def _count_tasks(self, job: Job) -> int:
        from workbench.entry.services.model_training import TrainingOptions, count_tasks

        with self.engine.open_project(job.progress) as project:
            return count_tasks(project, TrainingOptions())

    def _ask_training(self, tasks: int) -> None:
        least = str(training_minimum(tasks))
        there = f"{plural(tasks, 'past task')} here"
        if least == "0":
            self.bench.report(f"{there}: a model takes {LEAST} at least", severity="warning")
            return

        def answered(text: str | None) -> None:
            if text is not None:
                self._run("Training", ["model", "train", "--min-samples", text.strip() or least])

        body = (
            f"Fits a ranking to this project's past and tests it on the newest tasks. {there}. Refuse below:"
        )
        self.app.push_screen(Ask("Train", body=body, placeholder=least, validate=_least_problem), answered)

    def action_replay(self) -> None:
        """Replay the newest tasks with the model under the cursor and with another that is in use."""
        line = self.line
        if line is None or line.entry is None or self.found is None:
            return
        other = next((one.id for one in model_lines(self.found) if one.used and one.id != line.id), "")
        systems = f"hybrid+{line.id},hybrid+{other or self.found.packaged}"
        command = ["replay", "--tasks", "60", "--no-packs", "--systems", systems]
        self._run("Replaying", command, "replayed: the run is in Replay")

    def action_copy(self) -> None:
        """Put the id of the model on the clipboard."""
        line = self.line
        if line is not None:
            self.bench.copy(line.id, "Id of the model")


def _roll_back(kind: str, project: OpenedProject) -> str:
    from workbench.entry.services.models import packaged_ranking, roll_back

    left, now = roll_back(project, kind, by=BY)
    return f"{left} is no longer used; plans rank with {now or packaged_ranking(project)}"


def _share_problem(text: str) -> str:
    value = text.strip() or str(_SHARE)
    return "" if value.isdigit() and 1 <= int(value) <= 99 else "A number from 1 to 99."


def _least_problem(text: str) -> str:
    value = text.strip() or str(LEAST)
    return "" if value.isdigit() and int(value) >= LEAST else f"A number from {LEAST} on."
