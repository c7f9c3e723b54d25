"""What a command or hook costs from start to end, in CPU time, against Python that imports numpy and duckdb.

    python -m bench.cold_start [PROJECT] [--times 7] [--only NAME...]

Without a project one of 1,000 files and 2,000 commits is made, indexed and given a rule with a check; one
that is given is used as it is: its rules say whether a call of a tool has to be checked at all. Each run is a
process of its own, as a person or an agent starts it, turn by turn with the import; bytecode is kept. Nothing
of a hook is recorded for a session: the payload names none.
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
from pathlib import Path

from bench.speed import make_project

IMPORT = "import numpy, duckdb"
START = "from workbench.entry.start import main; main()"
TASK = "token is not refreshed when the session expires"
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
}
"""The words of a command and what it reads from stdin, by name."""


def cpu_seconds(words: list[str], given: bytes, project: Path) -> float:
    """Return the CPU time, user and system, that a process takes with something on stdin."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"WORKBENCH_HOOKS_DEADLINE": "60", "WORKBENCH_MODELS_BACKGROUND": "false"}
    subprocess.run(
        [sys.executable, "-c", *words],
        input=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        cwd=project,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
    """Measure and print a line for each run: its median, and the median of its ratios to the import."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path, nargs="?")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        project = make_ready(Path(scratch)) if chosen.project is None else chosen.project.absolute()
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen.only}
        for _ in range(chosen.times + 1):
            for name, pairs in found.items():
                words, payload = RUNS[name]
                given = {} if payload is None else {"cwd": str(project), **payload}
                base = cpu_seconds([IMPORT], b"", project)
                pairs.append(
                    (cpu_seconds([START, *words], json.dumps(given).encode() + b"\n", project), base)
                )
    for name, pairs in found.items():
        del pairs[0]  # the first of each may have compiled something
        spent = statistics.median(pair[0] for pair in pairs)
        ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
        print(f"{name:<27} {spent:.3f} s CPU  {ratio:.2f} × the import")


if __name__ == "__main__":
    main()
