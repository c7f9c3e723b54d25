"""How fast the engine is and how much memory it takes, on projects made here: `python -m bench.speed`.

The projects are made of this repository's own source files and of modules generated from their words, with a
history of commits, so that anyone can measure the same thing anywhere. Each figure comes from new processes,
repeated: the median says what to expect, the minimum what the code costs on an idle machine. Times are wall
seconds; `cpu` counts all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

OWN = Path(__file__).resolve().parent.parent
SIZES = (1_000, 10_000)
COMMITS = 2_000
REPEAT = 5
SPAN = 190_000_000
"""Seconds at most from the first commit to the last, which are six years: none is of the future."""

TASKS = (
    "token is not refreshed when the session expires",
    "fix: journal append fails with a full disk",
    "add an option to leave out generated files from the scan",
    "KeyError in load_index after the format changed (#12)",
    "refactor the ranking of candidates into smaller functions",
    "plan shows stale lines of workbench/project/index.py",
    "docs: say how rules are matched with paths",
    "speed up reading the history of large repositories",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table: seconds (or megabytes) of each repeat, and what the issue allows."""

    name: str
    files: int
    values: tuple[float, ...]
    unit: str = "s"
    limit: str = ""

    def row(self) -> str:
        median, least = statistics.median(self.values), min(self.values)
        return f"| {self.name} | {self.files:,} | {median:.3g} | {least:.3g} | {self.unit} | {self.limit} |"


