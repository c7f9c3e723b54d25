"""What an app that is shown in a browser writes to and reads from: textual-serve's pipes, while they last."""

from __future__ import annotations

from textual import messages
from textual.drivers.web_driver import WebDriver


class LeashedDriver(WebDriver):
    """Ends the app when its input ends: a server that was killed can no longer ask it to."""

    def run_input_thread(self) -> None:
        """Read until the app exits or nothing can come any more."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
