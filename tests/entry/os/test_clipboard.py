"""Copying does what works where it runs, and says what was done and no more."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
import threading
import tty
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config import ClipboardConfig, Config
from workbench.entry.os.clipboard import (
    OSC52_CAP,
    Copied,
    copy,
    describe_size,
    find_means,
    native_tools,
    osc52,
    terminal_writer,
)
from workbench.entry.services.doctor import examine
from workbench.errors import ProjectError, StoreError
from workbench.records.answers.project import DoctorFinding, State

AUTO = ClipboardConfig()
LARGEST = OSC52_CAP // 4 * 3  # bytes that still go through a terminal
WORKS = '/bin/cat > "$OUT"'
UNKNOWN = "whether it took it is not known."


class Machine:
    """Fake tools on a PATH of their own, and a terminal that keeps what it is sent."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.out = directory / "clipboard"
        self.state = directory / "state"
        self.sent: list[str] = []

    def tool(self, name: str, script: str = WORKS) -> None:
        """Put a tool on the PATH; unless told otherwise it keeps its stdin."""
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "$@" > "$OUT.arguments"\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    def environment(self, **variables: str) -> dict[str, str]:
        return {"PATH": str(self.bin), "OUT": str(self.out), "TERM": "xterm-256color", **variables}

    def copy(
        self,
        text: str,
        config: ClipboardConfig = AUTO,
        *,
        terminal: bool = False,
        platform: str = "linux",
        seconds: float = 30.0,
        **variables: str,
    ) -> Copied:
        return copy(
            text,
            config,
            self.environment(**variables),
            self.sent.append if terminal else None,
            directory=self.state,
            platform=platform,
            tool_seconds=seconds,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("platform", "variables", "tool", "encoding"),
    [
        ("darwin", {}, "pbcopy", "utf-8"),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "wl-copy", "utf-8"),
        ("linux", {"DISPLAY": ":0"}, "xclip", "utf-8"),
        ("linux", {"WSL_DISTRO_NAME": "Debian", "WAYLAND_DISPLAY": "w"}, "clip.exe", "utf-16"),
        ("linux", {"TERMUX_VERSION": "0.118"}, "termux-clipboard-set", "utf-8"),
    ],
)
def test_the_tool_of_the_platform_gets_the_text(
    machine: Machine, platform: str, variables: Mapping[str, Any], tool: str, encoding: str
) -> None:
    """The first tool that fits the environment gets exactly the text, in the encoding it takes."""
    for name in ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe", "powershell.exe", "termux-clipboard-set"):
        machine.tool(name)
    done = machine.copy("é\n\0x", terminal=True, platform=platform, **variables)
    assert native_tools(machine.environment(**variables), platform)[0][0] == tool
    assert machine.out.read_bytes() == "é\n\0x".encode(encoding)
    assert done == Copied("native", 5, True, None, "Copied to the clipboard (5 bytes).")
    assert machine.sent == []


def test_each_failing_tool_gives_way_to_the_next_and_is_told(machine: Machine) -> None:
    """A tool that fails or hangs is told with its reason, made safe to show; the next one is used."""
    machine.tool("xclip", "exec /bin/sleep 600")
    done = machine.copy("text", seconds=0.1, terminal=True, DISPLAY=":0")
    assert done.means == "osc52"
    sent = f"Sent to the terminal by OSC 52 (4 bytes); {UNKNOWN}"
    assert done.message == f"xclip did not answer for 0.1 s. {sent}"
    machine.tool("wl-copy", "printf 'no \\033[31mcompositor\\nmore' >&2; exit 1")
    machine.tool("xclip", "exit 2")
    done = machine.copy("text", terminal=True, DISPLAY=":0", WAYLAND_DISPLAY="w")
    assert done.message == f"wl-copy failed (no \u241b[31mcompositor); xclip failed (exit 2). {sent}"
    machine.tool("xclip", "exit 3")
    machine.tool("xsel")
    assert machine.copy("text", DISPLAY=":0").message == "Copied to the clipboard (4 bytes)."


