"""Verdicts move what a pair of task and file counts: within bounds, after several, and not for long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.episodes import Episode, Outcome
from workbench.sessions.history import Trust, corroboration, pair_trust, reliability, verdict_of

DAY = 86_400
EPISODE = Episode("s", "p", "task", "f", "bugfix", 1, 2, Outcome.SUCCESS, (), source="cli")
OUTCOMES = st.one_of(st.none(), st.sampled_from(Outcome))


def weigh(rows: Sequence[tuple[Outcome | None, int, int]], trust: Trust | None = None) -> list[float]:
    """Return the weights of one pair a task, given as (verdict, day, file)."""
    found: list[float] = pair_trust(
        [verdict for verdict, _, _ in rows],
        [{} for _ in rows],
        np.asarray([day * DAY for _, day, _ in rows], dtype=np.int64),
        np.arange(len(rows), dtype=np.int32),
        np.asarray([file for _, _, file in rows], dtype=np.int32),
        trust or Trust(),
    ).tolist()
    return found


def test_what_nobody_judged_weighs_one() -> None:
    """Without verdicts every pair weighs exactly 1, and so do unjudged ones beside judged ones."""
    assert weigh([(None, 1, 0), (None, 2, 1)]) == [1.0, 1.0]
    rows: list[tuple[Outcome | None, int, int]] = [(Outcome.FAILED, 0, 0)] * 9
    assert weigh([(None, 0, 0), (Outcome.UNKNOWN, 0, 0), *rows])[:2] == [1.0, 1.0]


def test_success_counts_more_and_failure_less() -> None:
    """At min_samples verdicts about a file half of the configured weight is reached, as far as believed."""
    rows = [(Outcome.SUCCESS, 0, 0), (Outcome.PARTIAL, 0, 0), (Outcome.FAILED, 0, 0)]
    believed = 0.5  # nothing contradicts what is said
    expected = [1 + believed * shift for shift in (0.125, -0.125, -0.25)]
    assert weigh(rows) == pytest.approx(expected)


def test_few_verdicts_about_a_file_count_for_nothing() -> None:
    """Two verdicts about a file change nothing, however many there are about another."""
    rows = [(Outcome.FAILED, 0, 0), (Outcome.FAILED, 0, 0), *[(Outcome.FAILED, 0, 1)] * 30]
    found = weigh(rows)
    assert found[:2] == [1.0, 1.0]
    assert max(found[2:]) < 0.8


def test_a_verdict_wears_off() -> None:
    """After one half-life a verdict moves less than half of what a new one does, after ten nearly nothing."""
    old = [(Outcome.FAILED, 0, 0)] * 6
    shifts = [1.0 - weigh([*old, (None, days, 1)])[0] for days in (0, 90, 900)]
    assert shifts[0] == pytest.approx(0.5 / 3)
    assert 0 < shifts[1] < shifts[0] / 2
    assert shifts[2] < 0.001


@given(st.lists(st.tuples(OUTCOMES, st.integers(0, 2000), st.integers(0, 3)), max_size=30))
def test_weights_are_bounded(rows: list[tuple[Outcome | None, int, int]]) -> None:
    """Whatever is said, and whenever, no pair weighs more than a success or less than a failure may."""
    trust = Trust()
    assert all(trust.failed <= weight <= trust.success for weight in weigh(rows, trust))


def test_what_other_tasks_say_of_a_pair() -> None:
    """A pair is supported by the other tasks with its words that touched its file, not by itself."""
    terms = [{"login": 1}, {"login": 1, "slow": 1}, {"login": 1}, {}]
    tasks = np.asarray([0, 1, 2, 3], dtype=np.int32)
    files = np.asarray([0, 0, 1, 1], dtype=np.int32)
    assert corroboration(terms, tasks, files).tolist() == [0.5, 0.25, 0.0, 0.0]


def test_verdicts_are_believed_as_they_agree_with_the_rest() -> None:
    """Many true verdicts are believed, many opposite ones are not, few ones half whatever they say."""
    good, support = np.asarray([1.0, 1.0, -1.0, -1.0]), np.asarray([0.9, 0.8, 0.1, 0.2])
    assert reliability(good, support, 2_000) > 0.99
    assert reliability(-good, support, 2_000) < 0.01
    assert reliability(good, support[[0, 2, 1, 3]], 2_000) < 0.01
    assert reliability(-good, support, 2) == pytest.approx(0.5 * 20 / 22)


def test_without_contrast_nothing_is_known_of_verdicts() -> None:
    """Where all was judged alike, or tasks share no words, there is nothing to compare: the prior stays."""
    assert reliability(np.asarray([1.0, -1.0]), np.zeros(2), 3_000) == 0.5
    assert reliability(np.ones(3), np.arange(3.0), 3_000) == 0.5
    assert reliability(-np.ones(3), np.arange(3.0), 3_000) == 0.5


def test_a_commit_is_judged_by_feedback_only() -> None:
    """That a commit was made is no verdict; a session's outcome is one, unknown is none."""
    commit = replace(EPISODE, source="git")
    assert verdict_of(commit) is None
    assert verdict_of(replace(commit, outcome=Outcome.FAILED, judged=Outcome.FAILED)) is Outcome.FAILED
    assert verdict_of(EPISODE) is Outcome.SUCCESS
    assert verdict_of(replace(EPISODE, outcome=Outcome.UNKNOWN, judged=Outcome.UNKNOWN)) is None
