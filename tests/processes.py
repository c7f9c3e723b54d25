"""Children of tests: whatever happens to the test they are ended, and their pipes are closed.

A pipe that is left to the garbage collector is reported in the middle of some other test.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

LONG: Final = 170.0
"""Seconds a child may take where it would otherwise hang: what is waited for comes long before, also on a
machine that does much else."""

IGNORING_INTERRUPTS: Final = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Put before a command, starts it as nohup and some CI do: with SIGINT ignored."""


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a child that still runs, reap it, and close its pipes."""
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # still buffered for a child that is gone


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program with stdout and stderr piped as text for as long as the block lasts, at most."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, **{**piped, **options})
    try:
        yield process
    finally:
        end(process)


def outputs_of(*commands: tuple[Sequence[str], dict[str, Any]]) -> list[str]:
    """Run programs at the same time, each with its options, and return what they print; all must succeed."""
    with ExitStack() as stack:
        processes = [stack.enter_context(running(command, **options)) for command, options in commands]
        outputs = [process.communicate(timeout=LONG) for process in processes]
        assert not any(process.returncode for process in processes), outputs
        return [printed for printed, _ in outputs]
