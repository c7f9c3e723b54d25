"""How long the app takes until it is drawn and takes keys, against a Textual app that shows one word.

    python -m bench.startup [PROJECT] [--times 9]

Both run headless in processes of their own, turn by turn; the figure is the CPU time, user and system, from
the start of the interpreter until the first screen has been drawn, then until the first section has been, and
until a key goes to it: what is typed before that waits. Then both run in a terminal, the app as people start
it: seconds by the clock until something can be read there, and until a word that was typed at the start can.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

AIM: Final = 1.3
"""Times as long as the trivial app, to the first paint."""
AIM_KEYS: Final = 0.8
"""Seconds from the first paint until keys are taken."""
_WORD: Final = "zqzq"
_PATIENCE: Final = 60.0
_SEQUENCES: Final = re.compile(rb"\x1b\[[0-9;:?]*[a-zA-Z]")

_TRIVIAL = """
from textual.app import App
from textual.widgets import Static
class Probed(App):
    def compose(self):
        yield Static("hello")
def drawn(app):
    return app.screen.is_mounted and bool(app.screen.query(Static))
app = Probed()
"""
_OURS = """
import gc, sys
from pathlib import Path
from workbench.entry import start
from screens.app import WorkbenchApp
gc.set_threshold(start.YOUNG_OBJECTS)
class Probed(WorkbenchApp):
    pass
def drawn(app):
    from screens.chrome import TopBar
    return app.screen.is_mounted and bool(app.screen.query(TopBar))
app = Probed(Path(sys.argv[1]))
"""
_READY = _OURS.replace("import gc, sys", "import gc, sys  # the whole first section").replace(
    "app.screen.is_mounted and bool(app.screen.query(TopBar))",
    "app.section is not None and app.section.is_mounted",
)
_TAKEN = _OURS.replace(
    "    pass\n",
    """    async def release_keys(self):
        await super().release_keys()
        print(time.process_time(), flush=True)
        os._exit(0)
""",
).replace("app.screen.is_mounted and bool(app.screen.query(TopBar))", "False")
_RUN = """
import asyncio, os, time
shown = Probed._display
def display(self, screen, renderable):
    shown(self, screen, renderable)
    if drawn(self):
        print(time.process_time(), flush=True)
        os._exit(0)
Probed._display = display
async def main():
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(30)
asyncio.run(main())
"""


def cpu_seconds(script: str, project: Path) -> float:
    """Return the CPU seconds one run takes to its first paint. Raises: CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-c", script + _RUN, str(project)], capture_output=True, check=True, text=True
    )
    return float(done.stdout.splitlines()[-1])


def clock_seconds(command: Sequence[str], project: Path, wanted: Sequence[str]) -> list[float]:
    """Return the seconds until each text can be read in a terminal in which a word is typed at the start.

    Raises: TimeoutError.
    """
    with tempfile.TemporaryDirectory() as home:  # the word would be the task of the next sitting
        screen, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        modes = termios.tcgetattr(its)
        modes[3] &= ~termios.ECHO  # or the word is there before the program is
        termios.tcsetattr(its, termios.TCSANOW, modes)
        environment = {**os.environ, "WORKBENCH_HOME": home, "TERM": "xterm-256color"}
        started = time.perf_counter()
        program = subprocess.Popen(
            command, cwd=project, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True
        )
        try:
            os.close(its)
            os.write(screen, _WORD.encode())
            return [seconds - started for seconds in _read_until(screen, wanted)]
        finally:
            program.kill()
            program.wait()
            os.close(screen)


def _read_until(screen: int, wanted: Sequence[str]) -> Iterator[float]:
    """Yield when each text was there, one after the other."""
    written, end = b"", time.perf_counter() + _PATIENCE
    for text in wanted:
        while text.encode() not in _SEQUENCES.sub(b"", written):
            left = end - time.perf_counter()
            if left <= 0 or not select.select([screen], [], [], left)[0]:
                raise TimeoutError(f"{text!r} was not on the screen within {_PATIENCE:.0f} s")
            written += os.read(screen, 65_536)
        yield time.perf_counter()


def measure_in_terminal(project: Path, times: int) -> None:
    """Print the medians by the clock, of runs turn by turn."""
    hello = [sys.executable, "-c", _TRIVIAL + "app.run()"]
    ours = [sys.executable, "-m", "workbench"]
    runs = []
    for _ in range(times):
        [trivial] = clock_seconds(hello, project, ["hello"])
        painted, taken = clock_seconds(ours, project, [" 1 Plan ", _WORD])
        runs.append((trivial, painted, taken - painted))
    trivial, painted, taken = (statistics.median(column) for column in zip(*runs, strict=True))
    ratio = statistics.median(run[1] / run[0] for run in runs)
    print(f"in a terminal: trivial app {trivial:.2f} s, workbench {painted:.2f} s, {ratio:.2f} times as long")
    print(f"in a terminal: keys are taken {taken:.2f} s after it (the aim is at most {AIM_KEYS})")


def main(arguments: list[str]) -> int:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description="CPU time to the first paint")
    parser.add_argument("project", nargs="?", type=Path, default=Path())
    parser.add_argument("--times", type=int, default=9)
    given = parser.parse_args(arguments)
    runs = [
        [cpu_seconds(script, given.project) for script in (_TRIVIAL, _OURS, _READY, _TAKEN)]
        for _ in range(given.times)
    ]
    trivial, *ours = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"trivial app, first paint        {trivial:.2f} s CPU (median of {given.times})")
    names = ("first paint", "section drawn", "keys are taken")
    for place, (name, seconds) in enumerate(zip(names, ours, strict=True), 1):
        ratio = statistics.median(run[place] / run[0] for run in runs)
        aim = f" (the aim is at most {AIM})" if place == 1 else ""
        print(f"workbench, {name:<15}  {seconds:.2f} s, {ratio:.2f} times as long{aim}")
    measure_in_terminal(given.project, given.times)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
