"""The process that plans for a project of the server, asked one question at a time.

A plan reads files that anybody may have written, and one call into C keeps the interpreter's lock for as long
as it takes. In a process of its own it holds up the plans of its project alone; the server's own threads
answer everything else meanwhile. What nobody waits for any more ends where it next reports progress, or a
few seconds later with its process, which owns nothing: the next question starts another.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import IO, Any, Final

from workbench.entry.http.guard import RequestRefused
from workbench.entry.http.metrics import resident_bytes
from workbench.entry.services.opening import CALLER, ENDED, CallEnded, require_wanted

GRACE: Final = 10.0
"""Seconds for which a plan that nobody waits for may still fill the caches of the next one."""

_CLOSING: Final = 3.0
"""Seconds that the process has to record what it gave, once it is to end."""


class PlanProcess:
    """A project's process, started by the first question and again where it has ended."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._asking = Lock()
        self._ending = Lock()  # held where a call ends, or is to end
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process."""
        process = self._process
        return process is not None and process.poll() is None

    @property
    def memory(self) -> int:
        """The bytes of memory that the process has, 0 where there is none."""
        process = self._process
        return 0 if process is None or process.poll() is not None else resident_bytes(process.pid)

    def ask(self, do: str, name: str, body: bytes, **more: str) -> bytes:
        """Return what `workbench.entry.http.planning` answers; progress goes to who asks in this thread.

        Raises: RequestRefused for what fails there, and where the process ends; CallEnded.
        """
        ended = ENDED.get()
        with self._asking:
            require_wanted()
            process = self._ensure_process()
            question = _Question()
            if ended is not None:
                ended.then(lambda: self._abandon(process, question))
            try:
                write_frame(process.stdin, {"do": do, "name": name, **more}, body)
                last, answer = _read_answer(process, question)
            except (OSError, EOFError, ValueError):  # it is gone, or its pipes were closed
                code = _wait(process)
                require_wanted()
                raise self._failure(code) from None
            except BaseException:  # what it still writes must be nobody's answer
                process.kill()
                raise
            finally:
                with self._ending:
                    question.is_over.set()
        if last["is"] == "ended":
            raise CallEnded
        if last["is"] == "failure":
            raise RequestRefused(last["status"], last["code"], last["message"], last["hint"])
        return answer

    def start(self) -> None:
        """Start the process for a question that will come, unless one is asked now."""
        if self._asking.acquire(blocking=False):
            try:
                self._ensure_process()
            finally:
                self._asking.release()

    def _ensure_process(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        # -P: the directory it runs in may hold a module of any name, and must not be imported from.
        command = [sys.executable, "-P", "-m", "workbench.entry.http.planning", str(self._root)]
        started: SimpleQueue[subprocess.Popen[bytes] | OSError] = SimpleQueue()
        Thread(target=_keep, args=(command, self._root.anchor, started), daemon=True).start()
        process = started.get()
        if isinstance(process, OSError):
            reason = f"no process can be started that plans: {process.strerror}"
            raise RequestRefused(503, "busy", reason, "Ask again in a moment; Retry-After says when.")
        self._process = process
        return process

    def _failure(self, code: int) -> RequestRefused:
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        hint = "Ask again: the next request starts another one. The server's stderr may say why."
        return RequestRefused(500, "failed", f"the process that plans for {self._root} ended {how}", hint)

    def _abandon(self, process: subprocess.Popen[bytes], question: _Question) -> None:
        """Have a question end that nobody waits for, and its process where it does not; waits for nothing."""
        if not question.is_over.is_set():
            Thread(target=self._end, args=(process, question), daemon=True).start()

    def _end(self, process: subprocess.Popen[bytes], question: _Question) -> None:
        for reached, number in ((question.is_begun, signal.SIGUSR1), (question.is_over, signal.SIGKILL)):
            was_reached = reached.wait(GRACE)
            with self._ending:  # so that the next question never hears it
                if not question.is_over.is_set() and (was_reached or number == signal.SIGKILL):
                    process.send_signal(number)

    def retire(self) -> None:
        """End the process between two questions; the next one starts it again."""
        with self._asking:
            self.close()

    def close(self) -> None:
        """End the process, which records what it gave before, whatever is asked meanwhile."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()
        except OSError:  # it is gone
            process.kill()
        _wait(process)
        process.stdout.close()


def _keep(command: list[str], place: str, started: SimpleQueue[subprocess.Popen[bytes] | OSError]) -> None:
    """Start a process and wait for its end, in one thread: `end_with_parent` ends it with the thread."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=place)
    except OSError as error:
        started.put(error)
        return
    started.put(process)
    process.wait()


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the code with which a process ends, which is about to end."""
    try:
        return process.wait(_CLOSING)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class _Question:
    """Whether a question is worked on, and whether it has ended."""

    def __init__(self) -> None:
        self.is_begun = Event()
        self.is_over = Event()


def _read_answer(process: subprocess.Popen[bytes], question: _Question) -> tuple[dict[str, Any], bytes]:
    """Return the last frame about a question; progress goes to who asks in this thread."""
    caller = CALLER.get()
    while True:
        head, body = read_frame(process.stdout)
        if head["is"] == "begun":
            question.is_begun.set()
        elif head["is"] != "progress":
            return head, body
        elif caller is not None:
            caller(head["stage"], head["done"], head["total"])


def write_frame(stream: IO[bytes] | None, head: dict[str, Any], body: bytes = b"") -> None:
    """Write a line of JSON that says how long the body after it is, and the body."""
    assert stream is not None
    stream.write(json.dumps({**head, "size": len(body)}).encode() + b"\n" + body)
    stream.flush()


def read_frame(stream: IO[bytes] | None) -> tuple[dict[str, Any], bytes]:
    """Return what `write_frame` wrote. Raises: EOFError if that is not all there."""
    assert stream is not None
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    head: dict[str, Any] = json.loads(line)
    body = stream.read(head["size"])
    if len(body) < head["size"]:
        raise EOFError
    return head, body


def end_with_parent() -> None:
    """Have the kernel end this process when its parent is killed, also while C keeps it busy (Linux).

    The kernel means the thread that started it.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:  # it was killed before
            os._exit(0)


_PDEATHSIG: Final = 1
