"""The projects that the server answers for: found below its allowed roots, opened when asked about.

They are worked on in threads: so many at once, so many that wait, and none for a client that is gone.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from workbench.config_layers import project_file, user_file
from workbench.entry.http.guard import RequestRefused
from workbench.entry.http.planner import PlanProcess
from workbench.entry.services.opening import (
    ENDED,
    CallEnd,
    CallEnded,
    find_project,
    host_project,
    report_progress,
    require_wanted,
)
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.entry.services.opening import ProjectHost

BY: Final = "http"
"""What journals name as the face that acted."""

MOST_OPEN: Final = 16
"""Projects that are kept open; the one that was asked about longest ago is closed for another."""

MOST_PLANNERS: Final = 4
"""Processes that plan: each holds a project's index, and libraries of 100 MB and more."""

Result = TypeVar("Result")

THREADS: Final = 8
WAITING: Final = 256
"""Requests that wait for a thread or a turn; the next one is refused."""


@dataclass(eq=False)
class OpenProject:
    """A project of the server. Who wants its turn waits for `turn`; `asked` are those who do.

    Who wants to be planned for waits for `plan_turn`, and is answered by `planner`.
    """

    root: Path
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    plan_turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked: int = 0
    opening: Lock = field(default_factory=Lock)
    _host: ProjectHost | None = None
    _settings: tuple[object, ...] = ()
    planner: PlanProcess = field(init=False)

    def __post_init__(self) -> None:
        """Start no process yet."""
        self.planner = PlanProcess(self.root)

    def host(self) -> ProjectHost:
        """Return the project, kept open until its settings change. Raises: WorkbenchError."""
        with self.opening:
            settings = tuple(map(_stamp, (user_file(), project_file(self.root))))
            if self._host is not None and self._settings != settings:
                self._host.close()
                self._host = None
            if self._host is None:
                self._host, self._settings = host_project(self.root, {}, BY, report_progress), settings
            return self._host

    @property
    def is_open(self) -> bool:
        """Whether anything was asked of it yet."""
        return self._host is not None or self.planner.is_running

    def close(self) -> None:
        """Free what is held, once nobody asks any more."""
        self.planner.close()
        with self.opening:
            if self._host is not None:
                self._host.close()
            self._host = None


