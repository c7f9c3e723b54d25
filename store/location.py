"""Where state lives: `<project>/.workbench/`, or the user's home where the project cannot hold it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store.files import PRIVATE_DIR, STATE, linked_below, private_dir, translated, write_atomic
from workbench.errors import StoreError

DIRECTORY: Final = STATE
HOME_VARIABLE: Final = "WORKBENCH_HOME"

_IGNORE = (
    b"# State of the context workbench: local to this machine, shared settings aside.\n*\n!config.toml\n"
)
_HASH_LENGTH = 16
_SHARED = "config.toml"  # read by rules of its own


@dataclass(frozen=True, slots=True)
class Location:
    """Where a project's state is. `fallback_reason` says why it is not in the project; empty if it is."""

    root: Path
    project: Path
    home: Path
    fallback_reason: str = ""


def user_home(environment: Mapping[str, str]) -> Path:
    """Return the user's own state directory: `WORKBENCH_HOME`, else the platform's data directory."""
    configured = environment.get(HOME_VARIABLE, "")
    if configured:
        return Path(configured).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("context-workbench", appauthor=False))


def locate(project: Path, environment: Mapping[str, str], *, distrust: str = "") -> Location:
    """Find the project's state directory and make it ready: private, and ignored by git.

    `distrust` says why what the project holds must not be used: its state then goes to the user's home.

    Raises: StoreError if neither the project nor the user's home can hold it.
    """
    project = project.absolute()
    home = user_home(environment)
    root = project / DIRECTORY
    reason = distrust or _refusal(root)
    if not reason:
        try:
            _prepare(root)
        except StoreError as error:
            reason = error.message
    if reason:
        root = fallback_root(project, home)
        _prepare(root)
    return Location(root=root, project=project, home=home, fallback_reason=reason)


def fallback_root(project: Path, home: Path) -> Path:
    """Return where the state of a project goes that cannot hold it itself."""
    name = hashlib.sha256(os.fsencode(project.resolve())).hexdigest()[:_HASH_LENGTH]
    return home / "projects" / name


def _refusal(root: Path) -> str:
    """Return why an existing directory must not be used, empty if it may be."""
    if root.is_symlink():
        return f"{root} is a symbolic link, which could lead out of the project"
    if not root.exists():
        return ""
    if not root.is_dir():
        return f"{root} is not a directory"
    if hasattr(os, "geteuid") and root.stat().st_uid != os.geteuid():
        return f"{root} belongs to another user"
    if link := linked_below(root, but=_SHARED):
        return f"{root / link} is a symbolic link, which could lead out of the project"
    if not os.access(root, os.W_OK | os.X_OK):
        return f"{root} is read-only"
    return ""


def _prepare(root: Path) -> None:
    private_dir(root)
    ignore = root / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, _IGNORE)
    if os.name != "nt" and root.stat().st_mode & 0o077:
        with translated(f"closing {root} to other users"):
            root.chmod(PRIVATE_DIR)
