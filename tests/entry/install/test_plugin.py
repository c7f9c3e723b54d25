"""The plugin folder: written from the install tables, and valid for each of the agents that read it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from workbench import __version__
from workbench.entry.hooks.payloads import EVENTS
from workbench.entry.install.agents import is_hook, is_server
from workbench.entry.install.plugin import SKILL, plugin_files
from workbench.entry.mcp.tools import TOOLS

FOLDER = Path(__file__).parents[3] / "plugin"
METADATA = {"name", "version", "description", "author", "license", "keywords", "homepage", "repository"}
FORMATS = {
    # manifest: (its agent, the fields that must be there, the fields it knows beside metadata)
    ".claude-plugin/plugin.json": ("claude", {"name"}, {"skills", "hooks", "mcpServers"}),
    ".codex-plugin/plugin.json": (
        "codex",
        {"name", "version", "description"},
        {"skills", "hooks", "mcpServers", "apps"},
    ),
    ".cursor-plugin/plugin.json": ("cursor", {"name"}, {"skills", "hooks", "mcpServers", "rules"}),
    "plugin.json": ("copilot", {"name"}, {"skills", "hooks", "mcpServers", "agents"}),
    "gemini/gemini-extension.json": ("gemini", {"name", "version"}, {"mcpServers", "contextFileName"}),
}
"""What the agents document of their manifests; Cursor refuses fields that it does not know."""


def read(path: str) -> Any:
    """Return what a file of the folder holds."""
    return json.loads((FOLDER / path).read_text(encoding="utf-8"))


def test_the_folder_is_as_it_is_generated() -> None:
    """Hooks and servers are those that `install` writes; `make docs` writes them again."""
    wanted = plugin_files((FOLDER / SKILL).read_text(encoding="utf-8"))
    there = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    assert there == {*wanted, SKILL, "README.md"}
    assert [
        path for path, text in wanted.items() if (FOLDER / path).read_text(encoding="utf-8") != text
    ] == []


@pytest.mark.parametrize("manifest", FORMATS)
def test_a_manifest_is_what_its_agent_documents(manifest: str) -> None:
    """Required fields, none unknown, a name in kebab case, paths inside the folder, that agent's hooks."""
    agent, required, known = FORMATS[manifest]
    found = read(manifest)
    root = FOLDER / "gemini" if agent == "gemini" else FOLDER
    assert required <= set(found) <= METADATA | known
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found["name"])
    assert found["version"] == __version__
    paths = [found[key] for key in ("skills", "hooks", "mcpServers") if isinstance(found.get(key), str)]
    assert all((root / path).resolve().is_relative_to(root) and (root / path).exists() for path in paths)
    assert agent == "copilot" or all(path.startswith("./") for path in paths)
    given = found.get("mcpServers", "./.mcp.json")  # Claude Code finds it where it is
    servers = (
        json.loads((root / given).read_text(encoding="utf-8"))["mcpServers"]
        if isinstance(given, str)
        else given
    )
    assert [*servers] == ["workbench"]
    assert is_server(servers["workbench"])
    hooks = json.loads((root / found.get("hooks", "./hooks/hooks.json")).read_text(encoding="utf-8"))
    assert hooks.get("version", 1) == 1
    assert [*hooks["hooks"]] == [*EVENTS[agent]]
    for name, groups in hooks["hooks"].items():
        assert all(is_hook(group) for group in groups)
        assert f"workbench hook {name} --agent {agent} 2>/dev/null || true" in json.dumps(groups)


def test_no_hooks_are_where_an_agent_would_find_those_of_another() -> None:
    """Claude Code and Copilot load `hooks/hooks.json` and `hooks.json` unasked: neither is there."""
    assert not (FOLDER / "hooks" / "hooks.json").exists()
    assert not (FOLDER / "hooks.json").exists()


def test_the_skill_names_tools_that_there_are() -> None:
    """Its head is what agents read; every tool in it is one of the server's, and all are named."""
    head, body = re.fullmatch(
        r"---\n(.+?)---\n(.+)", (FOLDER / SKILL).read_text(encoding="utf-8"), re.S
    ).groups()  # type: ignore[union-attr]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == Path(SKILL).parent.name
    assert set(fields) == {"name", "description"}
    assert len(fields["description"]) <= 1024
    assert set(re.findall(r"`(\w+_\w+|expand|recall|remember)`", body)) - {
        "token_budget",
        "low_confidence",
    } == {*TOOLS}
