"""What a template costs a ranking, and what recognizing it brings back.

Every task is asked three times: alone, inside of a template, and inside of it where earlier prompts of some
sessions made it known. The tasks are the subjects of the newest commits of repositories, indexed as of the
commit before all of them; relevant are the files that the commit changed. `TASK` in the template is replaced.

    python -m bench.templates REPO... --template review.md --tasks 100
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from bench.hooks import commits, git, past_project
from workbench.plan.planner import rank
from workbench.plan.workspace import Workspace
from workbench.replay.metrics import ndcg, recall
from workbench.replay.statistics import mean_difference
from workbench.text.templates import own_words, shared_shingles, shingles

MARK = "TASK"
_FILES = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--template", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=100)
    given = parser.parse_args()
    template = given.template.read_text(encoding="utf-8")
    arms: dict[str, list[tuple[float, float]]] = {name: [] for name in ("alone", "template", "recognized")}
    found = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, source in enumerate(given.repositories):
            before, tasks = commits(source, given.tasks)
            project = past_project(source, before, Path(scratch) / str(number))
            known = frozenset(git(project.root, "ls-files").splitlines())
            earlier = [subject for subject, _ in commits(source, given.tasks + 5)[1][-5:]]
            prompts = [(str(n), shingles(template.replace(MARK, text))) for n, text in enumerate(earlier)]
            shared = shared_shingles(prompts)
            for subject, changed in tasks:
                if not changed & known:
                    continue
                whole = template.replace(MARK, subject)
                found += own_words(whole, shared) is not None
                for name, text, templates in (
                    ("alone", subject, {}),
                    ("template", whole, {}),
                    ("recognized", whole, shared),
                ):
                    with patch.object(Workspace, "templates", templates):
                        files = rank(project.workspace, project.planner, text).files
                    paths = [file.path for file in files]
                    truth = changed & known
                    hits = [path in truth for path in paths]
                    arms[name].append((ndcg(hits, len(truth), _FILES), recall(hits, len(truth), _FILES)))
    print(f"{len(arms['alone'])} tasks, of {found} the template was recognized")
    for name, values in arms.items():
        gain, share = fmean(one for one, _ in values), fmean(one for _, one in values)
        print(f"{name:<11} nDCG@10 {gain:.3f}  recall@10 {share:.3f}")
    for column, measure in enumerate(("nDCG@10", "recall@10")):
        gap = mean_difference(
            [one[column] for one in arms["recognized"]], [one[column] for one in arms["template"]]
        )
        print(f"recognized - template {measure} {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")


if __name__ == "__main__":
    main()
