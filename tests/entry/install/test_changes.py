"""Installing adds what is ours alone; uninstalling takes exactly that out, whatever was edited meanwhile."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.install.agents import AGENTS, PROJECT, USER, AgentPlaces, SettingsFile
from workbench.entry.install.changes import plan_install, plan_uninstall
from workbench.entry.install.jsonc import parse_jsonc, trailing_commas
from workbench.entry.install.setup import apply_changes, plan_changes, read_records
from workbench.errors import StoreError

FILES = sorted((Path(__file__).parent / "fixtures").iterdir())
"""Settings in the style of real ones, AGENT.KIND.NAME: what people keep in them, and how they write it."""


def settings(name: str) -> str:
    """Return the text of one of these files."""
    [path] = [path for path in FILES if path.name.partition(".")[2].startswith(name)]
    return path.read_bytes().decode()


CLAUDE_HOOKS, CLAUDE_COMMENTS = settings("hooks.claude-hooks"), settings("hooks.claude-comments")
CODEX_TOML, GEMINI = settings("mcp.codex-toml."), settings("hooks.gemini.")


def places(tmp_path: Path) -> AgentPlaces:
    """Return places below a directory of the test's own, and a program with a space in its path."""
    environment = {"HOME": str(tmp_path / "home"), "WORKBENCH_HOME": str(tmp_path / "wb"), "PATH": ""}
    (tmp_path / "home").mkdir(exist_ok=True)
    return AgentPlaces(environment, tmp_path / "shop", ("/opt/my tools/workbench",))


def the_file(where: AgentPlaces, agent: str, kind: str, text: str | None, level: str = USER) -> SettingsFile:
    """Return an agent's file, which holds a text; None: it is not there."""
    file = AGENTS[agent].files(where, kind, level)
    assert file is not None
    if text is not None:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(text.encode())
    return file


def install(file: SettingsFile, environment: Mapping[str, str], *, uninstall: bool = False) -> bytes:
    """Install or uninstall, and return what the file holds then; nothing is refused."""
    changes = plan_changes([file], environment, uninstall=uninstall)
    assert [one.refused for one in changes] == [""]
    apply_changes(changes, environment)
    return file.path.read_bytes() if file.path.exists() else b""


def values(file: SettingsFile, data: bytes) -> Any:
    text = data.decode()
    return tomllib.loads(text) if file.toml else parse_jsonc(text).value


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_install_and_uninstall_leave_every_byte(tmp_path: Path, path: Path) -> None:
    """All that was there is there, a second run changes nothing, and uninstalling restores the file."""
    agent, kind, *_ = path.name.split(".")
    text, where = path.read_bytes().decode(), places(tmp_path)
    file = the_file(where, agent, kind, text)
    installed = install(file, where.environment)
    found = values(file, installed)
    for entry in file.entries:
        there = found
        for key in entry.path:
            there = there[key]
        assert entry.value in there if entry.in_list else entry.value == there
    kept = iter(installed.decode())
    assert all(char in kept for char in text), "every character that was there is there, in order"
    assert file.toml or trailing_commas(installed.decode()) == (trailing_commas(text) if text else 0)
    assert install(file, where.environment) == installed
    assert install(file, where.environment, uninstall=True) == text.encode()
    assert read_records(where.environment) == {}


