"""What a measurement is and how a process of its own is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

OWN: Final = Path(__file__).resolve().parent.parent.parent
COMMANDS: Final = 5
"""Times that a command is run, each in a process of its own."""

Values = dict[str, float]


@dataclass(slots=True)
class Work:
    """What a process measures: times by name, in seconds of the clock and of the processor."""

    values: Values = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Measure what is done inside once."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.values[f"{name} s"] = time.perf_counter() - wall
        self.values[f"{name} cpu s"] = time.process_time() - cpu

    def spread(self, name: str, calls: Sequence[Callable[[], object]]) -> None:
        """Measure each of some calls: the median and the 95th percentile, in ms of the clock and of CPU."""
        walls, cpus = [], []
        for call in calls:
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            walls.append((time.perf_counter() - wall) * 1000)
            cpus.append((time.process_time() - cpu) * 1000)
        for unit, taken in (("ms", walls), ("cpu ms", cpus)):
            for part in (50, 95):
                self.values[f"{name} p{part} {unit}"] = float(np.percentile(taken, part))

    def finish(self) -> None:
        """Hand over what was measured, with the most memory that was held, in MB."""
        print(json.dumps({**self.values, "peak MB": peak()}))


def peak() -> float:
    """Return the most memory that this process held since it runs this program, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024)


def apart(home: Path, module: str, *arguments: str) -> Values:
    """Return what a module of this package measures in a process of its own."""
    command = [sys.executable, "-m", f"bench.scale.{module}", *arguments]
    done = subprocess.run(command, cwd=OWN, env=environment(home), stdout=subprocess.PIPE, check=True)
    found: Values = json.loads(done.stdout.splitlines()[-1])
    return found


def command(root: Path, home: Path, *arguments: str, count: int = COMMANDS) -> Values:
    """Return what `workbench …` takes as a process of its own: ms of the clock and of CPU, and memory.

    Times are medians, and those of the first process.     NUMBER in arguments is another one each time.
    """
    walls, cpus, most = [], [], 0.0
    for number in range(count):
        given = [part.replace("NUMBER", str(number)) for part in arguments]
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workbench", *given],
            cwd=root,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"workbench {' '.join(arguments)} ended with {process.returncode} in {root}")
        walls.append((time.perf_counter() - started) * 1000)
        cpus.append((used.ru_utime + used.ru_stime) * 1000)
        most = max(most, used.ru_maxrss / 1024)
    median = {"ms": float(np.median(walls)), "cpu ms": float(np.median(cpus)), "MB": most}
    return {"first ms": walls[0], "first cpu ms": cpus[0], **median}


def named(name: str, values: Mapping[str, float]) -> Values:
    return {f"{name} {key}": value for key, value in values.items()}


def environment(home: Path) -> dict[str, str]:
    """Return the environment of processes that are measured: a home of their own, one thread of algebra.

    They keep what they compile, as for a user.
    """
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, **threads, "WORKBENCH_HOME": str(home), "PYTHONPATH": str(OWN)}


def disk(place: Path) -> float:
    """Return how much a directory takes, in MB."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
