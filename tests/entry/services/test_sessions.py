"""Transcripts are counted without being read, and the one an episode comes from is found, or why not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.sessions.importers.made import edited, raw, user
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_workspace
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.transcripts import discover_sessions, import_sessions, session_file
from workbench.records.episodes import Episode
from workbench.sessions.importers.importer import ImportRequest

OLD = 1_767_300_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of somebody without transcripts."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "state"))
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def opened(tmp_path: Path, home: Mapping[str, str]) -> OpenedProject:
    (tmp_path / "shop").mkdir()
    return open_workspace(tmp_path / "shop", Config())


def write(path: Path, root: Path, session: str = "s") -> Path:
    place = {"cwd": str(root), "sessionId": session}
    lines = [
        user("the kettle whistles when the quota is exceeded", f"{session}1", 0, **place),
        *edited("a", f"{root}/store.py", 1),
        user("it still whistles when it should not", f"{session}2", 9, **place),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw(lines))
    os.utime(path, (OLD, OLD))
    return path


def claude(home: Mapping[str, str], root: Path, name: str) -> Path:
    """Return where Claude Code keeps a session of a project."""
    slug = re.sub("[^A-Za-z0-9]", "-", str(root))
    return Path(home["HOME"]) / ".claude" / "projects" / slug / f"{name}.jsonl"


def first(opened: OpenedProject, session: str = "claude_code:s1") -> Episode:
    return episode_service(opened.root, Config(), "tui").trace(session).episode


def test_transcripts_are_counted_by_agent(opened: OpenedProject, home: Mapping[str, str]) -> None:
    """With their sizes and times, and how many an import read before; sub-agents' files do not count."""
    assert discover_sessions(opened, environment=home) == ()
    one = write(claude(home, opened.root, "s"), opened.root)
    write(claude(home, opened.root, "s/subagents/agent-x"), opened.root)
    write(Path(home["HOME"]) / ".codex/sessions/2026/01/01/rollout-c.jsonl", Path("/elsewhere"))
    [ours, codex] = discover_sessions(opened, environment=home)
    assert (ours.agent, ours.files, ours.bytes, ours.certain) == ("Claude Code", 1, one.stat().st_size, True)
    assert (ours.oldest, ours.newest, ours.known) == (OLD, OLD, 0)
    assert (codex.agent, codex.files, codex.certain) == ("Codex", 1, False)
    import_sessions(opened, Config().sessions, (), ImportRequest(), environment=home)
    assert [session.known for session in discover_sessions(opened, environment=home)] == [1, 1]


def test_a_transcript_is_the_original_or_its_copy(opened: OpenedProject, home: Mapping[str, str]) -> None:
    """The copy is used when the original is gone; when both are, the reason is told."""
    path = write(claude(home, opened.root, "s"), opened.root)
    import_sessions(opened, Config().sessions, (), ImportRequest(), environment=home)
    found = session_file(opened, first(opened), environment=home)
    assert (found.path, found.archived) == (str(path), False)
    content = path.read_bytes()
    path.unlink()
    copy = session_file(opened, first(opened), environment=home)
    assert (copy.path, copy.archived) == (str(path), True)
    assert copy.open is not None
    with copy.open() as handle:
        assert handle.read() == content
    for kept in (opened.location.root / "archive").iterdir():
        kept.unlink()
    gone = session_file(opened, first(opened), environment=home)
    assert gone.open is None
    assert str(path) in gone.why


def test_a_session_that_was_recorded_live_may_have_a_transcript(
    opened: OpenedProject, home: Mapping[str, str]
) -> None:
    """It is found by the session's id among those of the project; a commit has none."""
    desk = episode_service(opened.root, Config(), "hook")
    desk.start("fix the kettle", session_id="live-1", parent_session="5f0c")
    found = session_file(opened, first(opened, "live-1"), environment=home)
    assert found.open is None
    assert "No transcript of 5f0c is known" in found.why
    write(claude(home, opened.root, "another-5f0c1"), opened.root)
    path = write(claude(home, opened.root, "5f0c"), opened.root, "5f0c")
    assert session_file(opened, first(opened, "live-1"), environment=home).path == str(path)
