"""Steps of curation in jobs: carried out one after the other in the order they were asked for.

So undo goes back the same way, and the screen shows the next record meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

from screens.jobs import Failure, Job

if TYPE_CHECKING:
    from screens.base import SectionScreen

ResultT = TypeVar("ResultT")


_LOOK_EVERY: Final = 0.05  # seconds between two looks whether who waits was cancelled


def wait_for(idle: Event, job: Job) -> None:
    """Wait in a job until no step is on its way; it can be cancelled meanwhile."""
    while not idle.wait(_LOOK_EVERY):
        job.check()


class StepQueue:
    """The steps of a screen. `idle` is set while none is on its way; `ended` is called after each one."""

    def __init__(self, screen: SectionScreen, ended: Callable[[], None] = lambda: None) -> None:
        self._screen = screen
        self._ended = ended
        self._waiting: deque[Callable[[], None]] = deque()
        self._running = False
        self.idle = Event()
        self.idle.set()

    def submit(
        self,
        name: str,
        work: Callable[[Job], ResultT],
        then: Callable[[ResultT], None],
        *,
        failed: Callable[[Failure], None],
        stopped: Callable[[], None] = lambda: None,
        leads: bool = False,
    ) -> None:
        """Carry a step out after those before it; hand over its result, or why there is none.

        `stopped` is called when it was cancelled: whether it was recorded all the same, the journals say.
        """

        def start() -> None:
            self._screen.ask(
                name,
                work,
                lambda result: self._end(partial(then, result)),
                group="step",
                writes=True,
                leads=leads,
                failed=lambda failure: self._end(partial(failed, failure)),
                stopped=lambda: self._end(stopped),
            )

        self._waiting.append(start)
        self.idle.clear()
        self._next()

    def _end(self, take_in: Callable[[], None]) -> None:
        take_in()
        self._running = False
        self._next()
        if not self._running:
            self.idle.set()
        self._ended()

    def _next(self) -> None:
        if not self._running and self._waiting:
            self._running = True
            self._waiting.popleft()()
