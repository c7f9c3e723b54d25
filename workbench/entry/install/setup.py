"""Agents set up and restored: which files, what was written into them, and writing it.

For `--what rules` it is a section in an agent's own rule file that points to the workbench. It describes and
commands nothing: whoever reads rule files for rules, the workbench included, finds none in it. An agent with
a directory of rules gets a file of its own there, so that nobody's file is touched.
"""

from __future__ import annotations

import contextlib
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
    claude_home,
    codex_home,
    is_there,
    opencode_home,
    vscode_home,
)
from workbench.entry.install.changes import Installed, SettingsChange, holds, plan_install, plan_uninstall
from workbench.entry.project import replace_file, write_atomic
from workbench.errors import StoreError
from workbench.places import user_home
from workbench.records.conversion import decode_json

RECORDS: Final = "installs.json"
BACKUPS: Final = "backups"

SECTION: Final = """\
<!-- workbench begin: written by `workbench install --what rules`, taken out by `workbench uninstall` -->
## Context workbench

The context workbench knows the files, the history and the rules of an indexed project, and what earlier
sessions learned and put aside there. It answers as the MCP server `workbench` and on the command line:

- `plan_context`, or `workbench plan "TASK"`: the rules, files and findings for a task, within a token budget
- `expand`, or `workbench show NAME FILE:12-40 NAME:callers`: what a pack names, in full
- `find_files`, or `workbench rank "TASK"`: the files that a task likely needs
- `rules_for`, or `workbench rules match "TASK"`: the rules that hold for a task, or for the call of a tool
- `recall` and `remember`: findings of earlier work, and new ones for a person's review
- `retrieve_stashed_context`, or `workbench stash search "QUERY"`: what was put aside of long conversations
<!-- workbench end -->
"""

_CURSOR: Final = "---\ndescription: What the context workbench is asked for\nalwaysApply: true\n---\n"
_INSTRUCTIONS: Final = '---\napplyTo: "**"\n---\n'
_ZED: Final = (
    *(".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md"),
    *("AGENT.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
"""The files that Zed looks for: it reads the first that is there and no other."""


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


def installed_files(
    places: AgentPlaces, agents: Sequence[CodingAgent], kinds: Sequence[str], level: str
) -> list[SettingsFile]:
    """Return the files that a level has for agents, and those that it had. Raises: StoreError.

    Which rule file is Zed's depends on what else is there: where it once was, the section still is.
    """
    files = settings_files(places, agents, kinds, level)
    if level == USER or RULES not in kinds or AGENTS["zed"] not in agents:
        return files
    known, paths = read_records(places.environment), {file.path for file in files}
    for name in _ZED:
        file = _section_file("zed", (places.project / name, ""), places.project)
        record = known.get(_key(file))
        if file.path not in paths and (record is None or record.agent == "zed") and holds(file) is not False:
            files.append(file)
    return files


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
        if change.after is None:
            _remove_empty(change.file, environment)
        if change.record is None:
            _remember(change.file, None, environment)


def _remove_empty(file: SettingsFile, environment: Mapping[str, str]) -> None:
    """Remove the directories that a file was alone in, below the project or the agent's own directory."""
    root = file.inside or AGENTS[file.agent].directory(environment)
    with contextlib.suppress(OSError):
        for directory in file.path.parents:
            if directory == root or not directory.is_relative_to(root):
                break
            directory.rmdir()


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


def rules_file(agent: str, places: AgentPlaces, level: str) -> SettingsFile | None:
    """Return the rule file of an agent that is to hold the section; None where a level has no such file."""
    found = _user_file(agent, places) if level == USER else _project_file(agent, places.project)
    return found and _section_file(agent, found, places.project if level == PROJECT else None)


def _section_file(agent: str, place: tuple[Path, str], inside: Path | None) -> SettingsFile:
    path, base = place
    return SettingsFile(agent, RULES, path, (), base, inside=inside, section=SECTION)


def _user_file(agent: str, places: AgentPlaces) -> tuple[Path, str] | None:
    environment = places.environment
    found = {
        "claude": (claude_home(environment) / "rules" / "workbench.md", ""),
        "codex": (codex_home(environment) / "AGENTS.md", ""),
        "gemini": (places.home / ".gemini" / "GEMINI.md", ""),
        "copilot": (places.home / ".copilot" / "copilot-instructions.md", ""),
        "vscode": (vscode_home(environment) / "prompts" / "workbench.instructions.md", _INSTRUCTIONS),
        "opencode": (opencode_home(environment) / "AGENTS.md", ""),
    }
    return found.get(agent)


def _project_file(agent: str, project: Path) -> tuple[Path, str]:
    shared = project / ".github" / "copilot-instructions.md"
    zed = next((name for name in _ZED if (project / name).exists()), "AGENTS.md")
    return {
        "claude": (project / ".claude" / "rules" / "workbench.md", ""),
        "codex": (project / "AGENTS.md", ""),
        "cursor": (project / ".cursor" / "rules" / "workbench.mdc", _CURSOR),
        "gemini": (project / "GEMINI.md", ""),
        "copilot": (shared, ""),
        "vscode": (shared, ""),
        "zed": (project / zed, ""),
        "opencode": (project / "AGENTS.md", ""),
    }[agent]
