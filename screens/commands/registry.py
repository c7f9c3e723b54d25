"""All commands of the app, by screen; what the palette, the help and the documentation list."""

from __future__ import annotations

from typing import Final

from screens.commands.conflicts import CONFLICTS
from screens.commands.everywhere import EVERYWHERE
from screens.commands.learnings import LEARNINGS
from screens.commands.log import LOG
from screens.commands.metrics import METRICS
from screens.commands.model import Command
from screens.commands.plan import PLAN
from screens.commands.replay import REPLAY
from screens.commands.rules import RULES
from screens.commands.sessions import SESSIONS

BY_SECTION: Final[dict[str, tuple[Command, ...]]] = {
    "app": EVERYWHERE,
    "plan": PLAN,
    "rules": RULES,
    "replay": REPLAY,
    "conflicts": CONFLICTS,
    "learnings": LEARNINGS,
    "sessions": SESSIONS,
    "metrics": METRICS,
    "log": LOG,
}


def commands_of(section: str) -> tuple[Command, ...]:
    """Return the commands of a screen, then those that are everywhere."""
    return (*BY_SECTION.get(section, ()), *EVERYWHERE)


def find_command(identifier: str) -> Command | None:
    """Return the command with an id, None if there is none."""
    known = BY_SECTION.get(identifier.partition(".")[0], ())
    return next((command for command in known if command.id == identifier), None)
