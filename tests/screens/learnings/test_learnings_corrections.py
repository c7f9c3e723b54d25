"""What was said of how things are done is shown with its quotes, and becomes a rule in the app."""

from __future__ import annotations

from typing import Any

from screens.curation.record_form import RecordForm
from screens.learnings.sources import CorrectionsView
from screens.widgets.table import VirtualTable
from tests.screens.golden import screen_text
from tests.screens.learnings.conftest import Made, Open, auto, take_in
from workbench.curation.store import record
from workbench.memory.learnings.corrections.report import (
    CorrectionStatus,
    draft_correction,
    report_corrections,
    texts_in_force,
)
from workbench.memory.learnings.learningstore import LOCK, LearningStore
from workbench.records.learnings import Correction, LearningKind

PASSING = "Do not squash the commits of a branch."
STANDING = "Always name a migration after what it adds."
HOSTILE = "Never print \x1b[31m[/] of `x[0]`."


def said(text: str, session: str, **more: Any) -> Correction:
    values = {"at": "2026-11-10T08:00:00Z", "key": text, "quote": f"please: {text}", "strength": "passing"}
    return Correction(text=text, session_id=session, prompt=2, feature="auth", **{**values, **more})


def tell(store: LearningStore, *tellings: Correction) -> None:
    with store.lock(LOCK):
        record(store, [draft_correction(one) for one in tellings], by="auto:ingest")


def statuses(store: LearningStore) -> dict[str, CorrectionStatus]:
    return {one.text: one.status for one in report_corrections(store.ledger(), texts_in_force(store))}


async def test_corrections_are_listed_and_become_rules(opened: Open, made: Made) -> None:
    """What is suggested comes first, with every quote; any is made a rule in the form."""
    store = made.store
    project = {"project_id": store.project_id, "kind": LearningKind.CORRECTION}
    (learning,) = take_in(store, auto(STANDING, **project))
    tell(
        store,
        said(PASSING, "aaaa1111"),
        said(HOSTILE, "cccc3333"),
        said(STANDING, "bbbb2222", strength="standing", learning_id=learning.id),
    )
    async with opened() as desk:
        await desk.press("w")
        view = desk.dialog(CorrectionsView)
        assert [one.status for one in view.entries] == [
            CorrectionStatus.SUGGESTED,
            CorrectionStatus.ONCE,
            CorrectionStatus.ONCE,
        ]
        shown = " ".join(screen_text(desk.app).split())
        assert "3, 1 suggested as rules" in shown
        assert f"session bbbb2222, prompt 2: “please: {STANDING}”" in shown
        await desk.press("P", "f2")
        assert statuses(store)[STANDING] is CorrectionStatus.RULE
        assert any(one.startswith(f"workbench memory promote {learning.id[:17]}") for one in desk.commands)
        await desk.press("w")
        table = desk.dialog(CorrectionsView).query_one(VirtualTable)
        assert table.select_key(PASSING)
        await desk.press("enter")
        desk.dialog(RecordForm)
        await desk.press("f2")
        assert statuses(store)[PASSING] is CorrectionStatus.RULE
        assert desk.commands[-1] == (
            f"workbench rules add '{PASSING}' --reason 'said in a prompt: please: {PASSING}'"
        )
        await desk.press("w", "end", "P")
        assert isinstance(desk.app.screen, CorrectionsView), "what is a rule already is left"
        await desk.press("escape")
        assert "workbench memory corrections" in desk.commands


async def test_where_nothing_was_said_the_list_says_so(opened: Open, made: Made) -> None:
    """An empty list names where corrections come from."""
    async with opened() as desk:
        await desk.press("w")
        assert "in prompts that were ingested" in screen_text(desk.app)
        await desk.press("P", "escape")
        assert not isinstance(desk.app.screen, CorrectionsView)
