"""What a plan does not wait for, done by a process of its own: the embedding model and the past's embeddings.

It is `workbench model prepare` at low priority. It ends when the work is done, only one runs per project, and
`models.background = true` turns it on: off, nothing runs that nobody started.
A training runs so where it is asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
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


def in_background() -> bool:
    """Whether this process was started by `run_in_background`."""
    return bool(os.environ.get(MARK))


def give_way() -> None:
    """Let everything else on the machine go first."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
