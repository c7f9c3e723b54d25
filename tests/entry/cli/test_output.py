"""What reaches the terminal."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.entry.cli.output import Output, Progress, progress_line, to_json, visible, wants_color


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Whether this is a terminal: yes."""
        return True


class Full(io.StringIO):
    """Standard output on a disk without room."""

    name = "<stdout>"
    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Take nothing."""
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("write", [Output().data, Output().json])
def test_a_stdout_without_room_is_named(
    write: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a full disk behind `>` names stdout, so that nobody looks at the project's disk."""
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OSError, match="'stdout'"):
        write("text")


@given(st.text())
def test_visible_text_cannot_drive_a_terminal(text: str) -> None:
    """No control character but newline and tab is left, and printable text stays as it is."""
    shown = visible(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown)
    if text.isprintable():
        assert shown == text


def test_a_terminal_gets_escapes_shown_and_a_pipe_gets_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data with an escape sequence is harmless on a terminal and untouched in a pipe."""
    Output().data("a\x1b[2Jb")
    assert capsys.readouterr().out == "a\x1b[2Jb\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    Output(color=True).data("a\x1b[2Jb")
    Output(color=True).paint(Output(color=True).style("x\x1b", "1"))
    assert terminal.getvalue() == "a\\x1b[2Jb\n\x1b[1mx\\x1b\x1b[0m\n"


def test_quiet_silences_narration_but_not_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """With --quiet only warnings and errors reach stderr."""
    out = Output(quiet=True)
    out.say("working")
    out.warn("careful")
    assert capsys.readouterr().err == "warning: careful\n"


def test_progress_shows_on_a_terminal_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing before a second has passed, one line after, and the line is erased at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = [100.0]
    monkeypatch.setattr("workbench.entry.cli.output.time.monotonic", lambda: now[0])
    with Progress("Indexing", shown=True) as progress:
        progress(1, 10)
        assert terminal.getvalue() == ""
        now[0] += 1.5
        progress(5, 10)
        assert "Indexing" in terminal.getvalue()
        assert "5 of 10" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    with Progress("Indexing", shown=False) as progress:
        now[0] += 5
        progress(5, 10)
    assert terminal.getvalue().count("Indexing") == 1


@given(st.text(max_size=50), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 200))
def test_a_progress_line_fits_the_terminal(label: str, done: int, total: int, columns: int) -> None:
    """The line is shorter than the terminal is wide, whatever the numbers."""
    assert len(progress_line(label, done, total, columns)) < max(columns, 1)


def test_colour_needs_a_terminal_and_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR, --no-color, a dumb terminal and a pipe each turn colours off."""
    assert not wants_color({})
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert wants_color({})
    assert not wants_color({"NO_COLOR": "1"})
    assert not wants_color({"TERM": "dumb"})
    assert not wants_color({}, no_color=True)


def test_json_takes_records_and_paths() -> None:
    """Dataclasses and paths become JSON; other objects are refused rather than guessed."""
    assert to_json({"p": Path("a")}) == '{\n  "p": "a"\n}'
    with pytest.raises(TypeError):
        to_json({"p": object()})
