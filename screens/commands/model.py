"""What a command of the app is: its name, its keys, its sentence of help and what does the same headless.

Each screen declares its commands as a tuple of these in a module of its own beside this one. Screens bind
them with `bindings`, so that no key, footer entry or line of help is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from textual.binding import Binding

MOVE: Final = "Move"
VIEW: Final = "View"
ACT: Final = "Act"
CURATE: Final = "Curate"
GROUPS: Final = (ACT, CURATE, VIEW, MOVE)


@dataclass(frozen=True, slots=True)
class Command:
    """Something a user can do.

    `id` is what a configuration remaps, `<screen>.<verb>`. `action` names the Textual action, by default the
    verb with underscores: `rules.edit-all` runs `action_edit_all`. `cli` is the command line that does the
    same, words in capitals being arguments; only commands that merely move or change the view have none.
    `rank` is the order in the footer, 1 first; 0 keeps a command out of it. One that `changes` something is
    refused where the terminal is too small to see what it does.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...] = ()
    cli: str = ""
    group: str = ACT
    rank: int = 0
    changes: bool = False
    does: str = ""
    priority: bool = False

    @property
    def section(self) -> str:
        """The screen it belongs to; `app` for those that are everywhere."""
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        """The Textual action that carries it out, wherever it is asked for."""
        name = self.does or self.id.partition(".")[2].replace("-", "_")
        return f"app.{name}" if self.section == "app" else name


def bindings(commands: Iterable[Command]) -> list[Binding]:
    """Return the key bindings of commands, remappable by their ids."""
    return [
        Binding(
            ",".join(command.keys),
            command.action,
            command.title,
            show=command.rank > 0,
            tooltip=command.help,
            id=command.id,
            priority=command.priority,
        )
        for command in commands
        if command.keys
    ]
