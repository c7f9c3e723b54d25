"""What lies over a screen for a moment: the list of its commands, the command palette, and jump mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from screens.commands import (
    GROUPS,
    IN_LISTS,
    SECTIONS,
    AppCommand,
    Section,
    commands_of,
    shown_key,
    shown_keys,
    widget_bindings,
)
from screens.modal import Modal
from screens.themes import style_of
from screens.widgets.dialogs import LegibleList
from screens.widgets.table_rows import Column
from screens.widgets.table_view import DrawnTable

_WIDEST: Final = 110
_FRAME: Final = 9  # cells that border, padding and scrollbar take


class HelpList(LegibleList):
    """The commands; it moves and pages by the keys of every list, and by space as pagers do."""

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("help.list")


class HelpScreen(Modal[str]):
    """Lists the commands of a section, and what is in the columns of its tables.

    It returns the action of the command that was chosen, empty for none.
    """

    DEFAULT_CSS = style_of("HelpScreen")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("help")

    def __init__(self, section: str, title: str, columns: Sequence[Column] = ()) -> None:
        super().__init__()
        self.section_id = section
        self.heading = title
        self.columns = columns

    def compose(self) -> ComposeResult:
        """Put the filter above the list."""
        with Vertical():
            yield Static(Content.styled(f"{self.heading}: keys and commands", "bold"))
            yield Input(
                placeholder="/ filters; enter runs; space and pgdn page; esc closes",
                id="help-filter",
                select_on_focus=False,
            )
            yield HelpList(id="help-list", markup=False)

    def on_mount(self) -> None:
        """Show everything."""
        self._show("")
        self.query_one(OptionList).focus()

    def on_resize(self) -> None:
        """Wrap the lines again."""
        if self.query_one(OptionList).option_count:
            self._show(self.query_one(Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self._show(event.value)

    def on_input_submitted(self) -> None:
        """Run the highlighted command."""
        self.query_one(OptionList).action_select()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen command's action."""
        commands = (*commands_of(self.section_id), *IN_LISTS)
        self.dismiss(next((one.action for one in commands if one.id == event.option_id), ""))

    def action_filter(self) -> None:
        """Write a filter."""
        self.query_one(Input).focus()

    async def action_move(self, how: str) -> None:
        """Move in the list while the filter keeps the focus."""
        await self.query_one(OptionList).run_action(how)

    def action_leave(self) -> None:
        """Take the filter off and go to the list; from there close without choosing."""
        written = self.query_one(Input)
        if written.has_focus:
            written.value = ""
            self.query_one(OptionList).focus()
        else:
            self.dismiss("")

    def _show(self, query: str) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        found = [one for one in (*commands_of(self.section_id), *IN_LISTS) if matches(one, query)]
        column = max((len(shown_keys(command.keys)) for command in found), default=0)
        width = min(_WIDEST, self.app.size.width * 9 // 10) - _FRAME
        for group in (*GROUPS, IN_LISTS[0].group):
            members = [command for command in found if command.group == group]
            if members:
                options.add_option(Option(Content.styled(group, "bold"), disabled=True))
            for command in members:
                options.add_option(Option(_help_lines(command, column, width), id=command.id))
        words = query.lower().split()
        columns = [
            one for one in self.columns if all(word in f"{one.title} {one.about}".lower() for word in words)
        ]
        if columns:
            options.add_option(Option(Content.styled("Columns", "bold"), disabled=True))
        for one in columns:
            options.add_option(Option(_column_lines(one, column, width), disabled=True))
        options.highlighted = 1 if found else None


def matches(command: AppCommand, query: str) -> bool:
    """Whether every word of a query is somewhere in a command's texts."""
    text = f"{command.id} {command.title} {command.help} {command.cli} {' '.join(command.keys)}".lower()
    return all(word in text for word in query.lower().split())


def _help_lines(command: AppCommand, column: int, width: int) -> Content:
    """Return what a command is and does; lines go on below its title, at most `width` cells long."""
    gap = " " * (column + 3)
    room = max(20, width - len(gap))
    first, *rest = wrap(f"{command.title}  {command.help}", room)
    headless = wrap(f"$ {command.cli}", room, subsequent_indent="    ") if command.cli else []
    return Content.assemble(
        (f" {shown_keys(command.keys).ljust(column)}  ", "$text-accent bold"),
        Content.assemble((command.title, "bold"), first[len(command.title) :]),
        *(f"\n{gap}{line}" for line in rest),
        *((f"\n{gap}{line}", "$text-muted") for line in headless),
    )


def _column_lines(one: Column, column: int, width: int) -> Content:
    """Return what is in a column, beside its heading where it has one."""
    title = one.title.strip()
    gap = " " * (max(column, len(title)) + 3)
    first, *rest = wrap(one.about, max(20, width - len(gap)))
    head = Content.styled(f" {title.ljust(len(gap) - 2)} ", "bold")
    return Content.assemble(head, first, *(f"\n{gap}{line}" for line in rest))


class CommandProvider(Provider):
    """Offers the commands that can be given now, with their keys and help."""

    @property
    def section(self) -> str:
        """The section the palette was opened on."""
        return self.screen.id or ""

    async def discover(self) -> Hits:
        """Offer everything before anything is typed."""
        for command in self._offered_commands():
            yield DiscoveryHit(_line(command), partial(self._run, command), command.title, _help(command))

    async def search(self, query: str) -> Hits:
        """Offer what matches, by title and by what it does."""
        matcher = self.matcher(query)
        for command in self._offered_commands():
            text = f"{command.title}: {command.help}"
            score = max(matcher.match(command.title), matcher.match(text) * 0.8)
            if score > 0:
                yield Hit(score, _line(command), partial(self._run, command), command.title, _help(command))

    def _offered_commands(self) -> list[AppCommand]:
        active = {one.binding.id for one in self.screen.active_bindings.values()}
        return [one for one in commands_of(self.section) if not one.keys or one.id in active]

    async def _run(self, command: AppCommand) -> None:
        await self.screen.run_action(command.action)


def _line(command: AppCommand) -> Content:
    keys = f"  {shown_key(command.keys[0])}" if command.keys else ""
    return Content.assemble(command.title, (keys, "$text-accent"))


def _help(command: AppCommand) -> str:
    return (
        f"{command.help} [{command.cli}]".replace("[", "(").replace("]", ")") if command.cli else command.help
    )


LETTERS: Final = "asdfghjklqwertyuiopzxcvbnm"


class JumpScreen(Modal[Widget | Section | None]):
    """Shows the letters over the screen below; returns the widget or the section whose key was pressed."""

    DEFAULT_CSS = style_of("JumpScreen")

    def __init__(self, targets: dict[str, tuple[Widget, Region]]) -> None:
        super().__init__()
        self.targets = targets

    def compose(self) -> ComposeResult:
        """Put each letter into the corner of its widget."""
        for letter, (_, region) in self.targets.items():
            label = Static(Content(f"[{letter}]"))
            label.styles.offset = (region.x, region.y)
            yield label

    def on_key(self, event: Key) -> None:
        """Leave with the widget of the letter, the section of the digit, or with none."""
        event.stop()
        found = self.targets.get(event.key)
        section = next((one for one in SECTIONS if one.key == event.key), None)
        self.dismiss(found[0] if found else section)


def show_help(here: Screen[Any], section: Section) -> None:
    """List the commands of a screen, a section's, and run the one that is chosen there."""

    def run(action: str | None) -> None:
        if action:
            here.app.run_worker(here.run_action(action), exit_on_error=True)

    tables = (table for table in here.query(DrawnTable) if table.region.area)
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    here.app.push_screen(HelpScreen(section.id, section.title, tuple(columns)), run)


def show_targets(here: Screen[Any], show_section: Callable[[str], None]) -> None:
    """Show a letter on each widget of a screen that can be seen, and go where a key says."""
    visible = [widget for widget in here.focus_chain if widget.region.area and not widget.disabled]

    def go(target: Widget | Section | None) -> None:
        if isinstance(target, Widget):
            target.focus()
        elif target is not None:
            show_section(target.id)

    targets = {letter: (widget, widget.region) for letter, widget in zip(LETTERS, visible, strict=False)}
    here.app.push_screen(JumpScreen(targets), go)