@pytest.mark.parametrize("level", [USER, PROJECT])
@pytest.mark.parametrize("agent", list(AGENTS))
def test_a_file_that_was_made_goes_again(tmp_path: Path, agent: str, level: str) -> None:
    """A missing file is made, with what its format needs, and is gone after uninstalling."""
    where = places(tmp_path)
    where.project.mkdir()
    for kind in ("hooks", "mcp"):
        file = AGENTS[agent].files(where, kind, level)
        if file is not None:
            assert values(file, install(file, where.environment))
            install(file, where.environment, uninstall=True)
            assert not file.path.exists()


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (CLAUDE_HOOKS, ('"padding": 0', '"padding": 2')),
        (CLAUDE_HOOKS, ('{\n  "$schema"', '{\n  "model": "opus",\n  "$schema"')),
        (CLAUDE_COMMENTS, ("// the end", "// the very end")),
        (CLAUDE_COMMENTS, ('"model": "opus", // not haiku\n', "")),
        (GEMINI, ('{"theme": "Default"}', '{ "theme": "GitHub" }')),
    ],
)
def test_what_was_edited_meanwhile_stays(tmp_path: Path, text: str, edit: tuple[str, str]) -> None:
    """Uninstalling gives the file that the same edit would have made of the one before."""
    where = places(tmp_path)
    file = the_file(where, "gemini" if text is GEMINI else "claude", "hooks", text)
    changed = install(file, where.environment).decode().replace(*edit)
    assert changed != text
    file.path.write_text(changed, encoding="utf-8")
    assert install(file, where.environment, uninstall=True).decode() == text.replace(*edit)


def test_what_was_put_among_ours_stays(tmp_path: Path) -> None:
    """A hook of the user's in an event that installing made, or in our own list, is not ours to remove."""
    where = places(tmp_path)
    file = the_file(where, "claude", "hooks", "{}\n")
    text = install(file, where.environment).decode()
    mine = '{"hooks": [{"type": "command", "command": "make lint"}]}'
    text = text.replace('"PreToolUse": [', f'"PreToolUse": [{mine}, ')
    file.path.write_text(text, encoding="utf-8")
    left = install(file, where.environment, uninstall=True)
    assert values(file, left) == {"hooks": {"PreToolUse": [parse_jsonc(mine).value]}}
    assert trailing_commas(left.decode()) == 0


def test_two_kinds_in_one_file_come_and_go_alone(tmp_path: Path) -> None:
    """Hooks and server of Gemini CLI are in one file; each is taken out without the other."""
    where = places(tmp_path)
    hooks = the_file(where, "gemini", "hooks", None)
    server = the_file(where, "gemini", "mcp", None)
    install(hooks, where.environment)
    both = install(server, where.environment)
    left = install(hooks, where.environment, uninstall=True)
    assert values(server, left) == {"mcpServers": values(server, both)["mcpServers"]}
    assert trailing_commas(left.decode()) == 0
    install(server, where.environment, uninstall=True)
    assert not server.path.exists() or values(server, server.path.read_bytes()) == {}


def test_a_program_that_moved_is_replaced(tmp_path: Path) -> None:
    """An older command of ours gives way to the present one; uninstalling still restores the file."""
    where = places(tmp_path)
    install(the_file(where, "claude", "hooks", CLAUDE_HOOKS), where.environment)
    moved = AgentPlaces(where.environment, where.project, ("/usr/bin/workbench",))
    file = the_file(moved, "claude", "hooks", None)
    text = install(file, where.environment).decode()
    assert "/opt/my tools" not in text
    assert text.count("/usr/bin/workbench hook Stop") == 1
    assert install(file, where.environment, uninstall=True).decode() == CLAUDE_HOOKS


def test_without_records_ours_is_found_by_its_command(tmp_path: Path) -> None:
    """Records that are lost cost the exact bytes at most, never an entry of anybody else's."""
    where = places(tmp_path)
    for agent, kind, text in (("claude", "hooks", CLAUDE_HOOKS), ("codex", "mcp", CODEX_TOML)):
        file = the_file(where, agent, kind, text)
        install(file, where.environment)
        (tmp_path / "wb" / "installs.json").unlink()
        left = install(file, where.environment, uninstall=True)
        assert b"workbench" not in left
        wanted = values(file, text.encode())
        found = values(file, left)
        found["hooks"] = {key: value for key, value in found.get("hooks", {}).items() if value}
        assert found == wanted | {"hooks": wanted.get("hooks", {})}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"hooks": ', "line 1"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ("[]", "is not an object"),
        ('{"hooks": []}', "is not an object"),
        ('{"hooks": {"Stop": {}}}', "is not a list"),
        ('{"hooks": {}, "hooks": {}}', "twice"),
        ("[" * 500, "deep"),
        ('{"a": "\x01\n"}', "malformed"),
        ("null", "is not an object"),
    ],
)
def test_what_cannot_be_read_is_left_alone(tmp_path: Path, text: str, reason: str) -> None:
    """A malformed file is refused in a sentence that names it, and nothing is written."""
    file = the_file(places(tmp_path), "claude", "hooks", text)
    change = plan_install(file, None)
    assert reason in change.refused
    assert str(file.path) in change.refused
    assert not change.is_change
    assert not plan_uninstall(file, None).is_change


