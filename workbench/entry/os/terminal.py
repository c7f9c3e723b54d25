"""Whether this is a place for the app: decided once, before anything of it is imported.

`workbench` without arguments opens the app for a person at a terminal, and prints its help where the output
goes into a pipe, a file or a log of continuous integration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

MINIMUM: Final = (60, 20)  # columns and lines
_DUMB = frozenset({"", "dumb", "unknown"})


def can_show_app(environment: Mapping[str, str], stdin_tty: bool, stdout_tty: bool) -> str:
    """Return why the app cannot be shown, one sentence, or an empty string if it can.

    A driver that Textual is told to use (`TEXTUAL_DRIVER`, as in a browser) needs no terminal. The size is no
    reason: a terminal can be made larger while the app runs.
    """
    if environment.get("TEXTUAL_DRIVER"):
        return ""
    if not stdin_tty:
        return "the input is not a terminal"
    if not stdout_tty:
        return "the output is not a terminal"
    terminal = environment.get("TERM", "")
    if os.name != "nt" and terminal in _DUMB:
        return f"the terminal cannot move its cursor (TERM={terminal})"
    return ""


def too_small(columns: int, lines: int) -> str:
    """Return what is wrong with a size in cells, one sentence, or an empty string if the app fits in."""
    if columns >= MINIMUM[0] and lines >= MINIMUM[1]:
        return ""
    return f"{columns}×{lines} is too small: {MINIMUM[0]}×{MINIMUM[1]} or more is needed"
