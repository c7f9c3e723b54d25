"""What the app does with its terminal: colours, pictures, the mouse given back, all drawn again once resized.

A picture is an SVG and a text beside the project's state, where no later plan takes them for files of the
project. While the mouse is the terminal's, text is selected and copied as in any other program there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual import message_pump
from textual.app import App
from textual.events import Resize
from textual.timer import Timer

from screens.jobs import Job
from screens.sitting import Sitting
from screens.themes import ANSI, DARK, MANY_COLORS, THEMES, readable_variables
from workbench.beneath import open_beneath
from workbench.entry.os.terminal import shell_waits
from workbench.errors import StoreError

if TYPE_CHECKING:
    from screens.engine import AppEngine

_FOREIGN_FONT: Final = re.compile(r"@font-face \{[^@}]*\}\s*")
_DIRECTORY: Final = "screenshots"
_SETTLED: Final = 0.1  # seconds without another size
_MODES: Final = (1000, 1003, 1015, 1006)
"""What Textual asks a terminal to report of the mouse (DEC private modes of xterm)."""


def draw_svg(app: App[Any], title: str) -> str:
    """Return what the app shows as SVG; a reader's own font does, none is loaded from another server."""
    return _FOREIGN_FONT.sub("", app.export_screenshot(title=title))


def draw_text(app: App[Any]) -> str:
    """Return what the app shows as text, a line a row, spaces at the ends of lines left out."""
    strips = app.screen._compositor.render_strips(app.size)
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


def write_pictures(state: Path, name: str, pictures: Mapping[str, str]) -> list[Path]:
    """Write pictures {suffix: content} below a project's state, for their owner alone; never over a file.

    Raises: StoreError.
    """
    number = 1
    while True:
        files = [f"{_DIRECTORY}/{name}{'' if number == 1 else f'-{number}'}.{suffix}" for suffix in pictures]
        if not any((state / file).exists() for file in files):
            break
        number += 1
    try:
        for file, content in zip(files, pictures.values(), strict=True):
            handle = open_beneath(
                str(state), file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, links=False, make=0o700
            )
            with open(handle, "wb") as stream:
                stream.write(content.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(
            f"{state / _DIRECTORY}: {error.strerror or error}: the picture cannot be written",
            hint="Make room there, or make the directory writable.",
        ) from error
    return [state / file for file in files]


class SureTimer(Timer):
    """A timer whose only tick comes late rather than never.

    Textual leaves out ticks that are overdue, of a timer that ticks once that one, too: where the process is
    held up as it starts, as on a machine with too much to do, a resize or a filter never came into effect.
    """

    def __init__(self, *given: Any, skip: bool = True, repeat: int | None = None, **options: Any) -> None:
        super().__init__(*given, skip=skip and repeat != 0, repeat=repeat, **options)


vars(message_pump)["Timer"] = SureTimer  # what makes the timers of the app, its screens and its widgets


class TerminalApp(Sitting):
    """The base of the app: what it does with its terminal. Under NO_COLOR it is `colorless`."""

    engine: AppEngine

    def __init__(self) -> None:
        self.colorless = bool(os.environ.get("NO_COLOR"))
        super().__init__(ansi_color=True if self.colorless else None)
        for theme in THEMES:
            self.register_theme(theme)
        self.mouse_released = False
        self._resized: Timer | None = None

    def show_jobs(self) -> None:
        """Show what runs, and whose the mouse is."""
        raise NotImplementedError

    def take_theme(self, configured: str, kept: str) -> None:
        """Begin in a theme: the configured one, that of the last time, or one this terminal has colours for.

        It is taken before anything is drawn: one that is changed later reads all styles again.
        """
        known = [name for name in (configured, kept) if name in self.available_themes]
        if self.console.color_system not in MANY_COLORS and not configured:
            known = [name for name in known if self.available_themes[name].ansi] or [ANSI]
        name = ANSI if self.colorless else known[0] if known else DARK
        self.set_reactive(App.theme, name)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)
        theme = self.current_theme
        wanted = {f"-theme-{name}": True, "-dark-mode": theme.dark, "-light-mode": not theme.dark}
        self.update_classes(wanted, update=False)

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables with every text colour made readable."""
        return readable_variables(super().get_css_variables(), dark=self.current_theme.dark)

    def on_resize(self, event: Resize) -> None:
        """Draw everything again once the size is settled, also where it is as before.

        Textual draws what its layout changed; the terminal may have lost lines by a size in between.
        """
        if self._resized is not None:
            self._resized.stop()
        self._resized = self.set_timer(_SETTLED, self._draw_again)

    def _draw_again(self) -> None:
        self._resized = None
        self.refresh()

    def action_screenshot_both(self) -> None:
        """Write what is shown as SVG and as text, once what asked for it is gone from the screen."""
        self.call_after_refresh(self._shoot)

    def _shoot(self) -> None:
        section = self.screen_stack[0].id or "screen"
        pictures = {"svg": draw_svg(self, f"workbench · {section}"), "txt": draw_text(self)}
        name = f"{section}-{datetime.now():%Y%m%d-%H%M%S}"
        work = partial(self._write_pictures, name, pictures)
        self.jobs.start(self.screen, "Screenshot", work, self._shot, writes=True)

    def _write_pictures(self, name: str, pictures: Mapping[str, str], job: Job) -> list[Path]:
        with self.engine.workspace(job.progress) as place:
            state = place.location.root
        return write_pictures(state, name, pictures)

    def _shot(self, paths: list[Path]) -> None:
        first = paths[0]
        root = self.engine.root
        where = first.relative_to(root) if first.is_relative_to(root) else first
        self.report(f"Saved {where} and {paths[1].suffix}")
        self.log_of_actions.add("# screenshot", " ".join(map(str, paths)))

    def action_suspend_process(self) -> None:
        """Stop the program where a shell waits to bring it back; elsewhere it would stay stopped."""
        if shell_waits():
            self.engine.let_go()
            super().action_suspend_process()
        else:
            self.report("No shell waits behind this terminal, so it could not come back", severity="warning")

    def action_select_text(self) -> None:
        """Give the mouse to the terminal, so that it selects text; again takes it back."""
        if self.is_web or self._driver is None or not self._driver._mouse:
            self.report("The mouse is the terminal's already: select text")
            return
        self.mouse_released = not self.mouse_released
        self._report_mouse()
        if self.mouse_released:
            self.report("Mouse released: select text")
        self.show_jobs()

    def _report_mouse(self) -> None:
        """Ask the terminal to report the mouse, or to keep it."""
        if self._driver is not None:
            how = "l" if self.mouse_released else "h"
            self._driver.write("".join(f"\x1b[?{mode}{how}" for mode in _MODES))
            self._driver.flush()

    def on_mount(self) -> None:
        """Keep the mouse the terminal's when the app comes back from the shell."""
        self.app_resume_signal.subscribe(
            self, lambda _: self._report_mouse() if self.mouse_released else None
        )
