"""Data becomes content: literal, visible, bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static
from textual.widgets._toast import Toast

from screens.safe_text import MAX_LINE, embolden, join_parts, safe, shown_lines, toast
from tests.screens.golden import screen_text
from workbench.text.sanitize import is_safe

HOSTILE = [
    "list[int] = x[0]",
    "a [/] b",
    "[bold red]x[/bold red]",
    "[@click=app.quit]quit[/]",
    "$primary \\[x]",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_is_text(text: str) -> None:
    """What looks like markup is shown as it is written, and styles nothing."""
    assert (safe(text).plain, list(safe(text).spans)) == (text, [])
    assert shown_lines(text).plain == text


def test_what_is_hidden_is_visible() -> None:
    """Controls, bidirectional marks and line ends of a line are shown, not obeyed."""
    assert safe("a\x1b[31mb\x00\u202ec\nd\te\rf").plain == "a␛[31mb␀<U+202E>c␊d␉e␍f"
    assert shown_lines("a\x1b\r\nb\tc\n").plain == "a␛\nb\tc\n"


def test_a_long_line_tells_what_is_left_out() -> None:
    """A line of a megabyte is cut, and how much of it is missing is told."""
    assert safe("x" * 1_050_000).plain == "x" * MAX_LINE + "…(+1,048,000)"
    assert shown_lines("ab\nabcdef\n", limit=3).plain == "ab\nabc…(+3)\n"


def test_many_lines_tell_what_is_left_out() -> None:
    """A text of too many lines ends with their number; one that just fits does not."""
    assert shown_lines("1\n2\n3\n4\n5\n", lines=3).plain == "1\n2\n3\n…(+2 lines)"
    assert shown_lines("1\n2\n3", lines=3).plain == "1\n2\n3"


@given(text=st.text(), limit=st.integers(0, 20), lines=st.integers(1, 5))
def test_anything_is_safe_and_bounded(text: str, limit: int, lines: int) -> None:
    """Whatever the text, nothing invisible is left, one line is one line, and lengths are bounded."""
    one, several = safe(text, limit=limit).plain, shown_lines(text, limit=limit, lines=lines).plain
    assert is_safe(one)
    assert is_safe(several)
    assert "\n" not in one
    assert several.count("\n") <= lines
    assert len(one) <= 9 * limit + 20


def test_parts_are_joined() -> None:
    """Contents stay, pairs are shown with their styles, something may be put between."""
    made = join_parts(Content("a"), ("[b]", "bold"), between=" · ")
    assert made.plain == "a · [b]"
    assert [(span.start, span.end, span.style) for span in made.spans] == [(4, 7, "bold")]
    assert join_parts(("x", ""), ("y", "")).plain == "xy"


class Shows(App[None]):
    """An app that shows one text, in a widget and as its tooltip."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        widget = Static(safe(self.text))
        widget.tooltip = safe(self.text)
        yield widget


@pytest.mark.parametrize("text", HOSTILE)
async def test_widgets_and_toasts_show_text_verbatim(text: str) -> None:
    """In a widget and in a toast the text is on the screen as it is."""
    app = Shows(text)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        assert screen_text(app).splitlines()[0] == text
        toast(app, text, title=text)
        while not app.screen.query(Toast):
            await pilot.pause()
        await pilot.pause()
        lines = [line.strip(" ▌▐▎") for line in screen_text(app).splitlines()[1:]]
        drawn = [line for line in lines if line]
        assert drawn == [text, text]


async def test_a_long_toast_is_cut() -> None:
    """A toast of a megabyte does not fill the screen."""
    app = Shows("")
    async with app.run_test(size=(80, 24)) as pilot:
        toast(app, "x" * 1_000_000, severity="error")
        await pilot.pause()
        (note,) = app._notifications
        assert len(note.message) < 1_000
        assert not note.markup


@pytest.mark.parametrize(
    ("text", "seen", "bold"),
    [
        ("**Never** log a **card number**.", "Never log a card number.", ["Never", "card number"]),
        ("- **Use `make`:** not npm", "- Use `make`: not npm", ["Use `make`:"]),
        ("src/**/*.ts and lib/**/*.ts", None, []),
        ("`f(**a)` and `g(**b)`", None, []),
        ("2 ** 3 ** 4 or f(**a, **b)", None, []),
        ("** not closed", None, []),
        ("**[/] [b]x[/b]**", "[/] [b]x[/b]", ["[/] [b]x[/b]"]),
    ],
)
def test_emphasis_of_markdown_is_shown_and_not_written(text: str, seen: str | None, bold: list[str]) -> None:
    """Pairs of stars around words go and make them bold; stars of globs, code and powers stay."""
    found = embolden(safe(text, "$text-muted"))
    assert found.plain == (text if seen is None else seen)
    assert [found.plain[one.start : one.end] for one in found.spans if one.style == "bold"] == bold
