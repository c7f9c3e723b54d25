"""The sections of the app, all commands and their keys, which palette, help and documentation list.

They are declared in `commands.json` and nowhere else: no key, footer entry or line of help is written in a
screen. What people do in many sections is a verb, which has the same keys in all of them: a command names its
verb and gets these keys, and none of them means anything else anywhere. A command's other fields are those of
`AppCommand`. Its title and its action follow from its id unless given: `rules.edit-all` is `Edit all` and
runs `action_edit_all`, wherever it is asked for. Widgets and dialogs have keys there, too, by the widget.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.content import Content

from screens.safe_text import safe
from workbench.errors import ConfigError
from workbench.suggest import did_you_mean

if TYPE_CHECKING:
    from screens.base import SectionScreen

MOVE: Final = "Move"
VIEW: Final = "View"
ACT: Final = "Act"
CURATE: Final = "Curate"
GROUPS: Final = (ACT, CURATE, VIEW, MOVE)


@dataclass(frozen=True, slots=True)
class Section:
    """A screen: its id, the key that opens it, its title, what it is for, and `module:Class`.

    `short` and `brief` are its titles where there is little room, and less. The module is imported when the
    screen is first shown, so that the first paint pays for one screen alone.
    """

    id: str
    key: str
    title: str
    summary: str
    target: str
    short: str
    brief: str

    def load(self) -> SectionScreen:
        """Import the screen and make it."""
        module, _, name = self.target.partition(":")
        screen: SectionScreen = getattr(import_module(module), name)()
        return screen


@dataclass(frozen=True, slots=True)
class Verb:
    """What is done in many sections, its keys, the same everywhere, and in a sentence what it does."""

    id: str
    keys: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True)
class AppCommand:
    """Something a user can do.

    `id` is what a configuration remaps, `<screen>.<verb>`; `action` names the Textual action. `cli` is the
    command line that does the same, words in capitals being arguments; only commands that merely move or
    change the view have none. `rank` is the order in the footer, 1 first; 0 keeps a command out of it. One
    that `changes` something, as all that curate do, is refused where the terminal is too small to see what
    it does. Keys of one with `priority` that are no text work in a field, too.
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
    verb: str = ""

    @property
    def section(self) -> str:
        """The screen it belongs to; `app` for those that are everywhere."""
        return self.id.partition(".")[0]


def _command(declared: Mapping[str, Any]) -> AppCommand:
    section, _, verb = declared["id"].partition(".")
    given = {"title": verb.replace("-", " ").capitalize(), "changes": declared["group"] == CURATE, **declared}
    action = given.pop("does", verb.replace("-", "_"))
    given["keys"] = _keys(declared)
    return AppCommand(action=f"app.{action}" if section == "app" else action, **given)


def _keys(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a command or of a widget: those of its verb, then its own."""
    verb = declared.get("verb")
    return (*(VERBS[verb].keys if verb else ()), *declared.get("keys", "").replace(",", " ").split())


def _go_to(section: Section) -> AppCommand:
    return AppCommand(
        f"app.{section.id}",
        section.title,
        f"Go to {section.title}: {section.summary}",
        (section.key, f"alt+{section.key}"),
        f"app.show_section('{section.id}')",
        MOVE,
    )


_DECLARED = json.loads((files(__package__) / "commands.json").read_text(encoding="utf-8"))
SECTIONS: Final = tuple(Section(**one) for one in _DECLARED["sections"])
VERBS: Final[Mapping[str, Verb]] = {
    one["id"]: Verb(one["id"], tuple(one["keys"].split()), one["help"]) for one in _DECLARED["verbs"]
}
_COMMANDS: Final = (*map(_command, _DECLARED["commands"]), *map(_go_to, SECTIONS))
BY_SECTION: Final = {
    section: tuple(command for command in _COMMANDS if command.section == section)
    for section in ("app", *(one.id for one in SECTIONS))
}


def find_section(identifier: str) -> Section | None:
    """Return the section with an id, None for an unknown one."""
    return next((section for section in SECTIONS if section.id == identifier), None)


def commands_of(section: str) -> tuple[AppCommand, ...]:
    """Return the commands of a screen, then those that are everywhere."""
    return (*BY_SECTION.get(section, ()), *BY_SECTION["app"])


def find_command(identifier: str) -> AppCommand | None:
    """Return the command with an id, None for an unknown one."""
    known = BY_SECTION.get(identifier.partition(".")[0], ())
    return next((command for command in known if command.id == identifier), None)


def bindings(section: str) -> list[Binding]:
    """Return the key bindings of a screen's own commands, remappable by their ids."""
    return [
        Binding(
            ",".join(keys),
            command.action,
            command.title,
            show=command.rank > 0,
            tooltip=command.help,
            id=command.id,
            priority=priority,
        )
        for command in BY_SECTION[section]
        for priority, keys in _by_priority(command)
        if keys
    ]


_FUNCTION_KEY: Final = re.compile(r"f\d+$")


def _by_priority(command: AppCommand) -> tuple[tuple[bool, list[str]], ...]:
    """Return the keys of a command that work in a field, too, and the others: a letter is text there."""
    first = [key for key in command.keys if command.priority and ("+" in key or _FUNCTION_KEY.match(key))]
    return (True, first), (False, [key for key in command.keys if key not in first])


def widget_bindings(widget: str) -> list[BindingType]:
    """Return the key bindings of a widget or a dialog, remappable by their ids."""
    return [
        Binding(
            ",".join(_keys(one)),
            one["does"],
            one["title"],
            show=not one.get("hidden", False),
            tooltip=one.get("help", ""),
            id=one["id"],
            priority=one.get("priority", False),
        )
        for one in _DECLARED["widgets"][widget]
    ]


WIDGET_KEYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    one["id"]: (one.get("verb", ""), _keys(one)) for keys in _DECLARED["widgets"].values() for one in keys
}
"""The verb of each key of a widget or a dialog, "" for none, and the keys, by the id."""

