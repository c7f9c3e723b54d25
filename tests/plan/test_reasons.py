"""Reasons are words, and their numbers add up."""

from __future__ import annotations

from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model
from workbench.plan.response import phrase, top_reasons
from workbench.records.plan import RankedFile


def moved(contributions: dict[str, float], *absent: str) -> RankedFile:
    """Return a file of which everything that contributes is true but what is absent."""
    features = {name: 1.0 for name in contributions if name not in absent}
    return RankedFile("a.py", 1.0, features, contributions)


def test_every_weight_of_a_shipped_model_can_be_said_in_words() -> None:
    """No feature that moves a file is shown to a person under its internal name."""
    for model_id in (DEFAULT_MODEL, LEXICAL_MODEL):
        model = load_model(model_id)
        for feature in (*model.weights, *(model.trees.names if model.trees else ())):
            assert "_" not in phrase(feature), feature


def test_forms_of_one_signal_are_summed() -> None:
    """The relative, the absolute and the rank form of a signal are one reason with one number."""
    contributions = {"frequency": -0.5, "frequency.raw": 2.0, "bm25_body_head": 1.0, "bm25_body.rank": 0.75}
    assert top_reasons(moved(contributions)) == [
        ("words of the task in its text", 1.75),
        ("changed often", 1.5),
    ]


def test_what_pulls_a_file_down_is_no_reason_for_it() -> None:
    """Negative sums are left out, ties stand in alphabetical order."""
    assert top_reasons(moved({"frequency": -1.0, "risk": 0.5, "changelog": 0.5}), 2) == [
        ("critical code", 0.5),
        ("is a changelog", 0.5),
    ]


def test_the_first_look_is_a_reason_where_nothing_else_is() -> None:
    """It sums up what the others say one by one, so these come before it."""
    found = top_reasons(moved({"seed": 2.0, "frequency": 0.5, "risk": -1.0}))
    assert [words for words, _ in found] == ["changed often", "a strong match on its own"]


def test_what_is_not_true_of_a_file_is_no_reason_for_it() -> None:
    """Trees give a file something for what it lacks; that is no reason to show."""
    found = moved({"frequency": 1.0, "frequency.raw": 0.5, "affinity": 0.2}, "frequency", "frequency.raw")
    assert top_reasons(found) == [("changed in similar past tasks", 0.2)]
