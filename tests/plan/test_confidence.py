"""A plan's confidence follows from what is outside, and its words from the number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.confidence import RankedTask, chances_of, fit_confidence, report
from workbench.errors import ModelError
from workbench.plan.planner import chance_of_all
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, RankingModel, load_model, parse_model
from workbench.plan.response import confidence_words
from workbench.records.plan import RankedFile

MODEL = RankingModel("m", {}, {}, (1.0, 0.0), confidence=(1.0, 0.5, 0.0))
FILES = [RankedFile(f"{number}.py", 2.0 - number, {}) for number in range(6)]


def test_more_files_inside_are_never_less_sure() -> None:
    """And a likely file outside costs more than an unlikely one."""
    paths = [one.path for one in FILES]
    chances = [chance_of_all(MODEL, FILES, paths[:size]) for size in range(7)]
    known = [one for one in chances if one is not None]
    assert known == sorted(known)
    assert len(known) == 7
    first, last = (chance_of_all(MODEL, FILES, [one for one in paths if one != out]) for out in paths[::5])
    assert first is not None
    assert last is not None
    assert first < last


def test_pinned_files_say_nothing_of_the_others() -> None:
    """They are inside, as if they were not ranked."""
    assert chance_of_all(MODEL, FILES, ["1.py"], {"0.py"}) == chance_of_all(MODEL, FILES[1:], ["1.py"])


def test_there_is_none_without_calibration_or_files() -> None:
    """A model of before has no confidence, and what is no number is refused."""
    assert chance_of_all(replace(MODEL, confidence=None), FILES, ["0.py"]) is None
    assert chance_of_all(MODEL, [], []) is None
    text = '{"model_id": "m", "weights": {}, "seeds": {}, "relevance": [1, 0], "confidence": %s}'
    assert parse_model(text % "[1, 2, 3]", source="m").confidence == (1.0, 2.0, 3.0)
    for wrong in ("[1, 2]", "[1, 2, NaN]", '"abc"'):
        with pytest.raises(ModelError):
            parse_model(text % wrong, source="m")


@pytest.mark.parametrize("model_id", [DEFAULT_MODEL, LEXICAL_MODEL])
def test_shipped_models_are_calibrated(model_id: str) -> None:
    """Both slopes are positive: surer where less is outside, and where the task points at something."""
    confidence = load_model(model_id).confidence
    assert confidence is not None
    assert min(confidence[:2]) > 0


def test_a_fit_says_what_was_right() -> None:
    """The mean confidence of the tasks it was fitted on is the share that was right."""
    draw = np.random.default_rng(3)
    tasks = []
    for _ in range(300):
        odds = np.sort(draw.normal(-3, 2, 30))[::-1]
        right = np.flatnonzero(draw.random(30) < 1 / (1 + np.exp(-odds)))
        needed = int(right[-1]) + 1 if len(right) else 0
        tasks.append(RankedTask(odds, needed, bool(len(right)) and right[0] == 0))
    model = replace(MODEL, confidence=fit_confidence(tasks))
    sizes = (1, 3, 5, 10, 20)
    said = np.mean([chances_of(model, tasks, size).mean() for size in sizes])
    assert said == pytest.approx(np.mean([one.holds(size) for size in sizes for one in tasks]), abs=0.01)
    lines = list(report(model, {"newest": tasks}))
    assert any(line.startswith("| all ages | 300 |") for line in lines)


@pytest.mark.parametrize(
    ("chance", "share"),
    [(0.002, "under 1%"), (0.62, "62%"), (0.9, "90%"), (0.997, "over 99%")],
)
def test_a_chance_is_said_in_percent(chance: float, share: str) -> None:
    """Nothing is said to be certain or impossible."""
    assert confidence_words(chance) == f"{share} chance that no file is missing"
