"""What feedback on sessions is worth, and what noise and malice in it cost: `python -m bench.feedback`.

In a repository's past some commits are taken for sessions that succeeded, and before as many others a session
with the same words failed: it touched other files. Who judges them says the truth, tosses a coin, says the
opposite, or is the commit that follows. Then the following commits are ranked for, as at their parents.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.tasks import commit_tasks
from bench.timeline import Timeline
from workbench.plan.intent import classify, find_entities, parse_intent
from workbench.plan.ranking import LEXICAL_MODEL, load_model, rank_files
from workbench.plan.view import RankingView, view_project
from workbench.records.episodes import Commit, FileChange, Outcome
from workbench.records.plan import QueryType
from workbench.replay.metrics import ndcg
from workbench.replay.statistics import bootstrap, paired_permutation
from workbench.sessions.history import PastTask, Trust, build_history
from workbench.text.terms import clean_task, count_terms

JUDGED = 0.5  # share of commits that were sessions
FAILED = 0.5  # share of those before which a session failed
KEPT = 0.9  # of sessions that went well, those whose commit follows within the hour
STRAY = 0.04  # of the others, those after which a commit of the same files follows by chance
NONE = "nobody judges"

Judge = Callable[[bool, random.Random], Outcome | None]

_SAID = {True: Outcome.SUCCESS, False: Outcome.FAILED}
JUDGES: dict[str, Judge] = {
    NONE: lambda truth, chance: None,
    "the truth": lambda truth, chance: _SAID[truth],
    "the truth, 30 % wrong": lambda truth, chance: _SAID[truth is (chance.random() >= 0.3)],
    "commits, as imports derive": lambda truth, chance: (
        Outcome.SUCCESS if chance.random() < (KEPT if truth else STRAY) else None
    ),
    "a coin": lambda truth, chance: _SAID[chance.random() < 0.5],
    "all fail": lambda truth, chance: Outcome.FAILED,
    "the opposite": lambda truth, chance: _SAID[not truth],
}


def main(arguments: list[str] | None = None) -> int:
    """Print a Markdown table: nDCG@10 by who judges, and the differences from nobody."""
    parser = argparse.ArgumentParser(prog="python -m bench.feedback", description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPO")
    parser.add_argument("--tasks", type=int, default=60, help="commits of each repository (default: 60)")
    options = parser.parse_args(arguments)
    gains: dict[str, list[float]] = {judge: [] for judge in JUDGES}
    for place in options.repositories:
        for judge, found in measure(place, options.tasks).items():
            gains[judge] += found
    print(table(gains))
    return 0


def measure(place: Path, count: int, trust: Trust | None = None) -> dict[str, list[float]]:
    """Return nDCG@10 of every task of a repository by who judges its past."""
    timeline, model = Timeline(place), load_model(LEXICAL_MODEL)
    gains: dict[str, list[float]] = {judge: [] for judge in JUDGES}
    for task in commit_tasks(timeline, count):
        moment = timeline.at(task.revision)
        truth = {path for path in task.modified if path in moment.view.index.positions}
        if not truth:
            continue
        intent = parse_intent(task.text)
        for judge in JUDGES:
            commits = [known.commit for known in moment.past if known.commit is not None]
            past = judged_past(commits, moment.view, judge)
            view = view_project(moment.view.index, build_history(past, trust), previous=moment.view)
            ranking = rank_files(view, intent, model, limit=10)
            gains[judge].append(ndcg([one.path in truth for one in ranking], len(truth)))
    return gains


def judged_past(commits: Sequence[Commit], view: RankingView, judge: str) -> Iterable[PastTask]:
    """Yield past tasks, newest first: commits, and the failed sessions before some of them."""
    used = [view.index.paths[position] for position in np.flatnonzero(view.frequency > 0).tolist()]
    for commit in commits:
        chance = random.Random(hashlib.sha256(commit.sha.encode()).digest())
        is_session, was_failed = chance.random() < JUDGED, chance.random() < FAILED
        wrong = chance.sample(used, min(len(used), len(commit.files))) if used else []
        says = random.Random(f"{judge} {commit.sha}")
        task = _task(commit)
        yield replace(task, verdict=JUDGES[judge](True, says)) if is_session else task
        if is_session and was_failed and wrong:
            changes = tuple(
                FileChange(path, change.kind, change.added, change.removed)
                for path, change in zip(wrong, commit.files, strict=False)
            )
            yield replace(task, changes=changes, verdict=JUDGES[judge](False, says))


_TASKS: dict[str, PastTask] = {}


def _task(commit: Commit) -> PastTask:
    if commit.sha not in _TASKS:
        text = clean_task(f"{commit.subject}\n\n{commit.body}")
        _TASKS[commit.sha] = PastTask(
            commit.at,
            count_terms(text),
            commit.files,
            find_entities(text).issue_refs,
            classify(text)[0] is QueryType.BUGFIX,
        )
    return _TASKS[commit.sha]


def table(gains: dict[str, list[float]]) -> str:
    """Return the figures in Markdown, with a paired interval of each difference from nobody's."""
    lines = [
        f"| who judges ({len(gains[NONE])} tasks) | nDCG@10 | difference | 95 % | p |",
        "|---|---|---|---|---|",
    ]
    for judge, found in gains.items():
        differences = [value - before for value, before in zip(found, gains[NONE], strict=True)]
        low, high = bootstrap(differences)
        p = paired_permutation(found, gains[NONE])
        lines.append(
            f"| {judge} | {np.mean(found):.4f} | {np.mean(differences):+.4f} "
            f"| [{low:+.4f}, {high:+.4f}] | {p:.4f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
