"""Leaving the app: at once where nothing is lost by it, after a question where something is.

What can be lost is what was written into a form and not saved, and work that changes something and is not
done. Everything else is kept as it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from screens.jobs import Job
from screens.widgets.confirm import Confirm


@runtime_checkable
class Unsaved(Protocol):
    """A dialog in which people write; `unsaved` while that is saved nowhere."""

    @property
    def unsaved(self) -> bool:
        """Whether closing it now would lose what was written."""
        ...


class LeaveQuestion(Confirm):
    """Asks whether to leave all the same; no is what enter answers."""

    def __init__(self, losses: Sequence[str]) -> None:
        super().__init__("Leave?", "\n".join(losses), yes="Leave", no="Stay", danger=True)


def losses(screens: Iterable[object], jobs: Iterable[Job]) -> list[str]:
    """Return what would be lost by leaving now, as sentences."""
    told = []
    if any(isinstance(screen, Unsaved) and screen.unsaved for screen in screens):
        told.append("What you wrote is not saved.")
    names = sorted({job.name for job in jobs if job.writes and not job.cancelled})
    if names:
        told.append(f"{', '.join(names)}: not done yet, leaving cancels it.")
    return told
