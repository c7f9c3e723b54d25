"""No screen does on the event loop what reads the project: a key would wait for it.

How long something takes is measured by `python -m bench.gaps`. What a test can hold without a clock is who
calls what on which thread: the doors below lead to disk, to other processes and to work that grows with the
project, and none is opened by a screen on the loop. What a test itself calls from a coroutine is its own.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final
from unittest.mock import patch

import screens
import screens.plan.work
import screens.replay.tasks
import store.git_process
import store.journal
import store.tables
import workbench.plan.workspace
from tests import workers

FILTER: Final = "filter_rows"
FEW_ROWS: Final = 500
"""So many are filtered where they are asked for."""

DOORS: Final[tuple[tuple[Any, str], ...]] = (
    (store.journal.FileJournal, "scan"),
    (store.journal.FileJournal, "read"),
    (store.journal.FileJournal, "append_all"),
    (store.tables.Tables, "read"),
    (store.tables.Tables, "query"),
    (store.tables.Tables, "catch_up"),
    (store.git_process, "_run_git"),
    (subprocess.Popen, "__init__"),
    (workbench.plan.workspace.Workspace, "sync"),
    (screens.plan.work, "make_plan"),
    (screens.plan.work, FILTER),
    (screens.replay.tasks, FILTER),
)
_SCREENS = str(Path(screens.__file__).parent)
_TESTS = str(Path(__file__).parents[1])
_AROUND: Final = (__file__, workers.__file__)
"""What is on the way from a test to a screen, or runs the test."""


def caller_on_the_loop() -> str:
    """Return the place in a screen that a call on the event loop comes from, nothing for a test's own."""
    if asyncio._get_running_loop() is None:
        return ""
    found = ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_SCREENS):
            found = f"{name}:{frame.f_lineno}"
        elif name.startswith(_TESTS) and name not in _AROUND:
            found = ""
        frame = frame.f_back
    return found


def shut(owner: Any, name: str, seen: list[str]) -> Any:
    """Return the patch of a function that notes calls by screens on the event loop."""
    original: Callable[..., Any] = getattr(owner, name)

    def door(*arguments: Any, **options: Any) -> Any:
        few = name == FILTER and arguments[2] <= FEW_ROWS
        if not few and (place := caller_on_the_loop()):
            seen.append(f"{place} calls {name} on the event loop")
        return original(*arguments, **options)

    return patch.object(owner, name, door)


@contextmanager
def doors_shut(seen: list[str]) -> Iterator[None]:
    """Note in `seen` what screens do on the event loop while the block lasts."""
    with ExitStack() as stack:
        for owner, name in DOORS:
            stack.enter_context(shut(owner, name, seen))
        yield
