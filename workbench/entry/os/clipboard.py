"""Putting text on the user's clipboard, and saying truthfully what was done.

`native` runs the platform's own tool, `osc52` sends an escape sequence through the terminal (the only way out
of an SSH session; no terminal says whether it obeyed), `file` writes a file. `auto` takes the first means
that works here. Whatever fails ends in a file, so that no text is lost, and is reported. The command line and
the app share this; nothing here writes to a terminal unless it is handed the means to, so that a worker
thread may call it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from workbench.beneath import find_program
from workbench.config import ClipboardConfig
from workbench.errors import StoreError
from workbench.places import user_cache
from workbench.records.dataclass import dataclass
from workbench.text.sanitize import visible_line

Means = Literal["native", "tmux", "osc52", "file"]
Way = Callable[[], str]

OSC52_CAP = 74_994  # bytes of base64, as k9s has it: more is more than some terminals take
TOOL_SECONDS = 5.0
FILE_NAME = "clipboard.txt"
_SCREEN_CHUNK = 76  # screen drops out of a string of more than a few hundred bytes and shows the rest
_REASON = 200  # characters of what a tool complained of
_MUTE_TERMINALS = frozenset({"dumb", "linux"})
_POWERSHELL = (
    "[Console]::InputEncoding = [Text.Encoding]::UTF8; Set-Clipboard -Value ([Console]::In.ReadToEnd())"
)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was done with a text of `bytes` bytes.

    `confirmed` is whether the clipboard is known to hold it, `path` the file it was written to instead.
    `message` says what was done, what failed before it, and claims no more.
    """

    means: Means
    bytes: int
    confirmed: bool
    path: Path | None
    message: str

    @property
    def short(self) -> str:
        """What was done, in a line that leads with the result."""
        size = describe_size(self.bytes)
        if self.path is not None:
            return f"Wrote {size} to {visible_line(str(self.path))}: there is no clipboard"
        return f"Copied {size}{_THROUGH[self.means]}"


_THROUGH: Mapping[Means, str] = {"native": "", "tmux": " through tmux", "osc52": " through the terminal"}


