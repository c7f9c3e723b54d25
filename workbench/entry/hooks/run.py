"""One hook, from stdin to stdout: it answers in time or not at all, and nothing it does can stop the agent.

Whatever goes wrong, the exit code is 0, stdout stays empty and the reason goes to the log of hooks. What an
agent waits for is written first; what is only recorded follows.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from workbench.entry.hooks.log import hook_log, log_failure

AGENTS: Final = ("claude", "codex", "cursor", "gemini", "copilot")
SWITCH: Final = "WORKBENCH_HOOKS"
MAX_PAYLOAD: Final = 16 << 20  # bytes
SECONDS: Final = 1.0  # seconds, until the settings are read
_OFF: Final = frozenset({"0", "false", "no", "off"})
_BLOCK: Final = 1 << 16
_YOUNG_OBJECTS: Final = 300_000  # it is over before it has made so many


class HookDeadline:
    """Ends the process with 0 once its time is over, unless an answer is just being written."""

    def __init__(self, seconds: float, report: Callable[[str], None]) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._report = report
        self._changed = threading.Event()
        self.writing = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def allow(self, seconds: float) -> None:
        """Give the hook so many seconds from its start."""
        self._seconds = seconds
        self._changed.set()

    def _watch(self) -> None:
        while (left := self._began + self._seconds - time.monotonic()) > 0:
            self._changed.clear()
            self._changed.wait(left)
        self._report(f"not done after {self._seconds:g} seconds")
        with self.writing:
            os._exit(0)


def main(arguments: list[str]) -> NoReturn:
    """Answer one hook: `[EVENT] [--agent NAME]`; the payload is on stdin. Exits with 0 in any case."""
    gc.set_threshold(_YOUNG_OBJECTS)
    try:
        _run(arguments)
    except BaseException:  # the outermost boundary: an agent must not notice
        os._exit(0)
    os._exit(0)  # nothing is left to be flushed, and nothing may fail on the way out


def _run(arguments: list[str]) -> None:
    if is_off(os.environ):
        return
    name, agent = parse_arguments(arguments)
    path, where = hook_log(), os.environ.get("PWD", "")

    def report(reason: str) -> None:
        log_failure(path, agent, name, where, reason)

    deadline = HookDeadline(SECONDS, report)
    out = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # libraries may print; an agent reads what is there
        os.dup2(quiet, stream)
    try:
        from workbench.entry.hooks.client import ask_server
        from workbench.entry.hooks.handlers import OWN_SECONDS, respond
        from workbench.entry.hooks.payloads import read_call

        data = read_payload()
        if data is None:
            report(f"a payload of more than {MAX_PAYLOAD:,} bytes")
            return
        call = read_call(data, name, agent)
        deadline.allow(OWN_SECONDS.get(call.event, SECONDS))
        output = ask_server(data, call)
        if output is not None:
            with deadline.writing:
                _write(out, output)
            return
        reply = respond(data, name, agent, allow=deadline.allow)
        with deadline.writing:
            _write(out, reply.output)
        reply.then()
    except BaseException as error:
        report(explain(error))


def is_off(environment: Mapping[str, str]) -> bool:
    """Whether the environment turns all hooks off."""
    return environment.get(SWITCH, "").strip().lower() in _OFF


def parse_arguments(arguments: list[str]) -> tuple[str, str]:
    """Return (event, agent): no event where the payload names it, the agent `claude` unless given."""
    name, agent = "", AGENTS[0]
    rest = iter(arguments)
    for word in rest:
        if word == "--agent":
            agent = next(rest, agent)
        elif word.startswith("--agent="):
            agent = word.partition("=")[2]
        elif not word.startswith("-"):
            name = name or word
    return name, agent if agent in AGENTS else AGENTS[0]


def read_payload(descriptor: int = 0) -> bytes | None:
    """Return what is on stdin, None if that is too much; then it is read all the same, and let go."""
    parts: list[bytes] = []
    size = 0
    while block := os.read(descriptor, _BLOCK):
        size += len(block)
        if size <= MAX_PAYLOAD:
            parts.append(block)
    return b"".join(parts) if size <= MAX_PAYLOAD else None


def _write(descriptor: int, output: bytes) -> None:
    while output:
        output = output[os.write(descriptor, output) :]


def explain(error: BaseException) -> str:
    """Return why a hook kept silent, in a sentence."""
    from workbench.errors import WorkbenchError

    return error.message if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
