"""What a command of the app is: its name, its keys, its sentence of help and what does the same headless.

Each screen declares its commands with `act`, `curate`, `view` and `move`, the groups of the help, in a module
beside this one. Screens bind them with `bindings`, so that no key, footer entry or line of help is written
anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from textual.binding import Binding

MOVE: Final = "Move"
VIEW: Final = "View"
ACT: Final = "Act"
CURATE: Final = "Curate"
GROUPS: Final = (ACT, CURATE, VIEW, MOVE)


@dataclass(frozen=True, slots=True)
class AppCommand:
    """Something a user can do.

    `id` is what a configuration remaps, `<screen>.<verb>`; `action` names the Textual action. `cli` is the
    command line that does the same, words in capitals being arguments; only commands that merely move or
    change the view have none. `rank` is the order in the footer, 1 first; 0 keeps a command out of it. One
    that `changes` something is refused where the terminal is too small to see what it does.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...]
    action: str
    group: str
    cli: str = ""
    rank: int = 0
    changes: bool = False
    priority: bool = False

    @property
    def section(self) -> str:
        """The screen it belongs to; `app` for those that are everywhere."""
        return self.id.partition(".")[0]


def _declare(  # noqa: PLR0913 - the fields of a command
    identifier: str,
    help: str,
    keys: str = "",
    cli: str = "",
    *,
    group: str,
    title: str = "",
    rank: int = 0,
    changes: bool = False,
    does: str = "",
    priority: bool = False,
) -> AppCommand:
    """Return a command; `keys` are separated by spaces.

    Its title and its action are its verb unless given: `rules.edit-all` is `Edit all` and runs
    `action_edit_all`, wherever it is asked for.
    """
    section, _, verb = identifier.partition(".")
    action = does or verb.replace("-", "_")
    return AppCommand(
        identifier,
        title or verb.replace("-", " ").capitalize(),
        help,
        tuple(keys.split()),
        f"app.{action}" if section == "app" else action,
        group,
        cli,
        rank,
        changes,
        priority,
    )


act = partial(_declare, group=ACT)
curate = partial(_declare, group=CURATE, changes=True)
view = partial(_declare, group=VIEW)
move = partial(_declare, group=MOVE)


def bindings(commands: Iterable[AppCommand]) -> list[Binding]:
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
