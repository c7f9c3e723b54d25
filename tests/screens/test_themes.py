"""Text can be read in every theme: contrast of at least 4.5 to 1 on every ground it is written on."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorType
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from screens.app import WorkbenchApp
from screens.sitting import AppPlace, write_place
from screens.themes import (
    CONTRAST,
    DARK,
    GROUNDS,
    INKS,
    LIGHT,
    PAIRS,
    THEMES,
    contrast,
    readable,
    readable_variables,
)
from tests.screens.conftest import settle

_ALL = {**BUILTIN_THEMES, **{theme.name: theme for theme in THEMES}}
_MEASURABLE = sorted(name for name, theme in _ALL.items() if not theme.ansi)


def variables_of(name: str) -> dict[str, str]:
    """Return the variables the app would have in a theme."""
    theme = _ALL[name]
    return readable_variables(theme.to_color_system().generate() | theme.variables, dark=theme.dark)


@pytest.mark.parametrize("name", _MEASURABLE)
def test_every_ink_can_be_read_on_every_ground(name: str) -> None:
    """All colours of text reach 4.5 on background, surface and panel of all built-in themes and our own."""
    made = variables_of(name)
    for ink in INKS:
        for ground in GROUNDS:
            assert contrast(Color.parse(made[ink]), Color.parse(made[ground])) >= CONTRAST, (ink, ground)


@pytest.mark.parametrize("name", _MEASURABLE)
def test_cursor_and_marks_can_be_read(name: str) -> None:
    """The pairs of cursor and mark reach 4.5 as well."""
    made = variables_of(name)
    for ink, ground in PAIRS:
        assert contrast(Color.parse(made[ink]), Color.parse(made[ground])) >= CONTRAST, (ink, ground)


@pytest.mark.parametrize(
    ("one", "other", "wanted"), [("#000000", "#ffffff", 21.0), ("#777777", "#777777", 1.0)]
)
def test_contrast_is_that_of_wcag(one: str, other: str, wanted: float) -> None:
    """Black on white is 21, a colour on itself 1."""
    assert wanted == pytest.approx(contrast(Color.parse(one), Color.parse(other)))


def test_an_ink_that_can_be_read_stays_as_it_is() -> None:
    """Nothing is changed where nothing has to be."""
    ink = Color.parse("#ffffff")
    assert ink == readable(ink, [Color.parse("#000000")])


def test_where_nothing_can_be_read_the_best_is_taken() -> None:
    """On grounds too far apart for any ink the one with the best worst contrast is chosen."""
    grounds = [Color.parse("#000000"), Color.parse("#ffffff")]
    assert readable(Color.parse("#808080"), grounds) in (Color(0, 0, 0), Color(255, 255, 255))


@pytest.mark.parametrize("name", [DARK, LIGHT, "ansi-dark", "ansi-light", "nord", "solarized-light"])
async def test_the_app_opens_in_a_theme_and_changes_to_another(tmp_path: Path, name: str) -> None:
    """What is drawn first has its colours: the theme's own, or only such as the terminal defines."""
    app = WorkbenchApp(tmp_path, watch=False, flags={"app.theme": name})
    async with app.run_test() as pilot:
        await settle(pilot)
        assert name == app.theme
        drawn = {color.type for color in _colors(app)}
        if _ALL[name].ansi:
            assert drawn == {ColorType.DEFAULT, ColorType.STANDARD}
        else:
            assert drawn == {ColorType.TRUECOLOR}
            assert Color.parse(variables_of(name)["background"]).rich_color in _colors(app)
        assert app.get_css_variables().items() >= variables_of(name).items()
        app.theme = DARK
        await settle(pilot)
        assert Color.parse(variables_of(DARK)["background"]).rich_color in _colors(app)


def _colors(app: WorkbenchApp) -> set[RichColor]:
    """Return the colours in which the screen is drawn."""
    strips = app.screen._compositor.render_strips(app.size)
    for one in app.get_line_filters():
        strips = [strip.apply_filter(one, app.screen.background_colors[1]) for strip in strips]
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return {color for style in styles for color in (style.color, style.bgcolor) if color is not None}


async def test_without_colour_only_attributes_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under NO_COLOR no cell has a colour of its own."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = WorkbenchApp(tmp_path, watch=False)
    async with app.run_test() as pilot:
        await settle(pilot)
        filters = app.get_line_filters()
        assert app.theme == "ansi-dark"
        assert [type(one).__name__ for one in filters if "olor" in type(one).__name__] == ["NoColor"]


@pytest.mark.parametrize(
    ("term", "colors", "configured", "kept", "wanted"),
    [
        ("xterm", "", "", "", "ansi-dark"),
        ("linux", "", "", "nord", "ansi-dark"),
        ("xterm", "", "", "ansi-light", "ansi-light"),
        ("xterm", "", "nord", "", "nord"),
        ("xterm", "truecolor", "", "", DARK),
        ("xterm-256color", "", "", "nord", "nord"),
        ("xterm-256color", "", "no such", "", DARK),
    ],
)
def test_a_terminal_of_16_colours_gets_its_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    term: str,
    colors: str,
    configured: str,
    kept: str,
    wanted: str,
) -> None:
    """There other themes become white and grey; what the settings say holds all the same."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colors)
    place = tmp_path / "place.json"
    place.write_bytes(write_place(AppPlace(theme=kept)))
    flags: dict[str, object] = {"app.theme": configured} if configured else {}
    app = WorkbenchApp(tmp_path, flags=flags, place_file=place, watch=False)
    assert app.theme == wanted
    variables = app.get_css_variables()
    if wanted.startswith("ansi"):
        assert {"text-success": "ansi_green", "text-error": "ansi_red"}.items() <= variables.items()
        assert "reverse" in variables["block-cursor-text-style"]