class ServedProjects:
    """Which projects may be asked about: those in `roots`, resolved; `usual` where a request names none."""

    def __init__(self, roots: Sequence[Path], usual: Path | None) -> None:
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))
        self.usual = usual
        self._open: OrderedDict[Path, OpenProject] = OrderedDict()

    def find(self, given: str) -> OpenProject:
        """Return the project that a directory is in; nothing of a directory outside of the roots is revealed.

        Raises: UsageError, RequestRefused, ProjectError.
        """
        root = self._root(given)
        found = self._open.get(root)
        if found is None:
            found = self._open[root] = OpenProject(root)
        self._open.move_to_end(root)
        self._make_room()
        return found

    def _root(self, given: str) -> Path:
        if not given:
            if self.usual is None:
                raise UsageError("project_root is missing", hint="Give the directory of a project.")
            return self.usual
        if not os.path.isabs(given) or not given.isprintable() or len(given) > 4096:
            raise UsageError("project_root is not an absolute path", hint='Such as "/home/me/code/shop".')
        try:
            place = Path(os.path.realpath(given))
        except (OSError, ValueError) as error:
            raise UsageError(f"project_root cannot be a path: {error}", hint="Correct it.") from error
        self._require_allowed(place)
        if not place.is_dir():
            raise RequestRefused(
                404, "not_found", f"{given} is not a directory", "Give the directory of a project."
            )
        root = find_project(start=place)
        self._require_allowed(root)
        return root

    def _require_allowed(self, place: Path) -> None:
        if not any(place.is_relative_to(root) for root in self.roots):
            raise RequestRefused(
                403,
                "outside",
                "project_root is outside of the directories that this server answers for",
                "Start it with `workbench serve --root DIRECTORY`.",
            )

    def _make_room(self) -> None:
        for root, one in [*self._open.items()][: max(0, len(self._open) - MOST_OPEN)]:
            if not one.asked:
                del self._open[root]
                Thread(target=one.close).start()  # it may have something to record
        planning = [one for one in self._open.values() if one.planner.is_running]
        for one in planning[: max(0, len(planning) - MOST_PLANNERS)]:
            if not one.asked:
                Thread(target=one.planner.retire).start()

    @property
    def open_count(self) -> int:
        """How many projects are open."""
        return sum(one.is_open for one in self._open.values())

    def opened_projects(self) -> tuple[OpenProject, ...]:
        """Return the projects that were asked about."""
        return tuple(one for one in self._open.values() if one.is_open)

    def close_planners(self) -> None:
        """End the processes that plan, whatever they do."""
        for one in self._open.values():
            one.planner.close()

    def close(self) -> None:
        """Close all of them."""
        for one in self._open.values():
            one.close()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class Workers:
    """Threads that requests are worked on in. `running` counts the requests that have one or wait for one."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="workbench")
        self._planning = ThreadPoolExecutor(MOST_OPEN, thread_name_prefix="planning")  # they only wait
        self._most = threads + waiting
        self._ended: set[CallEnd] = set()
        self._over = False
        self.running = 0

    async def run(
        self,
        call: Callable[[], Result],
        *,
        project: OpenProject | None = None,
        plans: bool = False,
        patience: float | None = None,
        gone: Callable[[], Coroutine[Any, Any, object]] | None = None,
    ) -> Result:
        """Return what a call returns, in a thread and in the turn of a project, if one is given.

        What `plans` waits for the plans of the project alone, and asks its planner.
        `patience` is for how many seconds its turn may be waited for; `gone` returns when the client hangs
        up, after which nothing is begun, and what runs ends where it next reports progress.
        Raises: RequestRefused if there is too much to do; CallEnded; what the call raises.
        """
        if self._over:
            raise busy("the server is about to end")
        if self.running >= self._most:
            raise busy("there is too much to do at once")
        self.running += 1
        ended = CallEnd()
        self._ended.add(ended)
        working = asyncio.ensure_future(self._work(call, project, plans, patience, ended))
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
        plans: bool,
        patience: float | None,
        ended: CallEnd,
    ) -> Result:
        try:
            if project is None:
                return await self._in_thread(self._pool, call, ended)
            turn, pool = (project.plan_turn, self._planning) if plans else (project.turn, self._pool)
            project.asked += 1
            try:
                try:
                    async with asyncio.timeout(patience):
                        await turn.acquire()
                except TimeoutError:
                    raise busy("the project was at work for longer than latency_budget_ms") from None
                try:
                    return await self._in_thread(pool, call, ended)
                finally:
                    turn.release()
            finally:
                project.asked -= 1
        finally:
            self.running -= 1
            self._ended.discard(ended)

    async def _in_thread(
        self, pool: ThreadPoolExecutor, call: Callable[[], Result], ended: CallEnd
    ) -> Result:
        context = copy_context()

        def work() -> Result:
            ENDED.set(ended)
            require_wanted()
            return call()

        return await asyncio.get_running_loop().run_in_executor(pool, context.run, work)

    def end(self) -> None:
        """End what runs where it next reports progress, and begin nothing any more."""
        self._over = True
        for one in [*self._ended]:
            one.set()
        for pool in (self._pool, self._planning):
            pool.shutdown(wait=False, cancel_futures=True)


def busy(message: str) -> RequestRefused:
    """Return the refusal of a request that comes while too much is to be done."""
    return RequestRefused(503, "busy", message, "Ask again in a moment; Retry-After says when.")


def _forget(done: asyncio.Future[Result]) -> None:
    if not done.cancelled():
        done.exception()
