"""What plans for one project, as a program: questions come on stdin, answers go to stdout.

    python -P -m workbench.entry.http.planning ROOT

A question is an operation of the server, a tool of the MCP server or a hook of an agent. It ends when stdin
does, and with the process that started it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from workbench.entry.compiled import keep_compiled
from workbench.entry.http.guard import defect_failure, status_of
from workbench.entry.http.planner import end_with_parent, read_frame, write_frame
from workbench.entry.http.projects import OpenProject
from workbench.entry.services.opening import CALLER, ENDED, CallEnd, CallEnded
from workbench.entry.start import YOUNG_OBJECTS, begin_short
from workbench.errors import WorkbenchError
from workbench.records.conversion import decode_lossless, encode_lossless, encode_whole

_PAUSE: Final = 0.05  # seconds between two reports of progress


def main() -> None:
    """Answer until stdin ends."""
    end_with_parent()
    begin_short()
    gc.set_threshold(YOUNG_OBJECTS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which lets this one end
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print
    project = OpenProject(Path(sys.argv[1]))
    while True:
        try:
            head, body = read_frame(sys.stdin.buffer)
        except EOFError:
            break
        try:
            _answer(project, head, body, answers)
        except BrokenPipeError:  # nobody is there any more
            break
    project.close()
    keep_compiled()
    os._exit(0)


def _answer(project: OpenProject, head: dict[str, Any], body: bytes, answers: IO[bytes]) -> None:
    """Answer a question and do what is to be done after it; nobody may wait for it any more meanwhile."""
    ended, last = CallEnd(), 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PAUSE:
            last = time.monotonic()
            write_frame(answers, {"is": "progress", "stage": stage, "done": done, "total": total})

    ENDED.set(ended)
    CALLER.set(report)
    signal.signal(signal.SIGUSR1, lambda *_: ended.set())
    write_frame(answers, {"is": "begun"})
    then: Callable[[], None] | None = None
    try:
        output, then = _QUESTIONS[head["do"]](project, head, body)
        write_frame(answers, {"is": "answer"}, output)
    except CallEnded:
        write_frame(answers, {"is": "ended"})
    except BrokenPipeError:
        raise
    except WorkbenchError as error:
        status, code = status_of(error)
        _fail(answers, status, code, error.message, error.hint)
    except Exception as error:  # the boundary of a question: whatever happens, it is answered
        traceback.print_exc(file=sys.stderr)
        failure = defect_failure(error)
        _fail(answers, 500, failure.code, failure.message, failure.hint)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    ENDED.set(None)
    if then is not None:
        then()


def _fail(answers: IO[bytes], status: int, code: str, message: str, hint: str) -> None:
    write_frame(answers, {"is": "failure", "status": status, "code": code, "message": message, "hint": hint})


Answered = tuple[bytes, Callable[[], None] | None]


def _operate(project: OpenProject, head: dict[str, Any], body: bytes) -> Answered:
    from workbench.entry.http.operations import OPERATIONS

    operation = next(operation for operation in OPERATIONS if operation.id == head["name"])
    given = decode_lossless(body, operation.takes)
    return encode_whole(operation.call(project.host(), given)), None


def _call_tool(project: OpenProject, head: dict[str, Any], body: bytes) -> Answered:
    from workbench.entry.mcp.calls import call_tool
    from workbench.entry.mcp.project import ServedProject

    served = ServedProject("", {}, project.host).for_connection(head["connection"])
    answer = call_tool(served, head["name"], decode_lossless(body, dict), head["agent"])
    return encode_lossless(answer), None


def _hook(project: OpenProject, head: dict[str, Any], body: bytes) -> Answered:
    from workbench.entry.hooks.handlers import respond

    with project.host().turn() as opened:
        reply = respond(body, head["name"], head["agent"], opened=opened)

    def then() -> None:
        from workbench.entry.hooks.log import hook_log, log_failure
        from workbench.entry.hooks.run import explain

        try:
            with project.host().turn():
                reply.then()
        except Exception as error:  # what the answer does not depend on
            log_failure(hook_log(), head["agent"], head["name"], str(project.root), explain(error))

    return reply.output, then


_QUESTIONS: Final[dict[str, Callable[[OpenProject, dict[str, Any], bytes], Answered]]] = {
    "operate": _operate,
    "tool": _call_tool,
    "hook": _hook,
}

if __name__ == "__main__":
    main()
