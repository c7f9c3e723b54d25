"""The plugin folder, written from the tables of `install`: `python -m workbench.entry.install.plugin plugin`.

One server, one set of hooks and one skill behind the manifests of five agents. Gemini CLI looks for hooks in
`hooks/hooks.json` alone, where Claude Code looks too, and has a folder of its own inside.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workbench import __version__
from workbench.entry.install.agents import (
    AGENTS,
    DISTRIBUTION,
    HOOKS,
    MCP,
    NAME,
    PROJECT,
    USER,
    AgentPlaces,
    SettingsEntry,
)

SKILL: Final = f"skills/{NAME}/SKILL.md"
_ABOUT: Final = {
    "name": DISTRIBUTION,
    "version": __version__,
    "description": "Decides what a coding agent should read for a task, and shows why.",
}
_MORE: Final = {
    **_ABOUT,
    "author": {"name": "the context workbench authors"},
    "license": "MIT",
    "keywords": ["context", "retrieval", "rules", "memory"],
}
_PLACES: Final = AgentPlaces({"HOME": "/"}, Path("/"), (NAME,))
"""Commands name the program as a project's settings do: a plugin is shared."""


def plugin_files(skill: str) -> dict[str, str]:
    """Return the text of each generated file by its path in the folder; `skill` is the text of the skill."""
    server = _settings("claude", MCP)
    parts = {"skills": "./skills/", "mcpServers": "./.mcp.json"}
    found: dict[str, Mapping[str, Any]] = {
        ".mcp.json": server,
        ".claude-plugin/plugin.json": {**_MORE, "hooks": "./hooks/claude.json"},
        ".codex-plugin/plugin.json": {**_MORE, **parts, "hooks": "./hooks/codex.json"},
        ".cursor-plugin/plugin.json": {**_MORE, **parts, "hooks": "./hooks/cursor.json"},
        "plugin.json": {
            **_MORE,
            "skills": "skills/",
            "hooks": "hooks/copilot.json",
            **_settings("copilot", MCP, USER),
        },
        "gemini/gemini-extension.json": {**_ABOUT, **_settings("gemini", MCP)},
        "gemini/hooks/hooks.json": _settings("gemini", HOOKS),
        **{
            f"hooks/{agent}.json": _settings(agent, HOOKS)
            for agent in ("claude", "codex", "cursor", "copilot")
        },
    }
    texts = {path: json.dumps(value, indent=2) + "\n" for path, value in found.items()}
    return {**texts, f"gemini/{SKILL}": skill}


def _settings(agent: str, kind: str, level: str = PROJECT) -> dict[str, Any]:
    """Return what installing makes of a file that is not there yet."""
    file = AGENTS[agent].files(_PLACES, kind, level)
    assert file is not None
    value: dict[str, Any] = json.loads(file.base)
    for entry in file.entries:
        _put(value, entry)
    return value


def _put(value: dict[str, Any], entry: SettingsEntry) -> None:
    *outer, last = entry.path
    for key in outer:
        value = value.setdefault(key, {})
    if entry.in_list:
        value.setdefault(last, []).append(entry.value)
    else:
        value[last] = entry.value


def main(folder: Path) -> None:
    """Write the generated files into the folder that has the skill."""
    for path, text in plugin_files((folder / SKILL).read_text(encoding="utf-8")).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
