"""What answers are worth at thresholds: micro and macro figures, abstention, the choice of a threshold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.replay.answers import (
    THRESHOLDS,
    MessageAnswer,
    answers_in,
    best_figures,
    by_kind,
    choose_threshold,
    count_answers,
    measure_at,
    message_f1,
    ranking_figures,
)
from workbench.replay.datasets import Message, Split

Make = Callable[..., MessageAnswer]


def test_figures_at_a_threshold(answer: Make) -> None:
    """What scores at least the threshold is returned; a message expecting none is right if nothing is."""
    answers = [
        answer("a b", {"a": 0.9, "c": 0.7, "b": 0.4}),
        answer("a", {"b": 0.8, "a": 0.5}),
        answer("", {"c": 0.6}),
        answer("", {"c": 0.3}),
    ]
    assert count_answers(answers, 0.5).tolist() == [[1, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert message_f1(count_answers(answers, 0.5)).tolist() == pytest.approx([0.5, 2 / 3, 0.0, 1.0])
    threshold = measure_at(answers, 0.5)
    assert (threshold.precision, threshold.recall) == pytest.approx((2 / 5, 2 / 3))
    assert threshold.f1 == pytest.approx(0.5)
    assert threshold.macro_f1 == pytest.approx((0.5 + 2 / 3 + 1) / 4)
    assert threshold.mrr == pytest.approx((1 + 0.5) / 2)
    assert threshold.abstained == 0.5


def test_nothing_returned_is_right_only_where_nothing_is_expected(answer: Make) -> None:
    """Above every score precision, recall and MRR are 0 and all abstain."""
    answers = [answer("a", {"a": 0.4}), answer("", {"a": 0.4})]
    threshold = measure_at(answers, 0.9)
    assert (threshold.precision, threshold.recall, threshold.f1, threshold.mrr) == (0.0, 0.0, 0.0, 0.0)
    assert (threshold.macro_f1, threshold.abstained) == (0.5, 1.0)


def test_no_messages_give_figures_too() -> None:
    """Means over nothing are 0 rather than errors."""
    assert measure_at([], 0.5).mrr == 0.0
    assert ranking_figures([]).auroc == 0.5


def test_the_threshold_of_best_f1_is_chosen(answer: Make) -> None:
    """Of thresholds that are equally good the highest is taken."""
    answers = [answer("a", {"a": 0.62, "b": 0.41}), answer("", {"c": 0.55})]
    assert choose_threshold(answers) == 0.62
    assert best_figures([measure_at(answers, threshold) for threshold in THRESHOLDS]).threshold == 0.6


def test_figures_without_a_threshold(answer: Make) -> None:
    """Messages expecting none count only for AUROC; an empty ranking scores 0."""
    answers = [answer("a", {"b": 0.8, "a": 0.05}), answer("b", {}), answer("", {"a": 0.5, "b": 0.1})]
    figures = ranking_figures(answers)
    assert (figures.recall_at_1, figures.recall_at_5, figures.mrr) == (0.0, 0.5, 0.25)
    assert figures.auroc == 0.5  # 0.8 is above 0.5, nothing is below


def test_kinds_and_halves(answer: Make) -> None:
    """Kinds come in the order of the messages with their macro F1; halves are by split."""
    answers = [
        answer("a", {"a": 0.9}, "typo", Split.FIT),
        answer("", {"a": 0.9}, "far"),
        answer("", {}, "far"),
        answer("b", {"a": 0.9}, "typo"),
    ]
    assert by_kind(answers, 0.5) == {"typo": (2, 0.5), "far": (2, 0.5)}
    assert answers_in(answers, Split.FIT) == answers[:1]
    assert answers_in(answers, Split.TEST) == answers[1:]


SCORES = st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1), max_size=5)


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcde"), max_size=3), SCORES), min_size=1, max_size=8))
def test_a_lower_threshold_never_loses_recall(cases: list[tuple[set[str], dict[str, float]]]) -> None:
    """Recall and MRR fall and abstention rises with the threshold, and all figures are in [0, 1]."""
    answers = [
        MessageAnswer(
            Message(str(number), "t", tuple(sorted(expected)), "", Split.TEST),
            tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0]))),
        )
        for number, (expected, scores) in enumerate(cases)
    ]
    sweep = [measure_at(answers, threshold) for threshold in THRESHOLDS]
    for lower, higher in pairwise(sweep):
        assert lower.recall >= higher.recall
        assert lower.mrr >= higher.mrr
        assert lower.abstained <= higher.abstained
    for one in sweep:
        values = (one.precision, one.recall, one.f1, one.macro_f1, one.mrr, one.abstained)
        assert all(0.0 <= value <= 1.0 for value in values)
