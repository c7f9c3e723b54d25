"""Other programs, found so that the directory one works in is no place to find them.

An empty entry of PATH, or a relative one such as `.`, means whatever directory a program happens to run in: a
repository of strangers may hold a `git` of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping


def safe_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return PATH without the entries that depend on the current directory."""
    entries = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def find_program(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a program by its name, None where no directory of PATH has it.

    A name with a directory in it is the caller's own choice and taken as it is.
    """
    path = safe_path(environment)
    return shutil.which(name, path=path) if path or os.path.dirname(name) else None
