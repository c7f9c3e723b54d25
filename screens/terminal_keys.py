"""Keys as terminals send them: alt and a digit are told apart from the characters they compose on a Mac.

Textual reads escape and a digit as the character that Option and the digit give on an American Mac keyboard
(`¡` for 1), since one terminal there sends the former for the latter. Everywhere else they are what a
terminal sends for alt and the digit. A terminal that composes sends the character itself, which stays one:
people also type `£` or `§` by keys of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


@dataclass(frozen=True, slots=True)
class AltDigit:
    """A key as the table of sequences has them: Textual's parser takes the name from `value`."""

    value: str


def tell_alt_digits_apart() -> None:
    """Have escape and a digit read as alt and the digit, in this process."""
    table: Any = ANSI_SEQUENCES_KEYS  # a dict, declared as one that nobody changes
    for digit in range(10):
        table[f"\x1b{digit}"] = (AltDigit(f"alt+{digit}"),)
