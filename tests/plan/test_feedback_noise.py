"""Feedback that is noise or malice cannot spoil a ranking, and feedback that is true does not harm it.

The project is made so that files have nothing in common with the words of tasks: history alone can tell.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.deep import searches, times
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import LEXICAL_MODEL, load_model, rank_files
from workbench.plan.view import view_project
from workbench.project.extraction import extract_facts
from workbench.project.updates import build_index
from workbench.records.episodes import ChangeKind, FileChange, Outcome
from workbench.replay.metrics import ndcg
from workbench.sessions.history import PastTask, Trust, build_history
from workbench.text.terms import count_terms

HOUR = 3600
TOPICS = ("login", "invoice", "search", "upload", "mail", "export", "cache", "theme")
WORDS = ("error", "slow", "wrong", "missing", "broken", "label", "timeout", "again")
PATHS = [f"src/m{number:02}.py" for number in range(48)]
FILES = {topic: PATHS[6 * place : 6 * place + 4] for place, topic in enumerate(TOPICS)}
INDEX = build_index(PATHS, [extract_facts(path, b"x = 1\n") for path in PATHS], [6] * len(PATHS))
MODEL = load_model(LEXICAL_MODEL)

Judge = Callable[[bool, random.Random], Outcome | None]
SAYS = {True: Outcome.SUCCESS, False: Outcome.FAILED}

NOBODY: Judge = lambda truth, chance: None  # noqa: E731
TRUTH: Judge = lambda truth, chance: SAYS[truth]  # noqa: E731
COIN: Judge = lambda truth, chance: SAYS[chance.random() < 0.5]  # noqa: E731
OPPOSITE: Judge = lambda truth, chance: SAYS[not truth]  # noqa: E731


def tasks(seed: int, count: int) -> list[tuple[str, str, bool, list[str]]]:
    """Make (text, topic, whether it went right, files) of tasks; a third of the sessions go wrong."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        topic = chance.choice(TOPICS)
        right = chance.random() >= 1 / 3
        files = chance.sample(FILES[topic] if right else PATHS, 2)
        made.append((f"{topic} {' '.join(chance.sample(WORDS, 2))}", topic, right, files))
    return made


@cache
def gain(judge: Judge, seed: int, trust: Trust | None = None) -> float:
    """Return the mean nDCG@10 of new tasks after a past that somebody judged."""
    chance = random.Random(seed)
    past = [
        PastTask(
            1_000_000_000 - number * HOUR,
            count_terms(text),
            tuple(FileChange(path, ChangeKind.MODIFIED, 1, 1) for path in files),
            verdict=judge(right, chance),
        )
        for number, (text, _, right, files) in enumerate(tasks(seed, 160))
    ]
    view = view_project(INDEX, build_history(past, trust))
    gains = []
    for text, topic, _, _ in tasks(seed + 1_000, 40):
        ranking = rank_files(view, parse_intent(text), MODEL, limit=10)
        gains.append(ndcg([one.path in FILES[topic] for one in ranking], len(FILES[topic])))
    return float(np.mean(gains))


SEEDS = range(times(3, 6))


def difference(judge: Judge, trust: Trust | None = None) -> float:
    """Return how much better than without feedback the ranking is, over several pasts."""
    return float(np.mean([gain(judge, seed, trust) - gain(NOBODY, seed) for seed in SEEDS]))


def test_history_alone_finds_files_here() -> None:
    """The measure has room in both directions: the ranking is neither perfect nor blind."""
    assert 0.5 < np.mean([gain(NOBODY, seed) for seed in SEEDS]) < 0.97


@searches
def test_true_feedback_helps() -> None:
    """Who tells what went wrong gets a better ranking."""
    assert difference(TRUTH) > 0.02


@searches
@pytest.mark.parametrize(("judge", "epsilon"), [(COIN, 0.005), (OPPOSITE, 0.015)])
def test_noise_and_malice_cost_little(judge: Judge, epsilon: float) -> None:
    """A coin costs at most 0.005 nDCG@10, and whoever says the opposite of everything at most 0.015."""
    assert difference(judge) > -epsilon


@searches
def test_without_bounds_malice_costs_more() -> None:
    """Bounds and samples keep malice from harm as well: a trust without any loses more."""
    gullible = replace(Trust(), success=4.0, failed=0.0, min_samples=1)
    assert difference(OPPOSITE, gullible) < difference(OPPOSITE) - 0.02
