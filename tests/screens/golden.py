"""Screens of an app as plain text, compared with files: `UPDATE_GOLDENS=1 pytest …` writes them anew.

The text is what the terminal would show, cell for cell: one line a row, wide characters in place, spaces at
the ends of lines left out. Colours are not compared, so everything that matters must show without them.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.pilot import Pilot

from screens.chrome import TopBar
from screens.terminal import draw_text

GOLDENS: Final = Path(__file__).parent / "goldens"
SIZES: Final = ((60, 20), (80, 24), (120, 40), (200, 60))
"""Columns and rows every screen is drawn at."""

UPDATE: Final = "UPDATE_GOLDENS"


def screen_text(app: App[Any]) -> str:
    """Return what the app's topmost screen shows, with what lies under a modal one, one line a row."""
    lines = draw_text(app).splitlines()
    beneath = any(screen.query(TopBar) for screen in app.screen_stack) and lines[0].startswith(
        (" 1 ", " 1Plan")
    )
    if app.screen.query(TopBar) or beneath:
        lines[0] = "(the bar of sections)"  # has a test of its own; not every screen changes with it
    return "".join(f"{line}\n" for line in lines)


def check_golden(app: App[Any], name: str) -> None:
    """Compare what an app shows with `goldens/NAME-COLUMNSxROWS.txt`, or write that file if asked to.

    Raises: AssertionError with a diff if they differ or the file is not there.
    """
    path = GOLDENS / f"{name}-{app.size.width}x{app.size.height}.txt"
    text = screen_text(app)
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    assert path.exists(), f"{path.name} is missing; run again with {UPDATE}=1 and read what it writes"
    wanted = path.read_text(encoding="utf-8")
    diff = difflib.unified_diff(wanted.splitlines(), text.splitlines(), path.name, "screen", lineterm="")
    assert wanted == text, "\n".join(diff)


async def check_every_size(pilot: Pilot[Any], name: str) -> None:
    """Compare what an app shows at every size with its golden, resizing the terminal as people do."""
    for columns, rows in SIZES:
        await pilot.resize_terminal(columns, rows)
        await pilot.pause()
        check_golden(pilot.app, name)
