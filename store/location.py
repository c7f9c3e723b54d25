"""Where state lives: `<project>/.workbench/`, or the user's home where the project cannot hold it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store import overlay
from store.files import PRIVATE_DIR, STATE, linked_below, private_dir, translated, write_atomic
from store.overlay import is_overlay
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
    """Where a project's state is. `fallback_reason` says why it is not in the project; empty if it is.

    `brought_back` counts the entries that were added elsewhere while the project could not be written, and
    that its state has just taken in.
    """

    root: Path
    project: Path
    home: Path
    fallback_reason: str = ""
    brought_back: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what is not as usual, for everyone who works with the state."""
        if self.fallback_reason:
            back = "; what is added is brought back when it can be written" if is_overlay(self.root) else ""
            return (f"state is kept in {self.root}, because {self.fallback_reason}{back}",)
        if self.brought_back:
            entries = "1 entry" if self.brought_back == 1 else f"{self.brought_back:,} entries"
            return (f"{entries} added while {self.root} could not be written: brought back",)
        return ()


def user_home(environment: Mapping[str, str]) -> Path:
    """Return the user's own state directory: `WORKBENCH_HOME`, else the platform's data directory."""
    configured = environment.get(HOME_VARIABLE, "")
    if configured:
        return Path(configured).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("context-workbench", appauthor=False))


def locate(project: Path, environment: Mapping[str, str], *, distrust: str = "") -> Location:
    """Find the project's state directory and make it ready: private, and ignored by git.

    `distrust` says why what the project holds must not be used: its state then goes to the user's home. What
    can be read and not written is taken over there, and what is added there brought back (`store.overlay`).

    Raises: StoreError if neither the project nor the user's home can hold it.
    """
    project = project.absolute()
    home = user_home(environment)
    root = project / DIRECTORY
    elsewhere = fallback_root(project, home)
    if reason := distrust or _refusal(root):
        _prepare(elsewhere)
        return Location(elsewhere, project, home, reason)
    if reason := _unwritable(root):
        _prepare(elsewhere)
        overlay.take_over(root, elsewhere)
        return Location(elsewhere, project, home, reason)
    return Location(root, project, home, brought_back=overlay.bring_back(elsewhere, root))


def is_usual(project: Path, environment: Mapping[str, str]) -> bool:
    """Tell at a glance whether `locate` will find the state in the project, with nothing to bring back.

    Whether git tracks what is in there is not looked at.
    """
    root = project / DIRECTORY
    place = root if os.path.lexists(root) else project
    plain = not place.is_symlink() or place == project
    return (
        plain
        and os.access(place, os.W_OK | os.X_OK)
        and not is_overlay(fallback_root(project, user_home(environment)))
    )


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
    return ""


def _unwritable(root: Path) -> str:
    """Make the directory ready, or return why it cannot be written."""
    if root.exists() and not os.access(root, os.W_OK | os.X_OK):
        return f"{root} is read-only"
    try:
        _prepare(root)
    except StoreError as error:
        return error.message
    return ""


def _prepare(root: Path) -> None:
    private_dir(root)
    ignore = root / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, _IGNORE)
    if os.name != "nt" and root.stat().st_mode & 0o077:
        with translated(f"closing {root} to other users"):
            root.chmod(PRIVATE_DIR)
