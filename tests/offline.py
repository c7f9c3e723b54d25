"""Run a command where no network is but the loopback: `python -m tests.offline [--else-with] COMMAND…`.

In a network namespace of its own (Linux) nothing outside can be reached, whatever the command tries: what
passes there needs no network at run time. Where the system lets nobody make one it exits with 77, or with
`--else-with` says so and runs the command as it is.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

IMPOSSIBLE: Final = 77
ANYWAY: Final = "--else-with"
_NEW_USER, _NEW_NET = 0x1000_0000, 0x4000_0000  # clone(2)
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # netdevice(7)


def main(command: Sequence[str]) -> NoReturn:
    """Become the command, without a network, or exit where that is impossible."""
    anyway = command[:1] == [ANYWAY]
    command = command[anyway:]
    if not command:
        sys.exit(__doc__)
    if reason := why_impossible():
        print(f"no network namespace can be made here: {reason}", file=sys.stderr)
        if not anyway:
            sys.exit(IMPOSSIBLE)
    else:
        leave_network()
    os.execvp(command[0], list(command))


def why_impossible() -> str:
    """Return why the network cannot be left here, '' if it can.

    A child tries: some systems let a namespace be made and then forbid its loopback, from which nothing leads
    back.
    """
    child = os.fork()
    if not child:
        try:
            leave_network()
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return os.strerror(code) if code else ""


def leave_network() -> None:
    """Move this process to a network namespace of its own that has the loopback alone. Raises: OSError."""
    user, group = os.geteuid(), os.getegid()
    _unshare(_NEW_NET if user == 0 else _NEW_USER | _NEW_NET)
    if user:  # the same user and group inside, for tests that ask who they are
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(any_socket, _GET_FLAGS, asked))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


def _unshare(what: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "unshare"):
        raise OSError("the system has no namespaces")
    if library.unshare(what):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(sys.argv[1:])
