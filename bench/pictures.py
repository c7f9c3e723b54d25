"""The pictures of the README and of the tour: `python -m bench.pictures docs/pictures`, `make pictures`.

Builds the sample project, opens the real app on it without a terminal, goes to each screen as a user would,
and writes what is shown as SVG. Nothing is staged but the project; a picture is what the keys lead to.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot

from sample_data.build import build
from screens.app import WorkbenchApp
from screens.terminal import draw_svg
from screens.themes import DARK

SIZE: Final = (120, 34)
TASK: Final = "a customer cancelled an order that was paid with a gift card and the balance is not back"
SHOTS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("plan", "plan", (f"type {TASK}", "enter", "j")),
    ("compare", "plan", (f"type {TASK}", "enter", "C")),
    ("rules", "rules", ("j", "j", "j", "j", "j")),
    ("conflicts", "conflicts", ()),
    ("learnings", "learnings", ("j",)),
    ("sessions", "sessions", ("j", "j")),
    ("replay", "replay", ("enter",)),
    ("replay-task", "replay", ("enter", "t", "j", "enter")),
    ("stash", "stash", ("s", "type gift card balance after a cancelled order", "enter")),
    ("metrics", "metrics", ()),
    ("models", "models", ()),
    ("log", "plan", (f"type {TASK}", "enter", "i", "x", "plus", "0")),
    ("help", "rules", ("question_mark",)),
)
"""(name of the picture, section, keys pressed there; `type …` types a text)."""

STASH: Final = Path(__file__).parent.parent / "sample_data" / "stash.jsonl"

LEARNED: Final = (
    ("giftcards", "Refunds of gift cards go through `giftcards.restore`; the provider is never called."),
    ("giftcards", "Amounts are integers of cents; a float in a test made the totals of an invoice flaky."),
    ("search", "The suggestions of the search are cached for a minute: tests have to clear the cache."),
    ("search", "The suggestions of the search are not cached."),
)


def prepare(place: Path) -> Path:
    """Build the sample project with a past of commits and sessions, plans and a replay; return its root."""
    root, sessions = build(place)
    for arguments in (
        ("import", "sessions", str(sessions)),
        ("index",),
        ("rules", "list"),
        ("plan", TASK, "--budget", "1500"),
        ("plan", "prices in the invoice are off by a cent"),
        ("memory", "ingest", *sorted(map(str, sessions.rglob("*.jsonl")))),
        *(
            ("memory", "add", text, "--feature", feature, "--reason", "seen in two sessions", "--by-agent")
            for feature, text in LEARNED
        ),
        ("stash", "import", str(STASH)),
        ("replay", "--tasks", "30"),
        ("model", "train", "--min-samples", "50"),
        ("model", "register", "llama3.2"),
    ):
        subprocess.run(
            [sys.executable, "-P", "-m", "workbench", *arguments], cwd=root, check=False, capture_output=True
        )
    return root


async def settle(app: WorkbenchApp, pilot: Pilot[Any]) -> None:
    """Wait until nothing runs in the background of the app."""
    await pilot.pause()
    while app.jobs.busy:
        await app.jobs.idle()
        await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


def key_of(character: str) -> str:
    return {" ": "space", "`": "grave_accent"}.get(character, character)


async def shoot(root: Path, section: str, keys: Sequence[str]) -> str:
    """Return what a section shows after some keys, as SVG."""
    app = WorkbenchApp(root, watch=False, section=section, flags={"app.theme": DARK})
    async with app.run_test(size=SIZE) as pilot:
        await settle(app, pilot)
        for key in keys:
            typed = key.removeprefix("type ")
            await pilot.press(*([key] if typed == key else map(key_of, typed)))
            await settle(app, pilot)
        return draw_svg(app, f"workbench · {app.screen_stack[0].id}")


def main(arguments: list[str]) -> int:
    """Write the pictures into a directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of pictures to make")
    given = parser.parse_args(arguments)
    given.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        root = prepare(Path(place))
        for name, section, keys in SHOTS:
            if given.only and name not in given.only:
                continue
            (given.directory / f"{name}.svg").write_text(asyncio.run(shoot(root, section, keys)), "utf-8")
            print(f"{name}.svg", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
