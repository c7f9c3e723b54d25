"""Long work as the headless program: the same command a user would type, in a process of its own.

Heavy computation in this process would make the screen stutter, and a process can be interrupted at any
point exactly as Ctrl-C interrupts it in a terminal. The child reports its progress as JSON lines on stderr.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from screens.jobs import Cancelled, Job, track_child
from workbench.entry.cli.output import PROGRESS_VARIABLE
from workbench.errors import ProcessError

_PROGRAM: Final = (sys.executable, "-P", "-m", "workbench")
_PATIENCE: Final = 5.0  # seconds an interrupted child has to leave things sound
_LOOK_EVERY: Final = 0.05
_NARRATION: Final = 4000  # characters of narration that an error carries


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What the program printed: its exit code, stdout, and the narration on stderr."""

    code: int
    output: str
    narration: str

    def json(self) -> Any:  # noqa: ANN401 - JSON of any shape
        """Return stdout as JSON. Raises: ProcessError if it is malformed."""
        try:
            return json.loads(self.output)
        except ValueError as error:
            raise ProcessError(
                f"the output of the command cannot be read: {error}", hint=self.narration[-_NARRATION:]
            ) from error


def command_line(arguments: Sequence[str]) -> str:
    """Return what a user would type for the same: `workbench rules undo`."""
    return shlex.join(("workbench", *arguments))


def run_command(
    job: Job, root: Path, arguments: Sequence[str], *, accept: Sequence[int] = (0,)
) -> CommandOutput:
    """Run the program in a project and return its output; progress goes to the job.

    Raises: ProcessError if it exits with a code that is not accepted; Cancelled if the job was cancelled,
    after the child was interrupted.
    """
    environment = {**os.environ, PROGRESS_VARIABLE: "json", "NO_COLOR": "1"}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [*_PROGRAM, *arguments],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with track_child(child):
            narration = _follow(job, child)
        output.seek(0)
        result = CommandOutput(child.returncode, output.read().decode("utf-8", "replace"), narration)
    if result.code not in accept:
        raise ProcessError(
            f"`{command_line(arguments)}` ended with {result.code}",
            hint=result.narration.strip()[-_NARRATION:],
        )
    return result


def _follow(job: Job, child: subprocess.Popen[bytes]) -> str:
    """Read the child's stderr to its end, watching for cancellation; return what was narration."""
    import selectors

    assert child.stderr is not None
    kept: list[str] = []
    rest = b""
    with selectors.DefaultSelector() as selector, child.stderr as stream:
        selector.register(stream, selectors.EVENT_READ)
        try:
            while True:
                job.check()
                if not selector.select(_LOOK_EVERY):
                    continue
                chunk = os.read(stream.fileno(), 65_536)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    _take(job, line.decode("utf-8", "replace"), kept)
        except Cancelled:
            _interrupt(child)
            raise
    child.wait()
    return "\n".join((*kept, rest.decode("utf-8", "replace")))


def _take(job: Job, line: str, kept: list[str]) -> None:
    if line.startswith('{"progress"'):
        stage, done, total = json.loads(line)["progress"]
        job.progress(stage, done, total)
    else:
        kept.append(line)


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    """End a child as Ctrl-C does; one that does not leave in time is killed, which the store bears."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