def test_a_tool_that_cannot_be_started_is_told(machine: Machine) -> None:
    """A broken installation is one more reason, not a crash."""
    (machine.bin / "xclip").write_text("#!/nowhere/interpreter\n", encoding="utf-8")
    (machine.bin / "xclip").chmod(0o755)
    done = machine.copy("text", DISPLAY=":0")
    assert done.means == "file"
    assert done.message.startswith("xclip could not be started (No such file or directory). ")


def test_over_ssh_and_in_a_browser_the_terminal_comes_first(machine: Machine) -> None:
    """A native tool would fill the clipboard of the wrong machine; without a terminal it is still tried."""
    machine.tool("xclip")
    browser = "textual.drivers.web_driver:WebDriver"
    places: list[dict[str, Any]] = [{"SSH_TTY": "/dev/pts/1"}, {"SSH_CONNECTION": "a b"}]
    for remote in [*places, {"TEXTUAL_DRIVER": browser}]:
        done = machine.copy("hi", terminal=True, DISPLAY=":10", **remote)
        assert (done.means, done.confirmed) == ("osc52", False)
        assert done.message == f"Sent to the terminal by OSC 52 (2 bytes); {UNKNOWN}"
        assert not machine.out.exists()
    assert machine.copy("hi", DISPLAY=":10", SSH_TTY="/dev/pts/1").means == "native"


def test_without_tool_and_terminal_a_private_file_is_written(machine: Machine) -> None:
    """Only its owner can read it, its place and the reasons are told, and nothing else is left there."""
    done = machine.copy("text\udcff")
    file = machine.state / "clipboard.txt"
    assert (done.means, done.path, done.bytes, done.confirmed) == ("file", file, 10, False)
    assert done.message == (
        "No clipboard tool for this environment is in the PATH. There is no terminal to send it through. "
        f"Wrote 10 bytes to {file}; the clipboard is unchanged."
    )
    assert file.read_bytes() == b"text\\udcff"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(machine.state.stat().st_mode) == 0o700
    assert [path.name for path in machine.state.iterdir()] == ["clipboard.txt"]


def test_where_the_file_goes(machine: Machine, tmp_path: Path) -> None:
    """The configured file, else the directory given, else the user's cache; none is an error with a hint."""
    asked = tmp_path / "deep" / "pack.txt"
    assert machine.copy("x", ClipboardConfig(mode="file", file=str(asked))).path == asked
    machine.state.write_text("no directory", encoding="utf-8")
    cache = tmp_path / "cache"
    done = machine.copy("x", WORKBENCH_CACHE=str(cache))
    assert done.path == cache / "clipboard.txt"
    with pytest.raises(StoreError, match="could not be copied") as caught:
        machine.copy("x", ClipboardConfig(mode="file", file=str(machine.state / "pack.txt")))
    assert "clipboard.file" in caught.value.hint


def test_what_is_too_large_for_a_terminal_goes_to_a_file(machine: Machine) -> None:
    """Nothing is cut: one byte more than the cap takes, and the file has all of it."""
    assert machine.copy("x" * LARGEST, terminal=True).means == "osc52"
    assert len(machine.sent[0]) <= OSC52_CAP + len("\x1b]52;c;\x07")
    done = machine.copy("x" * (LARGEST + 1), terminal=True)
    assert done.means == "file"
    assert "56 KB is more than goes through a terminal (56 KB). " in done.message
    assert done.path is not None
    assert done.path.read_text(encoding="utf-8") == "x" * (LARGEST + 1)
    assert len(machine.sent) == 1


