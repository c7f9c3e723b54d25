"""What a section without anything in it says: what would be there, and the next commands for this project.

Paths are those of this project where they exist; keys are those of the registry.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from screens.commands import key_of

ANY_TRANSCRIPT = "TRANSCRIPT…"


def teach(about: str, commands: tuple[str, ...], keys: dict[str, str]) -> str:
    """Return what an empty section says: `keys` maps ids of commands to what they do there."""
    width = max((len(key_of(one)) for one in keys), default=0)
    lines = [f"{key_of(one):<{width}}  {does}" for one, does in keys.items()]
    return "\n".join([about, *(["", *(f"  {one}" for one in commands)] if commands else []), "", *lines])


def transcripts_of(root: Path) -> str:
    """Return where Claude Code keeps the transcripts of a project, as an argument of a command."""
    from workbench.sessions.importers.places import project_directories

    home = Path(os.environ.get("HOME") or Path.home())
    try:
        found = project_directories([str(root)], home, os.environ, ())
    except OSError:
        return ANY_TRANSCRIPT
    if not found:
        return ANY_TRANSCRIPT
    if found[0].is_relative_to(home):
        return f"~/{shlex.quote(str(found[0].relative_to(home)))}"
    return shlex.quote(str(found[0]))
