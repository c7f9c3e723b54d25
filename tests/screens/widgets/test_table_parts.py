"""Columns, cells, marks and rows of a table: arithmetic over cells of the terminal."""

from __future__ import annotations

from array import array
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content
from textual.style import Style

from screens.safe_text import safe
from screens.widgets.row_marks import RowMarks
from screens.widgets.table_rows import (
    GAP,
    Column,
    ListRows,
    NoRows,
    cell,
    column_at,
    find_row,
    fit,
    header_strip,
    place_columns,
    row_strip,
)

COLUMNS = st.lists(
    st.builds(
        Column,
        id=st.uuids().map(str),
        title=st.text(max_size=5),
        width=st.none() | st.integers(1, 30),
        priority=st.integers(0, 3),
        share=st.integers(1, 4),
        least=st.integers(1, 12),
    ),
    max_size=8,
)
WIDE = st.text(alphabet=st.sampled_from("ab漢字é\u0301👩\u200d🚀 …[]"), max_size=30)


@given(columns=COLUMNS, width=st.integers(-2, 120))
def test_columns_fit_and_share_what_is_left(columns: list[Column], width: int) -> None:
    """Columns that are shown do not overlap nor reach beyond the width; sharing ones leave nothing over."""
    placed = place_columns(columns, width)
    assert bool(placed) == (width > 0 and bool(columns))
    assert [each.number for each in placed] == sorted(each.number for each in placed)
    for left, right in pairwise(placed):
        assert left.x + left.width + GAP == right.x
    if placed:
        end = placed[-1].x + placed[-1].width
        assert end <= width
        if any(each.column.width is None for each in placed):
            assert end == width


@given(columns=COLUMNS, width=st.integers(1, 120))
def test_the_least_important_columns_vanish(columns: list[Column], width: int) -> None:
    """No column is shown while a more important one is left out."""
    kept = {each.number for each in place_columns(columns, width)}
    gone = [column.priority for number, column in enumerate(columns) if number not in kept]
    left = [columns[number].priority for number in kept]
    assert not gone or min(left) >= max(gone)


def test_a_click_finds_its_column() -> None:
    """Each cell of the header belongs to one column, the gap to the one before it."""
    placed = place_columns([Column("a", "A", "About it.", 3), Column("b", "B", "About it.", 2)], 20)
    found = [column_at(placed, x) for x in range(8)]
    assert [each.id if each else "" for each in found] == ["a", "a", "a", "a", "b", "b", "b", ""]


@given(text=WIDE, width=st.integers(1, 20), right=st.booleans(), pan=st.integers(0, 40))
def test_a_cell_has_exactly_its_width(text: str, width: int, right: bool, pan: int) -> None:
    """However wide its characters are, a cell fills its cells and no more."""
    assert fit(safe(text), width, right=right, pan=pan).cell_length == width


def test_cut_text_ends_and_begins_with_an_ellipsis() -> None:
    """What is missing shows on its side; wide characters are not halved."""
    assert fit(Content("abcdef"), 4).plain == "abc…"
    assert fit(Content("漢字漢字"), 4).plain == "漢 …"
    assert fit(Content("abcdef"), 4, pan=2).plain == "…def"
    assert fit(Content("abcdef"), 3, pan=1).plain == "…c…"
    assert fit(Content("ab"), 4, right=True).plain == "  ab"
    assert fit(Content("ab"), 4, pan=8).plain == "…   "


def test_cells_are_one_line_of_data() -> None:
    """Strings are never markup, and line ends of contents show; styles stay in place."""
    assert cell("[b]x[/b]\n").plain == "[b]x[/b]␊"
    content = cell(Content.styled("a\nb", "bold"))
    assert (content.plain, len(content.spans)) == ("a␊b", 1)
    assert cell("x" * 1_000_000).cell_length < 1_100


@given(texts=st.lists(WIDE, max_size=3), width=st.integers(4, 60), pan=st.integers(0, 9))
def test_a_row_has_exactly_the_width(texts: list[str], width: int, pan: int) -> None:
    """A strip fills the line whatever its cells hold, missing cells included."""
    placed = place_columns(
        [
            Column("a", "A", "About it.", 5),
            Column("b", "B", "About it."),
            Column("c", "C", "About it.", 3, align="right"),
        ],
        width - 3,
    )
    style = Style()
    strip = row_strip(
        [cell(text) for text in texts],
        placed,
        gutter="❯●",
        width=width,
        pan=pan,
        styles=(style, style),
        parse=lambda given: given if isinstance(given, Style) else Style(),
    )
    assert strip.cell_length == width
    assert strip.text.startswith("❯●")


def test_the_header_shows_what_it_is_sorted_by() -> None:
    """The sign is there even where the title is cut; a note takes the right end."""
    placed = place_columns([Column("a", "Priority", "About it.", 5), Column("b", "漢", "About it.", 2)], 20)

    def text(sort: tuple[str, bool] | None, note: str = "") -> str:
        return header_strip(placed, sort, gutter="", note=note, width=16, style=Style()).text

    assert text(None) == "   Prio… 漢     "
    assert text(("a", False)) == "   Pr… ▲ 漢     "
    assert text(("b", True)) == "   Prio…  ▼     "
    assert text(None, "Loading 1 of 9") == "  … Loading 1 o…"


@given(moves=st.lists(st.integers(0, 9), min_size=1), marked=st.sets(st.integers(0, 9)), keep=st.booleans())
def test_a_range_is_what_lies_between(moves: list[int], marked: set[int], keep: bool) -> None:
    """Wherever the cursor went, marked are the rows before it and those from the anchor to the cursor."""
    marks = RowMarks()
    marks.keys = {str(each) for each in marked}
    drawn = marks.start(moves[0])
    passed = [marks.stretch(index) for index in moves]
    for first, last in passed:  # in whatever order their keys come: the range is where it is by then
        marks.fill(drawn, first, [str(each) for each in range(first, last + 1)])
    between = set(range(min(moves[0], moves[-1]), max(moves[0], moves[-1]) + 1))
    assert marks.keys == {str(each) for each in marked | between}
    marks.stop(keep=keep)
    assert marks.keys == {str(each) for each in (marked | between if keep else marked)}
    marks.fill(drawn, moves[-1], [str(moves[-1])])  # a key that comes late changes nothing any more
    assert marks.keys == {str(each) for each in (marked | between if keep else marked)}
    assert not marks.drawing


def test_rows_of_a_list_follow_an_order() -> None:
    """An order picks and sorts things; a key is found where the row is now."""
    rows = ListRows(["b", "a", "c"], key=str.upper, cells=lambda thing: [thing], order=array("I", [1, 2]))
    assert (len(rows), rows.cells(0), rows.key(1), rows.thing(1)) == (2, ["a"], "C", "c")
    assert [find_row(rows, key, 0) for key in ("A", "C", "B")] == [0, 1, None]
    assert find_row(NoRows(), "A", 0) is None


def test_rows_that_can_find_are_asked() -> None:
    """A table does not go through all rows where they know better."""

    class Known(ListRows[str]):
        def key(self, index: int) -> str:
            assert index == 0, "only the row nearby is looked at"
            return super().key(index)

        def find(self, key: str) -> int | None:
            return {"z": 25}.get(key)

    rows = Known("abcdefghijklmnopqrstuvwxyz", key=str, cells=lambda thing: [thing])
    assert (find_row(rows, "z", 0), find_row(rows, "?", 0)) == (25, None)
