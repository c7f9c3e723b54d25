"""What was done in this sitting, each action as the command line that does the same without the app."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class Action:
    """One thing done: when (seconds since the epoch), the command line, and how it ended."""

    at: float
    command: str
    outcome: str
    failed: bool = False


@dataclass(slots=True)
class ActionLog:
    """The newest actions, the oldest first."""

    actions: deque[Action] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def add(self, command: str, outcome: str = "", *, failed: bool = False) -> Action:
        """Note an action and return it."""
        action = Action(time.time(), command, outcome, failed)
        self.actions.append(action)
        return action
