"""`workbench install` and `uninstall` as people run them: a diff, a question, one write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run


@pytest.fixture
def claude(empty: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of an agent that is on this machine alone, and the current directory in a project."""
    del empty
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    path = Path.home() / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  "model": "opus"\n}\n', encoding="utf-8")
    return path


def test_install_shows_asks_and_writes(claude: Path, run: Run) -> None:
    """Without anybody to ask nothing is written; with --yes it is, once, and status says so."""
    before = claude.read_bytes()
    asked = run("install")
    assert asked.code == 2
    assert '+  "hooks": {' in asked.out
    assert "nobody can be asked here" in asked.err
    assert run("install", "--dry-run").code == 0
    assert claude.read_bytes() == before
    done = run("install", "--yes")
    assert (done.code, "found Claude Code\n" in done.err) == (0, True)
    assert f"written: {claude}" in done.err
    servers = json.loads(claude.parent.with_suffix(".json").read_text(encoding="utf-8"))["mcpServers"]
    assert servers["workbench"]["args"][-1] == "mcp"
    assert "nothing to change" in run("install", "--yes").err
    found = {(one["kind"], one["level"]): one for one in run("install", "--status", "--json").json()
             if one["agent"] == "claude"}  # fmt: skip
    assert found["hooks", "user"]["installed"] is found["mcp", "user"]["installed"] is True
    assert found["hooks", "project"]["installed"] is False
    assert "Claude Code   hooks  user     installed" in run("install", "--status").out
    assert run("uninstall", "--yes").code == 0
    assert claude.read_bytes() == before


def test_a_project_shares_its_own(claude: Path, run: Run) -> None:
    """With --in-project the project's file is written, and the user's left alone."""
    before = claude.read_bytes()
    assert run("install", "--in-project", "--agent", "claude", "--agent", "copilot", "--yes").code == 0
    assert claude.read_bytes() == before
    assert "|| true" in Path(".claude/settings.json").read_text(encoding="utf-8")
    assert Path(".github/hooks/workbench.json").exists()
    assert run("uninstall", "--in-project", "--yes").code == 0
    assert not Path(".claude/settings.json").exists()
    assert not Path(".github/hooks/workbench.json").exists()


def test_what_uvx_starts_says_how_it_stays(claude: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's settings name the program alone, which uvx leaves nowhere."""
    words = ("uvx", "--from", "/somewhere/x.whl", "context-workbench")
    monkeypatch.setattr("workbench.entry.install.program.own_program", lambda *given, **named: words)
    told = run("install", "--in-project", "--agent", "claude", "--yes").err
    assert "do nothing without `uv tool install /somewhere/x.whl`" in told
    told = run("install", "--agent", "claude", "--yes").err
    assert "answer sooner after `uv tool install /somewhere/x.whl`" in told


def test_what_is_refused_is_named_and_the_rest_is_done(claude: Path, run: Run) -> None:
    """One malformed file keeps no other from being written; the exit code says that something is left."""
    claude.write_text("{ nonsense", encoding="utf-8")
    (Path.home() / ".cursor").mkdir()
    done = run("install", "--yes")
    assert done.code == 1
    assert f"{claude} cannot be read (line 1: a key is missing" in done.err
    assert (Path.home() / ".cursor" / "hooks.json").exists()
    assert claude.read_text(encoding="utf-8") == "{ nonsense"


def test_what_makes_no_sense_is_refused(claude: Path, run: Run) -> None:
    """Unknown kinds and a machine without agents have a hint each."""
    assert "Did you mean hooks?" in run("install", "--what", "hoks").err
    claude.unlink()
    claude.parent.rmdir()
    assert "no coding agent was found" in run("install").err
