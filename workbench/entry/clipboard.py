"""Putting text on the user's clipboard, and saying truthfully what was done.

Modes: `native` runs the platform's own tool, `osc52` sends an escape sequence through the terminal (the only
way out of an SSH session; the terminal never says whether it obeyed), `file` writes a file. `auto` takes the
first that can work here. The cap on OSC 52 and the wrapping for tmux and screen follow what terminals accept:
a sequence of at most 100,000 bytes, base64 included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import UsageError, WorkbenchError

OSC52_CAP = 74_994  # bytes before base64
_SCREEN_CHUNK = 76
_TOOL_SECONDS = 5.0

Run = Callable[[Sequence[str], bytes], bool]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was done with the text: `how` is a mode, `sentence` tells the user."""

    how: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What decides how text can reach a clipboard. `terminal` writes to the terminal, None without one."""

    env: Mapping[str, str]
    platform: str
    which: Callable[[str], str | None]
    run: Run
    terminal: Callable[[bytes], None] | None


def surroundings() -> Surroundings:
    """Return the real ones of this process."""
    return Surroundings(
        env=os.environ, platform=sys.platform, which=shutil.which, run=_run_tool, terminal=_terminal()
    )


def copy(text: str, mode: str, file: Path, here: Surroundings) -> Delivery:
    """Deliver text in a mode (auto, native, osc52, file); `auto` falls back until something works.

    Raises: WorkbenchError if the mode asked for cannot work here; OSError if the file cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    match mode:
        case "native":
            delivered = _native(data, here)
            if delivered is None:
                raise WorkbenchError(
                    "No clipboard tool worked here",
                    hint="Install wl-clipboard, xclip or xsel, or set clipboard.mode to auto.",
                )
            return delivered
        case "osc52":
            delivered = _osc52(data, here)
            if delivered is None:
                raise WorkbenchError(
                    f"{len(data):,} bytes cannot be sent through this terminal",
                    hint=f"OSC 52 needs a terminal and takes at most {OSC52_CAP:,} bytes; "
                    "a smaller --budget or clipboard.mode file would do.",
                )
            return delivered
        case "file":
            return _file(data, file)
        case "auto":
            # Over SSH a native tool would fill the clipboard of the wrong machine.
            remote = any(here.env.get(name) for name in ("SSH_CONNECTION", "SSH_TTY"))
            ways = (_osc52, _native) if remote else (_native, _osc52)
            for way in ways:
                if delivered := way(data, here):
                    return delivered
            return _file(data, file)
        case _:
            raise UsageError(f"Unknown clipboard mode {mode!r}", hint="Use auto, native, osc52 or file.")


def native_tools(here: Surroundings) -> list[tuple[str, ...]]:
    """Return the commands that could set this machine's clipboard, best first."""
    tools: list[tuple[str, ...]] = []
    if here.platform == "darwin":
        tools.append(("pbcopy",))
    if here.env.get("WAYLAND_DISPLAY"):
        tools.append(("wl-copy",))
    if here.env.get("DISPLAY"):
        tools += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if here.platform == "win32" or here.env.get("WSL_DISTRO_NAME"):
        tools.append(("clip.exe",))
    return [tool for tool in tools if here.which(tool[0])]


def osc52(data: bytes, env: Mapping[str, str]) -> bytes:
    """Return the escape sequence that sets the clipboard, wrapped for tmux or screen where needed."""
    sequence = b"\x1b]52;c;" + b64encode(data) + b"\x07"
    if env.get("TMUX"):
        return b"\x1bPtmux;" + sequence.replace(b"\x1b", b"\x1b\x1b") + b"\x1b\\"
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        chunks = (sequence[start : start + _SCREEN_CHUNK] for start in range(0, len(sequence), _SCREEN_CHUNK))
        return b"".join(b"\x1bP" + chunk + b"\x1b\\" for chunk in chunks)
    return sequence


def _native(data: bytes, here: Surroundings) -> Delivery | None:
    for tool in native_tools(here):
        # clip.exe takes UTF-16 and would garble UTF-8.
        given = data.decode("utf-8").encode("utf-16") if tool[0] == "clip.exe" else data
        if here.run(tool, given):
            return Delivery("native", f"Copied {len(data):,} bytes to the clipboard with {tool[0]}.")
    return None


def _osc52(data: bytes, here: Surroundings) -> Delivery | None:
    if here.terminal is None or len(data) > OSC52_CAP or here.env.get("TERM") == "dumb":
        return None
    here.terminal(osc52(data, here.env))
    return Delivery(
        "osc52",
        f"Sent {len(data):,} bytes to the terminal for its clipboard (OSC 52); "
        "terminals do not say whether they accept it.",
    )


def _file(data: bytes, file: Path) -> Delivery:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        dir=file.parent, prefix=f".{file.name}."
    )  # readable by the user alone
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
    return Delivery("file", f"Wrote {len(data):,} bytes to {file}; nothing was put on a clipboard.")


def _run_tool(arguments: Sequence[str], data: bytes) -> bool:
    """Run a tool with data on stdin and return whether it reported success.

    Its outputs are not captured: xclip and wl-copy stay behind to serve the selection, holding pipes open.
    """
    try:
        done = subprocess.run(
            arguments,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _terminal() -> Callable[[bytes], None] | None:
    """Return a writer to the terminal, if stderr or stdout is one."""
    stream = next((stream for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
    if stream is None:
        return None
    target = stream.buffer

    def write(data: bytes) -> None:
        target.write(data)
        target.flush()

    return write
