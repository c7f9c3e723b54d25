"""Work in threads, bounded: so many at once, so many that wait, and none for a client that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Event
from typing import Any, Final, TypeVar

from workbench.entry.http.failures import RequestRefused
from workbench.entry.http.projects import OpenProject
from workbench.entry.services.opening import ENDED, CallEnded, require_wanted

Result = TypeVar("Result")

THREADS: Final = 8
WAITING: Final = 256
"""Requests that wait for a thread or a turn; the next one is refused."""


class Workers:
    """Threads that requests are worked on in. `running` counts the requests that have one or wait for one."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="workbench")
        self._most = threads + waiting
        self._ended: set[Event] = set()
        self._over = False
        self.running = 0

    async def run(
        self,
        call: Callable[[], Result],
        *,
        project: OpenProject | None = None,
        patience: float | None = None,
        gone: Callable[[], Coroutine[Any, Any, object]] | None = None,
    ) -> Result:
        """Return what a call returns, in a thread and in the turn of a project, if one is given.

        `patience` is for how many seconds its turn may be waited for; `gone` returns when the client hangs
        up, after which nothing is begun, and what runs ends where it next reports progress.
        Raises: RequestRefused if there is too much to do; CallEnded; what the call raises.
        """
        if self._over:
            raise busy("the server is about to end")
        if self.running >= self._most:
            raise busy("there is too much to do at once")
        self.running += 1
        ended = Event()
        self._ended.add(ended)
        working = asyncio.ensure_future(self._work(call, project, patience, ended))
        leaving = None if gone is None else asyncio.ensure_future(gone())
        try:
            if leaving is not None:
                await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not working.done():
                    ended.set()
            result = await asyncio.shield(working)
            if ended.is_set():  # it is for nobody, also where it could not be ended any more
                raise CallEnded
            return result
        except asyncio.CancelledError:
            ended.set()
            working.add_done_callback(_forget)
            raise
        finally:
            if leaving is not None:
                leaving.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await leaving

    async def _work(
        self,
        call: Callable[[], Result],
        project: OpenProject | None,
        patience: float | None,
        ended: Event,
    ) -> Result:
        try:
            if project is None:
                return await self._in_thread(call, ended)
            project.asked += 1
            try:
                try:
                    async with asyncio.timeout(patience):
                        await project.turn.acquire()
                except TimeoutError:
                    raise busy("the project was at work for longer than latency_budget_ms") from None
                try:
                    return await self._in_thread(call, ended)
                finally:
                    project.turn.release()
            finally:
                project.asked -= 1
        finally:
            self.running -= 1
            self._ended.discard(ended)

    async def _in_thread(self, call: Callable[[], Result], ended: Event) -> Result:
        context = copy_context()

        def work() -> Result:
            ENDED.set(ended)
            require_wanted()
            return call()

        return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, work)

    def end(self) -> None:
        """End what runs where it next reports progress, and begin nothing any more."""
        self._over = True
        for one in [*self._ended]:
            one.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


def busy(message: str) -> RequestRefused:
    """Return the refusal of a request that comes while too much is to be done."""
    return RequestRefused(503, "busy", message, "Ask again in a moment; Retry-After says when.")


def _forget(done: asyncio.Future[Result]) -> None:
    if not done.cancelled():
        done.exception()
