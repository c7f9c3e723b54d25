"""Plans recorded and compared with those of a later version: `python -m bench.plans record|compare OUT`.

`record OUT --repos DIR` plans the newest commits' messages of each repository in DIR, each at the next of
some budgets, and writes a line of JSON a plan. `compare OUT` plans the same again and says which plans are
not the same bytes, times aside; exit 1 if any. Repositories are cloned next to OUT, at the same place each
time, of which ids of projects and rules are made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

import workbench

BUDGETS: Final = (1000, 2000, 4000, 8000)
_AROUND: Final = 120  # characters shown on both sides of the first difference


def main(arguments: list[str] | None = None) -> int:
    """Record or compare plans."""
    parser = argparse.ArgumentParser(prog="python -m bench.plans", description=__doc__)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--repos", type=Path, help="folder of repositories, for record")
    parser.add_argument("--tasks", type=int, default=50, help="commits of each repository (default: 50)")
    options = parser.parse_args(arguments)
    place = options.out.absolute().with_name(f"{options.out.name}.work")
    os.environ |= {"WORKBENCH_HOME": str(place / "home"), "HOME": str(place / "home")}
    if options.what == "record":
        if options.repos is None:
            parser.error("record needs --repos")
        rows = record(options.repos.absolute(), place, options.tasks)
        options.out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return 0
    return compare([json.loads(line) for line in options.out.read_text("utf-8").splitlines()], place)


def record(repos: Path, place: Path, tasks: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each plan: repository, head, task, budget and the answer as text."""
    for source in sorted(path for path in repos.iterdir() if (path / ".git").exists()):
        head = git("rev-parse", "HEAD", root=source)
        messages = git("log", "--no-merges", f"-{tasks}", "--format=%B%x00", root=source).split("\0")
        found = [text.strip() for text in messages if text.strip()]
        asked = [
            {"repo": str(source), "head": head, "task": task, "budget": budget}
            for task, budget in zip(found, itertools.cycle(BUDGETS), strict=False)
        ]
        yield from planned(asked, place)


def compare(rows: list[dict[str, Any]], place: Path) -> int:
    """Plan recorded rows again, print which differ and the first difference of each; return 1 if any does."""
    different = 0
    for _, some in itertools.groupby(rows, key=lambda row: row["repo"]):
        before = list(some)
        for old, new in zip(before, planned(before, place), strict=True):
            if old["plan"] == new["plan"]:
                continue
            different += 1
            pairs = zip(old["plan"], new["plan"], strict=False)
            at = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
            print(f"{old['repo']}, {old['budget']} tokens: {old['task'].splitlines()[0]}")
            for sign, row in (("-", old), ("+", new)):
                print(f"  {sign} {row['plan'][max(at - _AROUND, 0) : at + _AROUND]!r}")
    print(f"{len(rows)} plans, {different} differ" if different else f"{len(rows)} plans, the same bytes")
    return 1 if different else 0


def planned(asked: list[dict[str, Any]], place: Path) -> Iterator[dict[str, Any]]:
    """Yield rows with their plans, all of one repository, which is cloned and indexed for it."""
    source, head = Path(asked[0]["repo"]), asked[0]["head"]
    root = place / source.name
    shutil.rmtree(root, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    git("clone", "-q", "--no-checkout", str(source), str(root), root=place)
    git("checkout", "-q", "--detach", head, root=root)
    with workbench.open_project(root) as project:
        for row in asked:
            print(f"\r{source.name}: {row['task'].splitlines()[0][:60]:<60}", end="", file=sys.stderr)
            response = project.preview(row["task"], budget=row["budget"])
            answer = msgspec.structs.replace(response, timing={}, cache_status="hit")
            yield {**row, "plan": json.dumps(msgspec.to_builtins(answer))}
    print(file=sys.stderr)


def git(*arguments: str, root: Path) -> str:
    """Return what git prints in a directory. Raises: subprocess.CalledProcessError."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, errors="replace"
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
