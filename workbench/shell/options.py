"""What well-known programs call the same option, and which of their options take a value.

The tables are in `data/options.json`. A program that is not listed has no aliases, and what follows one of
its options may or may not be that option's value.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

_TABLES: Final[dict[str, Any]] = json.loads(
    (files(__package__) / "data" / "options.json").read_text(encoding="utf-8")
)
_ALIASES: Final = {
    name: tuple(frozenset(group.split()) for group in groups.split("|"))
    for name, groups in _TABLES["aliases"].items()
}
_VALUES: Final = {name: frozenset(options.split()) for name, options in _TABLES["values"].items()}
_SAME: Final[dict[str, dict[str, str]]] = _TABLES["same"]

LONG_SINGLE_DASH: Final = frozenset(_TABLES["long_single_dash"].split())
"""One dash begins a long option of these programs, not a cluster of short ones."""

ABBREVIATING: Final = frozenset(_TABLES["abbreviating"].split())
"""These programs take any unambiguous beginning of a long option."""


def aliases(program: str, subcommand: str, option: str) -> frozenset[str]:
    """Return all the ways to write an option of a program's subcommand, itself included."""
    for name in (f"{program} {subcommand}", program):
        for group in _ALIASES.get(name, ()):
            if option in group:
                return group
        if name in _ALIASES and name != program:
            break  # what the subcommand means by a letter is listed there
    return frozenset({option})


def value_options(program: str, subcommand: str = "") -> frozenset[str] | None:
    """Return the options that are followed by a value, None for a program that is not known."""
    own = _VALUES.get(program)
    if own is None or not subcommand:
        return own
    return own | _VALUES.get(f"{program} {subcommand}", frozenset())


def subcommand_name(program: str, word: str) -> str:
    """Return the full name of a subcommand: npm's `i` is `install`."""
    return _SAME.get(program, {}).get(word, word)
