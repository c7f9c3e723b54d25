"""One hook, from stdin to stdout: it answers in time or not at all, and nothing it does can stop the agent.

Whatever goes wrong, the exit code is 0, stdout stays empty and the reason goes to the log of hooks. What an
agent waits for is written first; what is only recorded follows.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from workbench.entry.compiled import keep_compiled
from workbench.entry.hooks.deadline import HookDeadline, run_within
from workbench.entry.hooks.log import hook_log, log_failure

AGENTS: Final = ("claude", "codex", "cursor", "gemini", "copilot")
SWITCH: Final = "WORKBENCH_HOOKS"
MAX_PAYLOAD: Final = 16 << 20  # bytes
SECONDS: Final = 1.0  # seconds, until the settings are read
_BESIDE: Final = 60.0  # seconds for what a hook leaves to a child
_OFF: Final = frozenset({"0", "false", "no", "off"})
_BLOCK: Final = 1 << 16
_YOUNG_OBJECTS: Final = 300_000  # it is over before it has made so many


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

    def work(deadline: HookDeadline) -> None:
        try:
            _answer(name, agent, deadline, report)
            keep_compiled()
        except BaseException as error:
            report(explain(error))

    from workbench.entry.hooks.stopgap import answer_by_name

    run_within(SECONDS, work, report, answer_by_name)


def _answer(name: str, agent: str, deadline: HookDeadline, report: Callable[[str], None]) -> None:
    """Answer a hook with what a server or this process finds, then record what follows."""
    from workbench.entry.hooks.payloads import read_call
    from workbench.entry.hooks.stopgap import keep_late, order_for

    data = read_payload()
    if data is None:
        report(f"a payload of more than {MAX_PAYLOAD:,} bytes")
        return
    call = read_call(data, name, agent)
    from workbench.entry.hooks.client import ask_server
    from workbench.entry.hooks.handlers import OWN_SECONDS, records, respond

    if not records(call):
        deadline.end_late()
    if order := order_for(call):
        deadline.leave(order)
    deadline.allow(OWN_SECONDS.get(call.event, SECONDS))
    output = ask_server(data, call)
    if output is not None:
        if not deadline.answer(output):
            keep_late(call, output)
        return
    reply = respond(data, name, agent, allow=deadline.allow)
    reaches = deadline.answer(reply.output) or keep_late(call, reply.output)
    try:
        if reaches or not reply.output:  # what nobody gets is not recorded as given
            reply.then()
    finally:
        if reply.beside is not None:
            _do_beside(reply.beside, deadline)


def _do_beside(work: Callable[[], None], deadline: HookDeadline) -> None:
    from workbench.entry.os.background import fork_beside

    def beside() -> None:
        deadline.close()
        work()

    fork_beside(beside, _BESIDE)


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


def explain(error: BaseException) -> str:
    """Return why a hook kept silent, in a sentence."""
    from workbench.errors import WorkbenchError

    return error.message if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
