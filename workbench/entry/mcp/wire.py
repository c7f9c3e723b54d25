"""The pipe to the client: messages as lines, out of reach of whatever else the process prints or reads."""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Final

MAX_MESSAGE: Final = 16 << 20  # bytes
_INVALID_REQUEST: Final = -32600


class Wire:
    """The two ends of the pipe to the client, out of reach of whatever else prints or reads."""

    def __init__(self, incoming: IO[bytes], outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @classmethod
    def claim(cls) -> Wire:
        """Take stdin and stdout; from now on stdin is empty and what is printed goes to stderr."""
        sys.stdout.flush()
        incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(incoming, outgoing)

    def close(self) -> None:
        """Close what comes in."""
        self._incoming.close()

    def read(self) -> bytes:
        """Return the next message, empty at the end. One that is too long is refused and passed over."""
        while True:
            line = self._incoming.readline(MAX_MESSAGE + 1)
            if len(line) <= MAX_MESSAGE:
                return line
            while line and not line.endswith(b"\n"):
                line = self._incoming.readline(MAX_MESSAGE)
            error = {"code": _INVALID_REQUEST, "message": "a message of more than 16 MB; send less at once"}
            self.write(encode({"jsonrpc": "2.0", "id": None, "error": error}))

    def write(self, message: bytes) -> None:
        """Write a message whole. Raises: OSError if nobody reads any more."""
        while message:
            message = message[os.write(self._outgoing, message) :]


def encode(message: object) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