def test_a_mode_uses_its_means_alone(machine: Machine) -> None:
    """With native, osc52 and file no other clipboard is touched; what fails ends in the file."""
    machine.tool("xclip")
    display: dict[str, Any] = {"DISPLAY": ":0"}
    assert machine.copy("x", ClipboardConfig(mode="native"), terminal=True, **display).means == "native"
    assert machine.copy("x", ClipboardConfig(mode="native"), terminal=True).means == "file"
    machine.out.unlink()
    assert machine.copy("x", ClipboardConfig(mode="osc52"), terminal=True, **display).means == "osc52"
    assert machine.copy("x", ClipboardConfig(mode="osc52"), **display).means == "file"
    assert machine.copy("x", ClipboardConfig(mode="file"), terminal=True, **display).means == "file"
    assert not machine.out.exists()
    assert len(machine.sent) == 1


@pytest.mark.parametrize("terminal", ["dumb", "linux"])
def test_terminals_that_know_no_osc52_are_sent_none(machine: Machine, terminal: str) -> None:
    """They would show the sequence."""
    done = machine.copy("x", terminal=True, TERM=terminal)
    assert (done.means, machine.sent) == ("file", [])
    assert f"TERM={terminal}" in done.message


def test_inside_tmux_its_own_buffer_is_filled(machine: Machine) -> None:
    """tmux passes it on even where it passes no sequences through; an old one gives way to the sequence."""
    machine.tool("tmux")
    done = machine.copy("text", terminal=True, TMUX="/tmp/s,1,0")
    assert (done.means, done.confirmed) == ("tmux", False)
    assert done.message.endswith("whether the terminal took it is not known.")
    assert machine.out.read_text(encoding="utf-8") == "text"
    assert (machine.out.with_name("clipboard.arguments")).read_text() == "load-buffer -w -\n"
    machine.tool("tmux", "echo 'unknown flag -w' >&2; exit 1")
    done = machine.copy("text", terminal=True, TMUX="/tmp/s,1,0")
    assert done.means == "osc52"
    assert "tmux failed (unknown flag -w). " in done.message


@pytest.mark.parametrize("mode", ["auto", "native", "osc52", "file"])
@pytest.mark.parametrize(
    "variables", [{}, {"TMUX": "x"}, {"TERM": "linux"}, {"DISPLAY": ":0"}, {"DISPLAY": ":0", "SSH_TTY": "x"}]
)
def test_the_means_are_found_as_copying_takes_them(
    machine: Machine, mode: Any, variables: dict[str, Any]
) -> None:
    """What is said to be used is what is used, where what is there works."""
    for tools in ((), ("tmux", "xclip")):
        for name in tools:
            machine.tool(name)
        for terminal in (False, True):
            means = find_means(mode, machine.environment(**variables), terminal=terminal, platform="linux")
            assert machine.copy("x", ClipboardConfig(mode), terminal=terminal, **variables).means == means


def test_the_doctor_finds_tmux(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how text is copied, also from the app's process without a terminal."""

    def find_clipboard() -> DoctorFinding:
        findings = examine(Config(), ProjectError("no project", hint="none"))
        return next(one for one in findings if one.name == "clipboard")

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX", "SSH_TTY", "SSH_CONNECTION", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{machine.bin}:{os.environ['PATH']}")
    assert find_clipboard().state is State.NOTE
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "OSC 52" in find_clipboard().text
    machine.tool("tmux")
    monkeypatch.setenv("TMUX", "x")
    assert "through tmux" in find_clipboard().text


def unwrapped(sequence: str) -> str:
    """Take off what one multiplexer takes off, as screen and tmux do: tmux's copy for itself aside."""
    for_tmux = re.search(r"\x1bPtmux;((?:[^\x1b]|\x1b\x1b)*)\x1b\\", sequence)
    if for_tmux is not None and "\x1bP" not in sequence[: for_tmux.start()]:
        return for_tmux[1].replace("\x1b\x1b", "\x1b")
    return re.sub(r"\x1bP|\x1b\\", "", sequence)


