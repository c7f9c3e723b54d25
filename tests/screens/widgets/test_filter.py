"""The filter bar: typed, applied, remembered, wrong, cleared."""

from __future__ import annotations

from typing import Any

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding

from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from tests.screens.golden import SIZES, check_golden, screen_text
from workbench.lists.filters import Facet, Field, Words

FIELDS = (Field("tag"), Field("level", choices=("global", "step")))


class Lists(App[None]):
    """An app of a table and a filter bar."""

    BINDINGS = [Binding("slash", "filter", "Filter")]  # noqa: RUF012

    def __init__(self, wait: float = 0) -> None:
        super().__init__()
        self.table = VirtualTable([Column("a", "Name", "About it.")])
        self.bar = FilterBar(FIELDS, wait=wait, history=["older"])
        self.told: list[tuple[Any, ...]] = []

    def compose(self) -> ComposeResult:
        yield self.table
        yield self.bar

    def action_filter(self) -> None:
        self.bar.open()

    @on(FilterBar.Changed)
    def changed(self, event: FilterBar.Changed) -> None:
        self.told.append((event.text, event.query.terms, len(event.query.problems)))
        event.bar.show_count(1234, 100_000)

    @on(FilterBar.Left)
    def left(self) -> None:
        self.told.append(("left",))


def bar_line(app: App[Any]) -> str:
    return screen_text(app).splitlines()[-1]


async def test_the_bar_opens_applies_live_and_keeps() -> None:
    """It is hidden until opened; each change is told; enter keeps it and gives the focus back."""
    async with (app := Lists()).run_test(size=(80, 24)) as pilot:
        assert "/ " not in bar_line(app)
        await pilot.press("slash", "a", "b")
        await pilot.pause()
        assert app.told == [("a", (Words("a"),), 0), ("ab", (Words("ab"),), 0)]
        assert bar_line(app).startswith("/ ab")
        assert bar_line(app).endswith("1,234 of 100,000")
        await pilot.press("enter")
        assert app.focused is app.table
        assert app.told[2:] == [("left",)]
        assert app.bar.display
        assert app.bar.history == ("older", "ab")


async def test_escape_clears_and_gives_the_focus_back() -> None:
    """The filter is gone, the bar hidden, the list has the focus, and all is told once."""
    async with (app := Lists()).run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "x", "escape")
        await pilot.pause()
        assert app.told[1:] == [("", (), 0), ("left",)]
        assert (app.bar.display, app.focused is app.table, app.bar.text) == (False, True, "")


async def test_typing_is_applied_after_a_moment_or_at_once_by_enter() -> None:
    """While the bar waits nothing is told; enter does not wait."""
    async with (app := Lists(wait=3600)).run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "x", "y")
        await pilot.pause()
        assert app.told == []
        await pilot.press("enter")
        await pilot.pause()
        assert app.told == [("xy", (Words("xy"),), 0), ("left",)]


async def test_a_moment_without_typing_applies_the_filter() -> None:
    """The last text is told once, not each on the way."""
    async with (app := Lists(wait=0.001)).run_test(size=(80, 24)) as pilot:
        app.bar.open()
        app.bar.field.value = "ab"
        while not app.told:
            await pilot.pause()
        assert app.told == [("ab", (Words("ab"),), 0)]


async def test_the_history_is_gone_through_and_what_was_typed_comes_back() -> None:
    """Up shows older filters, down newer ones and at last the text that was there."""
    async with (app := Lists()).run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "n", "e", "w", "enter", "slash", "1")
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(app.bar.text)
        assert seen == ["new", "older", "older", "new", "new1", "new1"]


async def test_what_is_wrong_is_told_with_its_place_and_a_sign() -> None:
    """The rest of the filter holds; markup in it is text; the count comes back when it is right."""
    async with (app := Lists()).run_test(size=(80, 24)) as pilot:
        app.bar.set_text("tag:x level:[/]")
        await pilot.pause()
        assert app.told == [("tag:x level:[/]", (Facet("tag", ("x",)),), 1)]
        assert bar_line(app).rstrip().endswith("✗ 7: level: '[/]' is not one of global, step")
        app.bar.set_text("tag:x")
        await pilot.pause()
        assert bar_line(app).rstrip().endswith("1,234 of 100,000 · esc clears")


@pytest.mark.parametrize("size", SIZES)
async def test_goldens(size: tuple[int, int]) -> None:
    """At every size the bar looks as it was approved."""
    app = Lists()
    async with app.run_test(size=size) as pilot:
        await pilot.press("slash")
        app.bar.set_text("token level:no zzz:1 and so on and so forth")
        await pilot.pause()
        check_golden(app, "filter")
