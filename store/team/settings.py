"""Which server a project's team has, and how it went when that was asked last.

Both are files of the state directory, for its owner alone: the URL may hold a password, and no repository may
say where what is written here goes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from store.files import read_state, translate_errors, write_atomic
from store.team.replicas import TEAM
from workbench.errors import TeamError
from workbench.records.conversion import decode_json

TEAM_FILE: Final = "team.json"
_LOOK: Final = "look.json"
_SECRET: Final = re.compile(
    r"^((?:[^:/?#]+://|(?![^:/?#]+://))[^/?#@:]*:).*(?=@)"
    r"|((?:^|[?&\s])(?:ssl)?password\s*=\s*)(?:'[^']*'|[^&\s]*)",
    re.I | re.S,
)


class TeamSettings(msgspec.Struct, frozen=True):
    """The server's URL, the name of the project there, and what others call this machine."""

    url: str
    project: str
    name: str


class TeamLook(msgspec.Struct, frozen=True):
    """When the server was asked last with success and without, in seconds since the epoch; 0 for never.

    `fault` says what was wrong the last time, empty if nothing; `notes` are what was odd, in sentences.
    """

    synced_at: float = 0.0
    failed_at: float = 0.0
    fault: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


def read_settings(state: Path) -> TeamSettings | None:
    """Return the settings of a project's team, None where it has none. Raises: TeamError."""
    path = state / TEAM / TEAM_FILE
    try:
        return decode_json(read_state(path), TeamSettings)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise TeamError(
            f"{path} cannot be read: {error}", hint="`workbench store use URL` writes it again."
        ) from error


def write_settings(state: Path, settings: TeamSettings) -> None:
    """Keep the settings of a project's team. Raises: StoreError."""
    write_atomic(state / TEAM / TEAM_FILE, msgspec.json.encode(settings))


def forget_settings(state: Path) -> None:
    """Have no server any more. Raises: StoreError."""
    path = state / TEAM / TEAM_FILE
    with translate_errors(f"removing {path}"):
        path.unlink(missing_ok=True)


def read_look(state: Path) -> TeamLook:
    """Return how it went when the server was asked last."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return decode_json(read_state(state / TEAM / _LOOK), TeamLook)
    return TeamLook()


def write_look(state: Path, look: TeamLook) -> None:
    """Keep how it went. Raises: StoreError."""
    write_atomic(state / TEAM / _LOOK, msgspec.json.encode(look), sync=False)


def mask_url(url: str) -> str:
    """Return a URL, or what somebody took for one, without its password."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", url)