@given(
    st.text(st.characters(codec="utf-8"), max_size=400),
    st.sampled_from(
        [
            {"TERM": "xterm"},
            {"TERM": "screen-256color", "TMUX": "x"},
            {"TERM": "tmux-256color"},
            {"TERM": "screen"},
            {"TERM": "screen.xterm-256color", "STY": "1"},
        ]
    ),
)
def test_the_sequence_decodes_to_the_text(text: str, environment: Mapping[str, str]) -> None:
    """Whatever the text and the multiplexer, what comes out of it is OSC 52 with exactly the text."""
    sequence = osc52(text, environment)
    plain = sequence if environment["TERM"] == "xterm" else unwrapped(sequence)
    match = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", plain)
    assert match is not None
    assert b64decode(match[1]).decode() == text


def test_screen_gets_short_strings_without_an_end_inside() -> None:
    """Longer ones screen would show; tmux in screen and screen in tmux are wrapped from the inside out."""
    both = {"TMUX": "x", "STY": "1"}
    for environment in ({"TERM": "screen"}, {"TERM": "screen", **both}):
        sequence = osc52("x" * 5000, environment)
        assert re.fullmatch(r"(\x1bP(?:(?!\x1b\\).){1,76}\x1b\\)+", sequence, re.DOTALL)
    tmux_inside = osc52("x" * 5000, {"TERM": "tmux-256color", **both})
    assert tmux_inside.startswith("\x1b]52;c;")
    assert tmux_inside.count("\x1bPtmux;") == osc52("x" * 5000, {"TERM": "screen"}).count("\x1bP")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (12_345, "12 KB"),
        (999_499, "999 KB"),
        (2e6, "2.0 MB"),
    ],
)
def test_sizes_are_for_people(count: int, words: str) -> None:
    """Sizes have the unit people use."""
    assert describe_size(int(count)) == words


