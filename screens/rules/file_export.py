"""Rules written into the files of other agents: which agents, a preview of every line, then the writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.engine import AppEngine
from screens.jobs import Job
from screens.safe_text import safe
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.diff import unified_content, unify_lines
from screens.widgets.fields import Flag
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.rules.files.export import ExportedFile
from workbench.rules.files.placement import TARGETS
from workbench.rules.files.publication import publish
from workbench.text.counts import plural

if TYPE_CHECKING:
    from screens.rules.screen import RulesScreen


_TARGETS: Final = tuple(sorted(TARGETS))

_MOST: Final = 40  # files whose lines are shown


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """What an export would write, or has written."""

    targets: tuple[str, ...]
    home: bool
    files: tuple[ExportedFile, ...]
    notes: tuple[str, ...]

    @property
    def changed(self) -> int:
        """How many files change."""
        return sum(file.changed for file in self.files)


def export_rules(
    engine: AppEngine, targets: Sequence[str], home: bool, dry_run: bool, job: Job
) -> ExportPlan:
    """Write the rules into files of agents, or say what would be written. Raises: WorkbenchError."""
    files: list[ExportedFile] = []
    notes: list[str] = []
    with engine.rules("export", job.progress) as work:
        workspace = work.opened.workspace
        directories = workspace.directories()
        for done, target in enumerate(targets):
            job.progress(f"Exporting to {target}", done, len(targets))
            found = publish(
                work.store,
                workspace.rule_files(),
                target,
                directories=directories,
                include_home=home,
                dry_run=dry_run,
            )
            files += found.files
            notes += [*found.notes, *(note for file in found.files for note in file.notes)]
    return ExportPlan(tuple(targets), home, tuple(files), tuple(notes))


def planned_content(found: ExportPlan) -> Content:
    """Return the lines that would change, file by file."""
    parts: list[Content] = []
    changed = [file for file in found.files if file.changed]
    for file in changed[:_MOST]:
        before, after = (data.decode("utf-8", "replace") for data in (file.before or b"", file.data or b""))
        gone = "  removed" if file.data is None else "  new" if file.before is None else ""
        parts += [
            safe(f"{file.path}{gone}", "bold $text-primary"),
            unified_content(unify_lines(before, after)),
        ]
        parts.append(Content(""))
    if len(changed) > _MOST:
        parts.append(safe(f"and {plural(len(changed) - _MOST, 'more file')}", "$text-muted"))
    if not changed:
        parts.append(safe("All files are up to date: nothing would be written.", "$text-muted italic"))
    parts += [safe(f"! {note}", "$text-warning") for note in found.notes]
    return Content("\n").join(parts)


class ExportRules(Dialog[bool]):
    """Marks agents, shows what would be written for them, and writes it when that is confirmed."""

    DEFAULT_CSS = f"""ExportRules {{
        {DIALOG_CSS}
        & > .dialog {{ width: 110; height: 90%; }}
        & VirtualTable {{ height: 1fr; min-height: 4; max-height: 12; }}
        & #export-lines {{ height: 2fr; border-top: solid $panel; }}
        & #export-lines Static {{ height: auto; }}
        & #export-home {{ height: 1; }}
        & #export-home Static {{ width: auto; margin-right: 2; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("export")

    def __init__(self, screen: RulesScreen) -> None:
        super().__init__()
        self._section = screen
        self.planned: ExportPlan | None = None

    def compose(self) -> ComposeResult:
        """Lay out the agents above the lines."""
        with self.box("Export rules"):
            yield VirtualTable(
                (
                    Column(
                        "target", "Agent", "The agent that reads the files; space marks it.", 10, priority=2
                    ),
                    Column("files", "Files", "The files that would be written.", priority=1),
                ),
                ListRows(_TARGETS, key=str, cells=_target_cells),
            )
            with Horizontal(id="export-home"):
                yield Static(safe("your own rules as well"))
                yield Flag()
            with VerticalScroll(id="export-lines"):
                yield Static(safe("enter shows what would be written.", "$text-muted italic"))
            yield Static(classes="dialog-error")
            yield Static(
                safe("space marks · enter looks · ctrl+s writes what is shown · escape leaves"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Begin at the agents."""
        self.query_one(VirtualTable).focus()

    @on(VirtualTable.Highlighted)
    def _handle_move(self, event: VirtualTable.Highlighted) -> None:
        event.stop()

    @on(VirtualTable.MarksChanged)
    @on(Flag.Changed)
    def _handle_choice(self, event: VirtualTable.MarksChanged | Flag.Changed) -> None:
        event.stop()
        self.planned = None

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self._look(self.query_one(VirtualTable).chosen)

    def _look(self, targets: Sequence[str]) -> None:
        engine, home = self._section.engine, self.query_one(Flag).value
        self._show(safe("looking …", "$text-muted italic"))

        def then(found: ExportPlan) -> None:
            self.planned = found
            self._show(planned_content(found))
            self.say(f"{plural(found.changed, 'file')} would change: ctrl+s writes" if found.changed else "")

        self._section.ask(
            "Looking",
            lambda job: export_rules(engine, targets, home, True, job),
            then,
            group="export",
            failed=self.fail,
        )

    def action_write(self) -> None:
        """Write what is shown."""
        found, section = self.planned, self._section
        if found is None:
            self.say("Look at what would be written first: enter")
            return
        if not found.changed:
            return
        self.say("writing …")
        engine = section.engine

        def then(done: ExportPlan) -> None:
            outcome = f"{plural(done.changed, 'file')} written"
            command = [word for target in done.targets for word in ("--to", target)]
            section.bench.log_action(
                ["rules", "export", *command, *(["--home"] if done.home else [])], outcome
            )
            section.bench.report("\n".join((outcome, *done.notes[:4])))
            self.dismiss(True)

        section.ask(
            "Exporting",
            lambda job: export_rules(engine, found.targets, found.home, False, job),
            then,
            group="export",
            failed=self.fail,
            writes=True,
        )

    def _show(self, content: Content) -> None:
        lines = self.query_one("#export-lines", VerticalScroll)
        lines.query_one(Static).update(content)
        lines.scroll_home(animate=False)


def _target_cells(target: str) -> tuple[Content, ...]:
    found = TARGETS[target]
    places = [place for place in (found.main, found.folder) if place]
    return (safe(target), safe(", ".join(places), "$text-muted"))
