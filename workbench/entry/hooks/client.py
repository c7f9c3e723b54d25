"""A hook that a running `workbench serve` answers, whose projects are loaded. Without one nothing is asked.

It imports the standard library alone, and no HTTP client of it: those take longer than the answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from workbench.entry.hooks.payloads import HookCall
from workbench.entry.services.opening import find_project
from workbench.places import serve_socket

NAMELESS: Final = "-"
"""The event in an address where the payload names it."""

_CONNECT: Final = 0.1  # seconds
_BLOCK: Final = 1 << 16


def ask_server(data: bytes, call: HookCall, environment: Mapping[str, str] = os.environ) -> bytes | None:
    """Return what a server answers to a payload, None where none runs or it cannot; the deadline ends it."""
    cwd = Path(call.cwd)
    if not cwd.is_absolute() or not cwd.is_dir():
        return None
    path = serve_socket(find_project(start=cwd), environment)
    if not path.exists():
        return None
    import socket  # only where somebody may listen

    request = (
        f"POST /v1/hooks/{quote(call.name or NAMELESS, safe='')}?agent={call.agent} HTTP/1.1\r\n"
        f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        "Connection: close\r\n\r\n"
    )
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.settimeout(_CONNECT)
            server.connect(str(path))
            server.settimeout(None)
            server.sendall(request.encode() + data)
            found = b"".join(iter(lambda: server.recv(_BLOCK), b""))
    except OSError:  # it was killed, or ends
        return None
    head, end, body = found.partition(b"\r\n\r\n")
    status, *headers = head.lower().split(b"\r\n")
    whole = f"content-length: {len(body)}".encode() in headers
    return body if end and whole and status.startswith(b"http/1.1 200 ") else None
