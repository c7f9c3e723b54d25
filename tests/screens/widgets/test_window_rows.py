"""Rows that come by windows: what is asked for and when, and a table that never waits for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from textual.app import App, ComposeResult

from screens.widgets.table import Column, VirtualTable
from screens.widgets.window_rows import MOST_HELD, PLACEHOLDER, SIZE, WindowRows, place_of, window_around
from tests.screens.golden import screen_text

MANY = 100_000


class Shelf:
    """Rows `r0`, `r1` … that are handed over when the test says so; those in `gone` are gone."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.gone: set[int] = set()
        self._waiting: list[tuple[Sequence[int], Callable[..., None], Callable[[], None]]] = []

    def fetch(
        self,
        numbers: Sequence[int],
        found: Callable[[Mapping[int, str]], None],
        failed: Callable[[], None],
    ) -> None:
        self.asked.append(list(numbers))
        self._waiting.append((numbers, found, failed))

    def answer(self) -> bool:
        """Hand over what was asked for first; whether anything was."""
        if not self._waiting:
            return False
        numbers, found, _ = self._waiting.pop(0)
        found({number: f"r{number}" for number in numbers if number not in self.gone})
        return True

    def refuse(self) -> None:
        """Answer the first question with a failure."""
        self._waiting.pop(0)[2]()

    def rows(self, count: int = MANY, held: Sequence[int] = ()) -> WindowRows[str]:
        """Return rows in the order of their numbers, last first."""
        numbers = np.arange(count, dtype=np.int64)[::-1]
        there = {number: f"r{number}" for number in held}
        return WindowRows(numbers, self.fetch, key=str, cells=lambda row: (row,), held=there)


class Listed(App[None]):
    """A table over such rows."""

    def __init__(self, rows: WindowRows[str]) -> None:
        super().__init__()
        self.rows = rows
        self.told: list[tuple[int, str | None]] = []

    def compose(self) -> ComposeResult:
        yield VirtualTable((Column("text", "Text", "About it."),), id="list")

    def on_mount(self) -> None:
        self.query_one(VirtualTable).set_rows(self.rows)

    def on_virtual_table_highlighted(self, event: VirtualTable.Highlighted) -> None:
        """Note what is under the cursor."""
        self.told.append((event.index, event.key))


def test_what_is_not_there_is_asked_for_once_with_its_window() -> None:
    """Until it comes the row has no key and a placeholder; then its neighbours are there, too."""
    shelf = Shelf()
    rows = shelf.rows()
    assert [rows.key(index) for index in (0, 1, SIZE - 1)] == ["", "", ""]
    assert rows.cells(0) is PLACEHOLDER
    assert shelf.asked == [list(range(MANY - 1, MANY - 1 - SIZE, -1))]
    shelf.answer()
    assert (rows.key(0), rows.cells(SIZE - 1)) == (f"r{MANY - 1}", (f"r{MANY - SIZE}",))
    assert rows.find(f"r{MANY - 3}") == 2
    assert rows.find("r7") is None
    assert len(shelf.asked) == 1


