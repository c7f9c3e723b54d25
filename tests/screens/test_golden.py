"""Screens are compared as text, cell for cell, and the comparison fails when it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.safe_text import safe
from tests.screens import golden


class Two(App[None]):
    """An app of two lines."""

    CSS = "ModalScreen { align: center middle; } #over { width: 6; height: 1; }"

    def __init__(self, text: str = "漢字 [x]") -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield Static(safe(self.text))
        yield Static("below")


class Over(ModalScreen[None]):
    """A screen over it."""

    def compose(self) -> ComposeResult:
        yield Static("over", id="over")


@pytest.fixture
def goldens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(golden, "GOLDENS", tmp_path)
    monkeypatch.delenv(golden.UPDATE, raising=False)
    return tmp_path


async def test_a_screen_is_its_lines() -> None:
    """One line a row of the terminal, wide characters in place, no spaces at line ends."""
    app = Two()
    async with app.run_test(size=(12, 4)):
        assert golden.screen_text(app) == "漢字 [x]\nbelow\n\n\n"


async def test_a_modal_screen_is_drawn_over_the_one_below() -> None:
    """The text is what the terminal shows: both screens."""
    app = Two()
    async with app.run_test(size=(12, 4)) as pilot:
        await app.push_screen(Over())
        await pilot.pause()
        assert golden.screen_text(app) == "漢字 [x]\nbelover\n\n\n"


async def test_goldens_are_written_when_asked_and_compared_otherwise(
    goldens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing or different file fails and tells how; the switch writes it under name and size."""
    async with (app := Two()).run_test(size=(12, 4)):
        with pytest.raises(AssertionError, match=r"two-12x4\.txt is missing"):
            golden.check_golden(app, "two")
        monkeypatch.setenv(golden.UPDATE, "1")
        golden.check_golden(app, "two")
        monkeypatch.delenv(golden.UPDATE)
        golden.check_golden(app, "two")
        assert (goldens / "two-12x4.txt").read_text(encoding="utf-8") == "漢字 [x]\nbelow\n\n\n"
    async with (app := Two("other")).run_test(size=(12, 4)):
        with pytest.raises(AssertionError, match=r"\+other"):
            golden.check_golden(app, "two")
