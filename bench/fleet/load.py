"""What the agents of a machine do, at the pace of a team, and what they note of it.

Rates are those of an agent that works without a pause: a tool call every 20 seconds asks for rules, a prompt
every two minutes records the use of rules, and so on (`RATES`). A team of people writes far less, as its
agents wait for them.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.fleet.faces import Face, LibraryFace
from workbench.errors import WorkbenchError

RATES: Final = {"fetch": 180.0, "use": 30.0, "segment": 6.0, "learning": 4.0, "rule": 2.0, "edit": 2.0}
"""Calls of an agent in an hour."""
LOOK: Final = 0.1
"""Seconds between the looks of an observer, which the lag it sees is too long by, at most."""
PAGE: Final = 1_000
AGENT: Final = "agent"
OBSERVER: Final = "observer"
"""How threads are called, by which their share of the processors is counted."""
_SYLLABLES: Final = ("ba", "co", "di", "fu", "ga", "he", "jo", "ki", "lo", "mu", "ne", "po", "ra", "si", "tu")


class Notes:
    """A file of JSON lines, of which each is whole or not there, whenever the process is killed."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, kind: str, **values: Any) -> None:
        """Append a line; `at` is the machine's monotonic clock, which all processes share."""
        line = json.dumps({"kind": kind, "at": time.monotonic(), **values})
        os.write(self._descriptor, line.encode() + b"\n")


def phrase(dice: random.Random, marker: str) -> str:
    """Return a sentence that resembles no other one, with a marker that no other one has."""
    words = ["".join(dice.choices(_SYLLABLES, k=3)) for _ in range(7)]
    return f"Keep {' '.join(words)} at {marker}."


class Agents:
    """The agents of a machine, each a thread; `pace` multiplies their rates, `name` is in all they write."""

    def __init__(
        self, machine: int, name: str, face: Face, notes: Notes, *, agents: int, pace: float
    ) -> None:
        self._name = name
        self._machine = machine
        self._face = face
        self._notes = notes
        self._pace = pace
        self._stopped = threading.Event()
        self._mine: list[str] = []  # ids of rules that nobody has edited
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=AGENT, daemon=True)
            for number in range(agents)
        ]

    def warm_up(self) -> None:
        """Make one call of each kind, noted as a process's first ones: they import, open and fold."""
        for number, kind in enumerate(RATES):
            self.turn(kind, len(self._threads), number, is_first=True)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def observe(self, face: LibraryFace) -> None:
        """Look for rules of all machines, again and again, in one more thread."""
        self._threads.append(threading.Thread(target=self._observe, args=(face,), name=OBSERVER, daemon=True))

    def stop(self) -> None:
        """End the work and wait for the calls under way."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        dice = random.Random(f"{self._name} {number}")
        kinds, weights = [*RATES], [*RATES.values()]
        pause = 3600 / sum(weights) / self._pace
        turn = 0
        while not self._stopped.wait(dice.expovariate(1 / pause)):
            turn += 1
            [kind] = dice.choices(kinds, weights)
            self.turn(kind, number, turn)

    def turn(self, kind: str, number: int, turn: int, *, is_first: bool = False) -> None:
        """Make an agent's call of a kind, and note what it acknowledged or why it failed."""
        marker = f"{self._name}a{number}t{turn}"
        text = marker if kind == "use" else phrase(random.Random(marker), marker)
        if kind == "edit" and not self._mine:
            kind = "rule"
        old = self._mine.pop(0) if kind == "edit" else ""
        work = self._calls(kind, text, turn, old)
        if old:
            self._notes.note("trying", machine=self._machine, text=text, old=old)
        began, busy = time.perf_counter(), time.thread_time()
        try:
            found = work()
        except (WorkbenchError, OSError) as error:
            self._notes.note("failed", call=kind, machine=self._machine, why=str(error)[:300])
            return
        took, cpu = (time.perf_counter() - began) * 1000, (time.thread_time() - busy) * 1000
        face = type(self._face).__name__
        self._notes.note(
            kind,
            machine=self._machine,
            face=face,
            ms=round(took, 3),
            cpu=round(cpu, 3),
            text=text,
            id=found,
            old=old,
            first=is_first,
        )
        if kind == "rule":
            self._mine.append(str(found))

    def _calls(self, kind: str, text: str, turn: int, old: str) -> Callable[[], Any]:
        face = self._face
        return {
            "fetch": lambda: face.fetch(turn),
            "use": lambda: face.use(text),
            "segment": lambda: face.stash(text),
            "learning": lambda: face.add_learning(text),
            "rule": lambda: face.add_rule(text),
            "edit": lambda: face.edit_rule(old, text),
        }[kind]

    def _observe(self, face: LibraryFace) -> None:
        seen: set[str] = set()
        rows: object = None
        while not self._stopped.wait(LOOK):
            page = face.project.rules.fetch(limit=PAGE)
            at = time.monotonic()
            if page.rows is rows:
                continue
            rows, new = page.rows, {rule.id for rule in page.rows} - seen
            if new:
                seen |= new
                self._notes.note("seen", machine=self._machine, ids=sorted(new), seen=at)
