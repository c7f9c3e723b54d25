"""A sitting in every section in a real terminal: `make sittings` runs this, the suite does not.

One project and one tmux server serve them all. Each sitting is what a person types, by the keys that the
registry has, and what is seen; in its middle the terminal is resized and the program killed, and the next one
goes on where that was. It ends by a hang-up, after which all that was decided is there and nothing is broken.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from sample_data.build import build
from screens.commands import SECTIONS, find_command
from tests.terminals import TMUX, Terminal
from workbench.entry.project import place_file

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

STASH = Path(__file__).parents[1] / "sample_data" / "stash.jsonl"
SIZES = ((60, 20), (120, 40), (80, 24))
SEEDS = range(int(os.environ.get("SITTINGS_SEEDS", "2")))
KEYS = 300
"""Keys of a walk: with `SITTINGS_SEEDS=100` the app is walked through for an hour."""
_SPOKEN = {"slash": "/", "enter": "Enter", "escape": "Escape", "space": "Space", "tab": "Tab", "plus": "+"}
_SPOKEN |= {"minus": "-", "right_square_bracket": "]", "left_square_bracket": "[", "ctrl+s": "C-s"}
_LEFT = "left with"
_LETTERS = [chr(code) for code in range(33, 127)]
_OTHERS = "Enter Escape Tab BTab Space Up Down Left Right Home End PPage NPage DC BSpace F1 F2 F6 F7".split()
_CONTROLS = [f"C-{letter}" for letter in "adefgklnoprtuwxy"]
_STRIDES = [
    *([key] for key in [*_LETTERS, *_OTHERS * 4, *_CONTROLS]),
    *(["C-g", section.key] for section in SECTIONS * 2),
]
"""What is pressed at once; ctrl+z and ctrl+s are the terminal's before there is an app."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is done: a command by its id, keys by tmux's names, a text; and what is seen, or gone, then."""

    keys: str
    seen: tuple[str, ...]
    gone: str = ""


def does(keys: str, *seen: str, gone: str = "") -> Step:
    """Return a step; `keys` are `:rules.filter`, `= a text` or `j Enter`."""
    return Step(keys, seen, gone)


@dataclass(frozen=True, slots=True)
class SectionSitting:
    """A section: steps until it is killed, and after that.

    `stays` is seen before it is resized; `held` is in its place when it is killed, `kept` at the end.
    `found` are a command and what it prints once all is over.
    """

    before: tuple[Step, ...]
    after: tuple[Step, ...]
    stays: str
    kept: str
    held: str = ""
    found: tuple[tuple[str, ...], str] = ((), "")


SITTINGS: Mapping[str, SectionSitting] = {
    "plan": SectionSitting(
        before=(
            does("= the balance of a gift card is not back", " in, ", " out"),
            does("Enter", "y Copy"),
            does(":plan.pin", "1 pinned"),
        ),
        after=(
            does("", "the balance of a gift card", "1 pinned", " in, "),
            does("Escape", "i Pin"),
            does(":plan.compare", "Baseline", "Hybrid", "Moved"),
            does(":plan.more", " of 4,"),
        ),
        stays="1 pinned",
        held='"pinned":["',
        kept='"compared":true',
    ),
    "rules": SectionSitting(
        before=(
            does(":rules.filter", "/ "),
            does("= money", "money"),
            does("Enter", "6 of 21"),
            does(":rules.edit", "Edit the rule"),
            does("= Unsaved", "Unsaved"),
        ),
        after=(
            does("", "/ money", "6 of 21", gone="Unsaved"),
            does(":rules.toggle", "○"),
        ),
        stays="Unsaved",
        kept='"money"',
        found=(("rules", "history"), "disable"),
    ),
    "conflicts": SectionSitting(
        before=(
            does("", "pair 1 of", "0 of "),
            does(":conflicts.accept", "1 of "),
        ),
        after=(
            does("", "pair 1 of"),
            does(":conflicts.next", "pair 2 of"),
        ),
        stays="pair 1 of",
        kept='"conflicts"',
    ),
    "learnings": SectionSitting(
        before=(
            does("", "Review queue"),
            does(":learnings.accept", "reviewed “"),
        ),
        after=(
            does(":learnings.filter", "/ "),
            does("= migration", "migration after"),
            does("Enter", "migration after"),
        ),
        stays="Waits for",
        kept='"migration"',
    ),
    "sessions": SectionSitting(
        before=(
            does(":sessions.filter", "/ "),
            does("= source:codex", "source:codex"),
            does("Enter", "18 of 51", "was paid 40 minutes"),
            does(":sessions.transcript", "prompt 1 of"),
        ),
        after=(
            does("", "source:codex"),
            does("j j", "codex"),
        ),
        stays="prompt 1 of",
        held='"source:codex"',
        kept='"source:codex"',
    ),
    "replay": SectionSitting(
        before=(
            does("", "nDCG@10", "hybrid"),
            does("Enter", "Runs ›", "hybrid", "★"),
            does(":replay.new", "New replay"),
            does("F2", "workbench replay", "so far"),
        ),
        after=(
            does("", "Runs"),
            does("Enter", "Runs ›", "hybrid"),
            does(":replay.tasks", "Tasks"),
        ),
        stays="workbench replay",
        kept='"replay"',
        found=(("runs", "list"), "roastery"),
    ),
    "stash": SectionSitting(
        before=(
            does("", "decision"),
            does("j", "Segment"),
            does(":stash.protect", "protect"),
        ),
        after=(
            does(":stash.filter", "/ "),
            does("= type:code", "type:code"),
            does("Enter", "code", gone="◆ decision"),
        ),
        stays="Segment",
        kept='"type:code"',
    ),
    "metrics": SectionSitting(
        before=(
            does("", "last 24h", "Operation"),
            does(":metrics.longer", "last 7d"),
        ),
        after=(
            does("", "last 7d"),
            does(":metrics.longer", "last ", gone="last 7d"),
        ),
        stays="last 7d",
        held='"metrics":{',
        kept='"metrics"',
    ),
    "models": SectionSitting(
        before=(
            does("", "files-v4", "Model"),
            does("j", "packaged"),
        ),
        after=(
            does("", "files-v4"),
            does("k", "llama3.2"),
        ),
        stays="files-v4",
        kept='"models"',
    ),
    "log": SectionSitting(
        before=(
            does("", "No actions yet"),
            does("?", "keys and commands"),
        ),
        after=(does("F1", "keys and commands"), does("Escape", "No actions yet", gone="keys and commands")),
        stays="keys and commands",
        kept='"log"',
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """The project, the server's directory, and the environment that programs of a sitting have."""

    root: Path
    server: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        """Run the program headless and return what it prints; it must succeed."""
        environment = {**os.environ, **self.environment}
        command = [sys.executable, "-m", "workbench", *arguments]
        done = subprocess.run(
            command, cwd=self.root, capture_output=True, check=True, text=True, env=environment
        )
        return done.stdout

    def open(self, *section: str) -> Terminal:
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        command = ["env", "-u", "TMUX", *settings, sys.executable, "-m", "workbench", *section]
        return Terminal(self.server, shlex.join(command), self.root)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The sample project with a past: sessions, learnings, a stash, a replay, a model; and one terminal."""
    base = tmp_path_factory.mktemp("sittings")
    root, sessions = build(base)
    home = {name: str(base / name) for name in ("HOME", "WORKBENCH_HOME", "WORKBENCH_CACHE")}
    made = Place(root, base, {**home, "TERM": "xterm-256color"})
    for arguments in (
        ("import", "sessions", str(sessions)),
        ("index",),
        ("memory", "ingest", *sorted(map(str, sessions.rglob("*.jsonl")))),
        ("stash", "import", str(STASH)),
        ("replay", "--tasks", "3"),
        ("model", "register", "llama3.2"),
    ):
        made.run(*arguments)
    keeper = Terminal(base, "cat", root)  # the server lives as long as this
    yield made
    keeper.end_all()


def test_every_section_has_a_sitting() -> None:
    """One that is added has to be sat through."""
    assert list(SITTINGS) == [section.id for section in SECTIONS]


@pytest.mark.parametrize("section", SITTINGS)
def test_a_sitting(place: Place, section: str) -> None:
    """What is typed is seen, at every size; neither a kill nor a hang-up in the middle loses a decision."""
    sitting = SITTINGS[section]
    kept = place_file(place.root, place.environment)
    first = place.open("app", section)
    for step in sitting.before:
        take(first, step)
    first.until(lambda: all(text in read(kept) for text in (f'"section":"{section}"', sitting.held)))
    first.see(sitting.stays)
    for columns, lines in SIZES:
        first.resize(columns, lines)
    first.see(sitting.stays)
    first.kill(signal.SIGKILL)
    first.see("left with 137")
    first.end()

    second = place.open()  # where the last one was
    second.resize(120, 40)
    second.resize(80, 24)
    for step in sitting.after:
        take(second, step)
    second.kill(signal.SIGHUP)
    assert "Traceback" not in second.see("left with 129")
    second.end()
    assert sitting.kept in read(kept)
    command, printed = sitting.found
    if command:
        assert printed in place.run(*command)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_walk_by_random_keys_ends_nothing(place: Place, seed: int) -> None:
    """Whatever is typed in whatever moment, the app goes on, or leaves because it was asked to."""
    dice = random.Random(seed)
    walk, typed = place.open(), []
    for _ in range(KEYS):
        keys = dice.choice(_STRIDES)
        typed.append(keys)
        walk.press(*keys)
        if dice.random() < 0.02:
            walk.resize(*dice.choice([*SIZES, (40, 10)]))
        walk.pause(dice.choice((0.0, 0.02, 0.1, 0.3)))
        shown = walk.screen()
        if _LEFT in shown:
            assert f"{_LEFT} 0" in shown, f"{typed[-40:]}\n{shown}"
            walk.end()
            walk = place.open()
    with suppress(ProcessLookupError):  # it may be about to leave
        walk.kill(signal.SIGHUP)
    assert any(f"{_LEFT} {code}" in walk.see(_LEFT) for code in (0, 129))
    walk.end()


def test_nothing_is_broken_after_all_of_them(place: Place) -> None:
    """Journals, tables and indexes are whole."""
    place.run("doctor")


def read(file: Path) -> str:
    """Return what is in a file, nothing where there is none yet."""
    return file.read_text(encoding="utf-8") if file.exists() else ""


def take(terminal: Terminal, step: Step) -> None:
    """Type what a step says, and wait until what it leads to is seen."""
    if step.keys.startswith("= "):
        terminal.type(step.keys[2:])
    elif step.keys.startswith(":"):
        command = find_command(step.keys[1:])
        assert command is not None
        assert command.keys
        terminal.press(_SPOKEN.get(command.keys[0], command.keys[0]))
    else:
        terminal.press(*step.keys.split())
    terminal.see(*step.seen, gone=step.gone)
