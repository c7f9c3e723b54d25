"""How often a prompt gets files from a hook at a threshold, and how often that is right.

The tasks are the subjects of the newest commits of repositories, each indexed as of the commit before all of
them; a file is right where the commit changed it. The other texts are about anything but the project. The
setting is `hooks.threshold`.

    python -m bench.hooks REPO... --texts intents.jsonl --tasks 120
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.config import Config
from workbench.entry.hooks.context import LEAST_CHANCE
from workbench.entry.project import OpenedProject, open_project
from workbench.plan.planner import rank
from workbench.plan.ranking import needed_chances, own_chances

SHORT = (
    "hello there",
    "what do you think?",
    "looks good",
    "explain",
    "why?",
    "make it faster",
    "clean this up",
    "no, the other one",
)
THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.4)
_SHOWN = 30
_SEED = 1

Chances = tuple[float, list[tuple[str, float]]]
"""The chance of the likeliest file by itself, and the files with their chances in a task that needs some."""


def git(root: Path, *arguments: str) -> str:
    """Run git in a directory and return what it prints."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def commits(source: Path, count: int) -> tuple[str, list[tuple[str, frozenset[str]]]]:
    """Return the commit before the newest ones, and (subject, changed files) of these."""
    log = git(source, "log", "--no-merges", "--format=%H%x09%s", f"-{count + 1}").splitlines()
    found = []
    for line in log[:-1]:
        sha, _, subject = line.partition("\t")
        found.append((subject, frozenset(git(source, "show", "--format=", "--name-only", sha).splitlines())))
    return log[-1].partition("\t")[0], found


def past_project(source: Path, commit: str, place: Path) -> OpenedProject:
    """Return a clone that knows a commit and nothing that came after it."""
    place.mkdir()
    git(place, "init", "-q")
    git(place, "fetch", "-q", str(source.absolute()), commit)
    git(place, "checkout", "-q", "FETCH_HEAD")
    return open_project(place, Config())


def chances(project: OpenedProject, text: str) -> Chances:
    made = rank(project.workspace, project.planner, text)
    found = needed_chances(made.model, made.files)
    own = max(own_chances(made.model, made.files).values(), default=0.0)
    return own, sorted(
        ((file.path, found[file.path]) for file in made.files[:_SHOWN]), key=lambda pair: -pair[1]
    )


def other_texts(path: Path, count: int) -> list[str]:
    """Return so many texts of a file of JSON lines, and short replies."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in random.Random(_SEED).sample(lines, count)] + list(SHORT)


def report(tasks: Sequence[tuple[Chances, frozenset[str]]], others: Sequence[Chances]) -> Iterator[str]:
    """Yield for each threshold the shares of tasks and other texts that get files, and of right ones."""
    yield "threshold  tasks given  of these right  files right  others given"
    for threshold in THRESHOLDS:
        given = [(found, changed) for (own, found), changed in tasks if own >= threshold]
        added = [
            (path in changed) for found, changed in given for path, chance in found if chance >= LEAST_CHANCE
        ]
        hits = sum(
            any(path in changed and chance >= LEAST_CHANCE for path, chance in found)
            for found, changed in given
        )
        silent = sum(own >= threshold for own, _ in others)
        shares = (
            len(given) / max(1, len(tasks)),
            hits / max(1, len(given)),
            sum(added) / max(1, len(added)),
            silent / max(1, len(others)),
        )
        yield f"{threshold:<9}" + "".join(f"  {share:>12.1%}" for share in shares)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=120)
    given = parser.parse_args()
    tasks: list[tuple[Chances, frozenset[str]]] = []
    others: list[Chances] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, source in enumerate(given.repositories):
            before, found = commits(source, given.tasks)
            project = past_project(source, before, Path(scratch) / str(number))
            known = frozenset(git(project.root, "ls-files").splitlines())
            tasks += [(chances(project, text), changed) for text, changed in found if changed & known]
            others += [chances(project, text) for text in other_texts(given.texts, given.tasks)]
    print(f"{len(tasks)} tasks, {len(others)} other texts")
    for line in report(tasks, others):
        print(line)


if __name__ == "__main__":
    main()
