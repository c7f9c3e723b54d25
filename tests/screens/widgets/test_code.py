"""Reading code: lines keep their numbers, and neither size nor content stops the view."""

from __future__ import annotations

import pytest

from screens.widgets.code import MOST_CHARACTERS, CodeView, language_of, text_lines
from tests.screens.widgets.staging import HOSTILE, Stage, seen

PROGRAM = "def main() -> None:\n\treturn x[0]\n\n\nclass A:\n    pass\n"


def test_binary_files_are_told_not_shown() -> None:
    """Bytes with a NUL are a binary file; others are read as UTF-8, come what may."""
    assert text_lines(b"a\0bc") == ["binary file, 4 bytes"]
    assert text_lines(b"a\xff\nb") == ["a\ufffd", "b"]


def test_huge_texts_are_cut_and_say_so() -> None:
    """Beyond the limit only the number of characters is told."""
    assert text_lines("x\n" * (MOST_CHARACTERS // 2) + "abcde")[-1] == "…(+5 characters)"


@pytest.mark.parametrize(
    ("path", "language"),
    [("a/b.py", "python"), ("x.rs", "rust"), ("Makefile", "make"), ("x.qqq", ""), ("", "")],
)
def test_languages_are_known_by_name(path: str, language: str) -> None:
    """A file's name says its language; an unknown one has none."""
    assert language == language_of(path)


async def test_lines_have_numbers_marks_and_a_cursor() -> None:
    """Numbers begin where they are told to, marks have a glyph, both kinds of keys move the cursor."""
    app = Stage(lambda: CodeView(PROGRAM, path="a.py", first_line=10, marks=[(14, 15)]))
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.screen.query_one(CodeView)
        view.focus()
        await pilot.press("j", "down", "k")
        lines = [line.rstrip() for line in seen(app).splitlines()]
        assert lines[:6] == [
            "10  def main() -> None:",
            "11 >    return x[0]",
            "12",
            "13",
            "14▌ class A:",
            "15▌     pass",
        ]
        await pilot.press("n")
        assert view.cursor_line == 14
        await pilot.press("n", "G")
        assert view.cursor_line == 15
        await pilot.press("g", "N")
        assert view.cursor_line == 10


async def test_marks_between_the_ranges_of_an_excerpt_are_no_errors_of_its_language() -> None:
    """They are drawn as what is muted, and the lines around them as if they were not there."""
    app = Stage(lambda: CodeView())
    async with app.run_test(size=(60, 20)):
        view = app.screen.query_one(CodeView)
        view.show("import os\n⋮ 204\nimport re\n", path="a.py", numbers=[1, 0, 204])
        first, gap, last = (view._line(place) for place in range(3))
        assert gap.plain == "⋮ 204"
        assert [str(span.style) for span in gap.spans] == ["$text-muted"]
        assert [span.style for span in first.spans] == [span.style for span in last.spans] != []


async def test_a_line_far_away_comes_into_view() -> None:
    """A jump shows the line it goes to; beyond the end it goes to the last one."""
    app = Stage(lambda: CodeView("\n".join(map(str, range(1, 100_001))), path="a.txt"))
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.screen.query_one(CodeView)
        view.goto(54_321)
        await pilot.pause()
        assert " 54321 >54321" in seen(app)
        view.goto(10**9)
        await pilot.pause()
        assert view.cursor_line == 100_000
        assert "100000 >100000" in seen(app)
        view.show("", path="b.py")
        await pilot.pause()
        assert "Nothing to show." in seen(app)


async def test_a_jump_before_there_is_room_is_in_view_later() -> None:
    """A text is shown at its line by a panel that is not displayed yet."""
    app = Stage(lambda: CodeView("\n".join(map(str, range(1, 101)))))
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.screen.query_one(CodeView)
        view.display = False
        await pilot.pause()
        view.show("\n".join(map(str, range(1, 101))))
        view.goto(60)
        view.display = True
        await pilot.pause()
        assert " 60 " in seen(app)


async def test_a_report_is_broken_where_lines_end() -> None:
    """What goes on is further in, and nothing is to the right of the view."""
    text = "ok  model\n  + AGENTS.md:5: " + "absolute rule " * 8 + "\n日本語" + "の" * 40
    app = Stage(lambda: CodeView(text, wraps=True))
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.screen.query_one(CodeView)
        await pilot.pause()
        assert view.max_scroll_x == 0
        lines = [line[4:].rstrip() for line in seen(app).splitlines()]
        assert lines[:3] == [
            "ok  model",
            "  + AGENTS.md:5: absolute rule absolute rule",
            "    absolute rule absolute rule absolute rule",
        ]


async def test_long_lines_scroll_sideways_by_cells() -> None:
    """What is right of the view comes into it, the numbers stay."""
    app = Stage(lambda: CodeView("日本" * 30 + "end"))
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.screen.query_one(CodeView)
        view.focus()
        await pilot.press(*["l"] * 10)
        line = seen(app).splitlines()[0]
        assert line.startswith(" 1 >")
        assert line.rstrip().endswith("end")


@pytest.mark.parametrize("path", ["a.py", "a.html"])
@pytest.mark.parametrize("text", HOSTILE)
async def test_texts_are_literal(text: str, path: str) -> None:
    """No text is obeyed, whatever language it is said to be."""
    app = Stage(lambda: CodeView(f"first\n{text}", path=path))
    async with app.run_test(size=(60, 20)):
        assert " 1 >first" in seen(app)
