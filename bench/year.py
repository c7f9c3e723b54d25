"""A year of ten agents: `python -m bench.year [--events 10000000] [--agents 10] [--days 365]`.

Writes what hooks would record of so many agents in the sample project, day by day, with lists that are looked
at every ten days and retention as it runs there, and measures plans on it and on a fresh store in turns:
processes that stay open, in which something is recorded before each plan, and commands of their own. Prints
sizes, what retention took, the times of the first commands and of the same ones again, and both stores'
figures with their ratio. CPU times are what other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sample_data.build import build
from workbench.config import Config
from workbench.entry.http.metrics import resident_bytes
from workbench.entry.project import open_project
from workbench.entry.services.metrics import Measured
from workbench.entry.services.plan import plan_for
from workbench.entry.services.requests import plan_request
from workbench.entry.services.retention import DAY, purge_due
from workbench.ports import Verbatim
from workbench.replay.run_report import table
from workbench.text.counts import shown_bytes

EVENTS_OF_PROMPT: Final = 24
RETENTION_EVERY: Final = 30
LOOK_EVERY: Final = 10
ROUNDS: Final = 4
PLANS: Final = 20
COMMANDS: Final = 5
VERBS: Final = ("fix", "add", "rename", "speed up", "test", "document", "remove", "refund", "split", "log")


class YearClock:
    """A clock that is set (port `Clock`)."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.seconds


