"""Where the app opens, and where it does not."""

from __future__ import annotations

import pytest

from workbench.entry.os.terminal import can_show_app


@pytest.mark.parametrize(
    ("environment", "stdin", "stdout", "stderr", "reason"),
    [
        ({"TERM": "xterm-256color"}, True, True, True, ""),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True, True, ""),
        ({"TERM": "xterm"}, False, True, True, "the input is not a terminal"),
        ({"TERM": "xterm"}, True, False, True, "the output is not a terminal"),
        ({"TERM": "xterm"}, True, True, False, "stderr, on which it is drawn, is not a terminal"),
        ({"TERM": "dumb"}, True, True, True, "the terminal cannot move its cursor (TERM=dumb)"),
        ({}, True, True, True, "the terminal cannot move its cursor (TERM=)"),
        ({"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, False, False, False, ""),
    ],
)
def test_the_app_is_for_terminals_and_browsers(
    environment: dict[str, str], stdin: bool, stdout: bool, stderr: bool, reason: str
) -> None:
    """Pipes and terminals without a cursor get a reason; a browser needs no terminal."""
    assert can_show_app(environment, stdin, stdout, stderr) == reason
