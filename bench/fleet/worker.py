"""A machine of the fleet: `python -m bench.fleet.worker SPECIFICATION`, a file of JSON.

It makes a call of each kind and says on stdout which processes it is, as a list of ids. Lines on stdin are
`begin`, edits to be made at once, as JSON, and `end`. What its threads and its children took of the
processors since it began is noted in the end.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from bench.chaos.clocks import shifted
from bench.fleet.faces import CommandFace, Face, HttpFace, LibraryFace
from bench.fleet.load import AGENT, OBSERVER, Agents, Notes

FACES: Final[dict[str, Callable[[Path, Path], Face]]] = {
    "library": LibraryFace,
    "serve": HttpFace,
    "command": CommandFace,
}
NAMES: Final = {AGENT: "calls", OBSERVER: "observers", "team": "listeners"}
"""What threads do, by their names."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: where it is, by which face its agents reach it, and its share of their pace."""

    number: int
    root: str
    home: str
    face: str = "library"
    pace: float = 1.0
    observes: bool = False


@dataclass(frozen=True, slots=True)
class Specification:
    """What a process is to do; `life` counts its starts, `skew` are seconds that its clock is wrong."""

    machine: Machine
    agents: int
    pace: float
    notes: str
    life: int = 1
    skew: float = 0.0

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self:
        return msgspec.json.decode(path.read_bytes(), type=cls)


@dataclass(frozen=True, slots=True)
class EditOrder:
    """A rule that an agent of the machine is to give another priority at once."""

    rule: str
    priority: int


def thread_seconds() -> dict[str, float]:
    """Return how many seconds of processors threads took so far, by what they do."""
    found: dict[str, float] = defaultdict(float)
    for thread in threading.enumerate():
        if thread.name in NAMES:
            with suppress(OSError):  # ended meanwhile
                took = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]
                found[NAMES[thread.name]] += int(took) / 1e9
    return found


def main(arguments: list[str]) -> None:
    """Work as the specification says."""
    given = Specification.read(Path(arguments[0]))
    if given.skew:
        shifted(given.skew)()
    notes, machine = Notes(Path(given.notes)), given.machine
    face = FACES[machine.face](Path(machine.root), Path(machine.home))
    name = f"m{machine.number}l{given.life}"
    crew = Agents(machine.number, name, face, notes, agents=given.agents, pace=given.pace * machine.pace)
    if machine.observes:
        assert isinstance(face, LibraryFace)
        crew.observe(face)
    crew.warm_up()
    print(json.dumps([os.getpid(), *([face.server.pid] if isinstance(face, HttpFace) else ())]), flush=True)
    sys.stdin.readline()
    began, before = time.process_time(), thread_seconds()
    crew.start()
    for line in sys.stdin:
        if line.strip() == "end":
            break
        order = msgspec.json.decode(line, type=EditOrder)
        assert isinstance(face, LibraryFace)
        face.project.rules.edit(order.rule, priority=order.priority)
    spent = {kind: took - before.get(kind, 0.0) for kind, took in thread_seconds().items()}
    crew.stop()
    face.close()
    spent["other threads"] = time.process_time() - began - sum(spent.values())
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent["server" if machine.face == "serve" else "commands"] = children.ru_utime + children.ru_stime
    notes.note("ended", machine=machine.number, face=machine.face, seconds=spent)
    print("ended", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