def main(arguments: list[str] | None = None) -> int:
    """Write the year and measure, or measure one store for the process that does."""
    parser = argparse.ArgumentParser(prog="python -m bench.year", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure is not None:
        print(json.dumps(measure(options.measure)))
        return 0
    with tempfile.TemporaryDirectory(prefix="workbench-year-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        os.environ |= {"WORKBENCH_HOME": str(home), "HOME": str(home)}
        stores = {}
        for name in ("fresh", "year"):
            build(Path(directory) / name)
            stores[name] = Path(directory) / name / "roastery"
            command(stores[name], "plan", "fix the refund")
        write_year(stores["year"], options.events, options.agents, options.days)
        report(stores)
    return 0


def write_year(root: Path, events: int, agents: int, days: int) -> None:
    """Record a year that ends now, with retention every `RETENTION_EVERY` days, and print what that took."""
    chance, end = random.Random(18), time.time()
    opened = open_project(root, Config())
    files = project_files(root)
    clock = YearClock(end - days * DAY)
    past = replace(opened, clock=clock)
    writing = looking = taking = 0.0
    for day in range(days):
        clock.seconds = end - (days - day) * DAY
        count = events * (day + 1) // days - events * day // days
        started = time.process_time()
        for stream, drafts in day_of_agents(chance, files, day, count, agents, clock.seconds).items():
            past.journal.append_all(stream, drafts, by="hook", sync=False)
        writing += time.process_time() - started
        if day % LOOK_EVERY == LOOK_EVERY - 1:
            started = time.process_time()
            with past.journal_tables() as tables:
                tables.catch_up()
            looking += time.process_time() - started
        if day % RETENTION_EVERY == RETENTION_EVERY - 1:
            started = time.process_time()
            done = purge_due(past, dry=False)
            took = time.process_time() - started
            taking += took
            print(
                f"day {day + 1}: {sum(done.journals.values()):,} lines, "
                f"{shown_bytes(done.freed)}, {took:.1f} s"
            )
    state = opened.state
    sizes = {path.stem: path.stat().st_size for path in sorted((state / "journal").glob("*.jsonl"))}
    print(
        f"{events:,} events of {agents} agents in {days} days: "
        f"{writing:,.0f} s to write, {looking:,.0f} s of lists, {taking:,.0f} s of retention"
    )
    print(", ".join(f"{name} {shown_bytes(size)}" for name, size in sizes.items()))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of the process that wrote and took: {most:,.0f} MB")


def project_files(root: Path) -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


Drafts = list[tuple[str, Mapping[str, Any]]]


def day_of_agents(
    chance: random.Random, files: Sequence[str], day: int, events: int, agents: int, at: float
) -> dict[str, Drafts]:
    """Return what hooks record of a day by stream: prompts, what they touched, what they were given."""
    found: dict[str, Drafts] = {"sessions": [], "handovers": [], "rule-usage": []}
    for number in range(max(1, events // EVENTS_OF_PROMPT)):
        agent = number % agents
        parent = f"{day:04d}-{agent:02d}-{number // agents // 12:04d}"
        session, moment = f"{parent}/{number}", int(at + number * DAY / (events / EVENTS_OF_PROMPT + 1))
        touched = chance.sample(files, min(8, len(files)))
        task = f"{chance.choice(VERBS)} {Path(touched[0]).stem} in {Path(touched[1]).stem}, case {number}"
        found["sessions"] += prompt_entries(chance, session, parent, task, touched, moment)
        given = dict.fromkeys(touched[:4], "outline")
        found["handovers"].append(("handover.given", Verbatim(
            session_id=parent, agent="claude", event="UserPromptSubmit", files=given, passages=["r1", "r2"],
            matched=[], tokens=900, why="", subagent=False, variant="", seen=-1,
        )))  # fmt: skip
        found["rule-usage"].append(
            ("rule.used", Verbatim(rule_ids=["r1", "r2"], session_id=parent, tool="claude"))
        )
    return found


def prompt_entries(
    chance: random.Random, session: str, parent: str, task: str, files: Sequence[str], at: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of a prompt: its beginning, reads and edits, its end."""
    body = {"session_id": session, "parent_session": parent, "project_id": "roastery", "task_text": task}
    yield "episode.started", Verbatim(body, task_fingerprint=session, query_type="bugfix", started_at=at)
    for step in range(EVENTS_OF_PROMPT - 2):
        edit = step % 5 == 4
        event = {"session_id": session, "event_type": "edit" if edit else "read", "timestamp": at + step}
        payload = {"kind": "modified", "added": 3, "removed": 1} if edit else {}
        path = files[chance.randrange(len(files))]
        yield "episode.event", Verbatim(event, file_path=path, payload=payload, key=f"{session}:{step}")
    outcome = chance.choice(("success", "success", "failed", "unknown"))
    yield "episode.ended", Verbatim(session_id=session, ended_at=at + EVENTS_OF_PROMPT, outcome=outcome)


def measure(root: Path) -> dict[str, Any]:
    """Return milliseconds and CPU milliseconds of plans in a process that stays open, and its memory."""
    opened = open_project(root, Config())
    wall, cpu = [], []
    for number in range(PLANS + 1):
        event = {"session_id": f"live/{number}", "event_type": "read", "timestamp": int(time.time())}
        opened.journal.append("sessions", "episode.event", [event], by="hook", sync=False)
        started, used = time.perf_counter(), time.process_time()
        request = plan_request(opened, f"{VERBS[number % len(VERBS)]} the order {number}", ml_mode="off")
        plan_for(opened, Measured(), request, style="text", by="bench")
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - used) * 1000)
    return {"first": cpu[0], "wall": wall[1:], "cpu": cpu[1:], "memory": resident_bytes() / 1e6}


def command(root: Path, *arguments: str) -> tuple[float, float]:
    """Run a command in a project; return its seconds of CPU and of time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    line = [sys.executable, "-m", "workbench", "--quiet", "--project", str(root), *arguments]
    subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - started


def report(stores: Mapping[str, Path]) -> None:
    """Measure the stores in turns and print a table."""
    for words in (["plan", "fix the refund"], ["stats"]):
        for store, root in stores.items():
            first, again = (command(root, *words)[0] for _ in range(2))
            print(f"first {words[0]}, {store}: {first:.2f} s, again {again:.2f} s")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in stores}
    commands: dict[str, list[float]] = {name: [] for name in stores}
    for _ in range(ROUNDS):
        for name, root in stores.items():
            line = [sys.executable, "-m", "bench.year", "--measure", str(root)]
            done = subprocess.run(line, stdout=subprocess.PIPE, check=True)
            found[name].append(json.loads(done.stdout))
    for _ in range(COMMANDS):
        for name, root in stores.items():
            commands[name].append(command(root, "plan", "fix the refund")[0] * 1000)
    figures = {name: _figures(found[name], commands[name]) for name in stores}
    rows = [
        [label, *(f"{figures[name][label]:,.1f}" for name in stores),
         f"{figures['year'][label] / figures['fresh'][label]:.2f}"]
        for label in figures["fresh"]
    ]  # fmt: skip
    print(table(["", *stores, "ratio"], rows))


def _figures(found: Sequence[Mapping[str, Any]], commands: Sequence[float]) -> dict[str, float]:
    cpu, wall = ([one for each in found for one in each[key]] for key in ("cpu", "wall"))
    return {
        "plan p50, ms of CPU": statistics.median(cpu),
        "plan p95, ms of CPU": statistics.quantiles(cpu, n=20)[-1],
        "plan p95, ms": statistics.quantiles(wall, n=20)[-1],
        "first plan of a process, ms of CPU": statistics.median(each["first"] for each in found),
        "command, ms of CPU": statistics.median(commands),
        "memory, MB": max(each["memory"] for each in found),
    }


if __name__ == "__main__":
    sys.exit(main())
