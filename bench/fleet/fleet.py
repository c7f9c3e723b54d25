"""The fleet as a whole: its machines and processes, its server, and what is done to them meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bench.fleet.faces import LibraryFace, compiled_once
from bench.fleet.load import phrase
from bench.fleet.outcome import Fault
from bench.fleet.proxy import Proxy
from bench.fleet.worker import EditOrder, Machine, Specification
from workbench.entry.services.team import join_team

OBSERVERS: Final = 4
WRONG_CLOCKS: Final = 2
SKEW: Final = 300.0
"""Seconds that the clocks of the first two machines are wrong, one each way."""
COMMAND_PACE: Final = 0.1
"""Of agents whose every call is a process."""
_HERE: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """How large a fleet is and how long it works; `edits` are made on both sides of a split."""

    machines: int
    agents: int
    minutes: float
    pace: float = 1.0
    edits: int = 10

    @property
    def served(self) -> int:
        """How many machines are asked by HTTP."""
        return max(1, self.machines // 12)

    @property
    def commanded(self) -> int:
        """How many machines are asked by commands."""
        return max(1, self.machines // 25)

    def faces(self) -> Iterator[str]:
        for number in range(self.machines):
            left = self.machines - number
            yield (
                "serve"
                if left <= self.served
                else "command"
                if left <= self.served + self.commanded
                else "library"
            )


@dataclass(slots=True)
class Process:
    """A process of the fleet; `ids` are of it and of the servers that it started."""

    specification: Specification
    child: subprocess.Popen[str]
    ids: list[int] = field(default_factory=list)

    def send(self, line: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()

    def receive(self) -> str:
        """Wait for a line of its stdout. Raises: RuntimeError if it has ended."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the fleet ended: {self.child.wait()}")
        return line


