"""A process with some machines of the fleet: `python -m bench.fleet.worker SPECIFICATION`, a file of JSON.

It says on stdout which processes it is, as a list of ids, and works. Lines on stdin are edits to be made at
once, as JSON; the last one, `end`, ends the work.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from bench.chaos.clocks import shifted
from bench.fleet.faces import CommandFace, Face, HttpFace, LibraryFace
from bench.fleet.load import Agents, Notes

FACES: Final[dict[str, Callable[[Path, Path], Face]]] = {
    "library": LibraryFace,
    "serve": HttpFace,
    "command": CommandFace,
}


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

    machines: tuple[Machine, ...]
    agents: int
    pace: float
    notes: str
    life: int = 1
    skew: float = 0.0

    def write(self, path: Path) -> None:
        """Write it into a file."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read it from a file."""
        return msgspec.json.decode(path.read_bytes(), type=cls)


@dataclass(frozen=True, slots=True)
class EditOrder:
    """A rule that an agent of a machine is to give another priority at once."""

    machine: int
    rule: str
    priority: int


def main(arguments: list[str]) -> None:
    """Work as the specification says."""
    given = Specification.read(Path(arguments[0]))
    if given.skew:
        shifted(given.skew)()
    notes = Notes(Path(given.notes))
    faces: dict[int, Face] = {}
    crews = []
    for one in given.machines:
        face = faces[one.number] = FACES[one.face](Path(one.root), Path(one.home))
        name = f"m{one.number}l{given.life}"
        crew = Agents(one.number, name, face, notes, agents=given.agents, pace=given.pace * one.pace)
        if one.observes:
            assert isinstance(face, LibraryFace)
            crew.observe(face)
        crews.append(crew)
    servers = [face.server.pid for face in faces.values() if isinstance(face, HttpFace)]
    print(json.dumps([os.getpid(), *servers]), flush=True)
    for crew in crews:
        crew.start()
    for line in sys.stdin:
        if line.strip() == "end":
            break
        order = msgspec.json.decode(line, type=EditOrder)
        face = faces[order.machine]
        assert isinstance(face, LibraryFace)
        face.project.rules.edit(order.rule, priority=order.priority)
    for crew in crews:
        crew.stop()
    for face in faces.values():
        face.close()
    notes.note("ended", cpu=time.process_time())
    print("ended", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
