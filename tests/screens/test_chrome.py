"""What empty sections say: keys of the registry, and the transcripts of this project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from screens.chrome import ANY_TRANSCRIPT, teach, transcripts_of
from screens.commands import key_of


def test_keys_are_those_of_the_registry() -> None:
    """One line each, their words below each other."""
    told = teach("Nothing.", ("workbench x",), {"rules.new": "adds", "app.help": "lists"})
    assert told == f"Nothing.\n\n  workbench x\n\n{key_of('rules.new')}  adds\n?  lists"


def test_transcripts_are_named_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell reads them; a placeholder where there are none."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    root = tmp_path / "a shop"
    assert transcripts_of(root) == ANY_TRANSCRIPT
    slug = re.sub("[^A-Za-z0-9]", "-", str(root))
    (tmp_path / "home/.claude/projects" / slug).mkdir(parents=True)
    assert transcripts_of(root) == f"~/.claude/projects/{slug}"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "my agents"))
    (tmp_path / "my agents/projects" / slug).mkdir(parents=True)
    assert transcripts_of(root) == f"'{tmp_path}/my agents/projects/{slug}'"
