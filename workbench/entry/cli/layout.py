"""Lines folded to a terminal's width, so that what hangs together stays under its heading."""

from __future__ import annotations

import os
import sys
import textwrap

_LEAST = 40  # columns; narrower terminals fold by themselves


def fold(text: str, indent: int) -> str:
    """Fold each line at the terminal's width, later parts `indent` columns in; unchanged in a pipe."""
    columns = terminal_columns()
    if columns is None or columns - indent < _LEAST:
        return text
    return "\n".join(
        "\n".join(
            textwrap.wrap(
                line,
                columns,
                subsequent_indent=" " * indent,
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=True,
                replace_whitespace=False,
            )
            if len(line) > columns
            else [line]
        )
        for line in text.splitlines()
    )


def terminal_columns() -> int | None:
    """Return the width of the terminal that stdout is, None where it is no terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None