OTHER = "has another {} already"


@pytest.mark.parametrize(
    ("agent", "text", "reason", "hint"),
    [
        (
            "opencode",
            '{"mcp": {"workbench": {"enabled": false}}}',
            OTHER.format("mcp.workbench"),
            "rename it",
        ),
        ("opencode", '{"mcp": {"workbench": null}}', OTHER.format("mcp.workbench"), "rename it"),
        ("opencode", '{"mcp": []}', "cannot be added to (line 1: mcp is not an object)", "by hand"),
        (
            "codex",
            '[mcp_servers.workbench]\ncommand = "x"\n',
            OTHER.format("mcp_servers.workbench"),
            "rename it",
        ),
        (
            "codex",
            'mcp_servers = { other = { command = "x" } }\n',
            "cannot be added to (mcp_servers is an inline table)",
            'Add `workbench = { command = "/opt/my tools/workbench", args = ["mcp"] }` to mcp_servers',
        ),
        ("codex", "mcp_servers = 1\n", "cannot be added to (mcp_servers is not a table)", "by hand"),
        ("codex", "mcp_servers = \n", "cannot be read", "Correct the file"),
    ],
)
def test_valid_settings_that_cannot_be_added_to_are_left_alone(
    tmp_path: Path, agent: str, text: str, reason: str, hint: str
) -> None:
    """What is in the way is named, and the file that is in order is not to be corrected."""
    change = plan_install(the_file(places(tmp_path), agent, "mcp", text), None)
    assert (reason in change.refused, hint in change.hint) == (True, True), (change.refused, change.hint)
    assert not change.is_change


def test_links_read_only_files_and_other_bytes_are_left_alone(tmp_path: Path) -> None:
    """A link may lead anywhere, and in a project nothing behind one is written either."""
    where = places(tmp_path)
    file = the_file(where, "claude", "hooks", "{}")
    file.path.chmod(0o444)
    assert "is read-only" in plan_install(file, None).refused
    file.path.chmod(0o644)
    file.path.write_bytes(b'{"a": "\xff"}')
    assert "is not UTF-8" in plan_install(file, None).refused
    file.path.unlink()
    file.path.symlink_to(tmp_path / "elsewhere.json")
    assert f"is a link to {tmp_path / 'elsewhere.json'}:" in plan_install(file, None).refused
    file.path.unlink()
    file.path.mkdir()
    assert "is not a plain file" in plan_install(file, None).refused
    where.project.mkdir()
    (tmp_path / "outside").mkdir()
    (where.project / ".claude").symlink_to(tmp_path / "outside")
    refused = plan_install(the_file(where, "claude", "hooks", None, PROJECT), None).refused
    assert f"is behind a link ({where.project / '.claude'}, to {tmp_path / 'outside'}):" in refused


def test_a_file_that_changed_since_it_was_shown_is_not_written(tmp_path: Path) -> None:
    """Between the diff and the answer somebody else may write: theirs stays."""
    where = places(tmp_path)
    file = the_file(where, "claude", "hooks", "{}")
    changes = plan_changes([file], where.environment)
    file.path.write_text('{"model": "opus"}', encoding="utf-8")
    with pytest.raises(StoreError, match="changed while"):
        apply_changes(changes, where.environment)
    assert file.path.read_text(encoding="utf-8") == '{"model": "opus"}'
