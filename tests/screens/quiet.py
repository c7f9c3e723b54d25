"""Waiting for an app in a test: until its event loop has nothing to do, not until the machine looks idle.

Textual's own wait sleeps in steps of 20 ms until the process used next to no processor time in one. That is
most of the time of a test that presses keys, and on a busy machine it can be over too soon. What it stands
for can be seen: nothing is ready to run on the loop, and no timer is due within such a step. What runs in
threads is not seen; so while a worker or a job runs, Textual's own wait goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final
from unittest.mock import patch

from textual import _wait
from textual._context import active_app

STEP: Final = _wait.SLEEP_GRANULARITY
_TURNS = 3  # of the loop without anything to do
_JOBS_APART: Final[ContextVar[bool]] = ContextVar("_JOBS_APART", default=False)


async def quiet(longest: float = 10.0) -> None:
    """Wait until nothing is ready to run on the loop and no timer is due soon, `longest` seconds at most."""
    loop: Any = asyncio.get_running_loop()
    end = monotonic() + longest
    turns = 0
    while turns < _TURNS and monotonic() < end:
        await asyncio.sleep(0)
        due = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        if loop._ready:
            turns = 0
        elif due and (left := min(due) - loop.time()) < STEP:
            turns = 0
            await asyncio.sleep(max(left, 0))
        else:
            turns += 1


async def wait_for_idle(min_sleep: float = STEP, max_sleep: float = 1) -> None:
    """Wait as Textual does where a thread may hand something over, else until the loop is quiet."""
    app = active_app.get()
    jobs = getattr(app, "jobs", None)
    busy = jobs is not None and jobs.busy and not _JOBS_APART.get()
    if busy or any(worker.is_running for worker in app.workers):
        await _wait.wait_for_idle(min_sleep, max_sleep)
    else:
        await quiet()


@contextmanager
def jobs_apart() -> Iterator[None]:
    """Do not wait for jobs in the block: what comes after it does."""
    token = _JOBS_APART.set(True)
    try:
        yield
    finally:
        _JOBS_APART.reset(token)


@contextmanager
def waiting_for_the_loop() -> Iterator[None]:
    """Let the pilots of Textual wait for the loop, and frames be drawn soon enough to be waited for."""
    with (
        patch("textual.pilot.wait_for_idle", wait_for_idle),
        patch("textual.app.wait_for_idle", wait_for_idle),
        patch("textual.screen.UPDATE_PERIOD", STEP / 2.4),  # a frame is up to two periods away
    ):
        yield
