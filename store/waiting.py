"""Calls that may hang, made in a thread of their own, so that nobody waits for one longer than it likes.

Timeouts of sockets restart with each read and know nothing of name resolution or TLS; a deadline on the whole
call does. A call that is given up runs on in its thread, and until it ends further calls fail at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

Result = TypeVar("Result")


class TookTooLong(Exception):
    """A call did not end in time, or one before it has not ended yet."""


class _Job:
    __slots__ = ("abandoned", "done", "error", "function", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.done = threading.Event()
        self.abandoned = False
        self.result: Any = None
        self.error: Exception | None = None


class Caller:
    """Makes calls one after the other. `expected` are the errors that are handed to whoever waits."""

    def __init__(self, name: str, expected: tuple[type[Exception], ...]) -> None:
        self._name: Final = name
        self._expected: Final = expected
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stuck: _Job | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable[[], Result], seconds: float) -> Result:
        """Return what the function returns. Raises: TookTooLong, or the function's own expected error."""
        job = _Job(function)
        with self._lock:
            if self._stuck is not None and not self._stuck.done.is_set():
                raise TookTooLong
            self._stuck = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put(job)
        if not job.done.wait(seconds):
            job.abandoned = True
            self._stuck = job
            raise TookTooLong
        if job.error is not None:
            raise job.error
        result: Result = job.result
        return result

    def close(self, seconds: float = 5.0) -> None:
        """End the thread once the calls at work are done, or leave it to the process's end."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join(seconds)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if not job.abandoned:
                    job.result = job.function()
            except self._expected as error:
                job.error = error
            finally:
                job.done.set()
