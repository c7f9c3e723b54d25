"""The section in rule files: added at the end, taken out byte for byte, and no rule for who reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.entry.install.agents import AGENTS, HOOKS, MCP, PROJECT, RULES, USER, AgentPlaces
from workbench.entry.install.setup import (
    SECTION,
    agent_states,
    apply_changes,
    installed_files,
    plan_changes,
    rules_file,
    settings_files,
)
from workbench.rules.reading.construction import is_rule
from workbench.rules.reading.units import split_units

TEXTS = {
    "plain": "# Rules\n\n- Never push with force.\n",
    "no end of line": "- Use tabs.",
    "windows": "\ufeff# Rules\r\n\r\n- Use tabs.\r\n",
    "empty": "",
    "blank lines": "a\n\n\n",
    "front matter": '---\napplyTo: "**"\n---\n- Use tabs.\n',
    "managed": "- a\n<!-- workbench:rules begin: x -->\n## Rules\n\n- b\n<!-- workbench:rules end -->\n",
    "half a section": "<!-- workbench begin: of somebody -->\n- a\n",
}


@pytest.fixture
def where(tmp_path: Path) -> AgentPlaces:
    environment = {"HOME": str(tmp_path / "home"), "WORKBENCH_HOME": str(tmp_path / "wb"), "PATH": ""}
    return AgentPlaces(environment, tmp_path / "shop", ("workbench",))


def written(
    where: AgentPlaces, level: str, kinds: tuple[str, ...] = (RULES,), *, uninstall: bool = False
) -> int:
    """Install or uninstall everything of a level for all agents; return how many files were written."""
    files = (installed_files if uninstall else settings_files)(where, [*AGENTS.values()], kinds, level)
    changes = plan_changes(files, where.environment, uninstall=uninstall)
    assert [change.refused for change in changes if change.refused] == []
    apply_changes(changes, where.environment)
    return sum(change.is_change for change in changes)


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_added_once_and_taken_out_byte_for_byte(where: AgentPlaces, name: str) -> None:
    """Whatever a file ends with; edits around the section stay, and an edited section goes all the same."""
    file = rules_file("codex", where, PROJECT)
    assert file is not None
    before = TEXTS[name].encode()
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(before)
    assert (written(where, PROJECT), written(where, PROJECT)) == (5, 0)
    added = file.path.read_bytes()
    assert added.startswith(before)
    assert added.decode().replace("\r\n", "\n").endswith(SECTION)
    assert b"\r\n" not in before or b"\n" not in added.replace(b"\r\n", b"")
    written(where, PROJECT, uninstall=True)
    assert file.path.read_bytes() == before
    file.path.write_bytes(b"- First.\n" + added.replace(b"## Context workbench", b"## Ours") + b"- Last.\n")
    assert {state.installed for state in agent_states(where, (RULES,), [AGENTS["codex"]])} == {False, None}
    written(where, PROJECT, uninstall=True)
    assert file.path.read_text(encoding="utf-8").split() == [
        "-",
        "First.",
        *TEXTS[name].split(),
        "-",
        "Last.",
    ]


@pytest.mark.parametrize("level", [USER, PROJECT])
def test_every_agent_gets_it_where_it_reads(where: AgentPlaces, level: str) -> None:
    """Files that were made go again; those of several agents are written once."""
    where.project.mkdir()
    assert written(where, level) == (6 if level == USER else 5)
    root = Path(where.environment["HOME"]) if level == USER else where.project
    found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    assert [*sorted(found)] == sorted(
        [
            ".claude/rules/workbench.md",
            ".codex/AGENTS.md",
            ".config/Code/User/prompts/workbench.instructions.md",
            ".config/opencode/AGENTS.md",
            ".copilot/copilot-instructions.md",
            ".gemini/GEMINI.md",
        ]
        if level == USER
        else [
            ".claude/rules/workbench.md",
            ".cursor/rules/workbench.mdc",
            ".github/copilot-instructions.md",
            "AGENTS.md",
            "GEMINI.md",
        ]
    )
    assert all(path.read_text(encoding="utf-8").endswith(SECTION) for path in found.values())
    written(where, level, uninstall=True)
    own = {".claude", ".codex", ".config", "Code", "User", "opencode", ".copilot", ".gemini"}
    assert {path.name for path in root.rglob("*")} == (own if level == USER else set())


def test_zed_gets_it_in_the_file_that_it_reads(where: AgentPlaces) -> None:
    """It reads the first that is there of several, so a new one would hide what it reads now."""
    where.project.mkdir()
    (where.project / "CLAUDE.md").write_text("- Use tabs.\n", encoding="utf-8")
    file = rules_file("zed", where, PROJECT)
    assert file is not None
    assert file.path.name == "CLAUDE.md"


@pytest.mark.parametrize("recorded", [True, False])
def test_it_is_taken_out_of_the_file_that_was_zeds(where: AgentPlaces, recorded: bool) -> None:
    """It reads another file once that is there; uninstalling it leaves the sections of other agents alone."""
    where.project.mkdir()
    before = {"CLAUDE.md": "- Use tabs.\n", "GEMINI.md": "- Use spaces.\n"}
    for name, text in before.items():
        (where.project / name).write_text(text, encoding="utf-8")
    assert written(where, PROJECT) == 6
    of_zed = [file.path.name for file in installed_files(where, [AGENTS["zed"]], (RULES,), PROJECT)]
    assert of_zed == ["copilot-instructions.md", "CLAUDE.md"]
    if not recorded:
        (Path(where.environment["WORKBENCH_HOME"]) / "installs.json").unlink()
    written(where, PROJECT, uninstall=True)
    left = {path.name: path.read_text(encoding="utf-8") for path in where.project.rglob("*.md")}
    assert {name: left[name] for name in before} == before
    assert not any("workbench" in text for text in left.values())


def test_a_file_of_two_kinds_is_changed_by_both(where: AgentPlaces) -> None:
    """Servers and hooks of Gemini CLI are in one file: both are written at once, and both go."""
    path = Path(where.environment["HOME"]) / ".gemini" / "settings.json"
    for text in (None, '{"a": 1}\n'):
        if text:
            path.write_text(text, encoding="utf-8")
        written(where, USER, (MCP, HOOKS))
        assert '"mcpServers"' in path.read_text(encoding="utf-8")
        assert '"BeforeAgent"' in path.read_text(encoding="utf-8")
        written(where, USER, (MCP, HOOKS), uninstall=True)
        assert (path.read_text(encoding="utf-8") if path.exists() else None) == text


def test_it_is_no_rule() -> None:
    """Whoever reads the file for rules, as the workbench does, finds none in the section."""
    units, warnings = split_units(SECTION.splitlines())
    assert ([unit.text for unit in units if is_rule(unit)], warnings) == ([], ())
