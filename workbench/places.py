"""Where the state of a project and of its user is, by names alone: for what has to decide in moments.

Nothing is made here, and no library is loaded but what finds the directories of some platforms.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.beneath import open_plain

STATE: Final = ".workbench"
HOME_VARIABLE: Final = "WORKBENCH_HOME"
CACHE_VARIABLE: Final = "WORKBENCH_CACHE"
DIRECTORY: Final = "context-workbench"  # in the platform's places for the user's files
_USUAL: Final = {
    "data": ("XDG_DATA_HOME", ".local/share"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}
_HASH_LENGTH = 16
_CHECK: Final = b'"check":{'
_BLOCK: Final = 1 << 20


def user_home(environment: Mapping[str, str]) -> Path:
    """Return the user's own state directory: `WORKBENCH_HOME`, else the platform's data directory."""
    configured = environment.get(HOME_VARIABLE, "")
    if configured:
        return Path(configured).expanduser().absolute()
    return platform_directory("data")


def user_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of what can be made again: `WORKBENCH_CACHE` or the platform's."""
    configured = environment.get(CACHE_VARIABLE, "")
    return Path(configured).expanduser() if configured else platform_directory("cache")


def platform_directory(kind: str) -> Path:
    """Return the platform's place for the user's files of a kind: data, config or cache.

    It is that of `platformdirs`, which is not imported on Linux: that takes 6 ms.
    """
    variable, usual = _USUAL[kind]
    home, configured = os.environ.get("HOME", ""), os.environ.get(variable, "")
    if sys.platform == "linux" and os.path.isabs(home) and "ANDROID_ROOT" not in os.environ:
        return Path(configured if os.path.isabs(configured) else os.path.join(home, usual), DIRECTORY)
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")(DIRECTORY, appauthor=False))


def fallback_root(project: Path, home: Path) -> Path:
    """Return where the state of a project goes that cannot hold it itself."""
    name = hashlib.sha256(os.fsencode(project.resolve())).hexdigest()[:_HASH_LENGTH]
    return home / "projects" / name


def state_places(root: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """Return where the state of a project may be: in itself, and in the user's home."""
    return root / STATE, fallback_root(root, user_home(environment))


def seems_used(root: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether anything was ever recorded of a project, by the look of it: hooks leave others alone."""
    return any((place / "journal").is_dir() for place in state_places(root, environment))


def journal_files(root: Path, stream: str, environment: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield the files that a stream of a project and of its user may be in."""
    for place in (*state_places(root, environment), user_home(environment)):
        yield place / "journal" / f"{stream}.jsonl"


def serve_socket(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return where `workbench serve` listens for questions about a project, and hooks look for it."""
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:_HASH_LENGTH]
    return user_home(environment) / "run" / f"{name}.sock"


def data_file(package: str, name: str) -> Path:
    """Return a data file of one of our packages; what would find it in an archive takes long to import."""
    return Path(__file__).parent.joinpath(*package.split(".")[1:], "data", name)


def may_have_checks(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether any rule could have a check, by a look at the journals: only curation gives rules one.

    Most calls of tools end here, before the rules are loaded.
    """
    for path in journal_files(root, "rules", environment):
        with suppress(OSError), open_plain(path) as file:
            rest = b""
            while block := file.read(_BLOCK):
                if _CHECK in rest + block:
                    return True
                rest = block[-len(_CHECK) :]
    return False
