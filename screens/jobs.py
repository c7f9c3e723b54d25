"""Work in the background: each job a thread of its own, cancellable, its result handed to the event loop.

Nothing that takes longer than a few milliseconds runs on the loop. A job gets a `Job` to report progress with
and to learn that it was cancelled; what it returns reaches the `then` of its owner in a message handler, the
only place where state changes. Threads are daemons: leaving the app never waits for one, which is sound
because the journals survive a kill at any instant. Programs that jobs start are known here, so that none is
left behind when the app ends.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar

from textual.message import Message

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer
    from textual.widget import Widget

Result = TypeVar("Result")


class Cancelled(BaseException):
    """A job was cancelled. No `Exception`, so that nothing in between takes it for a failure."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job did not end: a sentence, the next step, and for a defect the traceback."""

    message: str
    hint: str = ""
    details: str = ""


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work. `progress` may be called from its thread as often as it likes."""

    name: str
    group: str
    owner: Widget
    app: App[Any]
    quiet: bool = False
    writes: bool = False
    leads: bool = False
    lists: bool = False
    stopped: Callable[[], None] | None = None
    stage: str = ""
    done: int = 0
    total: int = 0
    over: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _reported: float = 0.0

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Ask it to stop; it ends at its next `check` or `progress`."""
        self._stop.set()

    def check(self) -> None:
        """Raise Cancelled if the job was cancelled."""
        if self._stop.is_set():
            raise Cancelled

    def progress(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report how far it is; `total` 0 means unknown. Raises: Cancelled if the job was cancelled."""
        self.check()
        from time import monotonic

        self.stage, self.done, self.total = stage, done, total
        now = monotonic()
        if now - self._reported >= _REPORT_EVERY:
            self._reported = now
            self.app.post_message(Jobs.Progressed(self))


_REPORT_EVERY = 0.1  # seconds


class Ahead(Generic[Result]):
    """The answer to a question that was asked before what shows it is there. Called in jobs."""

    def __init__(self, question: Hashable, work: Callable[[Job], Result]) -> None:
        self._question = question
        self._work = work
        self._answer: Future[Result] = Future()

    def run(self, job: Job) -> None:
        """Work it out."""
        try:
            self._answer.set_result(self._work(job))
        except BaseException as error:
            self._answer.set_exception(error)
            raise

    def answer(self, question: Hashable) -> Result | None:
        """Wait for the answer and return it; None if it is of another question, or there was none to find."""
        found = question == self._question and self._answer.exception() is None
        return self._answer.result() if found else None


class JobOptions(TypedDict, total=False):
    """How a job is run: see `Jobs.start`."""

    failed: Callable[[Failure], None] | None
    quiet: bool
    writes: bool
    leads: bool
    lists: bool
    stopped: Callable[[], None] | None


class Jobs:
    """The jobs of an app. Made once; everything but the body of a job runs on the event loop."""

    @dataclass
    class Progressed(Message):
        """A job is further than it was."""

        job: Job

    @dataclass
    class Ended(Message):
        """A job returned, failed or stopped."""

        job: Job
        finish: Callable[[], None]

    def __init__(self, app: App[Any], failed: Callable[[Job, Failure], None]) -> None:
        self._app = app
        self._failed = failed
        self._running: list[Job] = []
        self._delayed: dict[str, Timer] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> tuple[Job, ...]:
        """Jobs that have not ended, the oldest first."""
        return tuple(self._running)

    @property
    def leading(self) -> bool:
        """Whether something opens at the end of one that runs."""
        return any(job.leads and not job.cancelled for job in self._running)

    @property
    def listing(self) -> bool:
        """Whether a list has other rows at the end of one that runs."""
        return any(job.lists and not job.cancelled for job in self._running)

    @property
    def busy(self) -> bool:
        """Whether anything runs or is about to."""
        return bool(self._running or self._delayed)

    def start(  # noqa: PLR0913 - choices, by keyword
        self,
        owner: Widget,
        name: str,
        work: Callable[[Job], Result],
        then: Callable[[Result], None],
        *,
        group: str = "",
        failed: Callable[[Failure], None] | None = None,
        quiet: bool = False,
        writes: bool = False,
        leads: bool = False,
        lists: bool = False,
        stopped: Callable[[], None] | None = None,
    ) -> Job:
        """Run `work` in a thread and hand what it returns to `then` on the event loop.

        A job takes the place of one of the same group (by default its name): that one is cancelled and its
        result dropped; `stopped` is called once a cancelled job is over. Without `failed` a failure is shown
        as the app shows them. A `quiet` job is not named in the status line; while one `writes`, leaving the
        app asks first. Where it `leads` to something that opens, keys typed until then are for that; where it
        `lists` what was asked for, those that no field takes are for its rows.
        Nothing is handed over once the owner is gone.
        """
        job = Job(name, group or name, owner, self._app, quiet, writes, leads, lists, stopped)
        for other in self._running:
            if other.group == job.group:
                other.cancel()
        self._running.append(job)
        self._idle.clear()

        def body() -> None:
            try:
                result = work(job)
            except Cancelled:
                self._post(job, lambda: None)
            except WorkbenchError as error:
                failure = Failure(error.message, error.hint)
                self._post(job, lambda: self._fail(job, failure, failed))
            except Exception as error:  # the boundary of the thread: the app shows it and goes on
                details = traceback.format_exc()
                failure = Failure(
                    f"{type(error).__name__}: {error}", "This is a defect: please report it.", details
                )
                self._post(job, lambda: self._fail(job, failure, failed))
            else:
                self._post(job, lambda: then(result))

        threading.Thread(target=body, name=f"job {name}", daemon=True).start()
        return job

    def later(self, group: str, seconds: float, work: Callable[[], None]) -> None:
        """Call `work` once nothing of this group has been asked for a while: what typing triggers."""
        if group in self._delayed:
            self._delayed[group].stop()
        self._idle.clear()

        def now() -> None:
            if self._delayed.get(group) is timer:  # one that was stopped may have been on its way already
                del self._delayed[group]
                if self._app.is_running:  # an app that ends takes its widgets away before its timers
                    work()
                self._settle()

        timer = self._delayed[group] = self._app.set_timer(seconds, now)

    def cancel(self, group: str = "") -> int:
        """Cancel the jobs of a group, or all; return how many."""
        running = [job for job in self._running if group in ("", job.group) and not job.cancelled]
        for job in running:
            job.cancel()
        return len(running)

    def take_end(self, message: Ended) -> None:
        """Take in the end of a job; its result counts if it was not replaced and its owner is still there."""
        job = message.job
        job.over = True
        self._running.remove(job)
        if job.owner.is_attached:
            if not job.cancelled:
                message.finish()
            elif job.stopped is not None:
                job.stopped()
        self._settle()

    async def idle(self) -> None:
        """Wait until nothing runs and nothing is about to."""
        await self._idle.wait()

    def _settle(self) -> None:
        if not self._running and not self._delayed:
            self._idle.set()

    def _post(self, job: Job, finish: Callable[[], None]) -> None:
        self._app.post_message(self.Ended(job, finish))

    def _fail(self, job: Job, failure: Failure, own: Callable[[Failure], None] | None) -> None:
        if own is not None:
            own(failure)
        else:
            self._failed(job, failure)


_CHILDREN: Final[set[subprocess.Popen[bytes]]] = set()


@contextmanager
def track_child(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Know a child as long as somebody waits for it."""
    _CHILDREN.add(child)
    try:
        yield
    finally:
        _CHILDREN.discard(child)


def interrupt_children() -> None:
    """End all as Ctrl-C does, without waiting."""
    for child in tuple(_CHILDREN):
        child.send_signal(signal.SIGINT)
