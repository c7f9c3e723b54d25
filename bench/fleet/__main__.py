"""Run a fleet on a real PostgreSQL: `python -m bench.fleet [--machines 50] [--agents 8] [--minutes 10]`.

Each machine is a checkout with its own state, member and connections; its agents fetch rules, add and edit
them, write learnings, stash and record what they used, at the pace of `bench.fleet.load`. Most machines are
asked in Python, some by HTTP (`workbench serve`), some by commands; the clocks of two are five minutes wrong,
one each way. Before they begin, each process makes a call of each kind, one process after the other, and
these first calls are counted apart: fifty machines that start at once have more processors than one has.
Meanwhile the server is ended at once and started again, a third of the machines is cut off while rules are
edited on both sides, and processes are killed. In the end everybody synchronises. Then each acknowledged
write has to be on the server and on every machine exactly once, all machines have to have the same ledgers
and tables, and the conflicts that wait have to be the edits that were made at once. What machines and the
bench itself took of the processors is counted by what took it. Prints a table and writes all figures with
`--json`; 1 if something is lost, doubled or different.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.crowd import quantile
from bench.fleet.fleet import Fleet, FleetPlan
from bench.fleet.outcome import (
    Work,
    differing,
    durations,
    lags,
    lost_on_machine,
    lost_on_server,
    read_work,
    recovery,
    unseen,
)
from bench.fleet.proxy import Proxy
from bench.fleet.state import ENTRIES, entries_digest
from tests.postgres_server import DatabaseServer
from workbench.entry.project import add_team_member, prepare_team_project

EDITS: Final = ("rule", "edit", "learning", "segment", "use")
SHARES: Final = (50, 95, 99)
RESTART: Final = 5.0
"""Seconds that the server or a killed process is gone."""
RULES: Final = 200
"""That the team has when the fleet starts."""
MEMBERS: Final = 10
PROJECT: Final = "example.org/shop"
SETTINGS: Final = (
    *("fsync=on", "synchronous_commit=on", "full_page_writes=on"),
    *("shared_buffers=128MB", "max_connections=300", "wal_level=replica"),
)
"""Of a server that has to keep what it acknowledged."""
SELECT_LINES: Final = """
SELECT line FROM workbench.entries JOIN workbench.streams USING (project, machine, stream, generation)
"""
SELECT_LOAD: Final = """
SELECT pg_database_size(current_database()), count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return how many values there are, their percentiles and the longest."""
    found = sorted(values)
    percentiles = {f"p{share}": round(quantile(found, share / 100), 2) for share in SHARES}
    return {"count": len(found), **percentiles, "longest": round(found[-1], 2) if found else 0.0}


def figures(fleet: Fleet, work: Work) -> dict[str, Any]:
    """Return the figures of a run: calls and writes counted, times in milliseconds.

    Seconds of processors are of machines whose process was not killed.
    """
    observers = [machine.number for machine in fleet.machines if machine.observes]
    found: dict[str, Any] = {
        "calls": dict(Counter(call["kind"] for call in work.calls)),
        "failed calls": dict(Counter(note["why"][:80] for note in work.failed)),
        "rules that an observer never saw": unseen(work, observers),
    }
    for when, faults in (("calm", fleet.faults), ("with faults", ())):
        for face in dict.fromkeys(call["face"] for call in work.calls):
            for name, kinds in (("fetch", ("fetch",)), ("write", EDITS)):
                found[f"{name}, {face}, {when}"] = spread(durations(work, kinds, face, faults))
                if face == "LibraryFace":
                    took = durations(work, kinds, face, faults, measure="cpu")
                    found[f"{name}, {face}, {when}, of processors"] = spread(took)
        found[f"lag, {when}"] = spread([value * 1000 for value in lags(work, faults)])
    for name, kinds in (("fetch", ("fetch",)), ("write", EDITS)):
        took = durations(work, kinds, "LibraryFace", measure="cpu", first=True)
        found[f"first {name}, LibraryFace, of processors"] = spread(took)
    for fault in fleet.faults:
        found[f"{fault.name}: seconds until its writes were seen"] = round(recovery(work, fault), 1)
    return found


def processor_seconds(work: Work, minutes: float) -> dict[str, dict[str, float]]:
    """Return the seconds of processors that a machine of each face took a minute, by what took them.

    `listeners` are what is received and sent, `calls` the agents'; `observers` are the bench's own.
    """
    found: dict[str, dict[str, float]] = {}
    for face in dict.fromkeys(one["face"] for one in work.ended):
        machines = [one["seconds"] for one in work.ended if one["face"] == face]
        kinds = dict.fromkeys(kind for machine in machines for kind in machine)
        found[f"processor seconds of a machine a minute, {face}"] = {
            kind: round(sum(machine.get(kind, 0.0) for machine in machines) / len(machines) / minutes, 3)
            for kind in kinds
        }
    return found


def received_costs(work: Work, received: int) -> float:
    """Return the milliseconds of processors for each entry that a library machine received."""
    listeners = [one["seconds"].get("listeners", 0.0) for one in work.ended if one["face"] == "library"]
    mean = sum(listeners) / max(1, len(listeners))
    return float(round(mean / max(1, received) * 1000, 2))


def faults_of(
    fleet: Fleet, work: Work, states: Mapping[int, Mapping[str, Any]], lines: Sequence[bytes]
) -> list[str]:
    """Return what is lost, doubled or different, in sentences; the server is machine -1."""
    server = {"digests": {ENTRIES: entries_digest(lines)}}
    found = [*lost_on_server(work, lines), *differing({**states, -1: server})]
    for machine, state in states.items():
        found += lost_on_machine(work, machine, state["texts"])
        if (count := len(state["conflicts"])) != fleet.plan.edits:
            found.append(f"machine {machine}: {count} conflicts wait of {fleet.plan.edits} concurrent edits")
    return found


class Database:
    """The team's server and the network before it; samples are taken of both while the fleet works."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.server = DatabaseServer(*SETTINGS, host="127.0.0.1", port=self.port)
        self.proxy = Proxy(("127.0.0.1", self.port))
        self.owner = self.server.make_database("team")
        self.samples: list[dict[str, int]] = []
        self.before = 0.0  # seconds of processors until it was last ended
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def make_members(self, count: int) -> list[str]:
        """Make the project and members of it; return their URLs."""
        prepare_team_project(self.owner, PROJECT)
        found = []
        for number in range(count):
            password = add_team_member(self.owner, PROJECT, f"member{number}")
            found.append(f"postgresql://member{number}:{password}@127.0.0.1:{self.port}/team")
        return found

    def lines(self) -> list[bytes]:
        with psycopg.connect(self.owner) as connection:
            return [bytes(line) for (line,) in connection.execute(SELECT_LINES)]

    def stop(self) -> None:
        """End the server as a crash does."""
        self.before += self.seconds()
        self.server.stop()

    def seconds(self) -> float:
        """Return how many seconds of processors the server took since it was started."""
        keeper = int((self.server.directory / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        found = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # ended meanwhile
                process, _, rest = stat.read_text().rpartition(") ")
                numbers = rest.split()
                own = int(process.split(" ", 1)[0]) == keeper
                if own or int(numbers[1]) == keeper:
                    found += sum(map(int, numbers[11:15] if own else numbers[11:13]))
        return found / os.sysconf("SC_CLK_TCK")

    def start_sampling(self) -> None:
        """Look at the server every five seconds."""
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.proxy.close()
        self.server.close()

    def _sample(self) -> None:
        while not self._ended.wait(5):
            try:
                with psycopg.connect(self.owner) as connection:
                    row = connection.execute(SELECT_LOAD).fetchone()
            except psycopg.OperationalError:
                continue  # ended at once, on purpose
            assert row is not None
            self.samples.append(dict(zip(("bytes", "connections"), row, strict=True)))


def endure(fleet: Fleet, database: Database, rules: Sequence[str]) -> None:
    """Let the fleet work for its time, and do to it what happens to fleets; `rules` are edited at once."""
    tenth = fleet.plan.minutes * 6
    time.sleep(2 * tenth)
    with fleet.fault("the server is ended and started again"):
        database.stop()
        time.sleep(RESTART)
        database.server.start()
    time.sleep(1.5 * tenth)
    fleet.split(1.5 * tenth, lambda: fleet.edit_at_once(rules))
    time.sleep(1.5 * tenth)
    fleet.kill([*fleet.processes[2:4], fleet.processes[-1]], RESTART)
    time.sleep(3 * tenth)


def run(plan: FleetPlan, place: Path) -> tuple[dict[str, Any], list[str]]:
    """Run a fleet below a directory; return its figures and its faults."""
    database = Database()
    fleet = Fleet(plan, place, database.proxy)
    try:
        fleet.make_checkouts()
        rules = fleet.add_rules(RULES)
        fleet.join(database.make_members(MEMBERS), PROJECT)
        lines = len(database.lines())
        fleet.start()
        began, busy, own, served = time.monotonic(), busy_seconds(), time.process_time(), database.seconds()
        database.start_sampling()
        endure(fleet, database, rules[: plan.edits])
        fleet.end()
        seconds = time.monotonic() - began
        busy, own = busy_seconds() - busy, time.process_time() - own
        served = database.before + database.seconds() - served
        received = (len(database.lines()) - lines) * (plan.machines - 1) // plan.machines
        states = fleet.states()
        work = read_work(place.glob("notes-*.jsonl"))
        found = {
            "machines": plan.machines,
            "agents of each": plan.agents,
            "seconds": round(seconds),
            "share of the processors that is busy": round(busy / seconds / (os.cpu_count() or 1), 3),
            "processor seconds, of everything that ran": round(busy),
            "processor seconds, PostgreSQL": round(served),
            "processor seconds, the network and the control of the bench": round(own),
            **processor_seconds(work, seconds / 60),
            "entries that each machine received, about": received,
            "milliseconds of processors for each of them": received_costs(work, received),
            **figures(fleet, work),
        }
        for name in ("bytes", "connections"):
            found[f"server, {name}, most"] = max((sample[name] for sample in database.samples), default=0)
        return found, faults_of(fleet, work, states, database.lines())
    finally:
        fleet.kill_all()
        database.close()


def busy_seconds() -> float:
    """Return for how many seconds processors were busy since the machine started, those of others too."""
    numbers = [int(one) for one in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(numbers[:8]) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")


LEAST: Final = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a fleet and print what came of it; 1 if a write was lost or doubled, or machines differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument("--machines", type=int, default=50)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pace", type=float, default=1.0, help="multiplies what agents do (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    asked = parser.parse_args(arguments)
    if asked.machines < LEAST:
        parser.error(f"--machines takes {LEAST} or more: of fewer not every kind is on both sides of a split")
    with tempfile.TemporaryDirectory() as scratch:
        plan = FleetPlan(asked.machines, asked.agents, asked.minutes, asked.pace)
        found, faults = run(plan, Path(scratch))
    if asked.json:
        asked.json.write_text(json.dumps({**found, "faults": faults}, indent=1) + "\n")
    print("| figure | value |\n|---|--:|")
    for name, value in found.items():
        shown = (
            ", ".join(f"{key} {one:,}" for key, one in value.items()) if isinstance(value, dict) else value
        )
        print(f"| {name} | {shown} |")
    print(f"\n{len(faults)} faults")
    for fault in faults[:50]:
        print(f"! {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
