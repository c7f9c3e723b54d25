"""The coding agents: how each is recognised, where its settings are, and what is written into them.

An entry is where in a file a value goes; whether a value there is the workbench's is decided by the command
in it, so that nobody else's entry is ever taken for one.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench.beneath import find_program
from workbench.entry.hooks.payloads import EVENTS

USER: Final = "user"
PROJECT: Final = "project"
MCP: Final = "mcp"
HOOKS: Final = "hooks"
RULES: Final = "rules"

NAME: Final = "workbench"
DISTRIBUTION: Final = "context-workbench"
_SECONDS: Final = 5
_LONGER: Final = {"PreCompact": 15, "SessionEnd": 30}
_HOOK: Final = re.compile(r"workbench(?:\.exe)?['\"]? hook \w+ --agent \w+|-m workbench hook \w+ --agent \w+")
_FILE_TOOLS: Final = "Read|Edit|MultiEdit|Write|NotebookEdit|Bash"


@dataclass(frozen=True, slots=True)
class SettingsEntry:
    """A value of ours in a file of settings: at the end of `path`, in an array there if `in_list`."""

    path: tuple[str, ...]
    value: Any
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of an agent's settings with what goes into it. `base` is what a missing file begins as.

    With `toml` it is TOML; with a `section` it is a file of rules that holds that text instead of entries.
    `inside` is the project that it must not lead out of, None for the user's own.
    """

    agent: str
    kind: str
    path: Path
    entries: tuple[SettingsEntry, ...]
    base: str = "{}\n"
    toml: bool = False
    inside: Path | None = None
    section: str = ""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """An agent: its name here and for people, its programs and directories, and what it can be given.

    `note` is what a person has to do once hooks are there.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    directory: Callable[[Mapping[str, str]], Path]
    files: Callable[[AgentPlaces, str, str], SettingsFile | None]
    note: str = ""


@dataclass(frozen=True, slots=True)
class AgentPlaces:
    """Where settings are: the environment, the project, and the command that starts the workbench."""

    environment: Mapping[str, str]
    project: Path
    program: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The user's home directory."""
        return home_of(self.environment)


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the user's home directory."""
    return Path(environment.get("HOME") or Path.home())


def is_hook(value: object) -> bool:
    """Whether a handler of an agent's hook, or a group of them, runs a hook of the workbench."""
    if isinstance(value, dict):
        inner = value.get("hooks")
        if isinstance(inner, list):
            return bool(inner) and all(is_hook(one) for one in inner)
        words = (value.get(key) for key in ("command", "bash", "powershell"))
        return any(isinstance(word, str) and _HOOK.search(word) is not None for word in words)
    return False


def is_server(value: object) -> bool:
    """Whether an entry of a list of MCP servers starts the server of the workbench."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = [*command] if isinstance(command, list) else [command]
    words += arguments if isinstance(arguments, list) else []
    texts = [word for word in words if isinstance(word, str)]
    return texts[-1:] == ["mcp"] and any(NAME in Path(word).name for word in texts)


def _command(places: AgentPlaces, level: str, event: str, agent: str) -> str:
    """Return the line that a shell runs; a project's is shared, and silent where nothing is installed."""
    if level == PROJECT:
        return f"{NAME} hook {event} --agent {agent} 2>/dev/null || true"
    return f"{shlex.join(places.program)} hook {event} --agent {agent}"


def _server(places: AgentPlaces, level: str) -> tuple[str, list[str]]:
    words = (NAME,) if level == PROJECT else places.program
    return words[0], [*words[1:], "mcp"]


def _groups(agent: str, places: AgentPlaces, level: str, scale: int = 1) -> list[SettingsEntry]:
    """Return hooks as Claude Code, Codex and Gemini CLI have them; `scale` makes seconds of their unit."""
    entries = []
    for event in EVENTS[agent]:
        seconds = _LONGER.get(event, _SECONDS)
        handler: dict[str, Any] = {"type": "command", "command": _command(places, level, event, agent)}
        handler["timeout"] = seconds * scale
        group: dict[str, Any] = {"hooks": [handler]}
        if agent == "claude" and event == "PostToolUse":
            group = {"matcher": _FILE_TOOLS, **group}
        entries.append(SettingsEntry(("hooks", event), group, in_list=True))
    return entries


def _claude(places: AgentPlaces, kind: str, level: str) -> SettingsFile:
    own = claude_home(places.environment)
    if kind == HOOKS:
        path = (own if level == USER else places.project / ".claude") / "settings.json"
        return _file("claude", kind, path, places, level, _groups("claude", places, level))
    given = places.environment.get("CLAUDE_CONFIG_DIR")
    user = (Path(given) if given else places.home) / ".claude.json"
    path = user if level == USER else places.project / ".mcp.json"
    return _mcp_file("claude", path, places, level, ("mcpServers", NAME))


def _codex(places: AgentPlaces, kind: str, level: str) -> SettingsFile:
    own = codex_home(places.environment) if level == USER else places.project / ".codex"
    if kind == HOOKS:
        return _file("codex", kind, own / "hooks.json", places, level, _groups("codex", places, level))
    command, arguments = _server(places, level)
    entry = SettingsEntry(("mcp_servers", NAME), {"command": command, "args": arguments})
    return _file("codex", kind, own / "config.toml", places, level, [entry], base="", toml=True)