def test_one_question_at_a_time_about_where_the_cursor_is_by_then() -> None:
    """A key held down passes over rows: what was wanted on the way is not asked for."""
    shelf = Shelf()
    rows = shelf.rows()
    for index in range(0, 50 * SIZE, SIZE):
        rows.expect(index, SIZE)
    assert len(shelf.asked) == 1
    shelf.answer()
    assert len(shelf.asked) == 2
    first, last = MANY - 1 - shelf.asked[1][0], MANY - 1 - shelf.asked[1][-1]
    assert {first // SIZE, last // SIZE} <= set(range(48, 52))
    assert any(MANY - 1 - number > 50 * SIZE for number in shelf.asked[1])  # ahead of it
    while shelf.answer():
        pass
    assert rows.key(49 * SIZE) == f"r{MANY - 1 - 49 * SIZE}"


def test_a_refused_question_is_asked_again_when_the_rows_are_looked_at() -> None:
    """Nothing stays waiting for an answer that will not come."""
    shelf = Shelf()
    rows = shelf.rows()
    assert rows.key(0) == ""
    shelf.refuse()
    assert rows.key(0) == ""
    assert len(shelf.asked) == 2
    shelf.answer()
    assert rows.key(0) == f"r{MANY - 1}"


def test_rows_that_are_gone_are_not_asked_for_again() -> None:
    """They keep their place, without a key, until there is another order."""
    shelf = Shelf()
    shelf.gone = {MANY - 1}
    rows = shelf.rows()
    assert rows.key(0) == ""
    shelf.answer()
    assert (rows.key(0), rows.key(1)) == ("", f"r{MANY - 2}")
    assert len(shelf.asked) == 1


def test_no_more_is_held_than_was_looked_at_last() -> None:
    """Scrolling through everything keeps some thousands of rows."""
    shelf = Shelf()
    rows = shelf.rows()
    for index in range(0, MANY, SIZE):
        assert rows.key(index) == ""
        shelf.answer()
    asked = sum(map(len, shelf.asked))
    assert asked == MANY
    assert rows.key(0) == ""  # let go of
    assert [rows.key(index) != "" for index in (MANY - 1, MANY - MOST_HELD + SIZE)] == [True, True]


def test_rows_of_some_records_are_left_out() -> None:
    """The others keep their order, some go to the end, and none need be fetched again."""
    shelf = Shelf()
    before = shelf.rows(5, held=range(5))
    rows = before.without([3, 0, 9], put_last=[4, 7])
    assert [rows.key(index) for index in range(len(rows))] == ["r2", "r1", "r4"]
    assert [rows.count_missing(before.numbers[:place]) for place in (1, 2, 5)] == [0, 1, 2]
    assert shelf.asked == []


def test_places_are_those_of_the_order() -> None:
    """A number that is not in it has none; the rows to hold are those around a place."""
    numbers = np.array([5, 3, 9], dtype=np.int64)
    assert [place_of(numbers, number) for number in (9, 5, 4)] == [2, 0, None]
    many = np.arange(MANY, dtype=np.int64)
    around = window_around(many, 1_000)
    assert around[0] < 1_000 < around[-1]
    assert len(around) < 2 * SIZE
    assert window_around(many, 0)[0] == 0
    assert window_around(numbers[:0], 0) == []


async def test_a_table_moves_on_while_rows_are_on_their_way() -> None:
    """Keys move the cursor at once; what is under it is posted again with its key when it is there."""
    shelf = Shelf()
    async with (app := Listed(shelf.rows())).run_test(size=(40, 12)) as pilot:
        table = app.query_one(VirtualTable)
        await pilot.press("down", "down", "G")
        await pilot.pause()
        assert (table.cursor, table.cursor_key) == (MANY - 1, None)
        assert app.told.pop() == (MANY - 1, None)
        assert "…" in screen_text(app)
        while shelf.answer():
            await pilot.pause()
        assert app.told.pop() == (MANY - 1, "r0")
        assert "❯  r0" in screen_text(app)


async def test_rows_that_are_not_there_are_marked_when_they_come() -> None:
    """One by space, a range to the end by `v`, the others by `*`: no key is lost, and none waits."""
    shelf = Shelf()
    async with (app := Listed(shelf.rows(10_000))).run_test(size=(40, 12)) as pilot:
        table = app.query_one(VirtualTable)

        async def settle() -> frozenset[str]:
            while shelf.answer():
                await pilot.pause()
            return table.marks

        await pilot.press("space", "G", "v", "k", "k", "v")
        assert await settle() == {"r9999", "r0", "r1", "r2"}
        await pilot.press("escape", "g", "v", "G", "escape")
        assert await settle() == frozenset()
        await pilot.press("g", "space", "*")
        marks = await settle()
        assert len(marks) == 9_999
        assert "r9999" not in marks


async def test_a_place_is_kept_for_the_cursor() -> None:
    """Other rows put it where its row is now, as far down the view as it was."""
    shelf = Shelf()
    async with (app := Listed(shelf.rows())).run_test(size=(40, 12)) as pilot:
        table = app.query_one(VirtualTable)
        table.cursor = 5_000
        await pilot.press("up", "up")
        offset = table.cursor - table.scroll_offset.y
        table.set_rows(shelf.rows(200), place=150)
        await pilot.pause()
        assert (table.cursor, table.cursor - table.scroll_offset.y) == (150, offset)


def test_types_of_rows_are_the_callers() -> None:
    """Keys and cells are made by what the list was given."""

    def fetch(numbers: Sequence[int], found: Callable[[Any], None], failed: Callable[[], None]) -> None:
        found({number: (number, "text") for number in numbers})

    rows = WindowRows(
        np.array([4], dtype=np.int64), fetch, key=lambda row: f"k{row[0]}", cells=lambda row: (row[1],)
    )
    assert rows.row(0) == (4, "text")
    assert (rows.key(0), rows.cells(0)) == ("k4", ("text",))
