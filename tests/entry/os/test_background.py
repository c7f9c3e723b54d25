"""What a process leaves to a child goes on after it, without its terminal and its pipes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.processes import LONG

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

PARENT = """
import os, sys
from workbench.entry.os.background import fork_beside

def work():
    sys.stdin.read()
    print("nobody reads this")
    os.write({fd}, f"{{os.getpgid(0)}} {{os.nice(0)}}".encode())
    {then}

assert fork_beside(work, {seconds})
print(os.getpgid(0))
"""


def run(seconds: float, then: str = "") -> tuple[str, str]:
    """Return what a parent prints, and what its child writes to a pipe until it ends."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as pipe:
        code = PARENT.format(fd=writing, then=then, seconds=seconds)
        done = subprocess.run(
            [sys.executable, "-c", code],
            pass_fds=[writing],
            stdin=subprocess.PIPE,
            capture_output=True,
            text=True,
            check=True,
            timeout=LONG,
        )
        os.close(writing)
        assert done.stderr == ""
        return done.stdout.strip(), pipe.read()


def test_a_child_goes_on_by_itself() -> None:
    """It has a session and a priority of its own, and neither reads what its parent got nor writes there."""
    parent, child = run(60.0)
    group, priority = child.split()
    assert parent.isdigit()
    assert group != parent
    assert int(priority) >= 15


def test_a_child_ends_in_time() -> None:
    """One that hangs is ended by the kernel: the pipe it holds is closed."""
    _, child = run(0.5, "import time; time.sleep(3600)")
    assert child
