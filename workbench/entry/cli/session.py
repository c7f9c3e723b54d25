"""A project opened for a command: its settings, its progress line and its measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.entry.cli.frame import Invocation, current
from workbench.entry.project import OpenedProject, open_project
from workbench.entry.services.metrics import Measured, measure

if TYPE_CHECKING:
    from workbench.sessions.episodes import EpisodeService


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with. `progress` draws a line on stderr once the work takes a second."""

    here: Invocation
    opened: OpenedProject
    measurement: Measured
    progress: Callable[[str, int, int], None]

    def show_notes(self) -> None:
        """Say on stderr what is missing or elsewhere than usual: no history, state in the user's home."""
        for note in self.opened.workspace.adapters.notes:
            self.here.note(note)


@contextmanager
def session(operation: str, **flags: object) -> Iterator[Session]:
    """Open the project, and measure and record what is done in it.

    `flags` are settings a command's options decide (`plan__budget=3000`). Raises: WorkbenchError.
    """
    here = current()
    opened = open_project(here.project, here.settings(**flags).config)
    with measure(opened, operation) as measurement, here.out.progress("Working") as line:
        yield Session(
            here, opened, measurement, lambda stage, done, total: line(done, total, stage.capitalize())
        )
    if measurement.note:
        here.out.warn(measurement.note)


def episode_service_of(here: Invocation) -> EpisodeService:
    """Return where the project's sessions are recorded. Raises: WorkbenchError."""
    from workbench.entry.services.episodes import episode_service

    return episode_service(here.project, here.settings().config, "cli")
