"""A project with a past: sessions of Claude Code and Codex with their transcripts, and one that goes on."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from store.clock import SystemClock
from tests.sessions.importers.made import codex, codex_did, codex_said, did, edited, ran, raw, user
from workbench.config_layers import load
from workbench.entry.project import open_workspace
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.sessions import session_completeness
from workbench.entry.services.transcripts import import_sessions
from workbench.sessions.episodes import EpisodeService
from workbench.sessions.importers.importer import ImportRequest

NOW = 1_767_280_000
OLD = 1_767_270_000


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let it be some hours after the sessions, in Greenwich."""
    _freeze(monkeypatch)
    yield
    monkeypatch.undo()
    time.tzset()


def _freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(SystemClock, "now", lambda self: float(NOW))


def _live_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WORKBENCH_HOME", str(home / "workbench"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def desk_of(root: Path) -> EpisodeService:
    """Return the desk as another process would open it."""
    return episode_service(root, load(project=root).config, "hook")


def claude_transcript(root: Path) -> Path:
    """Write a session of three prompts where Claude Code keeps it; return the file."""
    place = {"cwd": str(root)}
    lines = [
        user("the login [/] forgets list[int] = x[0] (#7)", "u1", 0, **place),
        *did("a", "Read", 1, "1\tdef a():", file_path=f"{root}/roastery/app.py"),
        *edited("b", f"{root}/roastery/app.py", 2),
        *ran("c", "pytest -q", "3 passed", 3),
        user("now the logout \x1b[31mas well\u202e", "u2", 600, **place),
        *did("d", "Read", 601, file_path=f"{root}/roastery/money.py"),
        *edited("e", f"{root}/roastery/money.py", 602),
        *edited("f", f"{root}/roastery/vanished.py", 603),
        *ran("g", "git commit -m x", "[main 0123abc] x", 604),
        user("no, that is still wrong", "u3", 1_200, **place),
        *edited("h", f"{root}/roastery/app.py", 1_201),
    ]
    slug = re.sub("[^A-Za-z0-9]", "-", str(root))
    return _written(Path(os.environ["HOME"]) / ".claude/projects" / slug / "s.jsonl", lines)


def codex_transcript(root: Path) -> Path:
    """Write a session of one prompt where Codex keeps it; return the file."""
    lines = [
        codex("session_meta", 4_000, id="c", cwd=str(root)),
        *codex_said("make the basket faster, customers complain about it", 4_001),
        *codex_did("x", "exec_command", {"cmd": "cat roastery/app.py"}, "Process exited with code 1", 4_002),
    ]
    return _written(Path(os.environ["HOME"]) / ".codex/sessions/2026/01/01/rollout-c.jsonl", lines)


def _written(path: Path, lines: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw(lines))
    os.utime(path, (OLD, OLD))
    return path


def _live_through(root: Path) -> None:
    """Import two sessions into a project, and begin one that goes on."""
    claude_transcript(root)
    codex_transcript(root)
    config = load(project=root).config
    opened = open_workspace(root, config)
    import_sessions(opened, config.sessions, (), ImportRequest())
    desk = desk_of(root)
    desk.start("write the release notes", session_id="notes", source="claude_code")
    desk.event("notes", "read", files=["roastery/app.py"], payload={"tool": "Read"})
    desk.event("notes", "decision", payload={"why": "the changelog has all [/] of it"})
    session_completeness(opened)  # the tables are made


@pytest.fixture(scope="session")
def _lived(_built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the past once for a worker."""
    place = tmp_path_factory.mktemp("past")
    shutil.copytree(_built, place / "roastery", symlinks=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        _freeze(monkeypatch)
        _live_in(place / "home", monkeypatch)
        _live_through(place / "roastery")
    time.tzset()
    return place


@pytest.fixture
def past(_lived: Path, monkeypatch: pytest.MonkeyPatch, frozen: None) -> Path:
    """Return a project with a past that all tests share: none records anything."""
    _live_in(_lived / "home", monkeypatch)
    return _lived / "roastery"


@pytest.fixture
def fresh(roastery: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: None) -> Path:
    """Return a project with a past of the test's own."""
    _live_in(tmp_path / "home", monkeypatch)
    _live_through(roastery)
    return roastery
