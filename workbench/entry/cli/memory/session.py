"""The learnings of a project opened for a command, and how a learning is shown in a line.

Neither index nor model nor history is needed for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.entry.cli.frame import Invocation, current
from workbench.entry.cli.output import Output, shorten
from workbench.entry.project import open_workspace
from workbench.entry.services.metrics import Measured, measure
from workbench.memory.learnings.learningstore import LearningStore, store_of
from workbench.memory.learnings.learningtype import SHORT
from workbench.memory.learnings.prompt import source_of
from workbench.memory.learnings.service import LearningService
from workbench.records.learnings import FeatureLearning
from workbench.text.sanitize import visible_line

WIDTH = 96


@dataclass(frozen=True, slots=True)
class LearningSession:
    """What a command about learnings works with."""

    here: Invocation
    measurement: Measured
    store: LearningStore
    service: LearningService


@contextmanager
def learning_session(operation: str) -> Iterator[LearningSession]:
    """Open the learnings of the project and of its user. Raises: WorkbenchError."""
    here = current()
    config = here.settings().config
    opened = open_workspace(here.project, config)
    with measure(opened, operation) as measurement:
        store = store_of(opened.workspace.rule_store())
        yield LearningSession(here, measurement, store, LearningService(store, "cli"))
    if measurement.note:
        here.out.warn(measurement.note)


def line_of(out: Output, one: FeatureLearning, now: float) -> str:
    """Return a learning in two lines: id, state and source, then what it says."""
    state = one.state.value if not one.live else "reviewed" if one.reviewed else "unreviewed"
    color = "32" if one.reviewed and one.live else "33" if one.live else "2"
    head = f"{out.style(one.id[:SHORT], '2')}  {out.style(f'{state:<10}', color)}  {one.confidence:.2f}"
    where = source_of(one, now).partition("; ")[2]
    task = f"  task {visible_line(one.task_id)}" if one.task_id else ""
    return f"{head}  {one.kind.value:<10}  {out.style(where, '36')}{task}\n    {shorten(one.text, WIDTH)}"