def test_a_worker_thread_touches_no_terminal(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a callable nothing is written to any stream, also from a thread."""
    done: list[Copied] = []
    thread = threading.Thread(target=lambda: done.append(machine.copy("x")))
    thread.start()
    thread.join()
    assert done[0].means == "file"
    assert capfd.readouterr() == ("", "")


def test_the_terminal_is_stderr_or_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real terminal the sequence arrives there byte for byte; captured streams are none."""
    assert terminal_writer() is None
    leader, follower = pty.openpty()
    tty.setraw(follower)
    try:
        with os.fdopen(follower, "w", encoding="ascii") as stream:
            monkeypatch.setattr(sys, "stderr", stream)
            write = terminal_writer()
            assert write is not None
            write(osc52("hello", {}))
            monkeypatch.undo()
            assert os.read(leader, 1000) == b"\x1b]52;c;aGVsbG8=\x07"
    finally:
        os.close(leader)


PROGRAM = """
import os, sys, termios, tty
from workbench.config import ClipboardConfig
from workbench.entry.os.clipboard import copy, terminal_writer

tty.setraw(0, termios.TCSANOW)
done = copy(sys.argv[1], ClipboardConfig(mode=sys.argv[2]), terminal_write=terminal_writer())
open(sys.argv[3], "w").write(done.message)
# The terminal answers in order: once it has answered, it has read what was sent before.
os.write(1, b"\\x1b[5n")
answer = b""
while not answer.endswith(b"n"):
    answer += os.read(0, 1)
os.system(sys.argv[4])
"""


def program(text: str, mode: str, message: Path, after: str = "") -> list[str]:
    """Return a command that copies, writes what was said to a file and then runs a command."""
    clean = [part for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_TTY") for part in ("-u", name)]
    path = f"PYTHONPATH={Path.cwd()}"
    return ["env", *clean, path, sys.executable, "-c", PROGRAM, text, mode, str(message), after]


Tmux = Callable[..., str]


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    """A private tmux server without settings."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux in the PATH")
    base = ["tmux", "-f", os.devnull, "-S", str(tmp_path / "s")]

    def run(*arguments: str) -> str:
        done = subprocess.run([*base, *arguments], capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    run(
        "new-session",
        "-d",
        "-x",
        "80",
        "-y",
        "24",
        "/bin/sh",
        ";",
        "set-option",
        "-g",
        "remain-on-exit",
        "on",
    )
    yield run  # the server stays when its last program ends, and with it the buffers
    subprocess.run([*base, "kill-server"], capture_output=True, timeout=60)


@pytest.mark.parametrize(("mode", "setting"), [("osc52", "on"), ("auto", "external")])
def test_a_real_tmux_takes_it(tmux: Tmux, tmp_path: Path, mode: str, setting: str) -> None:
    """Its paste buffer holds the text: by the sequence if it takes those, by its own command as it comes."""
    tmux("set-option", "-g", "set-clipboard", setting)
    message = tmp_path / "message"
    told = f"tmux -S {tmp_path / 's'} wait-for -S copied"
    tmux("set-hook", "-g", "pane-set-clipboard", "wait-for -S taken")
    tmux("respawn-pane", "-k", shlex.join(program("a text\nof two lines", mode, message, told)))
    tmux("wait-for", "copied")
    if mode == "osc52":
        tmux("wait-for", "taken")  # tmux reads what the program wrote when it gets to it
    assert tmux("show-buffer") == "a text\nof two lines"
    assert message.read_text(encoding="utf-8").endswith("not known.")


def test_a_real_tmux_passes_it_on_to_an_outer_one(tmux: Tmux, tmp_path: Path) -> None:
    """In a tmux inside a tmux the sequence reaches the outer one, which stands for the terminal.

    A tmux that has to redraw its window drops what it should pass through, so it is copied until it arrived.
    """
    tmux("set-option", "-g", "set-clipboard", "on")
    tmux("set-hook", "-g", "pane-set-clipboard", "wait-for -S taken")
    inner, message = tmp_path / "i", tmp_path / "message"
    settings = tmp_path / "settings"
    settings.write_text("set -g allow-passthrough on\nset -g set-clipboard off\n", encoding="utf-8")
    nested = ["env", "-u", "TMUX", "tmux", "-f", str(settings), "-S", str(inner), "new-session"]
    waiting = tmp_path / "waiting"
    waiting.touch()
    copying = shlex.join(program("through two", "osc52", message))
    repeated = f"while [ -e {shlex.quote(str(waiting))} ]; do {copying}; done"
    tmux("respawn-pane", "-k", shlex.join([*nested, repeated]))
    try:
        tmux("wait-for", "taken")
    finally:
        waiting.unlink()
        subprocess.run(["tmux", "-S", str(inner), "kill-server"], capture_output=True, timeout=60)
    assert tmux("show-buffer") == "through two"


def test_a_real_screen_passes_it_on(tmp_path: Path) -> None:
    """The terminal around screen gets the sequence whole, though it is longer than screen's strings."""
    if shutil.which("screen") is None:
        pytest.skip("there is no screen in the PATH")
    text = "a long text " * 100
    directory = tmp_path / "screens"
    directory.mkdir(mode=0o700)
    environment = {**os.environ, "SCREENDIR": str(directory), "TERM": "xterm", "SHELL": "/bin/sh"}
    environment.pop("TMUX", None)
    leader, follower = pty.openpty()
    command = ["screen", "-c", os.devnull, *program(text, "osc52", tmp_path / "message")]
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment, start_new_session=True
    ) as screen:
        os.close(follower)
        shown = read_all(leader)
        assert screen.wait(60) == 0
    os.close(leader)
    assert osc52(text, {}).encode() in shown


def read_all(leader: int) -> bytes:
    """Read a terminal until no program has it open."""
    shown = b""
    while True:
        try:
            shown += os.read(leader, 65536)
        except OSError:  # what Linux says when the last one closed it
            return shown
