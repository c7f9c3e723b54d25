"""Two runs are compared task by task: what changed, whether that is shown, and where it got worse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.made import made_run
from workbench.records.replay import ReplayRun, SystemRow
from workbench.replay.run_comparison import compare_runs, comparison_text

TURNED = {"better": "worse", "worse": "better"}
VALUES = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 3))


def worsened(run: ReplayRun, tasks: int, system: str = "hybrid") -> ReplayRun:
    def worse(row: SystemRow) -> SystemRow:
        nothing = dict.fromkeys(("ndcg_at_10", "precision_at_10", "recall_at_10", "mrr"), 0.0)
        return replace(row, ranking=("else.py",), measures={**row.measures, **nothing})

    rows = tuple(
        replace(row, systems={**row.systems, system: worse(row.systems[system])}) if number < tasks else row
        for number, row in enumerate(run.rows)
    )
    return replace(run, id="r2", rows=rows)


def test_a_run_does_not_differ_from_itself() -> None:
    """Every gap is 0 with p 1, and no task or session is listed."""
    run = made_run()
    runs = compare_runs(run, run, system="hybrid")
    assert {(0.0, 1.0)} == {(change.gap.value, change.gap.p) for change in runs.changes}
    assert (runs.sessions, runs.tasks, runs.settings) == ((), (), {})
    assert "No task got worse" in comparison_text(runs)


def test_what_got_worse_is_found_with_its_sessions_and_lost_files() -> None:
    """Six tasks of two sessions lose what they had: both are listed, and the loss is shown."""
    run = made_run(60)
    runs = compare_runs(run, worsened(run, 30), system="hybrid")
    change = runs.change("hybrid", "ndcg_at_10")
    assert change is not None
    assert change.verdict == "worse"
    assert change.gap.high < 0
    bm25 = runs.change("bm25", "ndcg_at_10")
    assert bm25 is not None
    assert bm25.verdict == "no difference shown"
    had = {row.session for row in run.rows[:30] if row.systems["hybrid"].measures["ndcg_at_10"]}
    assert had == {session.session for session in runs.sessions}
    losses = [task.after - task.before for task in runs.tasks]
    assert sorted(losses) == losses
    assert all(task.lost for task in runs.tasks)
    text = comparison_text(runs)
    assert "no longer among the first ten: pkg/module_" in text
    assert "Sessions that got worse (hybrid, ndcg_at_10)" in text


def test_fewer_tokens_are_better() -> None:
    """Of a measure where less is better the verdict and the order turn round."""
    run = made_run(60)
    rows = tuple(
        replace(
            row,
            systems={
                name: replace(system, measures={**system.measures, "context_tokens": 900.0 + number})
                for name, system in row.systems.items()
            },
        )
        for number, row in enumerate(run.rows)
    )
    runs = compare_runs(run, replace(run, rows=rows), system="hybrid", measure="context_tokens")
    change = runs.change("hybrid", "context_tokens")
    assert change is not None
    assert change.verdict == "better"
    assert runs.tasks[0].id == "task-00059"
    assert "No task got worse" in comparison_text(runs)


def test_tasks_of_one_run_alone_are_counted_not_compared() -> None:
    """Tasks that the other lacks or answers otherwise are left out and said."""
    run = made_run(12)
    other = replace(
        run,
        id="r2",
        settings={**run.settings, "budget": 3000},
        rows=(replace(run.rows[0], truth=("x.py",)), *run.rows[2:]),
    )
    runs = compare_runs(run, other, system="hybrid")
    assert (runs.common, runs.only_before, runs.only_after, runs.answers) == (10, 1, 0, 1)
    assert runs.settings == {"budget": (4000, 3000)}
    text = comparison_text(runs)
    assert "left out: 1 only in r1, 1 with other right answers" in text
    assert "set otherwise: budget 4000 -> 3000" in text


def test_nothing_in_common_is_said() -> None:
    """Runs without a common task compare to nothing, in words."""
    run = made_run(4)
    runs = compare_runs(run, replace(run, rows=()), system="hybrid")
    assert runs.changes == ()
    assert "nothing to compare" in comparison_text(runs)


def test_an_unknown_measure_is_refused() -> None:
    """A measure that no replay has is named."""
    with pytest.raises(ValueError, match="beauty"):
        compare_runs(made_run(1), made_run(1), system="hybrid", measure="beauty")


@given(st.lists(st.tuples(VALUES, VALUES, st.sampled_from("abcdef")), max_size=20))
def test_comparing_is_symmetric(values: list[tuple[float, float, str]]) -> None:
    """Said of B over A is, but for the sign, what is said of A over B; p is the same and in (0, 1]."""
    run = made_run(len(values), systems=("hybrid",))

    def with_values(side: int) -> ReplayRun:
        rows = [
            replace(
                row,
                session=value[2],
                systems={
                    "hybrid": replace(
                        row.systems["hybrid"], measures={"ndcg_at_10": (value[0], value[1])[side]}
                    )
                },
            )
            for row, value in zip(run.rows, values, strict=True)
        ]
        return replace(run, rows=tuple(rows))

    one = compare_runs(with_values(0), with_values(1), system="hybrid")
    other = compare_runs(with_values(1), with_values(0), system="hybrid")
    assert len(one.changes) == len(other.changes) == bool(values)
    for mine, theirs in zip(one.changes, other.changes, strict=True):
        assert np.allclose(
            (mine.gap.value, mine.gap.low, mine.gap.high, mine.gap.p),
            (-theirs.gap.value, -theirs.gap.high, -theirs.gap.low, theirs.gap.p),
        )
        assert 0 < mine.gap.p <= 1
        assert TURNED.get(mine.verdict, mine.verdict) == theirs.verdict
    assert {task.id for task in one.tasks} == {task.id for task in other.tasks}
    changes = [task.after - task.before for task in one.tasks]
    assert sorted(changes) == changes


@given(st.permutations(range(9)))
def test_the_order_of_tasks_does_not_matter(order: list[int]) -> None:
    """Comparing depends on the tasks, not on where they stand in a run."""
    first, second = made_run(9), made_run(9, seed=2)
    shuffled = replace(second, rows=tuple(second.rows[place] for place in order))
    straight, crossed = (compare_runs(first, one, system="hybrid") for one in (second, shuffled))
    assert straight == crossed


def test_a_difference_within_one_session_shows_nothing() -> None:
    """Tasks of one session are one piece of evidence, however many they are."""
    run = made_run(30, per_session=30)
    change = compare_runs(run, worsened(run, 30), system="hybrid").change("hybrid", "ndcg_at_10")
    assert change is not None
    assert (change.gap.p, change.verdict) == (1.0, "no difference shown")
    assert change.gap.value < -0.3


def test_hostile_texts_are_shown_not_sent() -> None:
    """Heads and paths with control characters leave no such character in the text."""
    run = made_run(6, head="clear\x1b[2J\n\u202eit", path="a\x07{}.py")
    text = comparison_text(compare_runs(run, worsened(run, 6), system="hybrid"))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
