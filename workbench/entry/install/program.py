"""How settings of agents start the program: by its path, or by what made its environment and of what.

Agents run what is written there at every prompt, long after: it names this program and nothing that somebody
else could put in its place, so never a distribution by its name alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from workbench.beneath import find_program
from workbench.entry.install.agents import DISTRIBUTION, NAME
from workbench.errors import UsageError
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass

_PASSING: Final = (
    (re.compile(r"[\\/]archive-v\d+[\\/]"), ("uvx", "--from")),
    (re.compile(r"[\\/]pipx[\\/]\.cache[\\/]|[\\/]\.cache[\\/]pipx[\\/]"), ("pipx", "run", "--spec")),
)
"""Environments that are made for one run and cleaned up some day; what makes one again of a source."""


@dataclass(frozen=True, slots=True)
class _DirectUrl:
    """What installers record of what a distribution was installed from (PEP 610)."""

    url: str = ""
    subdirectory: str = ""
    vcs_info: Mapping[str, str] = field(default_factory=dict)


def own_program(
    environment: Mapping[str, str], argument: str = sys.argv[0], prefix: str = sys.prefix, source: str = ""
) -> tuple[str, ...]:
    """Return the words that start this program from anywhere, whatever PATH an agent has.

    `prefix` is the Python environment it runs in. One that uvx or pipx made for this run is made again from
    `source`, that is, from what it was made of (`installed_from`), and never from the distribution's name.
    """
    passing = _find_runner(prefix)
    if passing and source:
        runner, *words = passing
        near = Path(environment.get("UV", "")).with_name(runner) if "UV" in environment else None
        found = str(near) if near and near.is_file() else find_program(runner, environment)
        return (found or runner, *words, source, DISTRIBUTION)
    started = Path(argument)
    if started.stem in (NAME, DISTRIBUTION) and started.is_absolute():
        program = started.with_name(NAME + started.suffix)
        if program.is_file():
            return (str(program),)
    found = find_program(NAME, environment)
    return (found,) if found else (sys.executable, "-P", "-m", NAME)


def _find_runner(prefix: str) -> tuple[str, ...]:
    return next((words for passing, words in _PASSING if passing.search(prefix)), ())


def require_source(prefix: str = sys.prefix, source: str = "") -> None:
    """Raise UsageError where uvx or pipx made this environment from a package index.

    Which index that was is recorded nowhere. Were the name alone written down, whoever registers it at
    another index could run code at each prompt.
    """
    if _find_runner(prefix) and not source:
        raise UsageError(
            "this program came from a package index for one run, and from which index is recorded nowhere: "
            "settings with its name alone could start somebody else's program",
            hint="Run `workbench install` of a program that stays (`uv tool install`, `pipx install`), or of "
            "one that `uvx --from` takes from a file, directory or URL.",
        )


def installed_from(distribution: str = DISTRIBUTION) -> str:
    """Return what the distribution was installed from: a path or URL; '' for an index, or nothing recorded.

    Installers record it by PEP 610. What came from version control is named by its commit.
    """
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import distribution as find_distribution
    from urllib.request import url2pathname

    try:
        text = find_distribution(distribution).read_text("direct_url.json")
        found = decode_json((text or "{}").encode(), _DirectUrl)
    except (PackageNotFoundError, msgspec.MsgspecError):
        return ""
    url = urlsplit(found.url)
    at, part = found.vcs_info.get("commit_id", ""), f"#subdirectory={found.subdirectory}"
    part = part if found.subdirectory else ""
    if found.vcs_info:
        return f"{found.vcs_info.get('vcs', 'git')}+{found.url}{'@' if at else ''}{at}{part}"
    if url.scheme == "file" and not part:
        return url2pathname(url.path)
    return found.url + part
