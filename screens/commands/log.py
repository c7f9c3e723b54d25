"""Commands of the log."""

from __future__ import annotations

from typing import Final

from screens.commands.model import ACT, Command

LOG: Final = (
    Command(
        "log.copy",
        "Copy",
        "Put the command line of this action on the clipboard.",
        ("y",),
        group=ACT,
        rank=1,
        cli="workbench plan TASK --copy",
    ),
)
