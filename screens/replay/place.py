"""Where the section of replays is, and what its parts share: the view, the run, the task, two systems."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from screens.base import SectionScreen
from screens.replay.asking import Opened
from screens.replay.tasks import ORDERS
from workbench.records.replay import BASELINE

if TYPE_CHECKING:
    from workbench.replay.gates import Gate

RUNS, RUN, TASKS, TASK, COMPARE = "runs", "run", "tasks", "task", "compare"
"""The views of the section."""


@dataclass(slots=True)
class Place:
    """Where the section is. `gates` are those that were judged in this sitting, by run.

    `weighed` are contributions that were computed again: by run, by (task, system), by path.
    """

    view: str = RUNS
    run: str = ""
    task: str = ""
    systems: tuple[str, str] = (BASELINE, "")
    order: str = next(iter(ORDERS))
    gates: dict[str, tuple[Gate, ...]] = field(default_factory=dict)
    weighed: dict[str, dict[tuple[str, str], Mapping[str, Mapping[str, float]]]] = field(default_factory=dict)


class ReplayBase(SectionScreen):
    """What every part of the section relies on. `state` is where runs are kept, once it is known."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Place()
        self.opened: Opened | None = None
        self.state: Path | None = None

    @abstractmethod
    def show_view(self, view: str) -> None:
        """Show a view and give it the focus."""

    @abstractmethod
    def open_run(self, name: str, view: str) -> None:
        """Load a run and show it in a view."""

    @abstractmethod
    def arrange_tasks(self, view: str = "") -> None:
        """Put the tasks of the run in order and show a view, or stay in the one that is shown."""
