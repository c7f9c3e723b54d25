"""How the rules look at all sizes: rules with fixed ids and times, shown by the real screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.rules import rule_list_screen
from screens.rules.rule_service import SyncedRules
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_every_size
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.records.rules import Authority, Category, Level, Provenance, Rule
from workbench.rules.curation.ruletype import to_body

TEXTS = (
    "Amounts of money are integers of cents; never use floats for them.",
    "SQL takes its values as parameters; never build it from strings.",
    "Run `make test` before each commit and fix what it finds.",
    "Never log card numbers, tokens or bodies of webhooks.",
    "Use [/] and list[int] = x[0] verbatim, 🎉 included.",
    "Names of tests say what holds, as a sentence.",
)


def _rules() -> tuple[Rule, ...]:
    """Return rules of all kinds with ids and times that stay the same."""
    return tuple(
        Rule(
            id=f"rule-{number:08}{'ab' * 6}",
            name=text.partition(" ")[0],
            rule=text,
            category=tuple(Category)[number % 3],
            authority=Authority.ABSOLUTE if number % 3 == 1 else Authority.DEFAULT,
            level=tuple(Level)[number % 3],
            scope=("path:src/**/*.py",) if number % 2 else (),
            project_id="shop",
            priority=30 + 10 * number,
            token_cost=9 + number,
            usage_count=number * 7,
            last_used="2026-11-03T10:00:00Z" if number else None,
            tags=("language:python", "workflow:test")[: number % 3],
            enabled=number != 3,
            examples=("refund order 4711",) if number == 0 else (),
            created_at="2026-10-01T09:00:00+00:00",
            updated_at="2026-10-02T09:00:00+00:00",
            provenance=Provenance(
                ("CLAUDE.md", ".cursor/rules/web.mdc")[number % 2], number + 3, number + 3, "claude"
            ),
        )
        for number, text in enumerate(TEXTS)
    )


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have these rules in the journal of the project, and their files not looked at."""
    monkeypatch.setattr("store.project_state.project_id", lambda root: "shop")
    bodies = [to_body(rule) for rule in _rules()]
    open_workspace(tmp_path, Config()).journal.append("rules", "rule.put", bodies, by="test")
    found = SyncedRules(len(TEXTS), files=2, off=1, pending=1)
    monkeypatch.setattr(rule_list_screen, "sync_files", lambda engine, job: found)


@asynccontextmanager
async def _shown(root: Path, *keys: str) -> AsyncIterator[Pilot[int]]:
    app = WorkbenchApp(root, watch=False, section="rules")
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        yield pilot


async def test_the_list_looks_as_it_should(tmp_path: Path) -> None:
    """List and rule side by side or stacked; marks, states and the cursor show without colour."""
    async with _shown(tmp_path, "j", "space", "k") as pilot:
        await check_every_size(pilot, "rules")


async def test_the_form_looks_as_it_should(tmp_path: Path) -> None:
    """The form fits every size and scrolls; what is wrong would show above the keys."""
    async with _shown(tmp_path, "e") as pilot:
        await check_every_size(pilot, "rules-edit")


async def test_a_filter_and_its_values_look_as_they_should(tmp_path: Path) -> None:
    """The counts of values over a filtered list."""
    async with _shown(tmp_path, "f") as pilot:
        await check_every_size(pilot, "rules-facets")


async def test_removing_looks_as_it_should(tmp_path: Path) -> None:
    """The question names the rules, and no has the focus."""
    async with _shown(tmp_path, "*", "d") as pilot:
        await check_every_size(pilot, "rules-remove")
