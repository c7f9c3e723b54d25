"""Copying says what was done, and does it only where it can work."""

from __future__ import annotations

import stat
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from workbench.entry.clipboard import OSC52_CAP, Surroundings, copy, osc52, surroundings
from workbench.errors import UsageError, WorkbenchError


class Desk:
    """A machine with some tools, perhaps a terminal, that records what it was given."""

    def __init__(self, *, tools: Sequence[str] = (), terminal: bool = False, works: bool = True) -> None:
        self.ran: list[tuple[str, bytes]] = []
        self.sent = b""
        self.tools = tools
        self.terminal = terminal
        self.works = works

    def run(self, tool: Sequence[str], data: bytes) -> bool:
        """Record a run."""
        self.ran.append((tool[0], data))
        return self.works

    def send(self, data: bytes) -> None:
        """Record what the terminal got."""
        self.sent += data

    def at(self, platform: str = "linux", **env: str) -> Surroundings:
        """Return the surroundings of this machine."""
        return Surroundings(
            env=env,
            platform=platform,
            which=lambda name: name if name in self.tools else None,
            run=self.run,
            terminal=self.send if self.terminal else None,
        )


@pytest.mark.parametrize(
    ("platform", "env", "tool"),
    [
        ("darwin", {}, "pbcopy"),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "wl-copy"),
        ("linux", {"DISPLAY": ":0"}, "xclip"),
        ("linux", {"WSL_DISTRO_NAME": "Debian"}, "clip.exe"),
    ],
)
def test_the_native_tool_of_the_platform(
    tmp_path: Path, platform: str, env: Mapping[str, str], tool: str
) -> None:
    """The first tool that fits the display server gets the text, clip.exe in UTF-16."""
    desk = Desk(tools=("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe"), terminal=True)
    done = copy("é", "auto", tmp_path / "f", desk.at(platform, **env))
    assert done.sentence == f"Copied 2 bytes to the clipboard with {tool}."
    assert desk.ran == [(tool, "é".encode("utf-16" if tool == "clip.exe" else "utf-8"))]


def test_over_ssh_the_terminal_comes_first(tmp_path: Path) -> None:
    """A native tool would fill the remote machine's clipboard."""
    desk = Desk(tools=("xclip",), terminal=True)
    done = copy("hi", "auto", tmp_path / "f", desk.at(SSH_TTY="/dev/pts/1", DISPLAY=":10"))
    assert done.how == "osc52"
    assert "do not say" in done.sentence
    assert desk.ran == []


def test_auto_falls_back_to_a_private_file(tmp_path: Path) -> None:
    """A failing tool, no terminal: the text lands in a file only its owner reads, and that is said."""
    desk = Desk(tools=("xclip", "xsel"), works=False)
    file = tmp_path / "deep" / "pack.txt"
    done = copy("text\udcff", "auto", file, desk.at(DISPLAY=":0"))
    assert [tool for tool, _ in desk.ran] == ["xclip", "xsel"]
    assert done.sentence == f"Wrote 10 bytes to {file}; nothing was put on a clipboard."
    assert file.read_bytes() == b"text\\udcff"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["pack.txt"]


def test_the_cap_is_kept(tmp_path: Path) -> None:
    """What is too large for OSC 52 is not cut but written to a file, or refused when osc52 was asked for."""
    desk = Desk(terminal=True)
    assert copy("x" * OSC52_CAP, "auto", tmp_path / "f", desk.at()).how == "osc52"
    assert len(desk.sent) <= 100_000
    assert copy("x" * (OSC52_CAP + 1), "auto", tmp_path / "f", desk.at()).how == "file"
    with pytest.raises(WorkbenchError, match="cannot be sent"):
        copy("x" * (OSC52_CAP + 1), "osc52", tmp_path / "f", desk.at())


def test_modes_that_cannot_work_are_refused(tmp_path: Path) -> None:
    """Native without a tool, osc52 without a terminal and an unknown mode are errors with a hint."""
    for mode, kind in [("native", WorkbenchError), ("osc52", WorkbenchError), ("magic", UsageError)]:
        with pytest.raises(kind) as caught:
            copy("x", mode, tmp_path / "f", Desk().at())
        assert caught.value.hint
    assert copy("x", "file", tmp_path / "f", Desk(tools=("xclip",)).at(DISPLAY=":0")).how == "file"


def test_wrapping_for_multiplexers() -> None:
    """tmux gets one DCS with escapes doubled, screen short DCS chunks; both unwrap to the plain sequence."""
    text = b"x" * 500
    plain = osc52(text, {})
    assert b64decode(plain.removeprefix(b"\x1b]52;c;").removesuffix(b"\x07")) == text
    tmux = osc52(text, {"TMUX": "1", "TERM": "screen-256color"})
    assert tmux.removeprefix(b"\x1bPtmux;").removesuffix(b"\x1b\\").replace(b"\x1b\x1b", b"\x1b") == plain
    screen = osc52(text, {"TERM": "screen"})
    pieces = screen.split(b"\x1b\\")
    assert b"".join(piece.removeprefix(b"\x1bP") for piece in pieces) == plain
    assert max(map(len, pieces)) < 128


def test_this_process_has_no_terminal_under_pytest() -> None:
    """The real surroundings see no terminal when output is captured."""
    assert surroundings().terminal is None
