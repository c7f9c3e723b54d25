"""Signals have the shape and the range they promise, on any project, also one without files or past."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.features import candidates_for, first_look
from workbench.plan.intent import parse_intent
from workbench.plan.signals import causal_tasks, prepare_query
from workbench.plan.view import RankingView, view_project
from workbench.project.extraction import extract_facts
from workbench.project.index import ProjectIndex
from workbench.project.updates import build_index, update_index
from workbench.records.episodes import ChangeKind, FileChange
from workbench.sessions.history import History, PastTask, build_history, empty_history
from workbench.text.terms import count_terms

TREE = {
    "pkg/__init__.py": "",
    "pkg/auth.py": "from pkg import store\n\ndef refresh_token(): ...\n",
    "pkg/store.py": "class TokenStore: ...\n",
    "tests/test_auth.py": "from pkg import auth\n",
    "docs/auth.md": "# Token refresh\n",
    "CHANGELOG.md": "# Changes\n",
}
TASKS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            ["token", "pkg/auth.py", "TokenStore", "fix:", "auth:", "docs", "#1", "refresh_token"]
        ),
        max_size=6,
    ).map(" ".join),
)


def indexed(tree: dict[str, str]) -> ProjectIndex:
    paths = sorted(tree)
    return build_index(paths, [extract_facts(path, tree[path].encode()) for path in paths], [1] * len(paths))


def past(*tasks: tuple[str, str]) -> History:
    """Build a history of (text, path) tasks, newest first."""
    return build_history(
        PastTask(9 - at, count_terms(text), (FileChange(path, ChangeKind.MODIFIED, 1, 1),), ("#1",), True)
        for at, (text, path) in enumerate(tasks)
    )


HISTORY = past(("refresh the token", "pkg/auth.py"), ("store it", "pkg/store.py"), ("gone", "gone.py"))


VIEWS = [
    view_project(indexed(tree), history, touched=["pkg/auth.py", "nowhere"])
    for tree in (TREE, {}, {"a.py": ""})
    for history in (HISTORY, empty_history())
]


@given(st.sampled_from(VIEWS), TASKS)
def test_signals_are_finite_and_not_negative(view: RankingView, task: str) -> None:
    """Every signal is a number of at least 0 for every file, whatever the task, however little is known."""
    for name, signal in first_look(view, prepare_query(parse_intent(task))).items():
        assert signal.shape == (view.index.count,), name
        assert np.isfinite(signal).all(), name
        assert (signal >= 0).all(), name


@given(st.sampled_from(VIEWS), TASKS)
def test_candidates_are_living_files_found_by_a_source(view: RankingView, task: str) -> None:
    """Each candidate is a file, once, with the source that proposed it."""
    found = candidates_for(view, prepare_query(parse_intent(task)), {"bm25_body": 1.0})
    positions = found.positions.tolist()
    assert positions == sorted(set(positions))
    assert all(0 <= position < view.index.count for position in positions)
    assert len(found.sources) == len(positions)
    assert all(found.sources)


def test_what_is_named_outranks_what_is_not() -> None:
    """A path, a file's bare name and a defined symbol point to their file."""
    view = view_project(indexed(TREE), empty_history())
    where = view.index.positions
    named = first_look(view, prepare_query(parse_intent("look at pkg/store.py")))
    assert int(named["path_named"].argmax()) == where["pkg/store.py"]
    symbol = first_look(view, prepare_query(parse_intent("TokenStore loses its entries")))
    assert int(symbol["symbol_defined"].argmax()) == where["pkg/store.py"]


def test_a_script_that_documents_are_written_in_calls_for_documents() -> None:
    """Not where another file has as many of the task's words, and never a task in English."""
    tree = {**TREE, "docs/ja.md": "# 設定の説明\n"}
    for more, task, called in (
        ({}, "設定の説明を直す", 1.0),
        ({}, "fix the token", 0.0),
        ({"pkg/ja.py": "# 設定の説明を直す\n"}, "設定の説明を直す", 0.0),
    ):
        view = view_project(indexed({**tree, **more}), HISTORY)
        signals = first_look(view, prepare_query(parse_intent(task)))
        assert float(signals["called_docs"].max()) == called


