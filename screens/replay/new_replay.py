"""A replay to start: the request, the command line it is, and the dialog that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from screens.commands import widget_bindings
from screens.headless import command_line
from screens.modal import Modal
from screens.safe_text import safe
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.form import FieldForm, FormField
from screens.widgets.table import Column, ListRows, VirtualTable

ALL: Final = "commits and prompts"
COMMITS: Final = "commits"
PROMPTS: Final = "prompts of sessions"
SOURCES: Final = (ALL, COMMITS, PROMPTS)
_OPTION: Final = {ALL: "all", COMMITS: "commits", PROMPTS: "sessions"}

TASKS: Final = 150
_ABOUT: Final = {
    "baseline": "the kind of task alone, layers L0 to L6; every gap is to it",
    "bm25": "the words of the task in the words of files",
    "vector": "what past tasks with a similar meaning touched; needs embeddings",
    "hybrid": "what `workbench plan` does",
}


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """A system that can be replayed, and what it is."""

    name: str
    about: str
    usual: bool = False


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A replay to start. `systems` empty means the usual ones; `budget` None is that of the settings.

    `path` is another repository, transcripts or a rules benchmark, empty for this project; `dataset` says
    that it is a rules benchmark, which takes no options.
    """

    source: str = ALL
    path: str = ""
    tasks: int = TASKS
    systems: tuple[str, ...] = ()
    budget: int | None = None
    packs: bool = True
    gate: bool = False
    dataset: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether it is not this project that is replayed."""
        return bool(self.path.strip())


def replay_arguments(request: ReplayRequest) -> list[str]:
    """Return the words after `workbench` that start it."""
    found = ["replay"]
    if request.elsewhere:
        place = str(Path(request.path.strip()).expanduser())
        found.append(f"./{place}" if place.startswith("-") else place)
    if request.dataset:
        return found
    if request.source in (COMMITS, PROMPTS):
        found += ["--source", _OPTION[request.source]]
    found += ["--tasks", str(request.tasks)]
    if request.systems:
        found += ["--systems", ",".join(request.systems)]
    if request.budget is not None:
        found += ["--budget", str(request.budget)]
    found += [] if request.packs else ["--no-packs"]
    return found + (["--gate"] if request.gate else [])


def list_systems() -> tuple[SystemChoice, ...]:
    """Return the systems by name: the usual ones, then without a group of features, then of less budget.

    Imports the rankers: for a job.
    """
    from workbench.replay.systems import DEFAULT_SYSTEMS, GROUPS, HYBRID

    usual = [
        SystemChoice(name, _ABOUT.get(name, "hybrid with another model: without embeddings"), usual=True)
        for name in DEFAULT_SYSTEMS
    ]
    without = [SystemChoice(f"{HYBRID}-{group}", f"hybrid without {group} features") for group in GROUPS]
    share = SystemChoice(f"{HYBRID}@0.65", "hybrid with 65 % of the budget for its packs")
    return (*usual, *without, share)


def select_systems(choices: Sequence[SystemChoice], marked: frozenset[str]) -> tuple[str, ...]:
    """Return the marked systems in the order they are listed; empty if they are just the usual ones."""
    names = tuple(one.name for one in choices if one.name in marked)
    return () if names == tuple(one.name for one in choices if one.usual) else names


def check_request(request: ReplayRequest, marked: frozenset[str], root: Path) -> str:
    """Return why a request cannot be run in the project at `root`, or ''. Looks at the disk alone."""
    if request.elsewhere and not (root / Path(request.path.strip()).expanduser()).exists():
        return f"{request.path} does not exist"
    if not marked and not request.dataset:
        return "mark at least one system with space"
    return ""


def is_dataset(path: str, root: Path) -> bool:
    """Whether a path, as seen from `root`, is the folder of a rules benchmark."""
    from workbench.replay.datasets import holds_dataset

    return bool(path.strip()) and holds_dataset(root / Path(path.strip()).expanduser())


_COLUMNS: Final = (
    Column("name", "Systems (space marks)", "What to compare; space marks.", 24, priority=2),
    Column("about", "What it is", "How it ranks.", share=1, least=10, priority=1),
)


class NewReplay(Modal[ReplayRequest | None]):
    """Asks what to replay; enter starts it, escape does not."""

    DEFAULT_CSS = f"""NewReplay {{
        {DIALOG_CSS}
        & > .dialog {{ width: 96; height: 26; max-height: 100%; }}
        & FieldForm {{ height: 6; }}
        & VirtualTable {{ height: 1fr; min-height: 3; }}
        & #command {{ height: auto; max-height: 3; color: $text-accent; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("new-replay")

    def __init__(
        self, choices: Sequence[SystemChoice], request: ReplayRequest, budget: int, root: Path
    ) -> None:
        super().__init__()
        self._choices = tuple(choices)
        self._request = request
        self._budget = budget
        self._root = root

    def compose(self) -> ComposeResult:
        """Lay out the fields, the systems, the command and the buttons."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = safe("New replay")
        request = self._request
        with dialog:
            yield FieldForm(
                (
                    FormField(
                        "source", "Tasks from", request.source or ALL, "choice", SOURCES, required=True
                    ),
                    FormField("path", "Another place", request.path),
                    FormField("tasks", "Newest tasks", request.tasks, "number", least=1, required=True),
                    FormField("budget", "Tokens a pack", request.budget or self._budget, "number", least=1),
                    FormField("packs", "Make packs", request.packs, "flag"),
                    FormField("gate", "Judge gates", request.gate, "flag"),
                )
            )
            yield VirtualTable(_COLUMNS, empty="No systems.", id="choices")
            yield Static(id="command", markup=False)
            yield Static(classes="dialog-error", markup=False)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Start (^s)", id="start", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Mark the systems of the last request and focus the list of them."""
        table = self.query_one("#choices", VirtualTable)
        table.set_rows(ListRows(self._choices, key=lambda one: one.name, cells=_cells))
        usual = [one.name for one in self._choices if one.usual]
        table.set_marks(self._request.systems or usual)
        table.focus()
        self._tell()

    @property
    def request(self) -> ReplayRequest:
        """The request as it is now. Raises: ValueError saying what is wrong."""
        values: dict[str, Any] = self.query_one(FieldForm).values()
        path = str(values["path"] or "")
        budget = values["budget"]
        return ReplayRequest(
            source=str(values["source"] or ALL),
            path=path,
            tasks=int(values["tasks"]),
            systems=select_systems(self._choices, self.query_one("#choices", VirtualTable).marks),
            budget=None if budget is None or int(budget) == self._budget else int(budget),
            packs=bool(values["packs"]),
            gate=bool(values["gate"]),
            dataset=is_dataset(path, self._root),
        )

    def action_cancel(self) -> None:
        """Start nothing."""
        self.dismiss(None)

    def action_start(self) -> None:
        """Start the request, if nothing is wrong with it."""
        if not self._wrong():
            self.dismiss(self.request)

    @on(FieldForm.Changed)
    @on(VirtualTable.MarksChanged)
    def _handle_change(self) -> None:
        self._tell()

    @on(Input.Submitted)
    @on(VirtualTable.Opened)
    def _handle_enter(self) -> None:
        self.action_start()

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "start":
            self.action_start()
        else:
            self.dismiss(None)

    def _wrong(self) -> str:
        try:
            wrong = check_request(self.request, self.query_one("#choices", VirtualTable).marks, self._root)
        except ValueError as error:
            wrong = str(error)
        self.query_one(".dialog-error", Static).update(safe(f"! {wrong}" if wrong else ""))
        return wrong

    def _tell(self) -> None:
        line = Content("") if self._wrong() else safe(f"$ {command_line(replay_arguments(self.request))}")
        self.query_one("#command", Static).update(line)


def _cells(one: SystemChoice) -> tuple[Content, ...]:
    return (safe(one.name), safe(one.about, "$text-muted"))