def _cursor(places: AgentPlaces, kind: str, level: str) -> SettingsFile:
    own = (places.home if level == USER else places.project) / ".cursor"
    if kind == MCP:
        return _mcp_file("cursor", own / "mcp.json", places, level, ("mcpServers", NAME))
    entries = [
        SettingsEntry(("hooks", event), {"command": _command(places, level, event, "cursor")}, in_list=True)
        for event in EVENTS["cursor"]
    ]
    return _file("cursor", kind, own / "hooks.json", places, level, entries, base='{\n  "version": 1\n}\n')


def _gemini(places: AgentPlaces, kind: str, level: str) -> SettingsFile:
    path = (places.home if level == USER else places.project) / ".gemini" / "settings.json"
    if kind == MCP:
        return _mcp_file("gemini", path, places, level, ("mcpServers", NAME))
    return _file("gemini", kind, path, places, level, _groups("gemini", places, level, 1000))


def _copilot(places: AgentPlaces, kind: str, level: str) -> SettingsFile | None:
    if kind == MCP:
        if level == PROJECT:
            return None
        path = places.home / ".copilot" / "mcp-config.json"
        extra = {"type": "local", "tools": ["*"]}
        return _mcp_file("copilot", path, places, level, ("mcpServers", NAME), extra)
    if level == USER:
        return None
    entries = []
    for event in EVENTS["copilot"]:
        command = _command(places, level, event, "copilot")
        handler = {"type": "command", "bash": command, "timeoutSec": _SECONDS}
        entries.append(SettingsEntry(("hooks", event), handler, in_list=True))
    path = places.project / ".github" / "hooks" / "workbench.json"
    return _file("copilot", kind, path, places, level, entries, base='{\n  "version": 1\n}\n')


def _vscode(places: AgentPlaces, kind: str, level: str) -> SettingsFile | None:
    own = vscode_home(places.environment) if level == USER else places.project / ".vscode"
    if kind == HOOKS:
        return None
    return _mcp_file("vscode", own / "mcp.json", places, level, ("servers", NAME), {"type": "stdio"})


def _zed(places: AgentPlaces, kind: str, level: str) -> SettingsFile | None:
    own = _zed_home(places.environment) if level == USER else places.project / ".zed"
    if kind == HOOKS:
        return None
    extra = {"source": "custom"}
    return _mcp_file("zed", own / "settings.json", places, level, ("context_servers", NAME), extra)


def _opencode(places: AgentPlaces, kind: str, level: str) -> SettingsFile | None:
    if kind == HOOKS:
        return None
    path = (
        opencode_home(places.environment) / "opencode.json"
        if level == USER
        else places.project / "opencode.json"
    )
    command, arguments = _server(places, level)
    value = {"type": "local", "command": [command, *arguments], "enabled": True}
    return _file("opencode", kind, path, places, level, [SettingsEntry(("mcp", NAME), value)])


def _mcp_file(
    agent: str,
    path: Path,
    places: AgentPlaces,
    level: str,
    where: tuple[str, ...],
    extra: Mapping[str, Any] | None = None,
) -> SettingsFile:
    command, arguments = _server(places, level)
    value = {**(extra or {}), "command": command, "args": arguments}
    return _file(agent, MCP, path, places, level, [SettingsEntry(where, value)])


def _file(
    agent: str,
    kind: str,
    path: Path,
    places: AgentPlaces,
    level: str,
    entries: list[SettingsEntry],
    **more: Any,
) -> SettingsFile:
    inside = places.project if level == PROJECT else None
    return SettingsFile(agent, kind, path, tuple(entries), inside=inside, **more)


def claude_home(environment: Mapping[str, str]) -> Path:
    """Return where Claude Code has the user's settings."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home_of(environment) / ".claude")


def codex_home(environment: Mapping[str, str]) -> Path:
    """Return where Codex has the user's settings."""
    return Path(environment.get("CODEX_HOME") or home_of(environment) / ".codex")


def _config_home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or home_of(environment) / ".config")


def vscode_home(environment: Mapping[str, str]) -> Path:
    """Return where VS Code has the user's settings."""
    if sys.platform == "darwin":
        return home_of(environment) / "Library" / "Application Support" / "Code" / "User"
    return _config_home(environment) / "Code" / "User"


def _zed_home(environment: Mapping[str, str]) -> Path:
    return _config_home(environment) / "zed"


def opencode_home(environment: Mapping[str, str]) -> Path:
    """Return where opencode has the user's settings."""
    return _config_home(environment) / "opencode"


AGENTS: Final[Mapping[str, CodingAgent]] = {
    one.name: one
    for one in (
        CodingAgent(
            "claude",
            "Claude Code",
            ("claude",),
            claude_home,
            _claude,
        ),
        CodingAgent(
            "codex", "Codex", ("codex",), codex_home, _codex, "Codex asks you to trust new hooks: /hooks."
        ),
        CodingAgent(
            "cursor", "Cursor", ("cursor", "cursor-agent"), lambda env: home_of(env) / ".cursor", _cursor
        ),
        CodingAgent("gemini", "Gemini CLI", ("gemini",), lambda env: home_of(env) / ".gemini", _gemini),
        CodingAgent("copilot", "Copilot", ("copilot",), lambda env: home_of(env) / ".copilot", _copilot),
        CodingAgent("vscode", "VS Code", ("code",), vscode_home, _vscode),
        CodingAgent("zed", "Zed", ("zed", "zeditor"), _zed_home, _zed),
        CodingAgent("opencode", "opencode", ("opencode",), opencode_home, _opencode),
    )
}


def is_there(agent: CodingAgent, environment: Mapping[str, str]) -> bool:
    """Whether an agent is on this machine: one of its programs, or its directory of settings."""
    programs = any(find_program(name, environment) is not None for name in agent.programs)
    return programs or agent.directory(environment).is_dir()
