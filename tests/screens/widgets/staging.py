"""What the tests of widgets share: texts that break what parses them, and an app around one widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widget import Widget

from tests.screens.golden import screen_text

HOSTILE: Final = (
    "a [/] b [bold]c[/bold] $primary",
    "list[int] = x[0]",
    "\x1b[31mred\x1b[0m \x9b2J\x1b]52;c;aGk=\x07",
    "nul \x00 bell \x07 return \r over",
    "right \u202eto left\u202c zero\u200bwidth",
    "emoji 👩‍👩‍👧‍👦 é́ 日本語 🇩🇪",
    "\ud800 lone \udcff",
    "\n\n\t\ttabs\n",
    "x" * 1_000_000,
)

FORBIDDEN: Final = frozenset(
    chr(code) for code in [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x202E]
)


class Stage(App[None]):
    """An app that shows one widget."""

    def __init__(self, make: Callable[[], Widget]) -> None:
        super().__init__()
        self._make = make

    def compose(self) -> ComposeResult:
        yield self._make()


class Answers(App[None]):
    """An app that opens a modal screen at once and keeps what it answered."""

    def __init__(self, screen: ModalScreen[Any]) -> None:
        super().__init__()
        self.asked = screen
        self.answers: list[Any] = []

    def on_mount(self) -> None:
        self.push_screen(self.asked, self.answers.append)


def seen(app: App[Any]) -> str:
    """Return what is on the screen, which holds nothing a terminal obeys."""
    text = screen_text(app)
    assert not FORBIDDEN & set(text)
    return text