class Fleet:
    """Machines below a directory, whose members reach their server by `url(member, through the proxy?)`."""

    def __init__(self, plan: FleetPlan, place: Path, proxy: Proxy) -> None:
        self.plan = plan
        self.place = place
        self.proxy = proxy
        self.faults: list[Fault] = []
        self.machines = [self._machine(number, face) for number, face in enumerate(plan.faces())]
        self.processes: list[Process] = []

    def _machine(self, number: int, face: str) -> Machine:
        root, home = self.place / f"machine-{number}" / "shop", self.place / f"home-{number}"
        pace = COMMAND_PACE if face == "command" else 1.0
        observes = WRONG_CLOCKS <= number < WRONG_CLOCKS + OBSERVERS and face == "library"
        return Machine(number, str(root), str(home), face, pace, observes)

    def is_behind_proxy(self, machine: Machine) -> bool:
        """Whether the network of a machine is the one that is split."""
        return machine.number % 3 == 0

    def make_checkouts(self) -> None:
        source = self.place / "source"
        (source / "src" / "billing").mkdir(parents=True)
        (source / "src" / "billing" / "invoice.py").write_text("def total(prices):\n    return sum(prices)\n")
        (source / "AGENTS.md").write_text("- Never log a token.\n- Run the tests before you commit.\n")
        git = ["git", "-c", "user.name=F", "-c", "user.email=f@example.org", "-C", str(source)]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Total prices"]):
            subprocess.run([*git, *words], check=True)
        for machine in self.machines:
            Path(machine.home).mkdir()
            subprocess.run(["git", "clone", "-q", str(source), machine.root], check=True)

    def add_rules(self, count: int) -> list[str]:
        """Add rules on the first machine, and return the ids of those that are there to be edited."""
        face = LibraryFace(Path(self.machines[0].root), Path(self.machines[0].home))
        face.add_rule("Round invoices to cents.")
        dice = random.Random(1)
        found = [face.add_rule(phrase(dice, f"first{number}")) for number in range(count)]
        face.close()
        return found

    def join(self, urls: Sequence[str], project: str) -> None:
        """Let each machine join the team as one of the members, a third of them through the proxy."""

        def use(machine: Machine) -> None:
            url = urls[machine.number % len(urls)]
            if self.is_behind_proxy(machine):
                before, _, rest = url.rpartition("@")
                url = f"{before}@127.0.0.1:{self.proxy.port}/{rest.partition('/')[2]}"
            face = LibraryFace(Path(machine.root), Path(machine.home))
            join_team(face.host.project, url, project, lambda stage, done, total: None)
            face.close()

        for machine in self.machines:  # the first has the rules
            use(machine)

    def start(self) -> None:
        """Start all processes, one after the other, and let them work once all are there."""
        for machine in self.machines:
            notes = str(self.place / f"notes-{machine.number}.jsonl")
            skew = SKEW * (1, -1)[machine.number] if machine.number < WRONG_CLOCKS else 0.0
            given = Specification(machine, self.plan.agents, self.plan.pace, notes, skew=skew)
            self.processes.append(self._spawn(given))
            self.processes[-1].ids = json.loads(self.processes[-1].receive())
        for process in self.processes:
            process.send("begin")

    def _spawn(self, specification: Specification) -> Process:
        path = Path(f"{specification.notes}.specification")
        specification.write(path)
        command = [sys.executable, "-m", "bench.fleet.worker", str(path)]
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_HERE,
            env=compiled_once(self.place),
        )
        return Process(specification, child)

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        """Note that something is done to the fleet."""
        begin = time.monotonic()
        yield
        self.faults.append(Fault(name, begin, time.monotonic()))

    def split(self, seconds: float, meanwhile: Callable[[], None]) -> None:
        """Hold back what a third of the machines sends and is sent, do something in the middle, and heal."""
        with self.fault("a third is cut off"):
            self.proxy.hold()
            time.sleep(seconds / 2)
            meanwhile()
            time.sleep(seconds / 2)
            self.proxy.heal()

    def kill(self, processes: Sequence[Process], seconds: float) -> None:
        """Kill processes and their servers with SIGKILL, and start them again after so many seconds."""
        with self.fault("processes are killed"):
            for process in processes:
                for identifier in process.ids:
                    os.kill(identifier, signal.SIGKILL)
                process.child.wait()
            time.sleep(seconds)
            for process in processes:
                given = replace(process.specification, life=process.specification.life + 1)
                again = self._spawn(given)
                again.ids = json.loads(again.receive())
                again.send("begin")
                self.processes[self.processes.index(process)] = again

    def edit_at_once(self, rules: Sequence[str]) -> None:
        """Give each rule two priorities, on a machine that is cut off and on one that is not."""
        library = [machine for machine in self.machines if machine.face == "library"]
        sides = [[one for one in library if self.is_behind_proxy(one) is side] for side in (True, False)]
        for number, rule in enumerate(rules):
            for priority, side in enumerate(sides, 60):
                machine = side[number % len(side)]
                order = EditOrder(rule, priority + 10 * (number % 3))
                self.processes[machine.number].send(json.dumps(asdict(order)))

    def end(self) -> None:
        for process in self.processes:
            process.send("end")
        for process in self.processes:
            process.receive()
            process.child.wait()

    def states(self) -> dict[int, dict[str, Any]]:
        """Let all synchronise and return what each machine has, read by a process that took no part."""
        found: dict[int, dict[str, Any]] = {}
        places = "".join(f"{json.dumps([machine.root, machine.home])}\n" for machine in self.machines)
        command = [sys.executable, "-m", "bench.fleet.state"]
        done = subprocess.run(
            command,
            input=places,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=_HERE,
            env=compiled_once(self.place),
        )
        for machine, line in zip(self.machines, done.stdout.splitlines(), strict=True):
            found[machine.number] = json.loads(line)
        return found

    def kill_all(self) -> None:
        """End what is still running, if something failed."""
        for process in self.processes:
            if process.child.poll() is None:
                for identifier in process.ids:
                    os.kill(identifier, signal.SIGKILL)
