"""What stands over everything when the terminal is too small to work in."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

MIN_WIDTH = 60
MIN_HEIGHT = 20


class TooSmall(Widget):
    """Says how large the terminal has to be; while it shows, commands that change something do nothing."""

    DEFAULT_CSS = """
    TooSmall {
        layer: cover; width: 100%; height: 100%; content-align: center middle; display: none;
        background: $background; color: $text-warning; text-style: bold;
    }
    """

    def render(self) -> RenderResult:
        """Write both sizes."""
        width, height = self.app.size
        return Content(f"! {width}×{height} is too small\n{MIN_WIDTH}×{MIN_HEIGHT} at least\nctrl+q leaves")
