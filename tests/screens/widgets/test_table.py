"""The virtual table through the pilot: what it asks for, tells, marks and shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input

from screens.safe_text import safe
from screens.widgets.table import Column, ListRows, VirtualTable
from tests.screens.golden import SIZES, check_golden, screen_text

COLUMNS = (
    Column("id", "Id", "About it.", 8, priority=9),
    Column("text", "Text", "About it.", priority=10),
    Column("priority", "Priority", "About it.", 8, align="right", priority=5),
    Column("tags", "Tags", "About it.", 16, priority=1),
)


class Counted:
    """Rows that remember which of them were asked for."""

    def __init__(self, count: int, text: str = "Never log a token: x[0] [/] 漢字") -> None:
        self.count, self.text = count, text
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.count

    def cells(self, index: int) -> Sequence[Content | str]:
        self.asked.append(index)
        return (f"r{index}", safe(self.text, "$text-error"), str(index % 101), "language:python")

    def key(self, index: int) -> str:
        return f"k{index}"


class Lists(App[None]):
    """An app of a table, and of a field to give the focus to."""

    BINDINGS = [("escape", "left", "Left"), ("right", "beyond", "Beyond")]  # noqa: RUF012

    def __init__(self, rows: Any = None) -> None:
        super().__init__()
        self.table = VirtualTable(COLUMNS, rows, empty="No rules yet.\nPress n to write one.")
        self.told: list[tuple[Any, ...]] = []

    def compose(self) -> ComposeResult:
        yield self.table
        yield Input()

    @on(VirtualTable.Highlighted)
    @on(VirtualTable.Opened)
    def moved(self, event: VirtualTable.Highlighted | VirtualTable.Opened) -> None:
        """Note where the cursor is or what was opened."""
        self.told.append((type(event).__name__, event.index, event.key))

    @on(VirtualTable.MarksChanged)
    def marked(self, event: VirtualTable.MarksChanged) -> None:
        """Note how many rows are marked."""
        assert event.count == event.table.mark_count
        self.told.append(("MarksChanged", *sorted(event.keys)))

    @on(VirtualTable.SortRequested)
    def sorting(self, event: VirtualTable.SortRequested) -> None:
        self.told.append(("SortRequested", event.column_id))

    def action_left(self) -> None:
        """Note that the key came through."""
        self.told.append(("left",))

    def action_beyond(self) -> None:
        """Note that the key came through."""
        self.told.append(("beyond",))


async def take(pilot: Pilot[None]) -> list[tuple[Any, ...]]:
    """Return what the table told since the last time."""
    await pilot.pause()
    app = pilot.app
    assert isinstance(app, Lists)
    told, app.told = app.told, []
    return told


@pytest.mark.parametrize("count", [100_000, 1_000_000])
async def test_only_rows_in_view_are_asked_for(count: int) -> None:
    """Opening, moving and marking ask for the cells of what is on the screen, each row once a view."""
    rows = Counted(count)
    async with (app := Lists(rows)).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        page = app.table.page
        assert sorted(rows.asked) == list(range(page))
        await pilot.press("G", "up")
        assert sorted(rows.asked) == [*range(page), *range(count - page, count)]
        await pilot.press("home")
        assert len(rows.asked) == 2 * page
        keys = (
            "k",
            "pageup",
            "g",
            "space",
            "ctrl+d",
            "v",
            "j",
            "escape",
            "escape",
            "G",
            "ctrl+u",
            "pagedown",
        )
        await pilot.press(*keys)
        app.table.set_rows(rows, keep=f"k{count // 2}")
        await pilot.press("j", "k", "space")
        assert len(rows.asked) <= page * (len(keys) + 6)


async def test_keys_move_the_cursor() -> None:
    """Arrows, vim's keys, pages, half pages and ends; never beyond the rows; always in view."""
    async with (app := Lists(Counted(200))).run_test(size=(80, 24)) as pilot:
        page = app.table.page
        for keys, wanted in (
            (("down", "j"), 2),
            (("up", "k", "k"), 0),
            (("pagedown",), page),
            (("ctrl+d",), page + page // 2),
            (("ctrl+u", "pageup"), 0),
            (("end",), 199),
            (("down",), 199),
            (("g",), 0),
            (("G",), 199),
        ):
            await pilot.press(*keys)
            assert app.table.cursor == wanted
            assert 0 <= app.table.cursor - app.table.scroll_offset.y < page
            assert f"❯  r{wanted} " in screen_text(app)


async def test_what_is_under_the_cursor_is_told_once() -> None:
    """Mounting, moving and opening are told with index and key; a key that moves nothing tells nothing."""
    async with (app := Lists(Counted(3))).run_test() as pilot:
        assert await take(pilot) == [("Highlighted", 0, "k0")]
        await pilot.press("up", "j", "enter")
        assert await take(pilot) == [("Highlighted", 1, "k1"), ("Opened", 1, "k1")]
        app.table.set_rows(ListRows([], key=str, cells=list))
        assert await take(pilot) == [("Highlighted", -1, None)]
        await pilot.press("enter", "space", "v", "j")
        assert [each for each in await take(pilot) if each[0] == "Opened"] == []
        assert list(app.table.chosen) == []


async def test_rows_are_marked_and_bulk_commands_take_them() -> None:
    """Space marks and goes on, `*` inverts, escape takes the marks off and then is the screen's."""
    async with (app := Lists(Counted(4))).run_test(size=(80, 24)) as pilot:
        assert list(app.table.chosen) == ["k0"]
        await pilot.press("space", "space")
        assert list(app.table.chosen) == ["k0", "k1"]
        assert [line[:3] for line in screen_text(app).splitlines()[1:5]] == [" ● ", " ● ", "❯  ", "   "]
        await pilot.press("*")
        assert app.table.marks == {"k2", "k3"}
        await take(pilot)
        await pilot.press("escape")
        assert await take(pilot) == [("MarksChanged",)]
        await pilot.press("escape", "*")
        assert await take(pilot) == [("left",), ("MarksChanged", "k0", "k1", "k2", "k3")]


async def test_a_range_follows_the_cursor() -> None:
    """`v` marks what the cursor moves over, until `v` keeps it or escape takes it back."""
    async with (app := Lists(Counted(9))).run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "v", "j", "j")
        assert app.table.marks == {"k1", "k2", "k3"}
        assert app.table.marking_range
        assert screen_text(app).startswith(" v ")
        await pilot.press("k", "v", "j")
        assert app.table.marks == {"k1", "k2"}
        await pilot.press("G", "v", "g")
        assert app.table.mark_count == 9
        await pilot.press("escape")
        assert app.table.marks == {"k1", "k2"}


