"""Agents set up and restored: which files, what was written into them, and writing it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from workbench.entry.install.agents import (
    AGENTS,
    PROJECT,
    RULES,
    USER,
    AgentPlaces,
    CodingAgent,
    SettingsFile,
    is_there,
)
from workbench.entry.install.changes import Installed, SettingsChange, holds, plan_install, plan_uninstall
from workbench.entry.install.instructions import rules_file
from workbench.entry.project import replace_file, write_atomic
from workbench.errors import StoreError
from workbench.places import user_home
from workbench.records.conversion import decode_json

RECORDS: Final = "installs.json"
BACKUPS: Final = "backups"


@dataclass(frozen=True, slots=True)
class AgentState:
    """Whether an agent is on this machine, and of one of its files whether all that is ours is in it.

    `installed` is None where a part of it is, or an older form.
    """

    agent: str
    title: str
    is_there: bool
    kind: str
    level: str
    path: str
    installed: bool | None


def settings_files(
    places: AgentPlaces, agents: Iterable[CodingAgent], kinds: Sequence[str], level: str
) -> list[SettingsFile]:
    """Return the files that a level has for agents, in their order; an agent may have none of a kind."""
    found = (_file_of(agent, places, kind, level) for agent in agents for kind in kinds)
    return [file for file in found if file is not None]


def agents_here(environment: Mapping[str, str]) -> list[CodingAgent]:
    """Return the agents on this machine."""
    return [agent for agent in AGENTS.values() if is_there(agent, environment)]


def plan_changes(
    files: Iterable[SettingsFile], environment: Mapping[str, str], *, uninstall: bool = False
) -> list[SettingsChange]:
    """Return what would be changed in files, refusals among them. Raises: StoreError."""
    known = read_records(environment)
    plan = plan_uninstall if uninstall else plan_install
    changes: dict[Path, SettingsChange] = {}
    found = []
    for file in reversed([*files]) if uninstall else files:  # what was made first goes last
        change = plan(file, known.get(_key(file)), changes.get(file.path))
        changes[file.path] = change
        found.append(change)
    return found


def apply_changes(changes: Sequence[SettingsChange], environment: Mapping[str, str]) -> None:
    """Write the changes, each file whole or not at all, after a copy of what was there.

    Raises: StoreError for a file that changed since it was read; those before it are written.
    """
    for change in changes:
        if not change.is_change:
            continue
        if change.before is not None:
            name = f"{hashlib.sha256(change.before).hexdigest()[:16]}-{change.file.path.name}"
            write_atomic(_private(user_home(environment) / BACKUPS) / name, change.before)
        # Remembered first: what is remembered and not there does no harm.
        _remember(change.file, change.record or read_records(environment).get(_key(change.file)), environment)
        replace_file(change.file.path, change.after, expected=change.before, inside=change.file.inside)
        if change.record is None:
            _remember(change.file, None, environment)


def read_records(environment: Mapping[str, str]) -> dict[str, Installed]:
    """Return what was written into which file. Raises: StoreError for records that cannot be read."""
    path = user_home(environment) / RECORDS
    try:
        return decode_json(path.read_bytes(), dict[str, Installed])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(f"{path} cannot be read: {error}", hint="Move it out of the way.") from error


def agent_states(
    places: AgentPlaces, kinds: Sequence[str], agents: Iterable[CodingAgent] = tuple(AGENTS.values())
) -> list[AgentState]:
    """Return what is installed where, for every agent, kind and level that there is."""
    found = []
    for agent in agents:
        there = is_there(agent, places.environment)
        for kind in kinds:
            for level in (USER, PROJECT):
                file = _file_of(agent, places, kind, level)
                if file is not None:
                    found.append(
                        AgentState(agent.name, agent.title, there, kind, level, str(file.path), holds(file))
                    )
    return found


def _remember(file: SettingsFile, record: Installed | None, environment: Mapping[str, str]) -> None:
    records = read_records(environment)
    if record is None:
        records.pop(_key(file), None)
    else:
        records[_key(file)] = record
    home = _private(user_home(environment))
    write_atomic(home / RECORDS, msgspec.json.format(msgspec.json.encode(dict(sorted(records.items())))))


def _private(directory: Path) -> Path:
    from workbench.entry.project import private_dir

    private_dir(directory)
    return directory


def _file_of(agent: CodingAgent, places: AgentPlaces, kind: str, level: str) -> SettingsFile | None:
    return rules_file(agent.name, places, level) if kind == RULES else agent.files(places, kind, level)


def _key(file: SettingsFile) -> str:
    """Return what a record is found by: a file of rules may be that of several agents."""
    return f"{'' if file.kind == RULES else file.agent} {file.kind} {file.path}".strip()
