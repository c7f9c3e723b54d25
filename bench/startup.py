"""How long the app takes until it is drawn and takes keys, against a Textual app that shows one word.

    python -m bench.startup [PROJECT] [--times 9]

Both run headless in processes of their own, turn by turn; the figure is the CPU time, user and system, from
the start of the interpreter until the first screen has been drawn, then until the first section has been, and
until a key goes to it: what is typed before that waits.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

AIM: Final = 1.3
"""Times as long as the trivial app, to the first paint."""

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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
