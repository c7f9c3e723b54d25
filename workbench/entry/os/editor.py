"""A file in the person's own editor: `$VISUAL`, `$EDITOR` or the usual ones, with whatever arguments it has.

The command line and the screens wait for the same editor and read what it leaves in the same way.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workbench.beneath import safe_path
from workbench.errors import ProcessError, UsageError

_PLUS: Final = frozenset("vi vim nvim gvim view nano pico emacs emacsclient kak joe micro ne mg jed".split())
_GOTO: Final = frozenset(("code", "codium", "code-insiders", "cursor", "windsurf"))
_COLON: Final = frozenset(("hx", "helix", "subl", "zed"))


def edit_file(draft: Path) -> str:
    """Wait until the editor is closed and return the file's text without blanks around it.

    Raises: ProcessError if the editor is missing or fails; UsageError for bytes that are no UTF-8.
    """
    import click

    try:
        with _interrupts_are_the_editors():
            click.edit(filename=str(draft), require_save=False, env={"PATH": safe_path()})
    except click.ClickException as error:
        raise ProcessError(error.message, hint="Set $EDITOR to an editor that works.") from error
    except ValueError as error:
        raise ProcessError(f"$EDITOR is not a command: {error}", hint="Close its quotes.") from error
    return _read(draft)


def open_at(path: Path, line: int = 0) -> None:
    """Wait until the editor is closed that a file of somebody's was opened in, at a line if that is known.

    Raises: ProcessError if the editor is missing or fails.
    """
    import click

    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(given)
    except ValueError as error:
        raise ProcessError(f"$EDITOR is not a command: {error}", hint="Close its quotes.") from error
    try:
        with _interrupts_are_the_editors():
            if not command or not line:
                click.edit(filename=str(path), require_save=False, env={"PATH": safe_path()})
                return
            arguments = [*command, *_at_line(command[0], path, line)]
            code = subprocess.run(arguments, check=False, env={**os.environ, "PATH": safe_path()}).returncode
    except (click.ClickException, OSError) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise ProcessError(reason, hint="Set $EDITOR to an editor that works.") from error
    if code:
        raise ProcessError(f"{command[0]} ended with {code}", hint="Set $EDITOR to an editor that works.")


def _at_line(editor: str, path: Path, line: int) -> list[str]:
    """Return the arguments that open a file at a line, or the file alone where an editor has no such."""
    name = Path(editor).stem.lower()
    if name in _PLUS:
        return [f"+{line}", str(path)]
    if name in _GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}"] if name in _COLON else [str(path)]


def draft_bytes(text: str) -> bytes:
    """Return a text as it is put into a file to be edited."""
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _read(draft: Path) -> str:
    try:
        data = draft.read_bytes().removeprefix(b"\xef\xbb\xbf")
        return data.decode("utf-8", "surrogatepass").replace("\r\n", "\n").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"what was saved is not UTF-8: {error}", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise ProcessError(f"what was saved cannot be read: {error}", hint="Save it where it was.") from error


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Leave Ctrl-C to the editor, which has the terminal; it inherits SIG_IGN, but no handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def has_editor() -> bool:
    """Whether there is somebody to edit: an editor that is set, or a terminal for the usual ones."""
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR")) or sys.stdin.isatty()


@contextmanager
def edit_text(say: Callable[[str], object], draft: Path, text: str) -> Iterator[str | None]:
    """Give the text as a person left it, None if it is as it was; the draft is removed when all went well.

    If anything fails, the editor included, the draft stays, and the next edit goes on with it. Raises:
    UsageError for bytes that are no UTF-8; ProcessError if the editor fails.
    """
    draft.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if draft.exists():
        say(f"resuming the draft kept in {draft}")
    else:
        draft.write_bytes(draft_bytes(text))
    try:
        found = edit_file(draft)
        yield None if found == text.strip() else found
    except BaseException:
        if draft.exists() and draft.read_bytes().strip() not in (
            b"",
            draft_bytes(text).strip(),
        ):
            say(f"what you wrote is kept in {draft}")
        else:
            draft.unlink(missing_ok=True)
        raise
    draft.unlink(missing_ok=True)
