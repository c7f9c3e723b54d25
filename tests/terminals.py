"""Real terminals: sessions of tmux in which a program runs, is typed at, resized, seen and killed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

TMUX: Final = shutil.which("tmux")
PATIENCE: Final = 120.0
"""Seconds until something has to be on the screen, on the slowest machine."""


class Terminal:
    """A session of the tmux server in `place`, which the first one starts, in which a program runs."""

    def __init__(self, place: Path, command: str, directory: Path, size: tuple[int, int] = (80, 24)) -> None:
        self._socket = str(place / "tmux.sock")
        self._pause = threading.Event()
        self._pid = place / f"{uuid4().hex}.pid"
        columns, lines = map(str, size)
        options = ("-f", os.devnull, "new-session", "-d", "-P", "-F", "#{session_id}")
        placed = ("-x", columns, "-y", lines, "-c", str(directory))
        program = f"sh -c {shlex.quote(f'echo $$ > {self._pid}; exec {command}')}"
        self._session = self.tmux(*options, *placed, f"{program}; echo left with $?; cat").strip()
        self.tmux("set", "-g", "set-clipboard", "on")

    def tmux(self, *arguments: str) -> str:
        """Run tmux on this server and return what it said."""
        assert TMUX is not None
        done = subprocess.run(
            [TMUX, "-S", self._socket, *arguments],
            capture_output=True,
            check=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", self._session)

    def see(self, *texts: str, gone: str = "") -> str:
        """Return the screen once it shows all texts and not the one gone; fails with it if it never does."""
        end = time.monotonic() + PATIENCE
        shown = self.screen()
        while not all(text in shown for text in texts) or (gone and gone in shown):
            if time.monotonic() > end:
                raise AssertionError(f"not on the screen: {texts}, or still there: {gone}\n{shown}")
            self._pause.wait(0.05)
            shown = self.screen()
        return shown

    def until(self, done: Callable[[], bool]) -> None:
        """Wait until something is done; fails with the screen if it never is."""
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end:
                raise AssertionError(self.screen())
            self._pause.wait(0.05)

    def pause(self, seconds: float) -> None:
        """Let some time pass."""
        self._pause.wait(seconds)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        for key in keys:
            self.tmux("send-keys", "-t", self._session, key if key != ";" else "\\;")

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", self._session, "-l", text)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self.tmux("resize-window", "-t", self._session, "-x", str(columns), "-y", str(lines))

    def kill(self, number: signal.Signals) -> None:
        os.kill(int(self._pid.read_text()), number)

    def end(self) -> None:
        """End the session and what runs in it; the server ends with its last one."""
        self._stop("kill-session", "-t", self._session)

    def end_all(self) -> None:
        """End every session of the server, also those of tests that failed."""
        self._stop("kill-server")

    def _stop(self, *words: str) -> None:
        command = [str(TMUX), "-S", self._socket, *words]
        subprocess.run(command, capture_output=True, check=False)
