"""A task that says nothing about a project gets a line that says so, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.plan.test_pipeline import TASK, planned, shown
from tests.plan.test_pipeline import opened as opened_anew
from tests.plan.test_signals import TREE, indexed, past
from workbench.entry.services.plan import ranked_files
from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.explanation import explain_file
from workbench.plan.file_candidates import LIKELY, likely_text
from workbench.plan.intent import parse_intent
from workbench.plan.relevance import FEW_TASKS, is_about, load_weights, task_evidence
from workbench.plan.render import STYLES, FileView
from workbench.plan.response import NOTHING_KNOWN, why_text
from workbench.plan.view import view_project
from workbench.records.plan import Representation
from workbench.sessions.history import empty_history
from workbench.text.tokens import token_counter

NONSENSE = ["zzz", "thanks", "!!!", "23", "asdf qwer zxcv", "これは何ですか", "¿qué tal?"]
LONG_PAST = past(*(("refresh the token", "pkg/auth.py"), ("thanks to all", "docs/auth.md")) * FEW_TASKS)
UNLIKELY: NDArray[np.float64] = np.asarray([-3.0, -4.0])

pytest_plugins = ("tests.plan.test_pipeline",)


@pytest.mark.parametrize("task", NONSENSE)
@pytest.mark.parametrize("tasks", [LONG_PAST, past(("refresh the token", "pkg/auth.py")), empty_history()])
def test_a_task_without_a_known_word_is_about_nothing(task: str, tasks: Any) -> None:
    """However long the project's past is, and whether it has one."""
    view = view_project(indexed(TREE), tasks)
    assert not is_about(view, parse_intent(task), UNLIKELY)


@pytest.mark.parametrize(
    "task", ["refresh the token", "why is TokenStore slow", "pkg/auth.py", "1.4.0", "zzz (#1)"]
)
def test_a_task_that_names_something_is_about_the_project(task: str) -> None:
    """Its definitions, paths, versions, issues and the words of its past."""
    for odds in (UNLIKELY, np.zeros(0)):
        assert is_about(view_project(indexed(TREE), LONG_PAST), parse_intent(task), odds)


def test_a_heading_without_spaces_is_a_name() -> None:
    """Four characters of Han or katakana in a row that a heading has; neither fewer nor kana of grammar."""
    view = view_project(indexed({**TREE, "docs/zh.md": "# 安全检查的说明\n\n# 何ですか\n"}), LONG_PAST)
    assert is_about(view, parse_intent("修改安全检查"), UNLIKELY)
    for task in ("安全", "検査の説明", "これは何ですか"):
        assert not is_about(view, parse_intent(task), UNLIKELY)


def test_few_past_tasks_refuse_nothing_that_has_a_known_word() -> None:
    """Their words say too little of what a task of the project is called."""
    few = view_project(indexed(TREE), past(("a", "pkg/auth.py")))
    assert is_about(few, parse_intent("dance with a token"), UNLIKELY)
    assert not is_about(few, parse_intent("dance with an elephant"), UNLIKELY)


def test_known_words_and_a_likely_file_speak_for_a_task() -> None:
    """Every weight is of a feature; rarity decides, so that a word that nothing has counts most."""
    view = view_project(indexed(TREE), LONG_PAST)
    whole = task_evidence(view, parse_intent("refresh the token"), UNLIKELY).features
    half = task_evidence(view, parse_intent("refresh the zebra"), UNLIKELY).features
    assert whole.keys() | {"offset"} == load_weights().keys()
    assert 0.0 < half["in_names"] < 0.5 < whole["in_names"]
    assert half["in_tasks"] < whole["in_tasks"] == 1.0
    assert load_weights()["likeliest"] > 0.0
    assert load_weights()["in_tasks"] > 0.0


@pytest.mark.parametrize("style", STYLES)
def test_nothing_known_nothing_packed(project: Any, style: str) -> None:
    """No file, no rule, a few words that offer the map; confidence says nothing."""
    found = opened_anew(project.root)
    for task in NONSENSE:
        made = planned(found, task)
        response = made.response
        assert (response.known, response.low_confidence, response.confidence) == (False, True, None)
        assert (response.selection, response.rules, response.context.files) == ((), (), ())
        assert NOTHING_KNOWN in shown(made)
        assert response.budget_report.estimated_used <= 200
        assert token_counter().count(shown(made)) == response.budget_report.estimated_used
        reasons = why_text(response)
        assert NOTHING_KNOWN in reasons
        assert "best possible" not in reasons
        assert explain_file(made, "pkg/module_1.py").reason == NOTHING_KNOWN
        answer = ranked_files(made.ranking, 0.3)
        assert (answer.known, answer.files, answer.confidence) == (False, (), None)
    assert planned(found, TASK).response.known
    assert style in STYLES


def test_what_is_pinned_comes_for_any_task(project: Any) -> None:
    """A pin says more than the task: the file is there, beside nothing that was guessed."""
    made = planned(opened_anew(project.root), "zzz", pinned=("pkg/module_1.py",))
    assert [one.path for one in made.response.selection] == ["pkg/module_1.py"]
    assert "refresh_token_1" in shown(made)
    assert made.response.confidence is None


def test_low_confidence_never_says_how_complete_a_pack_is(project: Any) -> None:
    """The flag, the numbers, the first line and the sentences under it agree."""
    found = opened_anew(project.root)
    found.planner = replace(found.planner, confident=1.1)
    response = planned(found).response
    assert (response.low_confidence, response.confidence) == (True, None)
    first = response.context.text.splitlines()[0]
    assert re.search(r"weak evidence, \d+% chance that the likeliest file is needed", first)
    for text in (response.context.text, why_text(response)):
        assert "chance that no file is missing" not in text
        assert "such plans" not in text


def test_an_unlikely_task_is_named_places() -> None:
    """Text of files that hardly any chance speaks for is not worth its tokens; what is pinned is shown."""
    name, text = (
        ViewOffer(FileView("a.py", kind), 9, 0.0) for kind in (Representation.PATH, Representation.FULL)
    )
    free = FileCandidate("a.py", 1.0, (name, text))
    pinned = replace(free, pinned=True)
    assert likely_text([free], LIKELY) == [free]
    assert likely_text([free, pinned], LIKELY - 0.01) == [replace(free, offers=(name,)), pinned]
