"""What would bring a file in is what the model says when it is asked again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.test_trees import trees
from workbench.entry.services.explanation import sufficient_budget
from workbench.plan.explanation import HAND_MIXTURE, RankedPlaces, _lacking, mixture_parts
from workbench.plan.ranking import FIRST, RankingModel
from workbench.records.plan import RankedFile

MODEL = RankingModel("m", {"bm25_body": 2.0, "affinity.rank": 1.0}, {}, (1.0, 0.0))
BEST = RankedFile("best.py", 3.0, {"bm25_body": 1.0, "affinity.rank": 1.0, "f_risk_score": 1.0})
FOUND = RankedFile("found.py", 0.5, {"bm25_body": 0.25})


def places(place: int) -> RankedPlaces:
    """Return the places of both files, the second at one of choice."""
    final = {"best.py": 1, "found.py": place}
    return RankedPlaces({"best.py": BEST, "found.py": FOUND}, final, final, final, {})


def test_a_signal_is_enough_if_its_gain_is_what_is_lacking() -> None:
    """Without trees a signal gives its difference times its weight."""
    lacking, changes = _lacking(MODEL, places(2), FOUND, "best.py")
    assert lacking == 2.5
    assert [(one.gain, one.enough) for one in changes] == [(1.5, False), (1.0, False)]


def test_trees_are_asked_again_for_the_first_and_weights_behind_them() -> None:
    """What trees say of a row with another's values is the gain; behind the first it is the first stage."""
    model = replace(MODEL, trees=trees())
    lacking, changes = _lacking(model, places(2), FOUND, "best.py")
    assert (lacking, [one.gain for one in changes]) == (2.5, [4.0])
    assert changes[0].enough
    lacking, changes = _lacking(model, places(FIRST + 1), FOUND, "best.py")
    assert (lacking, [one.gain for one in changes]) == (2.5, [1.5, 1.0])


def test_what_ranks_before_the_last_in_lacks_no_score() -> None:
    """The budget keeps it out, or its exclusion."""
    assert _lacking(MODEL, places(2), BEST, "found.py") == (None, ())
    assert _lacking(MODEL, places(2), FOUND, None) == (None, ())


@pytest.mark.parametrize("needed", [101, 150, 2_000, 6_399])
def test_a_sufficient_budget_is_close_to_the_smallest(needed: int) -> None:
    """It shows the file and is at most a sixteenth of itself too large."""
    found = sufficient_budget(lambda budget: budget >= needed, 100)
    assert found is not None
    assert needed <= found <= needed * 17 / 16 + 1
    assert sufficient_budget(lambda budget: False, 100) is None


def test_the_hand_mixture_weighs_shares() -> None:
    """Only its five signals count, whatever else a file has."""
    parts = mixture_parts({"bm25_body": 1.0, "seed": 4.0, "frequency": 0.0})
    assert parts == {"bm25_body": HAND_MIXTURE["bm25_body"]}
