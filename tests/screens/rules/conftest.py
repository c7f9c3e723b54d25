"""An app on the rules of the sample project, and somebody else who works on them meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.rules.screen import RulesScreen
from screens.widgets.filter import FilterBar
from tests.screens.conftest import press, settle
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator


@dataclass(slots=True)
class Desk:
    """The screen of rules in a running app."""

    app: WorkbenchApp
    pilot: Pilot[Any]
    screen: RulesScreen

    @property
    def shown(self) -> list[str]:
        rows = self.screen.table.rows
        return [rows.key(index) for index in range(len(rows))]

    @property
    def rules(self) -> tuple[Rule, ...]:
        book, _ = open_workspace(self.app.engine.root, Config()).workspace.sync_rules()
        return tuple(book.rules)

    def rule(self, identifier: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.id == identifier), None)

    @property
    def current(self) -> Rule:
        rule = self.screen.current
        assert rule is not None
        return rule

    @property
    def commands(self) -> list[str]:
        """The command lines of the log, the first one first."""
        return [action.command for action in self.app.log_of_actions.actions]

    @property
    def told(self) -> list[str]:
        """What toasts say, the newest last."""
        return [note.message for note in self.app._notifications]

    async def press(self, *keys: str) -> None:
        """Press keys one by one, each when what the last one led to is over."""
        await press(self.pilot, *keys)

    async def settle(self) -> None:
        """Wait until everything asked for is there."""
        await settle(self.pilot)

    async def filter(self, text: str) -> None:
        self.screen.query_one("#filter", FilterBar).set_text(text)
        await settle(self.pilot)

    async def go_to(self, rule: Rule) -> None:
        assert self.screen.table.select_key(rule.id)
        await settle(self.pilot)

    def dialog(self, kind: type[Any]) -> Any:
        assert isinstance(self.app.screen, kind), self.app.screen
        return self.app.screen


Opened = Callable[..., AbstractAsyncContextManager[Desk]]
Other = Callable[[], Curator]


@pytest.fixture
def opened(roastery: Path) -> Opened:
    """Return what opens the rules of the sample project: `async with opened(size=(80, 24)) as desk`."""

    @asynccontextmanager
    async def open_app(size: tuple[int, int] = (120, 40), **given: Any) -> AsyncIterator[Desk]:
        app = WorkbenchApp(roastery, watch=False, section="rules", **given)
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            screen = app.screen
            assert isinstance(screen, RulesScreen)
            yield Desk(app, pilot, screen)

    return open_app


@pytest.fixture
def other(roastery: Path) -> Callable[[], Curator]:
    """Return a maker of another process' desk for the same rules."""

    def make() -> Curator:
        workspace = open_workspace(roastery, Config()).workspace
        workspace.sync_rules()
        return Curator(workspace.rule_store(), "cli")

    return make
