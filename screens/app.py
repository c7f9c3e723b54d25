"""The terminal app: sections over one engine, jobs in the background, and one way to say and log things."""

from __future__ import annotations

import gc
import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.notifications import SeverityLevel
from textual.screen import Screen

from screens.base import SectionScreen
from screens.chrome import StatusLine, TopBar, jobs_text
from screens.commands import SECTIONS, Section, bindings, find_section, keymap, read_alt_digits, shown_key
from screens.engine import AppEngine, StoreChanged, Watcher
from screens.jobs import Failure, Job, Jobs, interrupt_children
from screens.safe_text import toast
from screens.sitting import ActionLog, AppPlace, PlaceKeeper, read_place
from screens.undo import UndoApp
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from screens.widgets.dialogs import CopyRequested
    from workbench.entry.os.clipboard import Copied
    from workbench.lists.tables import TableRebuild

_WIDTHS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
_HEIGHTS = [(0, "-short"), (30, "-tall")]
_AFTER_THE_FRAME = 0.01  # seconds: the bar of sections is on the screen by then
_QUIET = 2.0


def _palette() -> type[Provider]:
    from screens.overlays import CommandProvider

    return CommandProvider


class WorkbenchApp(UndoApp):
    """The app on one project. `place_file` keeps the place it was left at; None keeps nothing."""

    TITLE = "workbench"
    CSS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app")]
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        section.id: section.load for section in SECTIONS
    }
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(
        self,
        root: Path,
        *,
        flags: dict[str, object] | None = None,
        place_file: Path | None = None,
        watch: bool = True,
        section: str = "",
    ) -> None:
        super().__init__()
        self.engine = AppEngine(root, flags or {})
        self.jobs = Jobs(self, self.show_failure)
        self.log_of_actions = ActionLog()
        self.badges: dict[str, str] = {}  # what waits, by section
        self.place = read_place(_read(place_file))
        if place_file is not None:
            self.keeper = PlaceKeeper(self, place_file, self.place, self._look_at_place)
        self._first = section
        self._watcher = Watcher(self, self.engine) if watch else None
        self._refused: ConfigError | None = None
        self._rebuild_told: TableRebuild | None = None
        read_alt_digits()
        self.take_theme(self._read_settings(), self.place.theme)

    # Start and end.

    def compose(self) -> ComposeResult:
        """Draw the bar of sections before the code of the first one is loaded: a frame at once."""
        yield TopBar(self._first_section.id)

    def on_mount(self) -> None:
        """Report what is wrong with the settings, then show the section that was left last."""
        if self._refused is not None:
            self.report(f"{self._refused.message}\n{self._refused.hint}", severity="error")
        self.jobs.later("app/open", _AFTER_THE_FRAME, self._open)
        self.mind_signals()
        if self._watcher is not None:  # an app that people use, not one of many in a test
            self.jobs.later("app/settle", _QUIET, _settle_memory)
            self._watcher.start()

    def _open(self) -> None:
        self.call_later(self._show_first)

    async def _show_first(self) -> None:
        await self.go_to(self._first_section.id)
        self.screen.call_later(self.call_later, self.release_keys)  # when the section has its focus

    @property
    def _first_section(self) -> Section:
        return find_section(self._first) or find_section(self.place.section) or SECTIONS[0]

    def _read_settings(self) -> str:
        """Apply the settings' keys and return their theme; what is wrong is reported later."""
        try:
            settings = self.engine.config.app
            self.set_keymap(keymap(settings.keys))
            return settings.theme
        except ConfigError as error:
            self._refused = error
            return ""

    def on_unmount(self) -> None:
        """Leave no thread that still writes to the screen, and no connection."""
        if self._watcher is not None:
            self._watcher.stop()
        self.jobs.cancel()
        interrupt_children()
        self.engine.close()

    def get_key_display(self, binding: Binding) -> str:
        """Return a key as the footer writes it."""
        return shown_key(binding.key)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Return none: the registry has all commands."""
        return ()

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """Style a widget again whose classes changed; one that is not mounted yet is styled when it is."""
        if node is self or node.parent is not None:
            super().update_styles(node, animate)

    # What sections use.

    def show_section(self, identifier: str) -> None:
        """Go to a section and remember that it was the last one shown."""
        self._note_section(identifier)
        self.switch_mode(identifier)

    async def go_to(self, identifier: str, key: str = "") -> None:
        """Go to a section and there to one thing, by its key, or to where it was."""
        self._note_section(identifier)
        await self.switch_mode(identifier)
        if key and isinstance(self.screen, SectionScreen):
            self.screen.go_to(key)

    def _note_section(self, identifier: str) -> None:
        self.place.section = identifier
        if self.keeper is not None:
            self.keeper.look_soon()  # a busy machine may have looked between the key and this

    def report(self, text: str, *, severity: SeverityLevel = "information") -> None:
        """Show a short note over the screen; the text is data."""
        toast(self, text, severity=severity)

    def copy(self, text: str, what: str) -> None:
        """Put a text on the clipboard and say what was done with it, and no more than that."""
        self._clipboard = text  # what ctrl+v pastes within the app

        def then(copied: Copied) -> None:
            self.report(copied.short)
            if not copied.confirmed:
                self.log_of_actions.add(f"# copy {what}", copied.message)

        self.jobs.start(self.screen, "Copying", partial(self._copy_text, text), then, quiet=True)

    def log_action(self, arguments: Sequence[str], outcome: str = "", *, failed: bool = False) -> None:
        """Note what was done as the command line that does the same: `["rules", "undo"]`."""
        self.log_of_actions.add(shlex.join(("workbench", *arguments)), outcome, failed=failed)

    def show_jobs(self) -> None:
        """Show what runs, else whether the mouse is the terminal's, once the section has its widgets."""
        if self.section is not None:
            released = "mouse released, f6 takes it back" if self.mouse_released else ""
            for line in self.section.query(StatusLine):
                line.jobs = jobs_text(self.jobs.running) or released

    def show_badge(self, section: str, waiting: int) -> None:
        """Show how many things wait in a section behind its title, in the bars of all sections."""
        self.badges[section] = f"{waiting:,}" if waiting else ""
        for screen in self._sections():
            for bar in screen.query(TopBar):
                bar.refresh()

    def show_failure(self, job: Job, failure: Failure) -> None:
        """Show why a job did not end; the app goes on. The log has the details."""
        hint = f"\n{failure.hint}" if failure.hint else ""
        self.report(f"{job.name}: {failure.message}{hint}", severity="error")
        self.log_of_actions.add(f"# {job.name}", failure.details or failure.message, failed=True)

    # Commands.

    def action_show_section(self, identifier: str) -> None:
        """Go to a section; a dialog that is open stays where it is."""
        if isinstance(self.screen, SectionScreen):
            self.show_section(identifier)

    def action_show_help(self) -> None:
        """List the commands of this screen, and run the one that is chosen."""
        from screens.overlays import show_help

        if isinstance(self.screen, SectionScreen) and (found := find_section(self.screen.section)):
            show_help(self.screen, found)

    def action_match(self, step: int) -> None:
        """Go to the next match of the filter or the search, or to the one before."""
        if isinstance(self.screen, SectionScreen):
            self.screen.go_to_match(step)

    def action_zoom(self) -> None:
        """Let the focused panel fill the screen, or put it back."""
        screen = self.screen
        if screen.maximized is not None:
            screen.minimize()
        elif screen.focused is not None:
            screen.maximize(screen.focused)

    def action_jump(self) -> None:
        """Show letters on the panels and go to one, or by a digit to a section."""
        from screens.overlays import show_targets

        if isinstance(self.screen, SectionScreen):
            show_targets(self.screen, self.show_section)

    def action_refresh_section(self) -> None:
        """Ask for everything on this screen again."""
        if self.section is not None:
            self.section.mark_stale()

    def copy_to_clipboard(self, text: str) -> None:
        """Put what is selected on the clipboard, by the way that is known to work here."""
        self.copy(text, "the selection")

    # Messages.

    def on_jobs_progressed(self, message: Jobs.Progressed) -> None:
        """Show how far the work is."""
        self.show_jobs()

    def on_jobs_ended(self, message: Jobs.Ended) -> None:
        """Hand over what a job returned."""
        self.jobs.take_end(message)
        if message.job.leads or message.job.lists:
            self.go_on()
        self.show_jobs()
        self._tell_rebuild()
        if self.keeper is not None:
            self.keeper.look_soon()

    def on_store_changed(self, message: StoreChanged) -> None:
        """Mark the sections stale whose journals changed."""
        for screen in self._sections():
            if any(name.startswith(mine) for name in message.streams for mine in screen.stores()):
                screen.mark_stale()

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Copy what a dialog was asked to copy."""
        self.copy(message.text, message.what)

    def on_top_bar_chosen(self, message: TopBar.Chosen) -> None:
        """Go to the section that was clicked."""
        self.show_section(message.section)

    def watch_theme(self, theme: str) -> None:
        """Remember the theme."""
        if not self.colorless:
            self.place.theme = theme

    # How it works.

    def _copy_text(self, text: str, job: Job) -> Copied:
        from workbench.entry.os.clipboard import copy

        driver = self._driver
        send = None if driver is None else partial(self.call_from_thread, driver.write)
        with self.engine.workspace(job.progress) as place:
            state = place.location.root
        return copy(text, self.engine.config.clipboard, terminal_write=send, directory=state)

    def _tell_rebuild(self) -> None:
        """Say once what became of damaged tables."""
        found = self.engine.table_rebuild
        if found is None or not found.over or found is self._rebuild_told:
            return
        self._rebuild_told = found
        if found.set_aside:
            text = f"{found.reason}. They were rebuilt from the journals; the old file is {found.set_aside}"
            self.report(text, severity="warning")
            self.log_action(["rebuild"], text)

    def _sections(self) -> list[SectionScreen]:
        stacks: Iterable[list[Screen[Any]]] = self._screen_stacks.values()
        return [screen for stack in stacks for screen in stack if isinstance(screen, SectionScreen)]

    def _look_at_place(self) -> AppPlace:
        for screen in self._sections():
            if screen.is_mounted and screen.is_running:  # one that failed has lost its widgets
                self.place.sections[screen.section] = dict(screen.remember())
        return self.place


def _settle_memory() -> None:
    """Keep what was made so far out of every later collection, each of which would hold up the loop."""
    gc.collect()
    gc.freeze()


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    from workbench.entry.project import read_place_file

    return read_place_file(path)
