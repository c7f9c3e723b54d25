"""`rules effective`: the prediction, what sessions reported beside it, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.entry.cli.conftest import Run
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.entry.services.handovers import record_instructions


def test_what_an_agent_loads_is_shown_beside_what_sessions_reported(
    project: Any, home: Path, run: Run, monkeypatch: Any
) -> None:
    """Files with their rules and why; settings of the agents count, and unreadable ones are reported."""
    monkeypatch.setenv("HOME", str(home))
    project.write("pkg/CLAUDE.md", "- Use types.\n")
    project.write("pkg/AGENTS.md", "- Use [b]types[/].\n")
    project.write(".gemini/settings.json", '{"context": {"fileName": "AGENTS.md"},} // mine\n')
    project.write(".claude/settings.json", "{")
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text('project_doc_fallback_filenames = ["CLAUDE.md", "../x"]\n')
    opened = open_workspace(project.root, Config())
    for session in ("s1", "s2"):
        record_instructions(opened, session, "claude", "CLAUDE.md", "session_start")
    record_instructions(opened, "s2", "claude", "/elsewhere/CLAUDE.md", "session_start")

    found = run("rules", "effective", "pkg/auth.py", "--json").json()
    assert [(one["file"], one["when"], one["seen"]) for one in found["loaded"]] == [
        ("CLAUDE.md", "always", 2),
        ("pkg/CLAUDE.md", "paths", 0),
    ]
    assert [rule["line"] for rule in found["loaded"][0]["rules"]] == [3, 4]
    assert (found["sessions"], found["unpredicted"]) == (2, ["/elsewhere/CLAUDE.md"])
    assert found["tokens"] > found["tokens_at_start"] > 0

    shown = run("rules", "effective", "pkg/auth.py", "--no-color")
    assert "CLAUDE.md  in the root, " in shown.out
    assert "seen in 2 sessions" in shown.out
    assert "/elsewhere/CLAUDE.md: reported by sessions at their start, not predicted" in shown.out
    assert ".claude/settings.json is not read" in shown.err
    gemini = run("rules", "effective", "pkg/auth.py", "--agent", "gemini", "--no-color")
    assert "Use [b]types[/]." in gemini.out
    codex = run("rules", "effective", "pkg/auth.py", "--agent", "codex", "--cwd", "pkg", "--json").json()
    assert [one["file"] for one in codex["loaded"]] == ["CLAUDE.md", "pkg/AGENTS.md"]

    outside = run("rules", "effective", "../../x.py")
    assert (outside.code, "is not in the project" in outside.err) == (2, True)
    assert run("rules", "effective", "x.py", "--agent", "nobody").code == 2