async def test_cursor_and_marks_follow_their_rows() -> None:
    """Other rows keep the cursor on its key and in place in view, and the marks, hidden ones too."""
    things = [f"t{number}" for number in range(1000)]

    def rows(order: Sequence[int] | None = None) -> ListRows[str]:
        return ListRows(things, key=str, cells=lambda thing: [thing], order=order)

    async with (app := Lists(rows())).run_test(size=(80, 24)) as pilot:
        table = app.table
        table.set_marks(["t1", "t501"])
        assert table.select_key("t500")
        assert not table.select_key("no")
        await pilot.press("k", "k", "k", "j", "j", "j")
        offset = table.cursor - table.scroll_offset.y
        table.set_rows(rows(list(reversed(range(1000)))), keep="t500")
        await pilot.pause()
        assert (table.cursor, table.cursor_key) == (499, "t500")
        assert table.cursor - table.scroll_offset.y == offset
        table.set_rows(rows(range(600, 700)), keep="t500")
        await pilot.pause()
        assert (table.cursor, table.cursor_key) == (99, "t699")
        assert table.marks == {"t1", "t501"}
        table.keep_marks({"t1"})
        assert table.marks == {"t1"}
        table.set_rows(rows())
        await pilot.pause()
        assert (table.cursor, table.scroll_offset.y) == (0, 0)


async def test_a_mouse_does_what_keys_do() -> None:
    """A click moves, a double one opens, on the gutter marks, with shift marks up to it, on a title sorts."""
    async with (app := Lists(Counted(50))).run_test(size=(80, 24)) as pilot:
        await take(pilot)
        await pilot.click(app.table, offset=(20, 4))
        assert await take(pilot) == [("Highlighted", 3, "k3")]
        await pilot.click(app.table, offset=(20, 4), times=2)
        assert ("Opened", 3, "k3") in await take(pilot)
        await pilot.click(app.table, offset=(1, 6))
        assert app.table.marks == {"k5"}
        await pilot.click(app.table, offset=(20, 8), shift=True)
        assert app.table.marks == {"k5", "k6", "k7"}
        await pilot.click(app.table, offset=(20, 3), control=True)
        assert app.table.marks == {"k2", "k5", "k6", "k7"}
        await take(pilot)
        await pilot.click(app.table, offset=(4, 0))
        await pilot.click(app.table, offset=(0, 0))
        assert await take(pilot) == [("SortRequested", "id")]


