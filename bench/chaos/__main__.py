"""Run the suites: `python -m bench.chaos [--seconds 300] [--only points,clocks]`.

In a project made here commands are killed at random instants and at every named point, files of its state are
cut, emptied, altered, overwritten or removed, clocks jump, an earlier version of the program works beside it,
members of a team are cut off; as root on Linux a small tmpfs is full, without inodes, then read-only.
Afterwards everything that was acknowledged is there once, no command fails without an explanation, and what a
journal lost comes back by `doctor --repair`. Prints a line a suite and one for each fault; 1 if there is any.
On stderr it says what it does as it goes, every ten seconds.
`--seed` makes the same choices again, except for the instants, which the machine decides.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.chaos.clocks import clocks
from bench.chaos.damage import damage
from bench.chaos.disks import disks, inodes
from bench.chaos.kills import kills
from bench.chaos.points import points
from bench.chaos.project import NARRATION, Suite, make_project
from bench.chaos.teams import teams
from bench.chaos.versions import migrations, versions

SUITES: Final[dict[str, tuple[Callable[[Path, float, random.Random], Suite], float]]] = {
    "damage": (damage, 0.3),
    "kills": (kills, 0.3),
    "points": (points, 0.4),
    "clocks": (clocks, 0),
    "migrations": (migrations, 0),
    "versions": (versions, 0),
    "disks": (disks, 0),
    "inodes": (inodes, 0),
    "teams": (teams, 0.4),
}
"""Each suite with its share of the time; 0: it takes what it takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites and print what was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="for kills, points and damage together")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default=",".join(SUITES), help="suites, by their names")
    asked = parser.parse_args(arguments)
    # What every command needs is imported once: processes are forked from here.
    import duckdb
    import numpy as np

    import workbench.entry.cli.main

    _ = workbench.entry.cli.main, duckdb, np
    faults = 0
    for name in asked.only.split(","):
        suite, share = SUITES[name]
        with tempfile.TemporaryDirectory() as scratch:
            os.environ.update(HOME=scratch, WORKBENCH_HOME=f"{scratch}/home")
            root = Path(scratch) / "project"
            make_project(root)
            length = f"{asked.seconds * share:,.0f} seconds: " if share else ""
            NARRATION.begin(name, length + str(suite.__doc__).partition("\n")[0])
            found = suite(root, asked.seconds * share, random.Random(asked.seed))
        notes = ", ".join(f"{count} {note}" for note, count in sorted(found.notes.items()))
        said = f"{found.tries} tries ({notes}), {len(found.faults)} faults"
        print(f"{found.name}: {found.skipped or said}", flush=True)
        for fault in found.faults:
            print(f"  {fault}", flush=True)
        faults += len(found.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
