"""What a plan does not wait for, done by a process of its own: the embedding model and the past's embeddings.

It is `workbench model prepare` at low priority. It ends when the work is done, only one runs per project, and
`models.background = true` turns it on: off, nothing runs that nobody started.
A training runs so where it is asked for. What a hook leaves to be done is done by a child of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

MARK = "WORKBENCH_BACKGROUND"
_NICENESS = 15


def prepare_in_background(project: Path) -> bool:
    """Start preparing a project and return at once; False if no process could be started."""
    return run_in_background(project, "model", "prepare")


def run_in_background(project: Path, *arguments: str) -> bool:
    """Start a command for a project and return at once; False if no process could be started."""
    # -P: the directory it runs in may hold a module of any name, and must not be imported from.
    command = [sys.executable, "-P", "-m", "workbench", "--quiet", "--project", str(project), *arguments]
    try:
        subprocess.Popen(  # outlives this process by design, and ends by itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=project.anchor,
            start_new_session=True,
            env={**os.environ, MARK: "1"},
        )
    except OSError:
        return False
    return True


def fork_beside(work: Callable[[], None], seconds: float) -> bool:
    """Do something in a child that outlives this process, for so many seconds at most; False without one.

    For a process without threads. The child has no terminal, input or output, and gives way to all others.
    """
    try:
        child = os.fork()
    except OSError:
        return False
    if child:
        os.waitpid(child, 0)
        return True
    try:
        os.setsid()
        if not os.fork():
            signal.setitimer(signal.ITIMER_REAL, seconds)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            give_way()
            work()
    finally:
        os._exit(0)


def in_background() -> bool:
    """Whether this process was started by `run_in_background`."""
    return bool(os.environ.get(MARK))


def give_way() -> None:
    """Let everything else on the machine go first."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