async def test_long_text_moves_to_the_side_as_far_as_it_goes() -> None:
    """Keys move what shares the width, back to its start, and are the screen's where nothing is cut off."""
    async with (app := Lists(Counted(3, "0123456789" * 6))).run_test(size=(60, 20)) as pilot:
        await take(pilot)
        await pilot.press("l")
        assert "…9012345" in screen_text(app)
        await pilot.press("right", "l", "l", "l", "l", "l")
        assert "6789 " in screen_text(app)
        assert "r0 " in screen_text(app)
        await take(pilot)
        await pilot.press("right")
        assert await take(pilot) == [("beyond",)]
        await pilot.press(*["h"] * 8)
        assert (app.table.pan, "0123456789" in screen_text(app)) == (0, True)


async def test_less_room_drops_columns_and_keeps_the_cursor_in_view() -> None:
    """The least important columns vanish first; the cursor stays on the screen."""
    async with (app := Lists(Counted(500))).run_test(size=(120, 40)) as pilot:
        assert list(app.table.visible_columns) == ["id", "text", "priority", "tags"]
        await pilot.press("pagedown")
        for size, columns in (((40, 20), ["id", "text", "priority"]), ((24, 8), ["id", "text"])):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert list(app.table.visible_columns) == columns
            assert "❯" in screen_text(app)


async def test_changed_cells_are_asked_for_again() -> None:
    """What was drawn stays until the table is told that it changed."""
    rows = Counted(3, "old")
    async with (app := Lists(rows)).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        rows.text = "new"
        await pilot.press("j", "k")
        assert "new" not in screen_text(app)
        app.table.refresh_rows()
        await pilot.pause()
        assert "old" not in screen_text(app)


async def test_being_busy_and_being_empty_show() -> None:
    """Without rows the table says why; with rows a note in the header says what is going on."""
    async with (app := Lists()).run_test(size=(60, 20)) as pilot:
        assert screen_text(app).splitlines()[2:4] == ["  No rules yet.", "  Press n to write one."]
        app.table.busy = "Loading [/] rules"
        await pilot.pause()
        assert screen_text(app).splitlines()[2] == "  … Loading [/] rules"
        app.table.set_rows(Counted(3))
        await pilot.pause()
        assert screen_text(app).splitlines()[0].endswith("… Loading [/] rules")
        app.table.busy = ""
        app.table.set_rows(Counted(0))
        app.table.set_empty(safe("Nothing matches."))
        await pilot.pause()
        assert screen_text(app).splitlines()[2] == "  Nothing matches."


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light", "nord"])
@pytest.mark.parametrize("colours", [True, False])
async def test_states_differ_without_colours(
    theme: str, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursor, focus, marks and sorting have glyphs of their own in every theme and with NO_COLOR."""
    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    app = Lists(Counted(5))
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        app.table.sort = ("priority", True)
        await pilot.press("space")
        lines = screen_text(app).splitlines()
        assert ("▼" in lines[0], lines[1][:2], lines[2][:1], lines[3][:1]) == (True, " ●", "❯", " ")
        if theme.startswith("ansi"):
            styles = [segment.style for segment in app.table.render_line(2)]
            assert all(style is not None and style.reverse for style in styles)
        await pilot.press("tab")
        assert screen_text(app).splitlines()[2][:1] == "›"


@pytest.mark.parametrize("size", SIZES)
async def test_goldens(size: tuple[int, int]) -> None:
    """At every size the table looks as it was approved."""
    app = Lists(Counted(100_000))
    async with app.run_test(size=size) as pilot:
        app.table.sort = ("text", False)
        await pilot.press("space", "j", "v", "j", "v")
        check_golden(app, "table")


async def test_keys_can_be_remapped_by_id() -> None:
    """Every key of the table has an id that a keymap may give another key."""
    app = Lists(Counted(5))
    async with app.run_test() as pilot:
        bindings = [each for _, each in app.table._bindings]
        assert all((each.id or "").startswith("table.") and each.tooltip for each in bindings)
        app.set_keymap({"table.down": "n"})
        await pilot.press("n", "j")
        assert app.table.cursor == 1
