"""When a hook is over: a child does its work, and the kernel ends the child, whatever that does in C.

A thread could not: a call into C that keeps the interpreter's lock keeps the thread from running. The parent
writes an answer only once all of it has arrived, leaves when the time is over, notes why there is none, and
never fails. The child goes on for some seconds, whatever the deadline: it records the session. It has its own
timer, so that it ends also where its parent was killed.

Work that may take longer says before what could be answered instead. From half of the time on a second child
makes that answer, which is written where the first is late; the first finds nobody to answer, and keeps what
it made for later. On a busy machine that answer comes first, and the work waits for it: both at once would be
too late.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_LENGTH: Final = 8  # bytes before a message, after its kind, which say how many it has
_ANSWER: Final = b"a"
_INSTEAD: Final = b"i"
_HALF: Final = 0.5  # of the time, after which another answer is made
LATER: Final = 10.0  # seconds that late work may go on
_BLOCK: Final = 1 << 16
_SHORTEST: Final = 1e-6  # seconds; 0 would stop the timer

Report = Callable[[str], None]
Stopgap = Callable[[bytes], bytes]
"""What makes an answer in little time of what the work left for it."""


class HookDeadline:
    """What the work of a hook is given: how long it may take, and where its answer goes."""

    def __init__(self, began: float, answers: int, turn: int = -1) -> None:
        """Take when the hook began (`time.monotonic`), the pipe to the parent, and one that it closes."""
        self._began = began
        self._answers = answers
        self._turn = turn
        self._seconds = 0.0
        self._order = b""
        self._later = LATER

    def allow(self, seconds: float) -> None:
        """Let the agent wait so many seconds from the hook's start, and the work go on for some more."""
        self._seconds = seconds
        with suppress(OSError):
            _send(self._answers, _INSTEAD, f"{seconds} ".encode() + self._order)
        _end_at(self._began + seconds + self._later)

    def end_late(self) -> None:
        """Have the work end with its time: it records nothing, and a late answer of it is of no use."""
        self._later = 0.0

    def leave(self, order: bytes) -> None:
        """Say what a stopgap makes an answer of where this work is late, which may then go on.

        Where the machine is busy that answer is made first.
        """
        self._order = order
        self.allow(self._seconds)
        if self._turn >= 0:
            with suppress(OSError):
                os.read(self._turn, 1)  # until the parent closes it, or is gone

    def answer(self, output: bytes) -> bool:
        """Hand over the answer, after which the work may go on; return whether anybody still waits for it."""
        try:
            _send(self._answers, _ANSWER, output)
        except OSError:
            return False
        self._order, self._later = b"", LATER
        self.allow(self._seconds)
        return True

    def close(self) -> None:
        """Let go of the parent, in a child that it does not wait for."""
        os.close(self._answers)


class _ThreadDeadline(HookDeadline):
    """The deadline where no child can be started: it fails where C keeps the interpreter's lock."""

    def __init__(self, began: float, answers: int, report: Report) -> None:
        super().__init__(began, answers)
        self._report = report
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

    def leave(self, order: bytes) -> None:
        """Do nothing: there is nobody who could answer instead."""

    def answer(self, output: bytes) -> bool:
        with self._writing:
            _write(self._answers, output)
        return True


def run_within(
    seconds: float,
    work: Callable[[HookDeadline], None],
    report: Report,
    stopgap: Stopgap = lambda order: b"",
) -> None:
    """Do the work of a hook within so many seconds, or those it is allowed, and write its answer to stdout.

    `work` gets an empty stdout and stderr; libraries may print, and an agent reads what is there. `report`
    gets the reason where it does not end by itself. `stopgap` makes an answer where the work is late.
    """
    began = time.monotonic()
    reading, writing = os.pipe()
    turn, turning = os.pipe()
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
            os.close(turning)
            _silence()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # who started it may ignore or block it
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            deadline = HookDeadline(began, writing, turn)
            deadline.allow(seconds)
            work(deadline)
        finally:
            os._exit(0)
    os.close(writing)
    os.close(turn)
    waiting = _Waiting(reading, turning, began, seconds, stopgap)
    output, is_late = waiting.output()
    waiting.give_turn()
    with suppress(OSError):  # whoever asked is gone
        _write(1, output)
    if is_late:
        report(f"{_late(began)}{': answered by names, the pack follows' if output else ''}")
        return
    if not waiting.is_over():
        return  # it is still recording
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