def report(
    sizes: Sequence[int] = SIZES, repeat: int = REPEAT, commits: int = COMMITS, folder: Path | None = None
) -> None:
    """Print the table of all figures."""
    print("\n## Speed and memory\n")
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {repeat} repeats, {commits:,} commits.\n"
    )
    print("| figure | files | median | minimum | unit | limit |\n|---|--:|--:|--:|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for size in sizes:
            root = (folder or Path(scratch)) / f"project-{size}"
            if not root.exists():
                make_project(root, size, commits)
            for figure in measure(root, Path(scratch) / "home", repeat):
                print(figure.row(), flush=True)


def measure(root: Path, home: Path, repeat: int) -> list[Figure]:
    first = [worker("first", root, home, fresh=True) for _ in range(max(repeat // 2, 1))]
    again = [worker("again", root, home) for _ in range(repeat)]
    warm = [worker("warm", root, home) for _ in range(max(repeat // 2, 1))]
    edited = [worker("edited", root, home) for _ in range(max(repeat // 2, 1))]
    cold = [_command(root, home) for _ in range(repeat)]
    files = int(first[0]["files"])
    small = files <= 2_000

    def figure(
        name: str, runs: Sequence[dict[str, float]], key: str, limit: str = "", unit: str = "s"
    ) -> Figure:
        return Figure(name, files, tuple(run[key] for run in runs), unit, limit)

    rates = Figure(
        "first index, history included",
        files,
        tuple(files / run["wall"] for run in first),
        "files/s",
        "≥ 300",
    )
    return [
        rates,
        figure("first index, history included", first, "wall"),
        figure("first index, cpu of all processes", first, "cpu"),
        figure("first index, peak memory of one process", first, "memory", "≤ 400", "MB"),
        figure("unchanged re-index, new process", again, "sync", "≤ 1.5" if not small else ""),
        figure("unchanged re-index, whole process, cpu", again, "cpu"),
        figure("cold `workbench plan`", cold, "wall", "≤ 0.7"),
        figure("cold `workbench plan`, cpu", cold, "cpu"),
        figure("warm plan in process, p50", warm, "p50", unit="ms"),
        figure("warm plan in process, p95", warm, "p95", "≤ 50" if small else "≤ 150", "ms"),
        figure("warm plan after an edit, p50", edited, "p50", unit="ms"),
        figure("peak memory of planning", warm, "memory", "≤ 400", "MB"),
    ]


def make_project(root: Path, files: int, commits: int) -> None:
    """Make a git repository of so many files and commits; the same one for the same sources."""
    chance = random.Random(7)
    sources = [path for path in _tracked(OWN) if path.suffix in (".py", ".md", ".toml", ".json")]
    texts = [text for path in sources if 200 < len(text := path.read_text(encoding="utf-8")) < 60_000]
    names = sorted({word for text in texts for word in text.split() if word.isidentifier() and len(word) > 3})
    root.mkdir(parents=True)
    paths: list[str] = []
    folder = ""
    for number in range(files):
        if number % 10 == 0:
            folder = f"area_{number // 10 % 17}/{chance.choice(names).lower()}_{number // 10}"
        name = f"{chance.choice(names).lower()}_{number}"
        text = texts[number % len(texts)] if number % 3 == 0 else _module(chance, names, paths)
        path = f"{folder}/{'test_' if number % 9 == 0 else ''}{name}.py"
        paths.append(path)
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    _git(root, "init", "-q", "-b", "main")
    _import_history(root, _stream(chance, root, paths, names, commits))
    _git(root, "reset", "-q")


def _module(chance: random.Random, names: Sequence[str], paths: Sequence[str]) -> str:
    lines = [f'"""{" ".join(chance.choices(names, k=12))}."""', ""]
    imported = chance.sample(paths, min(len(paths), 3))
    lines += [f"import {path.removesuffix('.py').replace('/', '.')}" for path in imported]
    for _ in range(chance.randint(3, 12)):
        first, second, third = chance.sample(names, 3)
        lines += [
            "",
            "",
            f"def {first}_{second}({third}):",
            f'    """{" ".join(chance.choices(names, k=8))}."""',
        ]
        lines += [
            f"    {chance.choice(names)} = {chance.choice(names)}({third})"
            for _ in range(chance.randint(2, 14))
        ]
        lines.append(f"    return {third}")
    return "\n".join(lines) + "\n"


def _import_history(root: Path, parts: Iterable[str]) -> None:
    """Hand a history to `git fast-import`, part by part."""
    command = ["git", "-C", str(root), "fast-import", "--quiet"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin as given:
        given.writelines(part.encode() for part in parts)
    if process.wait():
        raise SystemExit(f"git fast-import failed in {root}")


def _stream(
    chance: random.Random, root: Path, paths: Sequence[str], names: Sequence[str], commits: int
) -> Iterator[str]:
    """Yield a history for `git fast-import`: small commits that touch neighbours, then the tree as it is."""
    who, apart = "A Tester <tester@example.org>", min(3_600, SPAN // commits)
    for number in range(commits):
        last = number == commits - 1
        text = f"{chance.choice(('fix', 'feat', 'docs'))}: {' '.join(chance.choices(names, k=6))} (#{number})"
        message = f"{text}\n\n{' '.join(chance.choices(names, k=30))}\n"
        yield f"commit refs/heads/main\ncommitter {who} {1_600_000_000 + number * apart} +0000\n"
        yield f"data {len(message.encode())}\n{message}"
        at = int(len(paths) * chance.random() ** 2)
        for path in paths if last else paths[at : at + chance.randint(1, 4)]:
            content = (root / path).read_text(encoding="utf-8") if last else f"{number}\n"
            yield f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n"


def _tracked(root: Path) -> list[Path]:
    names = _git(root, "ls-files", "-z").decode().split("\0")
    return sorted(root / name for name in names if name)


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True).stdout


def worker(what: str, root: Path, home: Path, *, fresh: bool = False) -> dict[str, float]:
    """Return what a process of its own measures of a project; `fresh` removes what is known of it first."""
    if fresh:
        shutil.rmtree(root / ".workbench", ignore_errors=True)
    command = [sys.executable, "-m", "bench.speed", "--worker", what, str(root)]
    done = subprocess.run(
        command, cwd=OWN, env=_environment(home), capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _command(root: Path, home: Path) -> dict[str, float]:
    """Run the command as a user does and return its wall and cpu seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "workbench", "plan", TASKS[0], "--budget", "3000"]
    environment = _environment(home) | {"PYTHONPATH": str(OWN)}
    subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu}


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "WORKBENCH_HOME": str(home)}


def _first(root: Path) -> dict[str, float]:
    """Open, index and import the history of a project nobody has seen."""
    return _timed_sync(root)


def _timed_sync(root: Path) -> dict[str, float]:
    from workbench.config import Config
    from workbench.entry.project import open_workspace

    started = time.perf_counter()
    workspace = open_workspace(root, Config()).workspace
    workspace.sync()
    return {"wall": time.perf_counter() - started, "sync": time.perf_counter() - started} | {
        "files": len(workspace.index.positions)
    }


def _warm(root: Path, edit: bool = False) -> dict[str, float]:
    from workbench.config import Config
    from workbench.entry.project import open_project
    from workbench.plan.pipeline import plan
    from workbench.records.plan import PlanRequest

    opened = open_project(root, Config())
    times, cpus = [], []
    target = root / sorted(opened.workspace.adapters.lister(None).paths)[0]
    content = target.read_bytes()
    try:
        for turn in range(4 * len(TASKS)):
            if edit:
                target.write_bytes(content + f"# {turn}\n".encode())
            request = PlanRequest(str(root), TASKS[turn % len(TASKS)], token_budget=4000)
            started, before = time.perf_counter(), time.process_time()
            plan(opened.workspace, opened.planner, request)
            times.append((time.perf_counter() - started) * 1000)
            cpus.append((time.process_time() - before) * 1000)
    finally:
        target.write_bytes(content)
    found: dict[str, float] = {}
    for name, taken in (("", times), ("cpu ", cpus)):
        ordered = sorted(taken[len(TASKS) :])  # the first round fills the caches
        found |= {f"{name}p50": ordered[len(ordered) // 2], f"{name}p95": ordered[int(len(ordered) * 0.95)]}
    return found


def _edited(root: Path) -> dict[str, float]:
    return _warm(root, edit=True)


WORKERS: dict[str, Callable[[Path], dict[str, float]]] = {
    "first": _first,
    "again": _timed_sync,
    "warm": _warm,
    "edited": _edited,
}


def _run_worker(what: str, root: Path) -> None:
    found = WORKERS[what](root)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    found["cpu"] = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024  # ru_maxrss is bytes there, KiB elsewhere
    found["memory"] = max(own.ru_maxrss, children.ru_maxrss) / scale
    print(json.dumps(found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=list(SIZES), help="sizes of the projects")
    parser.add_argument("--commits", type=int, default=COMMITS, help="commits of their histories")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="new processes for each figure")
    parser.add_argument("--folder", type=Path, help="keep the projects here for the next time")
    parser.add_argument("--worker", nargs=2, metavar=("WHAT", "ROOT"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        _run_worker(options.worker[0], Path(options.worker[1]))
    else:
        report(options.files, options.repeat, options.commits, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
