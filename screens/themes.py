"""The app's colours and styles: two themes of its own, and text that can be read in every theme.

Whatever theme is chosen, the colours text is written in are moved towards black or white until each has a
contrast of at least 4.5 to every ground it is written on (WCAG 2.2, 1.4.3). Widgets use these names only:
`$text`, `$text-muted`, `$text-primary`, `$text-secondary`, `$text-accent`, `$text-success`, `$text-warning`,
`$text-error`, `$foreground`, and the pairs `$block-cursor-…`, `$block-cursor-blurred-…`, `$mark-…`.

The default styles of screens and widgets are in `styles.tcss`, a part a class, under its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from textual.color import Color
from textual.theme import Theme

DARK: Final = "workbench-dark"
LIGHT: Final = "workbench-light"
ANSI: Final = "ansi-dark"
"""The theme of the terminal's own 16 colours, where it has no more; under NO_COLOR its attributes."""
MANY_COLORS: Final = ("256", "truecolor")
"""What Rich calls colours by which the other themes are distinct from grey."""

CONTRAST: Final = 4.5
_STEPS: Final = 20
_COLORED: Final = ("primary", "secondary", "accent", "success", "warning", "error")
GROUNDS: Final = ("background", "surface", "panel")
PAIRS: Final = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("mark-foreground", "mark-background"),
)
INKS: Final = ("foreground", "text", "text-muted", *(f"text-{name}" for name in _COLORED))

THEMES: Final = (
    Theme(
        name=DARK,
        primary="#7aa2f7",
        secondary="#9d7cd8",
        accent="#e0af68",
        success="#9ece6a",
        warning="#e0af68",
        error="#f7768e",
        foreground="#d5d9e8",
        background="#14161f",
        surface="#1b1e2a",
        panel="#232738",
        dark=True,
    ),
    Theme(
        name=LIGHT,
        primary="#2e5aa8",
        secondary="#6b4aa0",
        accent="#8a5a00",
        success="#2f6b1f",
        warning="#8a5a00",
        error="#a8243d",
        foreground="#23283a",
        background="#fafaf7",
        surface="#f1f1ec",
        panel="#e6e6df",
        dark=False,
    ),
)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, from 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(ink: Color, grounds: Iterable[Color], wanted: float = CONTRAST) -> Color:
    """Return the ink, moved towards black or white as little as gives the contrast on all grounds.

    Where neither gives it, whichever of black and white does best.
    """
    places = list(grounds)
    if _worst(ink, places) >= wanted:
        return ink
    ends = (Color(0, 0, 0), Color(255, 255, 255))
    for step in range(1, _STEPS + 1):
        for end in sorted(ends, key=lambda color: -_worst(color, places)):
            moved = ink.blend(end, step / _STEPS, alpha=1.0)
            if _worst(moved, places) >= wanted:
                return moved
    return max(ends, key=lambda color: _worst(color, places))


def readable_variables(variables: Mapping[str, str], *, dark: bool) -> dict[str, str]:
    """Return a theme's CSS variables with every ink made readable on every ground.

    Themes of the terminal's own colours come back as they are, with marks shown by attributes.
    """
    made = dict(variables)
    grounds = [_opaque(made[name]) for name in GROUNDS]
    if any(ground is None for ground in grounds):
        made |= {
            "mark-foreground": "ansi_default",
            "mark-background": "ansi_default",
            "mark-style": "reverse",
        }
        made |= {"block-cursor-text-style": "bold reverse", "block-cursor-blurred-text-style": "underline"}
        return made
    places = [ground for ground in grounds if ground is not None]
    plain = _opaque(made["foreground"]) or Color.parse("#ffffff" if dark else "#000000")
    made["foreground"] = made["text"] = readable(plain, places, 7.0).hex
    made["text-muted"] = readable(plain.blend(places[0], 0.35, alpha=1.0), places).hex
    for name in _COLORED:
        color = _opaque(made.get(name, made["primary"])) or plain
        made[f"text-{name}"] = readable(color, places).hex
    accent = _opaque(made["accent"]) or plain
    made["mark-background"] = places[0].blend(accent, 0.3, alpha=1.0).hex
    made["mark-foreground"], made["mark-style"] = made["foreground"], "bold"
    made["block-cursor-blurred-background"] = (
        places[0].blend(_opaque(made["primary"]) or plain, 0.3, alpha=1.0).hex
    )
    for ink, ground in PAIRS:
        under = _opaque(made[ground]) or places[0]
        made[ground] = under.hex
        made[ink] = readable(_opaque(made[ink]) or plain, [under]).hex
    return made


def _worst(ink: Color, grounds: Iterable[Color]) -> float:
    return min(contrast(ink, ground) for ground in grounds)


def _opaque(value: str) -> Color | None:
    """Return a colour that can be measured; None for `auto`, the terminal's own and transparent ones."""
    if value.startswith(("auto", "ansi_", "transparent")):
        return None
    color = Color.parse(value)
    if color.ansi is not None or color.a == 0:
        return None
    return Color(color.r, color.g, color.b)


def _luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


_HEAD: Final = re.compile(r"^/\* (\w+) \*/$", re.MULTILINE)


@cache
def read_styles() -> dict[str, str]:
    """Return {class: its styles}."""
    _, *parts = _HEAD.split((files(__package__) / "styles.tcss").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def style_of(name: str) -> str:
    """Return the styles of a class. Raises: KeyError if it has none."""
    return read_styles()[name]
