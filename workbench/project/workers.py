"""A function applied to many items by several processes, results in order; nothing outlives the caller.

Each worker has a pipe of its own and ends when its other end closes, so killing the caller in any way ends
them, too. No threads are started, so that starting processes stays safe. A worker that dies takes one item
with it, which is found by trying the items of its batch one by one. No worker imports anything from the
directory it runs in, which is a repository of whomever.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 8  # more processes than this wait for the disk and for the caller
_SAFE = "PYTHONSAFEPATH"
_STARTING = threading.Lock()
_PATIENCE = 5.0  # seconds a worker has to end before it is killed


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection


@dataclass(slots=True)
class _Job(Generic[Item]):
    """Items to do, as part of the batch `number`, at `position` in it."""

    number: int
    items: Sequence[Item]
    position: int = 0


@dataclass(slots=True)
class _State(Generic[Item, Result]):
    waiting: deque[_Job[Item]] = field(default_factory=deque)
    given: dict[int, tuple[_Worker, _Job[Item]]] = field(default_factory=dict)  # by the pipe's descriptor
    results: dict[int, dict[int, Result]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


def worker_count(wanted: int | None) -> int:
    """Return how many workers to use: `wanted`, or as many as there are processors for this process."""
    if wanted is not None:
        return wanted
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST)


def spread(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int,
    batch: int,
    failed: Callable[[Item], Result],
) -> Generator[list[Result], None, None]:
    """Yield the results of `function` for all items, in order, as lists of up to `batch`.

    With under two workers, or where none can be started safely, all happens in this process. `function` must
    be importable by name; `failed` gives the result of an item that ended its worker. At most a few batches
    are ahead of the caller. Errors of `function` are raised here.
    """
    source = iter(items)
    batches = iter(lambda: list(islice(source, batch)), [])
    if workers < 2 or not _can_start():
        for chunk in batches:
            yield [function(item) for item in chunk]
        return
    pool: list[_Worker] = []
    try:
        with _interrupts_later():
            for _ in range(workers):
                pool.append(_start(function, pool))
        yield from _run(function, batches, pool, failed)
    finally:
        _stop(pool)


def _run(
    function: Callable[[Item], Result],
    batches: Iterator[list[Item]],
    pool: list[_Worker],
    failed: Callable[[Item], Result],
) -> Iterator[list[Result]]:
    state: _State[Item, Result] = _State()
    started = due = 0
    exhausted = False
    while True:
        while not exhausted and len(state.waiting) < len(pool) and started - due < 3 * len(pool):
            chunk = next(batches, None)
            if chunk is None:
                exhausted = True
                break
            state.sizes[started], state.results[started] = len(chunk), {}
            state.waiting.append(_Job(started, chunk))
            started += 1
        for worker in pool:
            if state.waiting and worker.pipe.fileno() not in state.given:
                _give(worker, state)
        while due < started and len(state.results[due]) == state.sizes[due]:
            found = state.results.pop(due)
            yield [found[position] for position in range(state.sizes.pop(due))]
            due += 1
        if exhausted and due == started:
            return
        if state.given and len(state.results[due]) < state.sizes[due]:
            _collect(function, pool, state, failed)


def _give(worker: _Worker, state: _State[Item, Result]) -> None:
    job = state.waiting.popleft()
    state.given[worker.pipe.fileno()] = (worker, job)
    try:
        worker.pipe.send(job.items)
    except OSError:
        return  # it has died: that shows when its answer is waited for


def _collect(
    function: Callable[[Item], Result],
    pool: list[_Worker],
    state: _State[Item, Result],
    failed: Callable[[Item], Result],
) -> None:
    """Take in what workers have finished, waiting for the first of them."""
    for pipe in connection.wait([worker.pipe for worker, _ in state.given.values()]):
        assert isinstance(pipe, Connection)
        worker, job = state.given.pop(pipe.fileno())
        try:
            error, found = pipe.recv()
        except (EOFError, OSError):
            _replace(function, pool, worker)
            _divide(job, state, failed)
            continue
        if error is not None:
            raise error
        for offset, result in enumerate(found):
            state.results[job.number][job.position + offset] = result


def _divide(job: _Job[Item], state: _State[Item, Result], failed: Callable[[Item], Result]) -> None:
    """Try the items of a job whose worker died one by one; give up on a single one."""
    if len(job.items) == 1:
        state.results[job.number][job.position] = failed(job.items[0])
        return
    singles = [_Job(job.number, [item], job.position + offset) for offset, item in enumerate(job.items)]
    state.waiting.extendleft(reversed(singles))


def _replace(function: Callable[[Item], Result], pool: list[_Worker], dead: _Worker) -> None:
    pool.remove(dead)
    _stop([dead])
    with _interrupts_later():
        pool.append(_start(function, pool))


def _can_fork() -> bool:
    # A fork with other threads alive can inherit their locks; without any it is the fastest start.
    return sys.platform == "linux" and threading.active_count() == 1


def _can_start() -> bool:
    """Tell whether a worker can be started, and kept from the current directory.

    An interpreter within another program knows no program to start; one that ignores its environment looks
    for modules in the current directory.
    """
    return _can_fork() or bool(sys.executable and (sys.flags.safe_path or not sys.flags.ignore_environment))


def _start(function: Callable[[Any], Any], others: Sequence[_Worker]) -> _Worker:
    forking = _can_fork()
    context: Any = multiprocessing.get_context("fork" if forking else "spawn")
    ours, theirs = context.Pipe()
    closing = [worker.pipe for worker in others] + [ours] if forking else []
    process = context.Process(target=_serve, args=(function, theirs, closing), daemon=True)
    with warnings.catch_warnings(), _usable_stderr(), nullcontext() if forking else _importing_safely():
        # Newer Pythons warn of forks beside the idle threads of numerical libraries, which workers never use.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _usable_stderr() -> Iterator[None]:
    """Hand the processes a stderr that is a file; what draws a whole screen puts something else there."""
    held = sys.stderr
    try:
        usable = held is None or held.fileno() >= 0
    except (AttributeError, OSError, ValueError):
        usable = True  # without any number the processes go without, which they can
    if usable:
        yield
        return
    sys.stderr = sys.__stderr__
    try:
        yield
    finally:
        sys.stderr = held


@contextmanager
def _importing_safely() -> Iterator[None]:
    """Start Python as with -P: otherwise it looks for modules in the current directory first.

    The program to start and its flags are chosen by the standard library, which leaves the environment. It
    has the new process run the main module, too: a script without a guard would do all it does once more.
    """
    with _STARTING:
        held, main = os.environ.get(_SAFE), sys.modules["__main__"]
        os.environ[_SAFE] = "1"
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            if held is None:
                del os.environ[_SAFE]
            else:
                os.environ[_SAFE] = held


def _serve(function: Callable[[Any], Any], pipe: Connection, inherited: Sequence[Connection]) -> None:
    """Answer batches until the caller closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle
    for other in inherited:
        other.close()
    while True:
        try:
            items = pipe.recv()
        except (EOFError, OSError):
            return
        error: Exception | None = None
        found: list[Any] = []
        try:
            found = [function(item) for item in items]
        except Exception as raised:
            error = raised
        try:
            pipe.send((error, found))
        except OSError:
            return


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back while processes start, so that it reaches the caller and not a half-made child."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(pool: Sequence[_Worker]) -> None:
    for worker in pool:
        worker.pipe.close()
        worker.process.terminate()
    for worker in pool:
        worker.process.join(_PATIENCE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()
