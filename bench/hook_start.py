"""What a hook costs from start to end, in CPU time, against Python that imports numpy and duckdb.

    python -m bench.hook_start PROJECT [--times 7]

The project is indexed and used as it is, so that its rules say whether a call of a tool has to be checked at
all. Each hook is a process of its own, as an agent starts it, turn by turn with the import; bytecode is kept.
Nothing of it is recorded for the session: the payload names none.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

IMPORT = "import numpy, duckdb"
HOOK = "from workbench.entry.start import main; main()"
HOOKS: dict[str, dict[str, object]] = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls -l"}},
    "PostToolUse": {"tool_name": "Read", "tool_input": {"file_path": "README.md"}},
    "UserPromptSubmit": {"prompt": "yes, do it"},
    "UserPromptSubmit ": {"prompt": "a timeout is ignored where the connection is slow"},
}
"""Payloads by event; of two prompts one says nothing by itself."""


def cpu_seconds(words: list[str], given: bytes) -> float:
    """Return the CPU time, user and system, that a process takes with something on stdin."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["WORKBENCH_HOOKS_DEADLINE"] = "60"
    subprocess.run(words, input=given, stdout=subprocess.DEVNULL, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print a line for each hook: its median, and the median of its ratios to the import."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("--times", type=int, default=7)
    chosen = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in HOOKS}
    for _ in range(chosen.times + 1):
        for name, payload in HOOKS.items():
            event = name.strip()
            given = json.dumps({"cwd": str(chosen.project.absolute()), **payload}).encode()
            words = [sys.executable, "-c", HOOK, "hook", event]
            base = cpu_seconds([sys.executable, "-c", IMPORT], b"")
            found[name].append((cpu_seconds(words, given), base))
    for name, payload in HOOKS.items():
        pairs = found[name][1:]  # the first of each may have compiled something
        spent = statistics.median(pair[0] for pair in pairs)
        ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
        text = str(payload.get("prompt", payload.get("tool_name")))
        print(f"{name.strip():<17} {text[:30]:<30} {spent:.3f} s CPU  {ratio:.2f} × the import")


if __name__ == "__main__":
    main()
