"""The suite can run where no network is but the loopback: that nothing else is there is itself held here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline import IMPOSSIBLE
from tests.processes import LONG

ASK = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
    print("here")
try:
    socket.create_connection(("192.0.2.1", 9), 5)
except OSError as error:
    print(error.strerror)
"""


FORBIDDEN = """
import tests.offline as offline

def forbid(what):
    raise PermissionError(1, "forbidden")

offline.fcntl.ioctl = lambda *given: forbid(given)
offline.main(["--else-with", "readlink", "/proc/self/ns/net"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are of Linux")
def test_where_the_loopback_is_forbidden_the_command_runs_as_it_is() -> None:
    """Some systems let a namespace be made and nothing be done in it: the command is not left inside."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", FORBIDDEN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, cwd=root)
    assert "no network namespace can be made here" in done.stderr
    assert done.stdout.strip() == os.readlink("/proc/self/ns/net")


def test_a_command_reaches_this_machine_alone() -> None:
    """The loopback answers, every other address is unreachable at once."""
    command = [sys.executable, "-m", "tests.offline", sys.executable, "-c", ASK]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, cwd=root)
    if done.returncode == IMPOSSIBLE:
        pytest.skip(done.stderr)
    assert done.stdout.split("\n", 1)[0] == "here"
    assert "unreachable" in done.stdout