def test_past_tasks_like_this_one_point_to_their_files() -> None:
    """Affinity goes to what a similar task changed, recency to the last change, causes to issues."""
    view = view_project(indexed(TREE), HISTORY)
    signals = first_look(view, prepare_query(parse_intent("store it elsewhere")))
    assert int(signals["affinity"].argmax()) == view.index.positions["pkg/store.py"]
    assert int(signals["recency_3"].argmax()) == view.index.positions["pkg/auth.py"]
    caused = first_look(view, prepare_query(parse_intent("as in #1")))
    assert caused["causal"][view.index.positions["pkg/auth.py"]] > 0


def test_a_view_that_takes_over_equals_a_fresh_one() -> None:
    """After edits, additions and removals a view built on the last one holds what one from scratch does."""
    index = indexed(TREE)
    view = view_project(index, HISTORY)
    steps = [
        ({"pkg/auth.py": (extract_facts("pkg/auth.py", b"import pkg.store\nx = 1\n"), 9)}, []),
        ({"pkg/new.py": (extract_facts("pkg/new.py", b"token = 1\n"), 9)}, ["docs/auth.md"]),
        ({"pkg/new.py": (extract_facts("pkg/new.py", b"token = 2\n"), 9)}, []),
    ]
    query = prepare_query(parse_intent("refresh the token of pkg/new.py (#1)"))
    for changed, removed in steps:
        index = update_index(index, changed, removed)
        view = view_project(index, HISTORY, touched=["pkg/new.py"], previous=view)
        fresh = view_project(index, HISTORY, touched=["pkg/new.py"])
        ours, theirs = first_look(view, query), first_look(fresh, query)
        assert list(ours) == list(theirs)
        for name, signal in ours.items():
            np.testing.assert_array_equal(signal, theirs[name], err_msg=name)


def test_proximity_is_of_tests_and_the_edits_they_share() -> None:
    """A file with a test is near it, nearer the more of their tasks touched both; others are not."""
    pair = [FileChange(path, ChangeKind.MODIFIED, 1, 1) for path in ("pkg/auth.py", "tests/test_auth.py")]
    none, half, all_ = (
        build_history(PastTask(9 - at, {"x": 1}, changes) for at, changes in enumerate(tasks))
        for tasks in (
            [(pair[0],), (pair[1],)],
            [(*pair,), (pair[0],)],
            [(*pair,), (*pair,)],
        )
    )
    for history, value in ((empty_history(), 0.5), (none, 0.5), (half, 0.75), (all_, 1.0)):
        view = view_project(indexed(TREE), history)
        near = {path: float(view.test_proximity[row]) for path, row in view.index.positions.items()}
        assert {path: one for path, one in near.items() if one} == {
            "pkg/auth.py": value,
            "tests/test_auth.py": value,
        }


def test_causes_are_of_the_issue_or_of_tasks_nearly_alike() -> None:
    """The number with or without `#`, the same words without one, nearly the same ones; no other task."""
    tasks = (
        ("fix: refresh the jwt token after a redirect (#113)", "pkg/auth.py", ("#113",)),
        ("follow up (#113)", "pkg/store.py", ("#113",)),
        ("reformat the docs", "docs/guide.md", ()),
    )
    history = build_history(
        PastTask(9 - at, count_terms(text), (FileChange(path, ChangeKind.MODIFIED, 1, 1),), issues)
        for at, (text, path, issues) in enumerate(tasks)
    )

    def caused(task: str) -> list[float]:
        return [round(float(one), 2) for one in causal_tasks(history, prepare_query(parse_intent(task)))]

    for task in ("what of #113", "what of issue 113", "see PR 113", "bug number 113"):
        assert caused(task) == [1, 1, 0], task
    same = caused("fix: refresh the jwt token after a redirect")
    assert same[0] == same[1] > 0.7
    near = caused("refresh the jwt token after redirects")
    assert 0.5 <= near[0] < same[0]
    assert near[0] == near[1]
    assert caused("reformat 113 tokens") == [0, 0, 0]
    assert caused("docs of version 1.13") == [0, 0, 0]
    assert causal_tasks(empty_history(), prepare_query(parse_intent("x"))).size == 0
