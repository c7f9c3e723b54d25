"""The person's editor: its text comes back, and nothing that was written is lost when it does not."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App, SuspendNotSupported

from screens.widgets.external_editor import (
    Edited,
    Failed,
    Outcome,
    Unchanged,
    edit_externally,
    open_externally,
)
from tests.screens.widgets.staging import HOSTILE


class Aside(App[None]):
    """An app that can step aside although it has no terminal."""

    suspended = 0
    resumed = 0

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Count instead of handing over the terminal; like Textual, come back only if nothing is raised."""
        self.suspended += 1
        yield
        self.resumed += 1


@pytest.fixture(autouse=True)
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "drafts"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the program the editor runs; its `path` is the draft."""
    program = tmp_path / "an editor.py"
    command = [sys.executable, "-I", str(program), "--wait"]
    monkeypatch.setenv("VISUAL", shlex.join(command))
    return program


def edit(program: Path, body: str, text: str = "old", **options: object) -> Outcome:
    """Return what comes of an editor that runs these statements."""
    program.write_text(
        "import os, pathlib, sys\n"
        "assert sys.argv[1] == '--wait'\n"
        f"path = pathlib.Path(sys.argv[2])\n{body}\n",
        encoding="utf-8",
    )
    return edit_externally(Aside(), text, **options)  # type: ignore[arg-type]


def test_a_new_text_comes_back(write: Path, drafts: Path) -> None:
    """The editor gets the text in a private file of the right format; nothing stays behind."""
    body = (
        "assert path.read_text() == 'old\\n'\n"
        "assert path.suffix == '.mdc'\n"
        "assert path.stat().st_mode & 0o777 == 0o600\n"
        "assert path.parent.stat().st_mode & 0o777 == 0o700\n"
        "path.write_bytes(b'\\xef\\xbb\\xbfnew\\r\\ntext\\r\\n')"
    )
    assert edit(write, body, suffix=".mdc") == Edited("new\ntext")
    assert list(drafts.iterdir()) == []


def test_an_unchanged_text_is_told(write: Path, drafts: Path) -> None:
    """Saving it as it was, or not at all, is no edit."""
    assert edit(write, "path.write_text('old\\n\\n')") == Unchanged()
    assert list(drafts.iterdir()) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_survives_the_editor(write: Path, text: str) -> None:
    """Whatever a text holds, an editor that leaves it alone changes nothing."""
    assert edit(write, "", text) == Unchanged()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("path.write_text('mine'); sys.exit(3)", "Editing failed"),
        ("path.write_bytes(b'mi\\xff\\xfene')", "not UTF-8"),
        ("path.write_bytes(b'mi\\0ne')", "binary"),
        ("path.write_text('too bad')", "bad [/] word"),
    ],
)
def test_what_was_written_is_kept(write: Path, drafts: Path, body: str, reason: str) -> None:
    """A draft that cannot be used stays where it is told; the next edit goes on with it."""

    def validate(text: str) -> str:
        return "bad [/] word" if "bad" in text else ""

    outcome = edit(write, body, validate=validate)
    assert isinstance(outcome, Failed)
    assert reason in outcome.reason
    assert outcome.kept is not None
    assert outcome.kept.stat().st_mode & 0o777 == 0o600
    again = edit(write, "path.write_text('better')", draft=outcome.kept, validate=validate)
    assert again == Edited("better")
    assert list(drafts.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit(1)", "Editing failed"),
        ("path.unlink()", "cannot be read"),
        ("path.write_text('')", "empty"),
    ],
)
def test_nothing_is_kept_of_nothing(write: Path, drafts: Path, body: str, reason: str) -> None:
    """An editor that fails before anything was written leaves no draft."""
    outcome = edit(write, body)
    assert isinstance(outcome, Failed)
    assert reason in outcome.reason
    assert outcome.kept is None
    assert list(drafts.iterdir()) == []


@pytest.mark.parametrize(("command", "reason"), [("/no/such/editor", "failed"), ('ed "', "not a command")])
def test_an_editor_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    """A missing or unreadable command is a reason, not an end."""
    monkeypatch.setenv("VISUAL", command)
    outcome = edit_externally(Aside(), "old")
    assert isinstance(outcome, Failed)
    assert reason in outcome.reason
    assert outcome.hint


def test_a_terminal_that_cannot_step_aside_is_told(monkeypatch: pytest.MonkeyPatch, drafts: Path) -> None:
    """In a browser there is no editor; the text is as it was."""

    def refuse() -> None:
        raise SuspendNotSupported("no")

    monkeypatch.setattr(App, "suspend", lambda self: refuse())
    outcome = edit_externally(App[None](), "old")
    assert isinstance(outcome, Failed)
    assert list(drafts.iterdir()) == []


def test_the_app_comes_back_after_an_editor_that_fails(write: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the editor does, the app is not left suspended, and says what went wrong."""
    write.write_text("raise SystemExit(3)")
    app = Aside()
    assert isinstance(edit_externally(app, "old"), Failed)
    assert "ended with 3" in open_externally(app, write, 7)
    monkeypatch.setenv("VISUAL", "no-such-editor-anywhere")
    assert isinstance(edit_externally(app, "old"), Failed)
    assert open_externally(app, write, 7)
    monkeypatch.setenv("VISUAL", "'open quote")
    assert "not a command" in open_externally(app, write, 7)
    assert (app.suspended, app.resumed) == (5, 5)


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("vim", ["+7", "FILE"]),
        ("nano", ["+7", "FILE"]),
        ("code", ["--goto", "FILE:7"]),
        ("hx", ["FILE:7"]),
        ("unknown", ["FILE"]),
    ],
)
def test_a_file_is_opened_at_a_line_where_the_editor_knows_how(
    editor: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors that take no line get the file alone; the file itself is edited, not a copy."""
    program, told, file = tmp_path / editor, tmp_path / "told", tmp_path / "a rule.md"
    file.write_text("- Use tabs.\n")
    lines = [
        f"#!{sys.executable} -I",
        "import sys",
        f"open({str(told)!r}, 'w').write('|'.join(sys.argv[1:]))",
    ]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    monkeypatch.setenv("VISUAL", shlex.quote(str(program)))
    assert open_externally(Aside(), file, 7) == ""
    assert told.read_text().replace(str(file), "FILE").split("|") == arguments
