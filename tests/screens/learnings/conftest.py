"""The sample project with learnings of every kind, and an app on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from screens.app import WorkbenchApp
from screens.learnings.screen import LearningsScreen
from tests.screens.conftest import press, settle
from workbench.config_layers import load
from workbench.curation.steps import draft_addition
from workbench.curation.store import record
from workbench.entry.project import open_workspace
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery
from workbench.memory.learnings.learningstore import LOCK, LearningStore, store_of
from workbench.memory.learnings.service import LearningService
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource

HOSTILE = "The value [/] of list[int] = x[0] is \x1b[31mred\x1b[0m, \x00 and \u202eslort and 🎉 in `a.py`"
DialogT = TypeVar("DialogT", bound=Screen[Any])


def store_at(root: Path) -> LearningStore:
    """Return the store of learnings of a project, as any process opens it."""
    return store_of(open_workspace(root, load(project=root).config).workspace.rule_store())


def take_in(store: LearningStore, *learnings: FeatureLearning) -> list[FeatureLearning]:
    """Put learnings into the journals as an ingest does; return them with their ids."""
    made = []
    with store.lock(LOCK):
        for one in learnings:
            drafts = draft_addition(store.ledger(), one, reason=one.reason, now=store.moment())
            record(store, drafts.entries, by="auto:ingest")
            made.append(drafts.records[0])
    return made


def auto(text: str, feature: str = "auth", **more: Any) -> FeatureLearning:
    """Return a learning as extraction finds it, of a session some days ago."""
    one = FeatureLearning.auto_extracted(text, 7, reason="the test run failed until it was done")
    values = {"feature": feature, "timestamp": "2026-11-11T08:00:00+00:00", "session_id": "s-1", **more}
    return replace(one, **values)


@dataclass(frozen=True, slots=True)
class Made:
    """The learnings of the sample by what is special about them."""

    store: LearningStore
    desk: LearningService
    plain: FeatureLearning
    agent: FeatureLearning
    human: FeatureLearning
    conflicting: FeatureLearning
    repeating: FeatureLearning
    stale: FeatureLearning
    hostile: FeatureLearning


@pytest.fixture
def made(roastery: Path) -> Made:
    """Return the sample project's learnings: a conflict, a repetition, a stale one hostile."""
    store = store_at(roastery)
    desk = LearningService(store, "cli")
    human = desk.add(
        "Always run `make migrate` before the integration tests",
        feature="auth",
        reason="the tables were missing",
    )
    agent = desk.add(
        "The staging API has no route `/v2/orders`",
        feature="orders",
        reason="404 was seen twice",
        source=LearningSource.AGENT,
        session_id="s-agent",
        files=("src/orders/api.py",),
    )
    project = {"project_id": store.project_id}
    old = {"timestamp": "2025-01-02T08:00:00+00:00"}
    plain, conflicting, repeating, stale, hostile = take_in(
        store,
        auto("`pytest` needs `PYTHONPATH=src` in the folder `beans`", kind=LearningKind.COMMAND, **project),
        auto(
            "Never run `make migrate` before the integration tests",
            evidence="error: relation exists",
            timestamp="2026-11-12T08:00:00+00:00",
            **project,
        ),
        auto(
            "`pytest` needs `PYTHONPATH=src` in folder `beans`",
            session_id="s-2",
            timestamp="2026-11-13T08:00:00+00:00",
            **project,
        ),
        auto("The cache in `var/roast` is keyed by the lot number", "cache", **project, **old),
        auto(HOSTILE, "hostile", timestamp="2026-11-14T08:00:00+00:00", **project),
    )
    return Made(store, desk, plain, agent, human, conflicting, repeating, stale, hostile)


@dataclass
class Opened:
    """An app on the learnings, and how it is driven."""

    app: WorkbenchApp
    pilot: Pilot[Any]

    @property
    def screen(self) -> LearningsScreen:
        """The section, below any dialog."""
        return next(one for one in self.app.screen_stack if isinstance(one, LearningsScreen))

    @property
    def shown(self) -> list[str]:
        rows = self.screen.table.rows
        return [rows.key(index) for index in range(len(rows))]

    @property
    def waiting(self) -> dict[str, str]:
        """Why each learning waits, by id, as the tables say."""
        table = self.app.engine.lists().learning_list
        page = table.page(ListQuery(Filter((Facet("waits", ("yes",)),))), limit=1_000)
        return {row.learning.id: row.why for row in page.rows}

    @property
    def pair_id(self) -> str:
        """The id of the conflict that the learning under the cursor is in."""
        item = self.screen.item
        assert item is not None
        assert item.conflict is not None
        return item.conflict.id

    @property
    def commands(self) -> list[str]:
        """The command lines of the log, the first one first."""
        return [action.command for action in self.app.log_of_actions.actions]

    @property
    def told(self) -> str:
        """What all toasts say."""
        return "\n".join(note.message for note in self.app._notifications)

    def dialog(self, kind: type[DialogT]) -> DialogT:
        assert isinstance(self.app.screen, kind)
        return self.app.screen

    def go(self, one: FeatureLearning) -> None:
        assert self.screen.table.select_key(one.id)

    async def press(self, *keys: str) -> None:
        """Press keys one by one, each when what the last one led to is over."""
        await press(self.pilot, *keys)

    async def settle(self) -> None:
        """Wait until everything asked for is there."""
        await settle(self.pilot)


Open = Callable[..., AbstractAsyncContextManager[Opened]]


@pytest.fixture
def opened(roastery: Path) -> Open:
    """Return what opens the app on the learnings of the sample project."""

    @asynccontextmanager
    async def open_app(
        size: tuple[int, int] = (120, 40), section: str = "learnings", **given: Any
    ) -> AsyncIterator[Opened]:
        app = WorkbenchApp(roastery, watch=False, section=section, **given)
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            yield Opened(app, pilot)

    return open_app
