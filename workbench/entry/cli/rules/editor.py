"""A text edited in the person's editor, in a file that outlives whatever goes wrong with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.entry.cli.output import Output
from workbench.entry.os.editor import draft_bytes, edited


def has_editor() -> bool:
    """Whether there is somebody to edit: an editor that is set, or a terminal for the usual ones."""
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR")) or sys.stdin.isatty()


@contextmanager
def edit_text(out: Output, draft: Path, text: str) -> Iterator[str | None]:
    """Give the text as a person left it, None if it is as it was; the draft is removed when all went well.

    If anything fails, the editor included, the draft stays, and the next edit goes on with it. Raises:
    UsageError for bytes that are no UTF-8; ProcessError if the editor fails.
    """
    draft.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if draft.exists():
        out.say(f"going on with what was kept in {draft}")
    else:
        draft.write_bytes(draft_bytes(text))
    try:
        found = edited(draft)
        yield None if found == text.strip() else found
    except BaseException:
        if draft.exists() and draft.read_bytes().strip() not in (
            b"",
            draft_bytes(text).strip(),
        ):
            out.say(f"what you wrote is kept in {draft}")
        else:
            draft.unlink(missing_ok=True)
        raise
    draft.unlink(missing_ok=True)
