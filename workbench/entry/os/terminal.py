"""What the terminal can show: whether it is a place for the app, and how wide lines of text may be.

`workbench` without arguments opens the app for a person at a terminal, and prints its help where the output
goes into a pipe, a file or a log of continuous integration. That is decided before anything of the app is
imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping

_LEAST = 40  # columns; narrower terminals fold by themselves
_DUMB = frozenset({"", "dumb", "unknown"})


def can_show_app(environment: Mapping[str, str], stdin_tty: bool, stdout_tty: bool, stderr_tty: bool) -> str:
    """Return why the app cannot be shown, one sentence, or an empty string if it can.

    A driver that Textual has to use (`TEXTUAL_DRIVER`, as in a browser) needs no terminal. The size is no
    reason: a terminal can be made larger while the app runs.
    """
    if environment.get("TEXTUAL_DRIVER"):
        return ""
    if not stdin_tty:
        return "the input is not a terminal"
    if not stdout_tty:
        return "the output is not a terminal"
    if not stderr_tty:
        return "stderr, on which it is drawn, is not a terminal"
    terminal = environment.get("TERM", "")
    if os.name != "nt" and terminal in _DUMB:
        return f"the terminal cannot move its cursor (TERM={terminal})"
    return ""


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


def shell_waits() -> bool:
    """Return whether a shell with job control would bring this process back if it were stopped.

    The kernel knows: it does not stop what belongs to an orphaned process group, as in a window of tmux or a
    container that runs the program and no shell, so a child is asked to stop itself.
    """
    if sys.platform == "win32":
        return False
    child = subprocess.Popen(["/bin/sh", "-c", "kill -TSTP $$"])
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        child.kill()
        child.wait()
        return True
    child.returncode = os.waitstatus_to_exitcode(status)
    return False
