"""How fast iterations are ingested, and what collecting costs a line: `python -m bench.memory_ingest`.

A stream-json file is made of runs as agents leave them (words, files read, edits, output of tests and
compilers) and ingested by the program itself in a process of its own; with `--sessions DIR...` the
transcripts of directories as well. The program has its bytecode, as one that is installed does. Collecting is
timed from writing a line into the pipe to reading it at its other end, beside `cat`. Times are wall clock on
whatever else the machine does, its load is printed; the processor's time counts where others want it, too.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_PROGRAM = [sys.executable, "-P", "-m", "workbench", "memory"]
_ROOT = Path(__file__).resolve().parents[1]
_WORDS = (
    "token refresh login cache queue retry upload parse index budget rule plan store journal error".split()
)
_NOISE = "tests/unit/test_orders.py ............................................................. [ 41%]\n"
_FAILING = """\
Traceback (most recent call last):
  File "/srv/app/pkg/{name}.py", line {line}, in {name}
    return {name}[key]
KeyError: '{name}'
"""


def made_run(random_: random.Random, number: int) -> Iterator[dict[str, Any]]:
    """Yield the records of a run of about 150 KB: one call in ten fails."""
    session = f"session-{number}"

    def words(count: int) -> str:
        return " ".join(random_.choices(_WORDS, k=count))

    yield {"type": "system", "subtype": "init", "session_id": session, "cwd": "/srv/app", "model": "haiku"}
    for step in range(24):
        message, call = f"msg-{number}-{step}", f"call-{number}-{step}"
        name = random_.choice(_WORDS)
        kind = step % 3
        given: dict[str, Any] = {"command": "pytest -q tests"}
        if kind == 0:
            given = {"file_path": f"/srv/app/pkg/{name}.py"}
            output = "".join(f"{at:>6}\t    {words(8)}\n" for at in range(150))
        elif kind == 1:
            given = {"file_path": f"/srv/app/pkg/{name}.py", "old_string": words(40), "new_string": words(60)}
            output = "The file has been updated."
        else:
            output = _NOISE * 60 + (_FAILING.format(name=name, line=step) if step % 10 == 2 else "")
        tool = ("Read", "Edit", "Bash")[kind]
        content = [
            {"type": "text", "text": f"I'll change {name} because {words(12)}. {words(30)}"},
            {"type": "tool_use", "id": call, "name": tool, "input": given},
        ]
        usage = {"input_tokens": 900, "output_tokens": 120}
        reply = {"role": "assistant", "id": message, "content": content, "usage": usage}
        yield {"type": "assistant", "session_id": session, "message": reply}
        block = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": output,
            "is_error": "KeyError" in output,
        }
        yield {"type": "user", "session_id": session, "message": {"role": "user", "content": [block]}}
    yield {
        "type": "result",
        "subtype": "success",
        "session_id": session,
        "result": words(60),
        "duration_ms": 9,
    }


def write_stream(path: Path, megabytes: int) -> None:
    """Write a stream-json file of so many megabytes."""
    random_ = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while number == 0 or file.tell() < megabytes * 1_000_000:
            number += 1
            for record in made_run(random_, number):
                file.write(json.dumps(record) + "\n")


def ingest(files: Sequence[Path], repeats: int, bytecode: Path) -> tuple[float, float, int, float]:
    """Return (wall s, processor s, iterations, peak MB) of ingesting files, the medians of some repeats.

    The peak is that of the largest process so far.
    """
    walls, spent, peaks, count = [], [], [], 0
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as project:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.perf_counter()
            report = _run(Path(project), bytecode, "ingest", *map(str, files), "--json")
            walls.append(time.perf_counter() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            peaks.append(after.ru_maxrss / 1024)
            count = report["added"]
    return statistics.median(walls), statistics.median(spent), count, statistics.median(peaks)


def _run(project: Path, bytecode: Path, *arguments: str) -> Any:
    done = subprocess.run(
        [*_PROGRAM, *arguments],
        cwd=project,
        env=_environment(project, bytecode),
        capture_output=True,
        check=False,
    )
    return json.loads(done.stdout)


def _environment(project: Path, bytecode: Path) -> dict[str, str]:
    """Return the environment of the program; its bytecode is kept in a directory, whoever runs it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        "PYTHONPATH": str(_ROOT),
        "PYTHONPYCACHEPREFIX": str(bytecode),
        "WORKBENCH_HOME": str(project / "home"),
    }


def latencies(command: Sequence[str], lines: Sequence[bytes], project: Path, bytecode: Path) -> list[float]:
    """Return milliseconds from writing each line into a program's stdin to reading it from its stdout."""
    found = []
    with subprocess.Popen(
        command, cwd=project, env=_environment(project, bytecode), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        out = process.stdout.fileno()
        for line in lines:
            started = time.perf_counter()
            process.stdin.write(line)
            wanted = len(line)
            while wanted > 0:
                wanted -= len(os.read(out, wanted))
            found.append((time.perf_counter() - started) * 1000)
        process.stdin.close()
    return found[1:]  # the first waits for the program to start


def main(arguments: list[str] | None = None) -> int:
    """Print the figures as tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory_ingest", description=__doc__)
    parser.add_argument(
        "--sessions", type=Path, nargs="+", default=[], help="directories of transcripts to ingest besides"
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made.jsonl"
        write_stream(made, options.megabytes)
        tiny = Path(scratch) / "tiny.jsonl"
        write_stream(tiny, 0)
        sets = [("a single run: the start of the program", [tiny]), ("a made stream", [made])]
        for place, directory in enumerate(options.sessions, 1):
            found = sorted(path for path in directory.rglob("*.jsonl") if ".outcome" not in path.name)
            sets.append((f"real transcripts {place}, {len(found)} files", found))
        bytecode = Path(scratch) / "bytecode"
        ingest([tiny], 1, bytecode)
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
        print("| ingest | MB | iterations | s | MB/s | processor, s | processor, MB/s | peak, MB |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, files in sets:
            size = sum(path.stat().st_size for path in files) / 1e6
            wall, spent, count, peak = ingest(files, options.repeats, bytecode)
            figures = f"{wall:.2f} | {size / wall:.0f} | {spent:.2f} | {size / spent:.0f} | {peak:.0f}"
            print(f"| {name} | {size:.1f} | {count} | {figures} |")
        _latency(made, Path(scratch), bytecode)
    return 0


def _latency(made: Path, project: Path, bytecode: Path) -> None:
    with made.open("rb") as file:
        lines = [file.readline() for _ in range(2_000)]
    print("\n| a line through | p50, ms | p99, ms | slowest, ms |\n|---|--:|--:|--:|")
    for name, command in (("cat", ["cat"]), ("collect", [*_PROGRAM, "collect", "--feature", "bench"])):
        times = sorted(latencies(command, lines, project, bytecode))
        p99 = times[int(len(times) * 0.99)]
        print(f"| {name} | {statistics.median(times):.2f} | {p99:.2f} | {times[-1]:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
