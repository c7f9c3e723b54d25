"""The section in an agent's own rule file that points to the workbench, for `--what rules`.

It describes and commands nothing: whoever reads rule files for rules, the workbench included, finds none in
it. An agent with a directory of rules gets a file of its own there, so that nobody's file is touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.entry.install.agents import (
    PROJECT,
    RULES,
    USER,
    AgentPlaces,
    SettingsFile,
    claude_home,
    codex_home,
    opencode_home,
    vscode_home,
)

SECTION: Final = """\
<!-- workbench begin: written by `workbench install --what rules`, taken out by `workbench uninstall` -->
## Context workbench

The context workbench knows the files, the history and the rules of an indexed project, and what earlier
sessions learned and put aside there. It answers as the MCP server `workbench` and on the command line:

- `plan_context`, or `workbench plan "TASK"`: the rules, files and findings for a task, within a token budget
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


def rules_file(agent: str, places: AgentPlaces, level: str) -> SettingsFile | None:
    """Return the rule file of an agent that is to hold the section; None where a level has no such file."""
    found = _user_file(agent, places) if level == USER else _project_file(agent, places.project)
    if found is None:
        return None
    path, base = found
    inside = places.project if level == PROJECT else None
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