class _Waiting:
    """The parent's wait for an answer: of the work, or of what stands in for it when the time is over."""

    def __init__(self, reading: int, turning: int, began: float, seconds: float, stopgap: Stopgap) -> None:
        self._began, self._stopgap, self._turning = began, stopgap, turning
        self._reading, self._instead = reading, -1
        self._seconds, self._order = seconds, b""
        self._busy: bool | None = None  # when the order came
        self._found: dict[int, bytearray] = {reading: bytearray()}
        self._output = b""

    def output(self) -> tuple[bytes, bool]:
        """Return what is written, and whether the work is left to go on; empty where it ended without."""
        while True:
            ready = select.select([*self._found], [], [], self._pause())[0]
            for descriptor in ready:
                block = os.read(descriptor, _BLOCK)
                self._found[descriptor] += block
                if descriptor == self._reading:
                    answer = self._take_message()
                    if answer is not None or not block:
                        return answer if answer is not None else b"", False
                elif not block:
                    self._output = _take(self._found.pop(descriptor))[1]
                    self.give_turn()
            if ready:
                continue
            if time.monotonic() >= self._began + self._seconds:
                return self._output, True
            if self._order and self._instead < 0:
                self._start_stopgap()

    def is_over(self) -> bool:
        """Wait until the work has ended or the time is over; return whether it has ended."""
        while (left := self._began + self._seconds - time.monotonic()) > 0:
            if select.select([self._reading], [], [], left)[0] and not os.read(self._reading, _BLOCK):
                return True
        return False

    def _pause(self) -> float:
        """Return the seconds until something is to be done."""
        share = 1.0 if self._instead >= 0 or not self._order else 0.0 if self._busy else _HALF
        return max(self._began + self._seconds * share - time.monotonic(), 0.0)

    def _take_message(self) -> bytes | None:
        """Return the answer if it is there; take note of an order."""
        found = self._found[self._reading]
        kind, message = _take(found)
        if kind == _INSTEAD:
            del found[: 1 + _LENGTH + len(message)]
            seconds, _, self._order = message.partition(b" ")
            self._seconds = float(seconds)
            if self._order and self._busy is None:
                self._busy = _is_busy()
                if not self._busy:
                    self.give_turn()
            return self._take_message()
        return message if kind == _ANSWER else None

    def give_turn(self) -> None:
        """Let the work go on, which waits once it has left an order."""
        if self._turning >= 0:
            os.close(self._turning)
            self._turning = -1

    def _start_stopgap(self) -> None:
        self._instead, writing = os.pipe()
        if os.fork():
            os.close(writing)
            self._found[self._instead] = bytearray()
            return
        try:
            self.give_turn()  # not the parent's, which outlives this one
            _silence()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            _end_at(self._began + self._seconds)
            _send(writing, _ANSWER, self._stopgap(self._order))
        finally:
            os._exit(0)


def _end_at(moment: float) -> None:
    """Have the kernel end this process at a moment of `time.monotonic`."""
    signal.setitimer(signal.ITIMER_REAL, max(moment - time.monotonic(), _SHORTEST))


def _is_busy() -> bool:
    """Whether more wants to run than the machine has processors."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1)
    except OSError:
        return False


def _send(descriptor: int, kind: bytes, message: bytes) -> None:
    _write(descriptor, kind + len(message).to_bytes(_LENGTH, "big") + message)


def _take(found: bytearray) -> tuple[bytes, bytes]:
    """Return the kind and the bytes of the first message, both empty unless all of it is there."""
    size = 1 + _LENGTH + int.from_bytes(found[1 : 1 + _LENGTH], "big")
    whole = len(found) >= max(size, 1 + _LENGTH)
    return (bytes(found[:1]), bytes(found[1 + _LENGTH : size])) if whole else (b"", b"")


def _write(descriptor: int, output: bytes) -> None:
    while output:
        output = output[os.write(descriptor, output) :]
