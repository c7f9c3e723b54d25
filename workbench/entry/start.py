"""Where the program `workbench` begins: hooks go their own short way, everything else to the command line."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

YOUNG_OBJECTS: Final = 70_000
"""How many are made before cycles are looked for, 700 in Python: commands live for moments."""

_OF_A_PLAN: Final = 300_000  # one is over before it has made so many
_SHORT: Final = frozenset({"plan", "rank", "show", "hook", "stats", "gain"})
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"
_ROOM: Final = 1 << 24
"""Bytes that have to be free where modules are compiled to."""


def main() -> None:
    """Run the program and exit with its code. A hook loads nothing that only commands need."""
    _open_closed_streams()
    _compile_where_there_is_room()
    # Starting them takes numpy 0.05 s, they spin after each product, and those of ours are small.
    os.environ.setdefault(_BLAS_THREADS, "1")
    words = sys.argv[1:]
    if words and words[0] in _SHORT:
        begin_short()
    gc.set_threshold(_OF_A_PLAN if words[:1] in (["plan"], ["rank"], ["show"]) else YOUNG_OBJECTS)
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words) and not sys.stdin.isatty():
        from workbench.entry.hooks.run import main as answer_hook

        answer_hook(words[1:])
    from workbench.entry.cli.main import main as run_command

    try:
        run_command()
    except SystemExit as done:
        leave(done.code if isinstance(done.code, int) else done.code is not None)


def begin_short() -> None:
    """Spare this process what plans do not use, and expressions that others have compiled."""
    from workbench.entry.lazy_imports import import_less

    import_less()  # before anything else is imported
    from workbench.entry.compiled import use_compiled
    from workbench.places import user_cache

    with suppress(OSError, RuntimeError):  # the user has no home
        use_compiled(user_cache())


def _open_closed_streams() -> None:
    """Put what leads nowhere in the place of a closed stream (`>&-`), before a file of ours gets it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - as long as the process


def _compile_where_there_is_room() -> None:
    """Keep no compiled module on a disk that is nearly full.

    Python before 3.14 keeps the part that fits, and every program that imports the module from then on fails.
    """
    with suppress(OSError, AttributeError):  # Windows has no such call, and says when a disk is full
        room = os.statvfs(os.path.dirname(__file__))
        sys.dont_write_bytecode |= room.f_bavail * room.f_frsize < _ROOM


def leave(code: int) -> NoReturn:
    """End the process as Python does, but leave its memory to the operating system.

    Python would look for cycles and take modules apart, 0.1 s of a plan, and end the threads that nobody
    waits for: one in the C++ of a library takes the process down with it (SIGABRT), whatever its code.
    """
    from workbench.entry.compiled import keep_compiled

    keep_compiled()
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the others, as Python does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # whoever read it is gone, or it is closed
            stream.flush()
    os._exit(code)
