"""Keys: how they are written for people, what a configuration says about them, and what terminals send.

Textual reads escape and a digit as the character that Option and the digit give on an American Mac keyboard
(`¡` for 1), since one terminal there sends the former for the latter. Everywhere else they are what a
terminal sends for alt and the digit. A terminal that composes sends the character itself, which stays one:
people also type `£` or `§` by keys of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

from screens.commands.registry import BY_SECTION
from workbench.errors import ConfigError
from workbench.suggest import did_you_mean

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
    """Have escape and a digit read as alt and the digit, in this process."""
    table: Any = ANSI_SEQUENCES_KEYS  # a dict, declared as one that nobody changes
    for digit in range(10):
        table[f"\x1b{digit}"] = (AltDigit(f"alt+{digit}"),)
