"""The programs that jobs run beside the app, so that none is left behind when the app ends."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_RUNNING: Final[set[subprocess.Popen[bytes]]] = set()


@contextmanager
def known(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Know a child as long as somebody waits for it."""
    _RUNNING.add(child)
    try:
        yield
    finally:
        _RUNNING.discard(child)


def interrupt_children() -> None:
    """End all as Ctrl-C does, without waiting."""
    for child in tuple(_RUNNING):
        child.send_signal(signal.SIGINT)
