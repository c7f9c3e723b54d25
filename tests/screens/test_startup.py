"""Opening and leaving: nothing heavy before the first paint, and no job holds up the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_HEAVY = ("duckdb", "numpy", "hnswlib", "bm25s", "plotext", "onnxruntime", "fastembed", "redis", "tokenizers")

_PAINT = """
import asyncio, json, sys
from pathlib import Path
from screens.app import WorkbenchApp
heavy = json.loads(sys.argv[2])
class Probe(WorkbenchApp):
    def _display(self, screen, renderable):
        super()._display(screen, renderable)
        if not hasattr(self, "painted") and self.section is not None and self.section.is_mounted:
            self.painted = sorted(name for name in heavy if name in sys.modules)
            self.exit(0)
app = Probe(Path(sys.argv[1]), watch=False)
async def main():
    async with app.run_test() as pilot:
        while not hasattr(app, "painted"):
            await pilot.pause()
asyncio.run(main())
print(json.dumps(app.painted))
"""

_BUSY = """
import asyncio, sys, threading
from pathlib import Path
from screens.app import WorkbenchApp
app = WorkbenchApp(Path(sys.argv[1]), watch=False, section="log")
forever = threading.Event()
async def main():
    async with app.run_test() as pilot:
        while app.section is None or not app.section.is_mounted:
            await pilot.pause()
        app.section.ask("Wait", lambda job: forever.wait(), lambda _: None)
        await pilot.press("q")
asyncio.run(main())
print("left", len(app.jobs.running))
"""


def test_nothing_heavy_is_imported_before_the_first_paint(tmp_path: Path) -> None:
    """When the first section is drawn no engine library has been loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _PAINT, str(tmp_path), json.dumps(_HEAVY)],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_a_job_that_never_ends_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """The program ends while a thread of its own still waits for something."""
    done = subprocess.run(
        [sys.executable, "-c", _BUSY, str(tmp_path)], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "left 1"
