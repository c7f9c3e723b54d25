"""Why hooks kept silent: a line for each failure, which `workbench doctor` counts.

A hook has nowhere else to say it: an agent must not read it, and nobody sees its stderr. Writing a line
imports nothing, because the deadline writes one while anything may be half imported.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.places import user_home
from workbench.records.dataclass import dataclass

FILE: Final = "hooks.log"
MAX_BYTES: Final = 256_000
_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class HookFailure:
    """When a hook failed (seconds since the epoch), which agent's, at which event, where, and why."""

    at: float
    agent: str
    event: str
    project: str
    reason: str


def hook_log(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the log's file, in the user's home of the workbench."""
    return user_home(environment) / FILE


def log_failure(path: Path, agent: str, event: str, project: str, reason: str) -> None:
    """Add a line; a full log is put aside once. Where nothing can be written nothing is."""
    line = json.dumps(
        {
            "at": round(time.time(), 3),
            "agent": agent,
            "event": event[:60],
            "project": project[:_SHOWN],
            "reason": reason[:_SHOWN],
        }
    )
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if path.stat().st_size > MAX_BYTES:
                path.replace(path.with_suffix(".log.1"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o600)
        try:
            os.write(handle, line.encode() + b"\n")
        finally:
            os.close(handle)


def read_failures(path: Path, since: float) -> list[HookFailure]:
    """Return the failures since a time in seconds, in order; malformed lines are left out."""
    found = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            value = json.loads(line)
            texts = (str(value[name]) for name in ("agent", "event", "project", "reason"))
            found.append(HookFailure(float(value["at"]), *texts))
    return [one for one in found if one.at >= since]
