"""The help of a screen: its commands with keys, sentence and command line; `/` filters, enter runs one."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from screens.commands.model import GROUPS, Command
from screens.commands.registry import commands_of
from screens.keys import shown_keys

_WIDEST: Final = 110
_FRAME: Final = 9  # cells that border, padding and scrollbar take


class HelpList(OptionList):
    """The commands; it moves and pages by the keys of every list, and by space as pagers do."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="help.list.down"),
        Binding("k", "cursor_up", "Up", show=False, id="help.list.up"),
        Binding("space", "page_down", "Page down", show=False, id="help.list.page-down"),
        Binding("g", "first", "First", show=False, id="help.list.first"),
        Binding("G", "last", "Last", show=False, id="help.list.last"),
    ]


class HelpScreen(ModalScreen[str]):
    """Lists the commands of a section; returns the action of the one that was chosen, empty for none."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical {
        width: 90%; max-width: 110; height: 90%; background: $surface; border: round $primary; padding: 0 1;
    }
    HelpScreen OptionList { height: 1fr; border: none; background: $surface; }
    HelpScreen Input, HelpScreen Input:focus { border: none; height: 1; padding: 0; background: $panel; }
    HelpScreen Static { height: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,question_mark", "leave", "Close", id="help.close"),
        Binding("slash", "filter", "Filter", id="help.filter"),
        # While the filter is written, too.
        Binding("down", "move('cursor_down')", "Down", id="help.down", priority=True),
        Binding("up", "move('cursor_up')", "Up", id="help.up", priority=True),
        Binding("pagedown", "move('page_down')", "Page down", id="help.page-down", priority=True),
        Binding("pageup", "move('page_up')", "Page up", id="help.page-up", priority=True),
    ]

    def __init__(self, section: str, title: str) -> None:
        super().__init__()
        self.section_id = section
        self.heading = title

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

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self._show(event.value)

    def on_input_submitted(self) -> None:
        """Run the highlighted command."""
        self.query_one(OptionList).action_select()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen command's action."""
        self.dismiss(event.option_id or "")

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
        found = [command for command in commands_of(self.section_id) if matches(command, query)]
        column = max((len(shown_keys(command.keys)) for command in found), default=0)
        width = min(_WIDEST, self.app.size.width * 9 // 10) - _FRAME
        for group in GROUPS:
            members = [command for command in found if command.group == group]
            if members:
                options.add_option(Option(Content.styled(group, "bold"), disabled=True))
                options.add_options(_options(members, column, width))
        options.highlighted = 1 if found else None


def matches(command: Command, query: str) -> bool:
    """Whether every word of a query is somewhere in a command's texts."""
    text = f"{command.id} {command.title} {command.help} {command.cli} {' '.join(command.keys)}".lower()
    return all(word in text for word in query.lower().split())


def _options(commands: Iterable[Command], column: int, width: int) -> list[Option]:
    """Return what each command is and does; lines go on below its title, at most `width` cells long."""
    made = []
    gap = " " * (column + 3)
    for command in commands:
        first, *rest = wrap(f"{command.title}  {command.help}", max(20, width - len(gap)))
        parts: list[Content | tuple[str, str]] = [
            (f" {shown_keys(command.keys).ljust(column)}  ", "$text-accent bold"),
            Content.assemble((command.title, "bold"), first[len(command.title) :]),
            *(Content(f"\n{gap}{line}") for line in rest),
        ]
        if command.cli:
            parts.append((f"\n{gap}$ {command.cli}", "$text-muted"))
        made.append(Option(Content.assemble(*parts), id=command.action))
    return made
