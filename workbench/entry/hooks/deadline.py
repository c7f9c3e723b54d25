"""When a hook is over: a child does its work, and the kernel ends the child, whatever that does in C.

A thread could not: a call into C that keeps the interpreter's lock keeps the thread from running. The parent
writes an answer only once all of it has arrived, notes why there is none, and never fails. The child has its
own timer, so that it ends also where its parent was killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_LENGTH: Final = 8  # bytes before an answer, which say how many it has
_BLOCK: Final = 1 << 16
_SHORTEST: Final = 1e-6  # seconds; 0 would stop the timer

Report = Callable[[str], None]


class HookDeadline:
    """What the work of a hook is given: how long it may take, and where its answer goes."""

    def __init__(self, began: float, answers: int) -> None:
        """Take when the hook began, of `time.monotonic`, and the pipe to the parent."""
        self._began = began
        self._answers = answers

    def allow(self, seconds: float) -> None:
        """Give the hook so many seconds from its start."""
        left = max(self._began + seconds - time.monotonic(), _SHORTEST)
        signal.setitimer(signal.ITIMER_REAL, left)

    def answer(self, output: bytes) -> None:
        """Hand over the answer, after which the work may go on."""
        _write(self._answers, len(output).to_bytes(_LENGTH, "big") + output)


class _ThreadDeadline(HookDeadline):
    """The deadline where no child can be started: it fails where C keeps the interpreter's lock."""

    def __init__(self, began: float, answers: int, report: Report) -> None:
        super().__init__(began, answers)
        self._report = report
        self._seconds = 0.0
        self._changed = threading.Event()
        self._writing = threading.Lock()

    def allow(self, seconds: float) -> None:
        is_first, self._seconds = not self._seconds, seconds
        self._changed.set()
        if is_first:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while (left := self._began + self._seconds - time.monotonic()) > 0:
            self._changed.clear()
            self._changed.wait(left)
        self._report(_late(self._began))
        with self._writing:
            os._exit(0)

    def answer(self, output: bytes) -> None:
        with self._writing:
            _write(self._answers, output)


def run_within(seconds: float, work: Callable[[HookDeadline], None], report: Report) -> None:
    """Do the work of a hook within so many seconds, or those it is allowed, and write its answer to stdout.

    `work` gets an empty stdout and stderr; libraries may print, and an agent reads what is there. `report`
    gets the reason where it does not end by itself.
    """
    began = time.monotonic()
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except (AttributeError, OSError):  # Windows, or too many processes
        out = os.dup(1)
        _silence()
        deadline: HookDeadline = _ThreadDeadline(began, out, report)
        deadline.allow(seconds)
        work(deadline)
        return
    if not child:
        try:
            os.close(reading)
            _silence()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # who started it may ignore or block it
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            deadline = HookDeadline(began, writing)
            deadline.allow(seconds)
            work(deadline)
        finally:
            os._exit(0)
    os.close(writing)
    output = _read_answer(reading)
    with suppress(OSError):  # whoever asked is gone
        _write(1, output)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        report(_late(began) if number == signal.SIGALRM else f"ended by signal {number}")


def _late(began: float) -> str:
    return f"not done after {round(time.monotonic() - began, 1):g} seconds"


def _silence() -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)


def _read_answer(descriptor: int) -> bytes:
    """Return the answer, empty unless all of it comes."""
    found = bytearray()
    while len(found) < _LENGTH or len(found) < _LENGTH + int.from_bytes(found[:_LENGTH], "big"):
        block = os.read(descriptor, _BLOCK)
        if not block:
            return b""
        found += block
    return bytes(found[_LENGTH:])


def _write(descriptor: int, output: bytes) -> None:
    while output:
        output = output[os.write(descriptor, output) :]
