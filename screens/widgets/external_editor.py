"""A text in the person's own editor while the app steps aside.

Whatever happens there, what was written is not lost: a draft that could not be used stays in a private
directory, its path is reported, and the next edit can continue it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from textual.app import App, SuspendNotSupported

from screens.widgets.dialogs import Validate
from workbench.entry.os.editor import draft_bytes, edit_file, open_at
from workbench.errors import WorkbenchError


@dataclass(frozen=True, slots=True)
class Edited:
    """Another text, which is valid."""

    text: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The editor was closed with the text as it was."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The edit cannot be used: why, what to try, and where the draft is if it differs from the text."""

    reason: str
    hint: str = ""
    kept: Path | None = None


Outcome: TypeAlias = Edited | Unchanged | Failed

Result = TypeVar("Result")

_DIRECTORY: Final = "workbench-"


def edit_externally(
    app: App[Any],
    text: str,
    *,
    suffix: str = ".md",
    validate: Validate = lambda text: "",
    draft: Path | None = None,
) -> Outcome:
    """Suspend the app, let the editor have the text, and say what came of it.

    `suffix` tells the editor the format; `draft` is a file that an earlier attempt left (`Failed.kept`), gone
    on with instead of the text. `validate` returns what is wrong with a text, or ''. Blocks until the editor
    is closed. Never raises for anything an editor can do.
    """
    try:
        path = draft if draft is not None and draft.exists() else _new_draft(text, suffix)
    except OSError as error:
        return Failed(f"no draft could be written: {error}", "Free some space in the temporary directory.")
    try:
        found = _aside(app, lambda: edit_file(path))
    except SuspendNotSupported:
        return _failure(path, text, "this terminal cannot be handed to an editor", "Edit in place instead.")
    except WorkbenchError as error:
        return _failure(path, text, error.message, error.hint)
    if found == text.strip():
        _remove(path)
        return Unchanged()
    wrong = _garbage(found) or validate(found)
    if wrong:
        return _failure(path, text, wrong, "Edit again to go on with the draft.")
    _remove(path)
    return Edited(found)


def open_externally(app: App[Any], path: Path, line: int) -> str:
    """Suspend the app while the editor has a file itself, at a line where the editor knows how; 0 for none.

    Return what went wrong, or ''. Blocks until the editor is closed.
    """
    try:
        _aside(app, lambda: open_at(path, line))
    except SuspendNotSupported:
        return "this terminal cannot be handed to an editor"
    except WorkbenchError as error:
        return f"{error.message}\n{error.hint}".strip()
    return ""


def _aside(app: App[Any], work: Callable[[], Result]) -> Result:
    """Do something while the app is suspended. Raises: SuspendNotSupported; WorkbenchError.

    The error is raised once the app is back: one that left the suspended block would leave the app suspended.
    """
    failed: WorkbenchError | None = None
    with app.suspend():
        try:
            result = work()
        except WorkbenchError as error:
            failed = error
    if failed is not None:
        raise failed
    return result


def _new_draft(text: str, suffix: str) -> Path:
    path = Path(tempfile.mkdtemp(prefix=_DIRECTORY)) / f"edit{suffix}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(draft_bytes(text))
    return path


def _garbage(text: str) -> str:
    if not text:
        return "the text came back empty"
    return "the text came back as binary data" if "\0" in text else ""


def _failure(path: Path, text: str, reason: str, hint: str) -> Failed:
    try:
        data = path.read_bytes().strip()
    except OSError:
        data = b""
    if data in (b"", draft_bytes(text).strip()):
        _remove(path)
        return Failed(reason, hint)
    return Failed(reason, hint, path)


def _remove(path: Path) -> None:
    """Remove a draft and its directory, as far as that is only the draft's."""
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(_DIRECTORY) and not any(path.parent.iterdir()):
        path.parent.rmdir()
