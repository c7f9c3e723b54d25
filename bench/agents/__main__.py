"""Readers with and without a brief: `python -m bench.agents prepare|ask|answer|scripted|score`.

python -m bench.agents prepare OUT --repos DIR     # checkouts of the tasks, indexed; prints their folders
python -m bench.agents ask OUT/TASK@1 task         # what reader 1 is asked for; `brief` where it has one
python -m bench.agents ask OUT/TASK@1 grep -n 20 … # grep, read FILE A-B, ls, log, show HANDLE; logged
python -m bench.agents answer OUT/TASK@1 FILE:A-B … # where to change something, the likeliest first
python -m bench.agents scripted OUT                # the baseline reads every task in every arm
python -m bench.agents score OUT --repos DIR       # the tables
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.agents import asking, scripted, tasks
from bench.agents.score import report
from bench.timeline import Timeline, repositories
from workbench.errors import WorkbenchError

REPOSITORIES = (
    "simonw+datasette",
    "sharkdp+bat",
    "junegunn+fzf",
    "pallets+click",
    "vitejs+vite",
    "google+gson",
)


def main(arguments: list[str] | None = None) -> int:
    """Run one step."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.agents",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(dest="step", required=True)
    prepare = steps.add_parser("prepare", help="choose tasks, check them out, index them")
    prepare.add_argument("out", type=Path)
    prepare.add_argument("--repos", type=Path, required=True, help="folder of clones, named owner+name")
    prepare.add_argument("--repository", action="append", help="one of them; repeatable")
    prepare.add_argument("--each", type=int, default=tasks.EACH, help="tasks of each (default: 4)")
    prepare.add_argument("--wording", choices=["reworded", "messages"], default="reworded")
    prepare.add_argument("--budget", type=int, default=tasks.BUDGET, help="tokens of a brief (default: 4000)")
    for step in ("ask", "answer"):
        asked = steps.add_parser(step, prefix_chars="\0")
        asked.add_argument("place")
        asked.add_argument("words", nargs="*")
    steps.add_parser("scripted", help="let the baseline read").add_argument("out", type=Path)
    score = steps.add_parser("score", help="print the tables")
    score.add_argument("out", type=Path)
    score.add_argument("--repos", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except WorkbenchError as error:
        print(error.with_hint, file=sys.stderr)
        return error.exit_code


def _run(options: argparse.Namespace) -> int:
    if options.step == "ask":
        place, reader, arm = asking.reader_of(options.place)
        print(asking.ask(place, options.words, reader=reader, arm=arm))
    elif options.step == "answer":
        place, reader, arm = asking.reader_of(options.place)
        reading = asking.answer(place, options.words, reader=reader, arm=arm)
        print(f"{reading.commands} commands, {reading.characters} characters")
    elif options.step == "scripted":
        for task in tasks.read_tasks(options.out):
            for arm in tasks.ARMS:
                scripted.read(options.out / task.id, arm)
    elif options.step == "score":
        report(options.out, options.repos)
    else:
        _prepare(options)
    return 0


def _prepare(options: argparse.Namespace) -> None:
    found = repositories(options.repos, options.repository or REPOSITORIES)
    paths = {Timeline(path).name: path for path in found}
    chosen: list[tasks.ReadingTask] = []
    for path in found:
        chosen += tasks.choose_tasks(
            Timeline(path),
            options.each,
            wording=options.wording,
            budget=options.budget,
            turn=len(chosen),
        )
    tasks.write_tasks(options.out, chosen)
    for task in chosen:
        place = options.out / task.id
        tasks.check_out(paths[task.repository], task, place / "checkout")
        tasks.run_workbench(place, "index")
        print(place, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