IN_LISTS: Final = tuple(
    AppCommand(one["id"], one["title"], f"{one['help']}.", _keys(one), "", "In lists")
    for widget in ("table", "table.view")
    for one in _DECLARED["widgets"][widget]
)
"""What every list answers to while it has the focus; there is nothing to run from elsewhere."""

WIDGET_RANKS: Final[Mapping[str, int]] = {
    one["id"]: one["rank"] for keys in _DECLARED["widgets"].values() for one in keys if "rank" in one
}
"""The order in the footer of keys that widgets have there while they are focused."""


_NAMES: Final = {
    "question_mark": "?",
    "colon": ":",
    "semicolon": ";",
    "slash": "/",
    "space": "space",
    "asterisk": "*",
    "plus": "+",
    "minus": "-",
    "full_stop": ".",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "exclamation_mark": "!",
    "backslash": "\\",
    "enter": "enter",
    "escape": "esc",
}
_SHOWN: Final = 2


def shown_key(key: str) -> str:
    """Return a key as people write it: `^p`, `?`, `alt+1`."""
    name = key.removeprefix("ctrl+")
    written = _NAMES.get(name, name)
    return f"^{written}" if name != key else written


def shown_keys(keys: Sequence[str]) -> str:
    """Return the first keys of a command, as many as a column of help has room for."""
    return " ".join(shown_key(key) for key in keys[:_SHOWN])


def key_of(identifier: str) -> str:
    """Return the first key of a command or of a verb as people write it. Raises: KeyError without one."""
    command = find_command(identifier)
    return shown_key(command.keys[0] if command is not None else VERBS[identifier].keys[0])


def pane_title(title: str, identifier: str) -> Content:
    """Return what the border of a pane says: the key of the command or verb that leads there, and a title."""
    return Content.assemble((key_of(identifier), "bold $text-accent"), " ", safe(title))


def keymap(settings: Iterable[str]) -> dict[str, str]:
    """Return {command id: keys} of settings like `rules.edit=e,f2`.

    Raises: ConfigError for one that names no command or no key.
    """
    known = {command.id for commands in BY_SECTION.values() for command in commands}
    found: dict[str, str] = {}
    for setting in settings:
        identifier, equals, keys = (part.strip() for part in setting.partition("="))
        if not equals or not keys:
            raise ConfigError(
                f"app.keys: {setting!r} is not `command=key`", hint="For example rules.edit=e,f2"
            )
        if identifier not in known:
            raise ConfigError(
                f"app.keys: there is no command {identifier!r}",
                hint=did_you_mean(
                    identifier, sorted(known), "`?` in the app lists the commands of a screen."
                ),
            )
        found[identifier] = ",".join(key.strip() for key in keys.split(","))
    return found


@dataclass(frozen=True, slots=True)
class AltDigit:
    """A key as the table of sequences has them: Textual's parser takes the name from `value`."""

    value: str


def read_alt_digits() -> None:
    """Have escape and a digit read as alt and the digit, in this process.

    Textual reads them as the character that Option and the digit give on an American Mac keyboard (`¡` for
    1), since one terminal there sends the former for the latter. Everywhere else they are what a terminal
    sends for alt and the digit. A terminal that composes sends the character itself, which stays one: people
    also type `£` or `§` by keys of their own.
    """
    table: Any = ANSI_SEQUENCES_KEYS  # a dict, declared as one that nobody changes
    for digit in range(10):
        table[f"\x1b{digit}"] = (AltDigit(f"alt+{digit}"),)
