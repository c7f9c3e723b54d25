"""Locks between processes: `flock` on a file nobody deletes, waited for in the kernel's queue.

The kernel releases a lock when its holder dies, whatever way, so there is nothing to repair. Waiting is a
blocking `flock` in a thread of its own, given up after the timeout; polling would starve some waiters for
seconds where the queue serves them all in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from store.files import open_state, private_dir, read_state, translate_errors
from workbench.errors import StoreBusy

if sys.platform != "win32":
    import fcntl

DEFAULT_TIMEOUT: Final = 30.0

_PID_WIDTH = 12
_PROCESSES = Path("/proc")
_WORD = re.compile(r"[a-z][a-z-]{0,30}")
_WORDS = 3  # of a command that are shown: `workbench rules add`, and never what is added

LATE: Final = 3.0
"""Seconds of waiting after which the holder of a lock is reported."""

_waits = threading.local()
_say: list[Callable[[str], None]] = []


def announce_waits(say: Callable[[str], None]) -> None:
    """Let `say` have a sentence from now on whenever this process waits for a lock for long."""
    _say[:] = [say]


def seconds_waited() -> float:
    """Return for how many seconds this thread has waited for locks so far."""
    return sum(lock_waits().values())


def lock_waits() -> Mapping[str, float]:
    """Return for how many seconds this thread has waited for each lock so far."""
    return dict(getattr(_waits, "seconds", {}))


@contextlib.contextmanager
def exclusive(path: Path, *, timeout: float = DEFAULT_TIMEOUT) -> Iterator[None]:
    """Hold the lock file `path` alone. `timeout` is in seconds; 0 tries once.

    Raises StoreBusy, naming the lock and the process that holds it where known.
    """
    if sys.platform == "win32":
        with _portable(path, timeout):
            yield
        return
    descriptor = _acquire(path, fcntl.LOCK_EX, timeout)
    try:
        # Only for the message of those who wait: a disk too full for twelve bytes must not stop the work.
        with contextlib.suppress(OSError):
            os.pwrite(descriptor, f"{os.getpid():<{_PID_WIDTH}}".encode(), 0)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.pwrite(descriptor, b" " * _PID_WIDTH, 0)
        os.close(descriptor)


@contextlib.contextmanager
def hold_shared(path: Path, *, timeout: float = DEFAULT_TIMEOUT) -> Iterator[None]:
    """Hold the lock file `path` together with other shared holders. Raises StoreBusy."""
    if sys.platform == "win32":
        with _portable(path, timeout):
            yield
        return
    descriptor = _acquire(path, fcntl.LOCK_SH, timeout)
    try:
        yield
    finally:
        os.close(descriptor)


class FairLock:
    """A lock that many readers or one writer hold, and one writer's work serves all who wait for it.

    Whoever asks passes the gate first, and a writer keeps it until the readers before it are done: readers
    that come later do not get ahead, and those that come together wait together. `timeout` is in seconds.
    """

    def __init__(self, directory: Path, name: str, timeout: float) -> None:
        self._path = directory / f"{name}.lock"
        self._gate = directory / f"{name}-turn.lock"
        self._round = directory / f"{name}-round.lock"
        self._timeout = timeout

    def hold_shared(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock with other readers. Raises StoreBusy."""
        return self._hold(hold_shared)

    def exclusive(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock alone. Raises StoreBusy."""
        return self._hold(exclusive)

    def is_wanted(self) -> bool:
        """Tell whether a writer is at the gate, or what holds the lock should let it go for other reasons."""
        if sys.platform == "win32":  # where a shared lock keeps readers away, too
            return True
        try:
            descriptor = open_state(self._gate, os.O_RDWR)
        except OSError:  # the state directory is gone
            return True
        try:
            return not _try(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def turn(self) -> Iterator[bool]:
        """Yield True to the one who has the turn, False to others when its turn is over. Raises StoreBusy."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(exclusive(self._round, timeout=0))
            except StoreBusy:
                with self._blaming_holder(), hold_shared(self._round, timeout=self._timeout):
                    pass
                own = False
            else:
                own = True
            yield own

    @contextlib.contextmanager
    def _hold(self, how: Callable[..., contextlib.AbstractContextManager[None]]) -> Iterator[None]:
        until = time.monotonic() + self._timeout
        with contextlib.ExitStack() as held:
            with self._blaming_holder():
                gate = held.enter_context(contextlib.ExitStack())
                gate.enter_context(how(self._gate, timeout=self._timeout))
                held.enter_context(how(self._path, timeout=max(0.0, until - time.monotonic())))
                gate.close()
            yield

    @contextlib.contextmanager
    def _blaming_holder(self) -> Iterator[None]:
        """Name the holder of the lock itself: those at its gate wait for it, too."""
        try:
            yield
        except StoreBusy as error:
            if holders(self._path):
                raise _busy(self._path, self._timeout) from error
            raise


def holders(path: Path) -> list[int]:
    """Return the processes that hold the lock now: from Linux all, elsewhere the one that holds it alone."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lock = path.stat()
        # 1: FLOCK  ADVISORY  WRITE 4711 08:01:1310 0 EOF
        rows = [line.split() for line in (_PROCESSES / "locks").read_text(encoding="ascii").splitlines()]
        same = [row for row in rows if row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(lock.st_ino)]
        found = [process for process in sorted({int(row[4]) for row in same}) if _has_open(process, lock)]
    if not found:
        with contextlib.suppress(OSError, ValueError):
            found = [int(read_state(path)[:_PID_WIDTH])]
    return found


def _has_open(process: int, file: os.stat_result) -> bool:
    for descriptor in (_PROCESSES / str(process) / "fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.path.samestat(descriptor.stat(), file):
                return True
    return False


def command_of(process: int) -> str:
    """Return which command a process is, without its arguments; empty where the system does not say."""
    try:
        words = (_PROCESSES / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    at = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "workbench"), 0)
    named = [words[at].rpartition("/")[2]]
    for word in words[at + 1 : at + _WORDS]:
        if not _WORD.fullmatch(word):
            break
        named.append(word)
    return " ".join(one for one in named if one.isprintable())


def _acquire(path: Path, operation: int, timeout: float) -> int:
    private_dir(path.parent)
    with translate_errors(f"taking the lock {path}"):
        descriptor = open_state(path, os.O_RDWR | os.O_CREAT)
        try:
            taken = _try(descriptor, operation)
        except OSError:
            os.close(descriptor)
            raise
        if taken:
            return descriptor
        if timeout <= 0:
            os.close(descriptor)
            raise _busy(path, timeout)
        started = time.perf_counter()
        try:
            # From here on the waiter owns the descriptor, until it hands it back.
            if not _Waiter(descriptor, operation).wait(timeout, lambda: _announce(path)):
                raise _busy(path, timeout)
        finally:
            name, before = _lock_name(path), lock_waits()
            _waits.seconds = {**before, name: before.get(name, 0.0) + time.perf_counter() - started}
        return descriptor


def _try(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_name(path: Path) -> str:
    return path.stem.removesuffix("-turn").removesuffix("-round")


def _announce(path: Path) -> None:
    for say in _say:
        say(f"waiting for {_name_holders(holders(path))}, which holds the lock {_lock_name(path)}")


def _name_holders(found: Sequence[int]) -> str:
    """Return holders of a lock as words: `process 4711 (workbench rebuild) and 2 more`."""
    command = command_of(found[0]) if found else ""
    who = f"process {found[0]}" if found else "another process"
    if command:
        who += f" ({command})"
    return who if len(found) < 2 else f"{who} and {len(found) - 1} more"


def _busy(path: Path, timeout: float) -> StoreBusy:
    found = holders(path)
    since = f", {timeout:,.0f} s were waited for it" if timeout >= 1 else ""
    end = f", or end it with `kill {found[0]}`: nothing that was acknowledged is lost" if found else ""
    return StoreBusy(
        f"{_name_holders(found)} holds the lock {_lock_name(path)}{since}",
        hint=f"Try again when it has finished{end}. The lock file is {path}.",
    )


class _Waiter:
    """A blocking `flock` in a daemon thread; whoever gives up first leaves the descriptor to the other."""

    def __init__(self, descriptor: int, operation: int) -> None:
        self._descriptor = descriptor
        self._operation = operation
        self._mutex = threading.Lock()
        self._done = threading.Event()
        self._given_up = False
        self._error: OSError | None = None
        threading.Thread(target=self._block, name="lock-waiter", daemon=True).start()

    def wait(self, timeout: float, late: Callable[[], None]) -> bool:
        """Tell whether the lock was taken in time; if so, the descriptor is the caller's again.

        `late` is called if that takes long.
        """
        try:
            if not self._done.wait(min(timeout, LATE)) and timeout > LATE:
                late()
                self._done.wait(timeout - LATE)
        except BaseException:
            if self._give_up():
                os.close(self._descriptor)
            raise
        taken = self._give_up()
        if self._error is not None:
            os.close(self._descriptor)
            raise self._error
        return taken

    def _give_up(self) -> bool:
        with self._mutex:
            self._given_up = not self._done.is_set()
            return not self._given_up

    def _block(self) -> None:
        failed: OSError | None = None
        try:
            fcntl.flock(self._descriptor, self._operation)
        except OSError as error:
            failed = error
        with self._mutex:
            if self._given_up:
                os.close(self._descriptor)
            else:
                self._error = failed
                self._done.set()


@contextlib.contextmanager
def _portable(path: Path, timeout: float) -> Iterator[None]:
    # Windows has no flock. There a shared lock is an exclusive one.
    import filelock

    private_dir(path.parent)
    try:
        with filelock.FileLock(str(path), timeout=timeout):
            yield
    except filelock.Timeout as error:
        raise _busy(path, timeout) from error
