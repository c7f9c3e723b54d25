"""What a command or hook costs from start to end, in CPU time, against Python that imports numpy and duckdb.

    python -m bench.cold_start [PROJECT...] [--times 7] [--only NAME...] [--prompts 20 [--load 4]]

A task that was planned for before has its embedding; new words load the model first where one is prepared.
Without a project one of 1,000 files and 2,000 commits is made, indexed and given a rule with a check; those
that are given are used as they are: their rules say whether a call of a tool has to be checked at all. Each
run is a process of its own, as a person or an agent starts it, in turn with the import; bytecode is kept.
Nothing of a hook is recorded for a session: the payload names none.

With `--prompts` the tasks are the subjects of that many of the project's newest commits instead of one task,
and it is counted how many prompts get an answer, but none within the usual deadline, each in a session of its
own, which is recorded; with `--load` while so many others would use a processor.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.speed import make_project

IMPORT = "import numpy, duckdb"
START = "from workbench.entry.start import main; main()"
TASK = "token is not refreshed when the session expires"
NEW = f"{TASK}, as never before"
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
RUNS: dict[str, tuple[list[str], dict[str, object] | None]] = {
    "--version": (["--version"], None),
    "plan": (["plan", TASK], None),
    "rank": (["rank", TASK], None),
    "mcp, the handshake": (["mcp"], HANDSHAKE),
    "before a tool": (["hook", "PreToolUse"], {"tool_name": "Bash", "tool_input": {"command": "ls -l"}}),
    "after a tool": (
        ["hook", "PostToolUse"],
        {"tool_name": "Read", "tool_input": {"file_path": "README.md"}},
    ),
    "a prompt that says nothing": (["hook", "UserPromptSubmit"], {"prompt": "yes, do it"}),
    "a prompt, planned for": (["hook", "UserPromptSubmit"], {"prompt": TASK}),
    "a prompt of new words": (["hook", "UserPromptSubmit"], {"prompt": NEW}),
}
"""The words of a command and what it reads from stdin, by name."""


def run_process(words: list[str], given: bytes, project: Path, deadline: str = "60") -> tuple[float, bytes]:
    """Return the CPU time, user and system, that a process takes with something on stdin, and its stdout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"WORKBENCH_HOOKS_DEADLINE": deadline, "WORKBENCH_MODELS_BACKGROUND": "false"}
    done = subprocess.run(
        [sys.executable, "-c", *words],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        cwd=project,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def subjects(project: Path, count: int) -> list[str]:
    log = ["git", "-C", str(project), "log", "--no-merges", "--format=%s", f"-{count}"]
    return subprocess.run(log, capture_output=True, check=True, text=True).stdout.splitlines()


def measure(project: Path, names: list[str], tasks: list[str], times: int) -> Iterator[str]:
    """Yield a line for each run: its CPU time, and its ratio to the import, in the middle and at 95 %."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for turn in range(times + 1):
        task = tasks[turn % len(tasks)]
        for name, pairs in found.items():
            words, payload = RUNS[name]
            given = {} if payload is None else {"cwd": str(project), **payload}
            tasks_by = {TASK: task, NEW: f"{task} {os.getpid()}-{turn}"}
            asked = [tasks_by.get(word, word) for word in words]
            text = json.dumps({key: tasks_by.get(str(value), value) for key, value in given.items()})
            base, _ = run_process([IMPORT], b"", project)
            used, _ = run_process([START, *asked], text.encode() + b"\n", project)
            pairs.append((used, base))
    for name, pairs in found.items():
        del pairs[0]  # the first of each may have compiled something
        spent = sorted(pair[0] for pair in pairs)
        ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
        late = spent[min(len(spent) - 1, int(len(spent) * 0.95))]
        yield f"{name:<27} {statistics.median(spent):.3f} s CPU, p95 {late:.3f}  {ratio:.2f} × the import"


def unanswered(project: Path, tasks: list[str], load: int) -> str:
    """Return how many prompts get an answer, but none within the usual deadline, and how many the pack."""
    words = [START, "hook", "UserPromptSubmit"]
    late = named = answered = 0
    for number, task in enumerate(tasks):
        payload = {"cwd": str(project), "prompt": task}
        session = f"cold-start-{os.getpid()}-{number}"
        with busy(load):
            given = json.dumps({**payload, "session_id": session}).encode()
            output = run_process(words, given, project, "1")[1]
        if run_process(words, json.dumps(payload).encode(), project)[1]:
            answered += 1
            late += not output
            named += b'"systemMessage"' in output
    return f"without an answer in time   {late} of {answered} prompts at load {load}, {named} by names"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes busy."""
    crowd = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in crowd:
            one.kill()
            one.wait()


def make_ready(folder: Path) -> Path:
    """Return a project of 1,000 files that is indexed and has one rule with a check, its home beside it."""
    os.environ |= {name: str(folder / "home") for name in ("HOME", "WORKBENCH_HOME", "WORKBENCH_CACHE")}
    project = folder / "project"
    make_project(project, 1_000, 2_000)
    (project / "CLAUDE.md").write_text("- Never push.\n- Always name the ticket.\n", encoding="utf-8")

    def run(*words: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", START, *words], capture_output=True, check=True, cwd=project
        )
        return done.stdout

    run("index")
    rule = json.loads(run("rules", "list", "--json"))["rules"][0]["id"]
    run("rules", "edit", rule, "--authority", "absolute", "--check", '{"command": "git push"}')
    return project


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", type=Path, nargs="*")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--prompts", type=int, default=0)
    parser.add_argument("--load", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for project in chosen.projects or [make_ready(Path(scratch))]:
            place = project.absolute()
            print(place.name)
            tasks = subjects(place, chosen.prompts) or [TASK]
            for line in measure(place, chosen.only, tasks, chosen.times):
                print(line)
            if chosen.prompts:
                print(unanswered(place, tasks, chosen.load))


if __name__ == "__main__":
    main()