def copy(
    text: str,
    config: ClipboardConfig,
    environment: Mapping[str, str] = os.environ,
    terminal_write: Callable[[str], object] | None = None,
    *,
    directory: Path | None = None,
    platform: str = sys.platform,
    tool_seconds: float = TOOL_SECONDS,
) -> Copied:
    """Deliver text by the means of `config.mode`, else into a file.

    `terminal_write` sends a string to the terminal as it is (None: there is none), `directory` is where the
    file goes if `config.file` names none (default: the user's cache). Raises: StoreError if not even a file
    can be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    size = describe_size(len(data))
    ways: dict[Means, Way] = {
        "native": lambda: _native(data, environment, platform, tool_seconds),
        "tmux": lambda: _tmux(data, environment, tool_seconds),
        "osc52": lambda: _osc52(data, environment, terminal_write),
    }
    done: dict[Means, str] = {
        "native": f"Copied to the clipboard ({size})",
        "tmux": f"Put in tmux's paste buffer ({size}) and handed to the terminal's clipboard; "
        "whether the terminal took it is not known",
        "osc52": f"Sent to the terminal by OSC 52 ({size}); whether it took it is not known",
    }
    failed: list[str] = []
    for means in _means(config.mode, environment):
        reason = _missing(means, environment, platform, terminal=terminal_write is not None) or ways[means]()
        if not reason:
            message = _sentences([*failed, done[means]])
            return Copied(means, len(data), means == "native", None, message)
        failed.append(reason)
    file = _write_file(data, config, environment, directory)
    message = _sentences([*failed, f"Wrote {size} to {visible_line(str(file))}; the clipboard is unchanged"])
    return Copied("file", len(data), False, file, message)


def find_means(
    mode: str, environment: Mapping[str, str], *, terminal: bool, platform: str = sys.platform
) -> Means:
    """Return the first means that `copy` tries and this environment has; a file without any."""
    means = _means(mode, environment)
    return next((one for one in means if not _missing(one, environment, platform, terminal=terminal)), "file")


def osc52(text: str, environment: Mapping[str, str]) -> str:
    """Return the escape sequence that sets the clipboard, wrapped for tmux and screen where needed.

    tmux gets it twice: as it is, for tmux to take with `set-clipboard on`, and wrapped to be passed through
    with `allow-passthrough on`. What tmux is not set to do it drops silently. Screen passes on device control
    strings of a few hundred bytes, so the sequence goes out in pieces.
    """
    data = text.encode("utf-8", "backslashreplace")
    sequence = f"\x1b]52;c;{b64encode(data).decode()}\x07"
    terminal = environment.get("TERM", "")
    in_tmux = bool(environment.get("TMUX")) or terminal.startswith("tmux")
    in_screen = bool(environment.get("STY")) or (not in_tmux and terminal.startswith("screen"))
    passed = _through_tmux(sequence)
    if in_tmux and in_screen and terminal.startswith("tmux"):
        return sequence + "".join(map(_through_tmux, _screen_pieces(sequence)))
    if in_screen:  # where both are there and it is unknown which is inside, screen is: it shows what it drops
        return "".join(_screen_pieces(passed if in_tmux else sequence))
    return sequence + passed if in_tmux else sequence


def native_tools(environment: Mapping[str, str], platform: str = sys.platform) -> list[tuple[str, ...]]:
    """Return the commands that could set this machine's clipboard and are in the PATH, best first."""
    tools: list[tuple[str, ...]] = []
    if environment.get("TERMUX_VERSION"):
        tools.append(("termux-clipboard-set",))
    if platform == "darwin":
        tools.append(("pbcopy",))
    if platform == "win32" or environment.get("WSL_DISTRO_NAME") or environment.get("WSL_INTEROP"):
        tools += [("clip.exe",), ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command", _POWERSHELL)]
    if environment.get("WAYLAND_DISPLAY"):
        tools.append(("wl-copy", "--type", "text/plain"))  # it would guess from the text, HTML for instance
    if environment.get("DISPLAY"):
        tools += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    return [tool for tool in tools if _which(tool[0], environment)]


def terminal_writer() -> Callable[[str], object] | None:
    """Return what writes to the terminal that stderr or stdout is, None if neither is one."""
    stream = next((stream for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
    if stream is None:
        return None
    target = stream

    def write(sequence: str) -> None:
        target.write(sequence)
        target.flush()

    return write


def describe_size(count: int) -> str:
    """Return a number of bytes for people: `312 bytes`, `12 KB`, `3.4 MB`."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    return f"{round(count / 1000)} KB" if count < 999_500 else f"{count / 1e6:.1f} MB"


def _means(mode: str, environment: Mapping[str, str]) -> tuple[Means, ...]:
    """Return what to try before a file, in order."""
    if mode == "native":
        return ("native",)
    if mode == "osc52":
        return ("osc52",)
    if mode == "file":
        return ()
    through: tuple[Means, ...] = ("tmux", "osc52") if environment.get("TMUX") else ("osc52",)
    # Over SSH and in a browser a native tool would fill the clipboard of the wrong machine.
    remote = any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY")) or (
        "web_driver" in environment.get("TEXTUAL_DRIVER", "")
    )
    return (*through, "native") if remote else ("native", *through)


def _missing(means: Means, environment: Mapping[str, str], platform: str, *, terminal: bool) -> str:
    """Return why an environment lacks a means, empty if it has it."""
    if means == "native":
        has_tools = native_tools(environment, platform)
        return "" if has_tools else "No clipboard tool for this environment is in the PATH"
    if means == "tmux":
        return "" if _which("tmux", environment) else "tmux is not in the PATH"
    if not terminal:
        return "There is no terminal to send it through"
    if environment.get("TERM") in _MUTE_TERMINALS:
        return f"This terminal (TERM={environment['TERM']}) does not know OSC 52"
    return ""


def _native(data: bytes, environment: Mapping[str, str], platform: str, seconds: float) -> str:
    """Try the tools in turn; return why none worked, empty if one did."""
    reasons = []
    for tool in native_tools(environment, platform):
        # clip.exe takes UTF-16 and would garble UTF-8.
        given = data.decode("utf-8").encode("utf-16") if tool[0] == "clip.exe" else data
        reason = _run(tool, given, environment, seconds)
        if not reason:
            return ""
        reasons.append(reason)
    return "; ".join(reasons)


def _tmux(data: bytes, environment: Mapping[str, str], seconds: float) -> str:
    """Load tmux's paste buffer, from where tmux serves the terminals it is shown on (tmux 3.2)."""
    return _run(("tmux", "load-buffer", "-w", "-"), data, environment, seconds)


def _osc52(
    data: bytes, environment: Mapping[str, str], terminal_write: Callable[[str], object] | None
) -> str:
    assert terminal_write is not None
    encoded = (len(data) + 2) // 3 * 4
    if encoded > OSC52_CAP:
        size = describe_size(len(data))
        return f"{size} is more than goes through a terminal ({describe_size(OSC52_CAP // 4 * 3)})"
    terminal_write(osc52(data.decode("utf-8"), environment))
    return ""


def _run(tool: Sequence[str], data: bytes, environment: Mapping[str, str], seconds: float) -> str:
    """Run a tool with data on stdin; return why it failed, empty if it reported success.

    Its outputs are no pipes: xclip and wl-copy stay behind to serve the selection and would hold them open.
    """
    program = _which(tool[0], environment) or tool[0]
    with tempfile.TemporaryFile() as complaints:
        try:
            done = subprocess.run(
                [program, *tool[1:]],
                input=data,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                timeout=seconds,
                check=False,
                env=dict(environment),
            )
        except subprocess.TimeoutExpired:
            return f"{tool[0]} did not answer for {seconds:g} s"
        except OSError as error:
            return f"{tool[0]} could not be started ({error.strerror})"
        if done.returncode == 0:
            return ""
        complaints.seek(0)
        said = complaints.read(4 * _REASON).decode("utf-8", "replace").strip().partition("\n")[0]
    return f"{tool[0]} failed ({visible_line(said)[:_REASON] or f'exit {done.returncode}'})"


def _which(program: str, environment: Mapping[str, str]) -> str | None:
    return find_program(program, environment)


def _write_file(
    data: bytes, config: ClipboardConfig, environment: Mapping[str, str], directory: Path | None
) -> Path:
    """Write the file, in the user's cache if the project's directory cannot hold it."""
    cached = user_cache(environment) / FILE_NAME
    if config.file:
        places = [Path(config.file).expanduser()]
    else:
        places = [cached] if directory is None else [directory / FILE_NAME, cached]
    for place in places[:-1]:
        try:
            return _replace(place, data)
        except OSError:
            continue  # the next place is as good, and the message names it
    try:
        return _replace(places[-1], data)
    except OSError as error:
        raise StoreError(
            f"{visible_line(str(places[-1]))}: {error.strerror}: the text could not be copied",
            hint="Set clipboard.file to a file that can be written.",
        ) from error


def _replace(file: Path, data: bytes) -> Path:
    """Write a file that its owner alone can read, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
    return file


def _through_tmux(sequence: str) -> str:
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def _screen_pieces(sequence: str) -> list[str]:
    """Return the strings that screen puts together again; one must not hold the end of a string itself."""
    parts = re.split(r"(?<=\x1b)(?=\\)", sequence)
    pieces = [part[at : at + _SCREEN_CHUNK] for part in parts for at in range(0, len(part), _SCREEN_CHUNK)]
    return [f"\x1bP{piece}\x1b\\" for piece in pieces]


def _sentences(parts: Sequence[str]) -> str:
    return ". ".join(parts) + "."
