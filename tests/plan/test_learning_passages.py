"""Learnings in plans: about the task, reviewed first, marked, within their share, or no trace of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from workbench.config_layers import load
from workbench.entry.project import OpenedProject, open_project
from workbench.entry.services.metrics import Measured
from workbench.entry.services.plan import plan_for, preview_for
from workbench.memory.learnings.echoes import is_echo, read_injections
from workbench.memory.learnings.learningstore import LearningStore, store_of
from workbench.memory.learnings.service import LearningService
from workbench.plan.pipeline import Plan
from workbench.records.answers.plan import DroppedCandidate
from workbench.records.learnings import LearningSource
from workbench.records.plan import PlanRequest
from workbench.text.sanitize import FRAME

TASK = "the jwt token is not refreshed after a 401 in the session"
REFRESH = "The jwt token is refreshed by `Session.refresh`, which needs the lock of `token_store`"
CACHE = "The image cache ignores `Vary` headers of the thumbnail server"


@pytest.fixture
def opened(work: Any) -> OpenedProject:
    work.write("src/session.py", "def refresh(token):\n    return token\n")
    work.write("src/images.py", "def thumbnail(path):\n    return path\n")
    work.commit("session: refresh the jwt token after a 401")
    config = load(project=work.root, flags={"models.embedding": "off"}).config
    return open_project(work.root, config)


@pytest.fixture
def store(opened: OpenedProject) -> LearningStore:
    return store_of(opened.workspace.rule_store())


def planned(opened: OpenedProject, style: str = "markdown", **fields: Any) -> Plan:
    request = PlanRequest(project_root=str(opened.root), task=TASK, **{"token_budget": 1500, **fields})
    return plan_for(opened, Measured(), request, style=style, by="test")


def test_a_learning_about_the_task_is_in_the_pack_under_its_own_heading(
    opened: OpenedProject, store: LearningStore
) -> None:
    """It says where it is from and that it is to be verified; what is about something else stays out."""
    desk = LearningService(store, "cli")
    desk.add(REFRESH, feature="auth", reason="seen", iteration=7)
    other = desk.add(CACHE, feature="images", reason="seen")
    made = planned(opened)
    assert f"## Learnings\n{FRAME}\n\n- (reviewed; auth #7, " in made.pack.text
    assert REFRESH in made.pack.text
    assert CACHE not in made.pack.text
    dropped = made.response.dropped_candidates
    assert DroppedCandidate(other.id, "it is not about this task") in dropped


@pytest.mark.parametrize("style", ["text", "markdown", "xml"])
def test_the_budget_is_hard_and_the_bytes_are_the_same(
    opened: OpenedProject, store: LearningStore, style: str
) -> None:
    """The same state and request give the same text, within the budget, though the plan is remembered."""
    desk = LearningService(store, "cli")
    for number in range(12):
        desk.add(f"{REFRESH} in case {number} of `flow_{number}`", feature=f"f{number}", reason="seen")
    first, second = planned(opened, style, token_budget=400), planned(opened, style, token_budget=400)
    assert first.pack.text == second.pack.text
    assert first.pack.report.estimated_used <= 400
    assert first.learnings


def test_without_learnings_plans_and_state_are_as_they_were(
    opened: OpenedProject, store: LearningStore
) -> None:
    """A project that learned nothing has no trace of learnings, and one that retired all has none either."""
    planned(opened)  # which indexes the project
    before = planned(opened)
    assert "Learnings" not in before.pack.text
    desk = LearningService(store, "cli")
    learning = desk.add(REFRESH, feature="auth", reason="seen")
    desk.retire([learning.id])
    after = planned(opened)
    assert before.pack.text == after.pack.text
    assert structs.replace(before.response, timing={}) == structs.replace(after.response, timing={})
    assert "injected" not in store.journal.streams()


def test_what_nobody_reviewed_says_so_and_comes_after(opened: OpenedProject, store: LearningStore) -> None:
    """Quarantine shows, and reviewed learnings have the first claim."""
    desk = LearningService(store, "cli")
    desk.add(
        "The 401 of the session comes from a clock skew of `jwt` tokens",
        feature="auth",
        reason="seen",
        source=LearningSource.AGENT,
    )
    desk.add(REFRESH, feature="auth", reason="seen")
    text = planned(opened).pack.text
    assert text.index("(reviewed;") < text.index("(unreviewed;")


def test_what_is_of_another_task_stays_out_until_it_is_named(
    opened: OpenedProject, store: LearningStore
) -> None:
    """A learning of a task is given to that task alone."""
    desk = LearningService(store, "cli")
    desk.add(REFRESH, feature="auth", reason="seen", task_id="42")
    assert not planned(opened).learnings
    assert planned(opened, task_id="42").learnings
    assert not planned(opened, feature="payments", task_id="42").learnings


def test_a_plan_is_remembered_as_told(opened: OpenedProject, store: LearningStore) -> None:
    """What a pack gave is an echo from then on; planning again adds no entry."""
    LearningService(store, "cli").add(REFRESH, feature="auth", reason="seen")
    planned(opened)
    size = store.journal.size("injected")
    planned(opened)
    assert is_echo(REFRESH, read_injections(store.journal).prints)
    assert size == store.journal.size("injected") > 0


def test_learnings_are_pinned_and_excluded_by_id(opened: OpenedProject, store: LearningStore) -> None:
    """A pinned learning is in though it is about something else, an excluded one is out; each says so."""
    desk = LearningService(store, "cli")
    about = desk.add(REFRESH, feature="auth", reason="seen")
    other = desk.add(CACHE, feature="images", reason="seen")
    made = planned(opened, pinned=(other.id,), excluded=(about.id[:12],))
    assert CACHE in made.pack.text
    assert REFRESH not in made.pack.text
    dropped = made.response.dropped_candidates
    assert [one for one in dropped if one.file == about.id] == [DroppedCandidate(about.id, "excluded by you")]
    assert any("pinned by you" in passage.why for passage in made.pack.passages if passage.id == other.id)


def test_a_preview_gives_nobody_anything(opened: OpenedProject, store: LearningStore) -> None:
    """What was only looked at is not noted as given."""
    LearningService(store, "cli").add(REFRESH, feature="auth", reason="seen", iteration=7)
    before = store.journal.revision("injected")
    request = PlanRequest(project_root=str(opened.root), task=TASK, token_budget=1500)
    made = preview_for(opened, Measured(), request, style="markdown")
    assert made.learnings
    assert not read_injections(store.journal).prints
    assert store.journal.revision("injected") == before
