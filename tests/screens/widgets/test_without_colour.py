"""Without colours everything is still told apart: attributes and glyphs of each state reach the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.widget import Widget

from screens.widgets.bars import Contribution, FeatureBars
from screens.widgets.code import CodeView
from screens.widgets.diff import WordDiff
from screens.widgets.form import FieldForm, FormField
from screens.widgets.plot import Chart, Plot, Series
from screens.widgets.timeline import TimelineBar
from tests.screens.widgets.staging import Stage, seen

WIDGETS: list[tuple[Callable[[], Widget], list[str]]] = [
    (
        lambda: FeatureBars([Contribution("a", 1.0), Contribution("b", -1.0)]),
        ["│███", "███│", "+1.000", "-1.000"],
    ),
    (lambda: CodeView("a\nb", marks=[(2, 2)]), [" 1 >a", " 2▌ b"]),
    (lambda: FieldForm([FormField("f", "F", True, kind="flag")]), ["[x] yes"]),
    (lambda: TimelineBar([0.0, 10.0], selected=10.0), ["▲"]),
    (
        lambda: Plot(Chart(series=(Series("a", [1], [1], own=True), Series("b", [1, 2], [2, 1])))),
        ["● a", "○ b"],
    ),
]


@pytest.fixture(autouse=True)
def no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for no colours, as people do."""
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(("make", "glyphs"), WIDGETS)
async def test_states_have_glyphs(make: Callable[[], Widget], glyphs: list[str]) -> None:
    """What a colour says, a character says as well."""
    app = Stage(make)
    async with app.run_test(size=(60, 20)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        text = seen(app)
        assert [glyph for glyph in glyphs if glyph not in text] == []


async def test_differing_words_keep_their_attributes() -> None:
    """Words that differ are underlined and the others are not, whatever the colours."""
    app = Stage(lambda: WordDiff("Use tabs now", "Use spaces now"))
    async with app.run_test(size=(80, 24)):
        strips = app.screen._compositor.render_strips(app.size)
        underlined = {
            segment.text.strip()
            for strip in strips
            for segment in strip
            if segment.style is not None and segment.style.underline and segment.style.bold
        }
        assert {"tabs", "spaces"} == underlined


async def test_ansi_themes_draw_everything() -> None:
    """With the colours of the terminal itself every widget is drawn as well."""
    for make, glyphs in WIDGETS:
        app = Stage(make)
        async with app.run_test(size=(60, 20)) as pilot:
            for theme in (name for name in app.available_themes if "ansi" in name):
                app.theme = theme
                await app.workers.wait_for_complete()
                await pilot.pause()
                assert glyphs[0] in seen(app)
