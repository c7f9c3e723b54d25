"""A text edited in the person's editor, in a file that outlives whatever goes wrong with it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from workbench.entry.cli.output import Output
from workbench.errors import UsageError


def has_editor() -> bool:
    """Whether there is somebody to edit: an editor that is set, or a terminal for the usual ones."""
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR")) or sys.stdin.isatty()


@contextmanager
def edit_text(out: Output, draft: Path, text: str) -> Iterator[str | None]:
    """Give the text as a person left it, None if it is as it was; the draft is removed when all went well.

    If anything fails, the editor included, the draft stays, and the next edit goes on with it. Raises:
    UsageError for bytes that are no UTF-8; click.ClickException if the editor fails.
    """
    draft.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if draft.exists():
        out.say(f"going on with what was kept in {draft}")
    else:
        draft.write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")
    try:
        with _interrupts_are_the_editors():
            click.edit(filename=str(draft), require_save=False)
        found = _read(draft)
        yield None if found == text.strip() else found
    except BaseException:
        if draft.exists() and draft.read_bytes().strip() not in (
            b"",
            text.encode("utf-8", "surrogatepass").strip(),
        ):
            out.say(f"what you wrote is kept in {draft}")
        else:
            draft.unlink(missing_ok=True)
        raise
    draft.unlink(missing_ok=True)


def _read(draft: Path) -> str:
    try:
        data = draft.read_bytes().removeprefix(b"\xef\xbb\xbf")
        return data.decode("utf-8", "surrogatepass").replace("\r\n", "\n").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"what was saved is not UTF-8: {error}", hint="Save it as UTF-8.") from error


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
