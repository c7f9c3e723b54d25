"""Plans in repositories of many files and of long histories: the first index, cold, warm and edited plans."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.scale.measuring import Values, command, disk, named
from bench.speed import TASKS, make_project, worker

FILES: Final = 2_000
"""Of a repository whose history grows."""

COMMITS: Final = 2_000
"""Of a repository whose files grow."""

KINDS: Final[Mapping[str, Callable[[int], tuple[int, int]]]] = {
    "files": lambda size: (size, COMMITS),
    "commits": lambda size: (FILES, size),
}


def measure(kind: str, size: int, work: Path) -> Values:
    """Return what plans cost in a generated repository, with so many files or commits."""
    root = work / f"repository-{kind}-{size}"
    if not (root / ".git").is_dir():
        shutil.rmtree(root, ignore_errors=True)
        print(f"{kind} {size:,}: generating", file=sys.stderr)
        make_project(root, *KINDS[kind](size))
    return plans(root, work / f"repository-{kind}-{size}-home")


def measure_clone(source: Path, work: Path) -> Values:
    """Return what plans cost in a clone of a repository, with how many files and commits it has."""
    root = work / f"clone-{source.parent.name if source.name == 'repo' else source.name}"
    if not root.is_dir():
        subprocess.run(["git", "clone", "--quiet", str(source), str(root)], check=True)
    counts = [("ls-files",), ("rev-list", "HEAD")]
    outputs = [subprocess.check_output(["git", "-C", str(root), *words]) for words in counts]
    files, commits = (float(output.count(b"\n")) for output in outputs)
    return {"files": files, "commits": commits} | plans(root, work / f"{root.name}-home")


def plans(root: Path, home: Path) -> Values:
    """Return what the first index takes and plans after it."""
    print(f"{root.name}: first index", file=sys.stderr)
    first = worker("first", root, home, fresh=True)
    found = {"index s": first["wall"], "index cpu s": first["cpu"], "index MB": first["memory"]}
    print(f"{root.name}: plans", file=sys.stderr)
    found |= named("cold", command(root, home, "plan", TASKS[0], "--budget", "3000"))
    for name in ("warm", "edited"):
        taken = worker(name, root, home)
        keys = ("p50", "p95", "cpu p50", "cpu p95")
        found |= {f"{name} {key} ms": taken[key] for key in keys} | {f"{name} MB": taken["memory"]}
    return found | {"disk MB": disk(root / ".workbench")}
