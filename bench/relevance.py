"""Which tasks a plan takes for texts about nothing in the project, and which other texts it answers.

Tasks are subjects of the newest commits, with the project as it was before all of them, and the commits of
`bench/data/reworded.jsonl` in both wordings, with the project before the oldest of them, which is harder than
what anybody asks. Other texts are about anything else: a file of JSON lines, replies, and pure nonsense.

    python -m bench.relevance --repos DIR --texts intents.jsonl          refused shares, test repositories
    python -m bench.relevance --repos DIR --texts intents.jsonl --fit    fit relevance.json, training ones
"""

from __future__ import annotations

import argparse
import json
import random
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import split
from bench.hooks import SHORT, commits, git, other_texts, past_project
from bench.reworded import Reworded, read_reworded, repositories_of
from workbench.entry.project import OpenedProject
from workbench.plan.planner import rank
from workbench.plan.ranking import log_odds
from workbench.plan.relevance import TaskEvidence, load_weights, task_evidence

REFUSED = 0.006  # share of training tasks that the fitted threshold refuses
REPLIES = (
    *SHORT,
    *("thanks", "thanks, looks good", "hello", "good morning", "yes please", "great job", "go on"),
    *("write a haiku", "tell me a joke", "how old are you", "translate this sentence to german"),
)
_FOREIGN = (
    *("これは何ですか", "спасибо большое", "wie geht es dir heute", "qué tal estás hoy", "今天天气怎么样"),
    *("!!!", "...", "23", "42 17 99", "zzz", "asdf qwer zxcv"),
)
_PARTS = {"subjects": 0.35, "replies": 0.15, "nonsense": 0.2, "other": 0.15, "reworded": 0.15}
_L2 = 1e-3


@dataclass(frozen=True, slots=True)
class Asked:
    """A text of a kind and what a project knows of it."""

    kind: str
    text: str
    evidence: TaskEvidence


def nonsense() -> list[str]:
    """Return texts without meaning: random letters, other languages, numbers."""
    draw = random.Random(7)

    def word() -> str:
        return "".join(draw.choice(string.ascii_lowercase) for _ in range(draw.randint(4, 9)))

    return [*_FOREIGN, *(" ".join(word() for _ in range(draw.randint(1, 5))) for _ in range(30))]


def ask(project: OpenedProject, kind: str, text: str) -> Asked:
    made = rank(project.workspace, project.planner, text)
    odds = log_odds(made.model, [file.score for file in made.files])
    return Asked(kind, text, task_evidence(project.workspace.view, made.intent, odds))


def ask_all(source: Path, sentences: Sequence[Reworded], texts: Path, tasks: int) -> Iterator[Asked]:
    with tempfile.TemporaryDirectory() as scratch:
        before, found = commits(source, tasks)
        project = past_project(source, before, Path(scratch) / "near")
        for text, _changed in found:
            yield ask(project, "subjects", text)
        kinds = {"other": other_texts(texts, tasks), "replies": REPLIES, "nonsense": nonsense()}
        for kind, asked in kinds.items():
            for text in asked:
                yield ask(project, kind, text)
        order = git(source, "log", "--no-merges", "--format=%H").split()
        known = [sentence for sentence in sentences if sentence.commit in order]
        if not known:
            return
        oldest = max(order.index(one.commit) for one in known)
        if oldest + 1 >= len(order):
            return
        project = past_project(source, order[oldest + 1], Path(scratch) / "far")
        for one in known:
            yield ask(project, "reworded", one.task)
            yield ask(project, "their subjects", git(source, "log", "-1", "--format=%s", one.commit).strip())


def is_refused(evidence: TaskEvidence, weights: Mapping[str, float]) -> bool:
    """Whether a plan takes a text for one about nothing here, as `is_about` decides."""
    if evidence.named or not (evidence.met and evidence.past):
        return not (evidence.named or evidence.met)
    return weights["offset"] + sum(weights[name] * value for name, value in evidence.features.items()) <= 0.0


def fit(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the weights of the logistic, its offset such that few of the tasks are refused."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows = [
        one
        for one in asked
        if one.kind in _PARTS and one.evidence.met and one.evidence.past and not one.evidence.named
    ]
    names = list(rows[0].evidence.features)
    matrix = np.asarray([[*(row.evidence.features[name] for name in names), 1.0] for row in rows])
    spread = np.append(matrix[:, :-1].std(axis=0) + 1e-9, 1.0)
    labels = np.asarray([row.kind in ("subjects", "reworded") for row in rows], dtype=np.float64)
    kinds = [row.kind for row in rows]
    share = np.asarray([_PARTS[kind] / kinds.count(kind) for kind in kinds])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.clip(matrix @ (weights / spread), -30, 30)
        value = float(share @ (np.logaddexp(0.0, logits) - labels * logits)) + _L2 * float(weights @ weights)
        pull = (matrix / spread).T @ (share * (1.0 / (1.0 + np.exp(-logits)) - labels))
        return value, np.asarray(pull + 2 * _L2 * weights)

    weights = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x / spread
    scores = np.sort((matrix @ weights)[labels == 1.0])
    least = scores[int(REFUSED * len(scores))]
    found = dict(zip((*names, "offset"), [*weights[:-1].tolist(), float(weights[-1] - least)], strict=True))
    return {name: round(value, 4) for name, value in found.items()}


def report(asked: Sequence[Asked], weights: Mapping[str, float]) -> Iterator[str]:
    """Yield a table in Markdown: what share of each kind is refused."""
    yield "| texts | | refused |\n|---|--:|--:|"
    for kind in dict.fromkeys(one.kind for one in asked):
        refused = [is_refused(one.evidence, weights) for one in asked if one.kind == kind]
        yield f"| {kind} | {len(refused)} | {np.mean(refused):.1%} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repos", type=Path, required=True, help="folder of clones named owner+name")
    parser.add_argument("--texts", type=Path, required=True, help="JSON lines with a field `text`")
    parser.add_argument("--tasks", type=int, default=120)
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    names = (*split.TRAIN, *split.TRAIN_LIFE) if given.fit else repositories_of("test")
    asked: list[Asked] = []
    for name in names:
        source = next(
            (one for one in (given.repos / name / "repo", given.repos / name) if one.is_dir()), None
        )
        if source is None:
            continue
        mine = [one for one in read_reworded() if one.repository == name]
        try:
            asked += ask_all(source, mine, given.texts, given.tasks)
        except subprocess.CalledProcessError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        print(name, file=sys.stderr)
    weights = fit(asked) if given.fit else load_weights()
    if given.fit:
        print(json.dumps(weights, indent=1))
    print("\n".join(report(asked, weights)))


if __name__ == "__main__":
    main()
