"""Screens over others, and how any screen is styled once as it opens.

Textual styles all of a new screen three times: as it is mounted, as it first shows, and as it learns which
classes the size of the terminal gives it. For a form that takes as long as all else together.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textual.app import App
from textual.events import ScreenResume
from textual.screen import ModalScreen, Screen

ResultT = TypeVar("ResultT")


def fit_screen(screen: Screen[Any], app: App[Any]) -> None:
    """Give a new screen the classes of the terminal's size; the app's styles of now are those it gets."""
    sizes = zip(app.size, (app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS), strict=True)
    fitting = [max(point for point in points if point[0] <= size) for size, points in sizes if points]
    screen.add_class(*(name for _, name in fitting), update=False)
    screen._css_update_count = app._css_update_count


class Modal(ModalScreen[ResultT]):
    """A screen over another one."""

    def __init__(self) -> None:
        super().__init__()
        self._is_fresh = True

    def _post_register(self, app: App[Any]) -> None:
        super()._post_register(app)
        fit_screen(self, app)

    def on_screen_suspend(self) -> None:
        """Note that what styles depend on may change from now on."""
        self._is_fresh = False

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Leave the styles as they are where they were just read."""
        event.refresh_styles = event.refresh_styles and not self._is_fresh
