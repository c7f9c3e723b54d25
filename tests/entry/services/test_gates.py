"""Evidence for gates: damage and old content are found where they are, and nowhere else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.deep import searches, times
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.entry.services import gates as gate_evidence
from workbench.entry.services.gates import gather, stale_files, state_damage, stress, without_models

TASKS = ("jwt token is not refreshed", "", "  ", "jwt token is not refreshed", "read the store")


@pytest.fixture
def project(work: Any) -> Path:
    """A repository with two files and a commit."""
    work.write("auth.py", "def refresh_token():\n    return 'jwt'\n")
    work.write("store.py", "def read():\n    return 1\n")
    work.commit("Add tokens")
    root: Path = work.root
    return root


def test_a_sound_project_gives_sound_evidence(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stale or damaged, and every distinct task is answered without a model."""
    monkeypatch.setattr(gate_evidence, "stress", partial(stress, agents=2, rounds=2))
    found = gather(project, Config(), TASKS)
    assert (found.stale, found.damage, found.reason) == ((), (), "")
    assert (found.answered, found.asked) == (2, 2)
    assert len(found.requests_ms) == 2
    assert found.looked == 2 + 2 * 2
    assert found.sound.startswith("none in ")


def test_old_content_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changed behind an index that does not look any more is stale; one that is synced is not."""
    opened = open_project(project, Config())
    opened.workspace.sync()
    (project / "auth.py").write_text("def other():\n    return 0\n")
    assert stale_files(opened.workspace) == ([], 2)
    monkeypatch.setattr(opened.workspace, "sync", lambda: None)
    (project / "store.py").write_text("def read():\n    return 2\n")
    (project / "auth.py").unlink()
    assert stale_files(opened.workspace) == (["auth.py", "store.py"], 2)


def test_damage_is_found_with_its_place(project: Path) -> None:
    """A line that cannot be read and an index that changed are named; an unfinished last line is none."""
    opened = open_project(project, Config())
    opened.workspace.sync()
    state = opened.location.root
    assert state_damage(opened)[0] == []
    journal = state / "journal" / "rules.jsonl"
    journal.parent.mkdir(exist_ok=True)
    journal.write_text('{"v":1,"id":"unfinished')
    assert state_damage(opened)[0] == []
    journal.write_text("no json\n")
    kept = next(path for path in sorted((state / "index").glob("*-*/*")) if path.name != "manifest.json")
    kept.write_bytes(b"\0" * kept.stat().st_size)
    damage = state_damage(opened)[0]
    assert damage[0].startswith("rules, line 1: ")
    assert kept.parent.name in damage[-1]


def test_a_project_without_files_answers_nothing(work: Any) -> None:
    """A task for which no file can be named counts as unanswered."""
    opened = open_project(work.root, Config())
    assert without_models(opened, ["anything"]) == (0, 1)
    assert without_models(opened, []) == (0, 0)


def test_a_bare_mirror_gives_no_evidence(project: Path, tmp_path: Path, work: Any) -> None:
    """Where there is no work tree the reason is said and nothing is claimed."""
    work.git("clone", "-q", "--bare", str(project), str(tmp_path / "mirror.git"))
    found = gather(tmp_path / "mirror.git", Config(), TASKS)
    assert (found.stale, found.damage, found.answered) == (None, None, None)
    assert "bare" in found.reason


@searches
def test_agents_at_once_lose_and_break_nothing() -> None:
    """Several processes in one project see what they wrote, and every entry is there."""
    count = times(2, 4)
    agents, broken = stress(agents=count, rounds=2)
    assert broken == []
    assert [(agent.number, agent.looks, agent.stale) for agent in agents] == [
        (number, 2, ()) for number in range(count)
    ]


def test_what_agents_lose_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are not there and agents that ended are said."""
    monkeypatch.setattr(
        gate_evidence, "_agent", lambda root, rounds, number: gate_evidence._without_answer(number)
    )
    agents, broken = stress(agents=1, rounds=2)
    assert broken == ["2 of 2 acknowledged entries are lost", "agent 0: its process ended"]
    assert agents[0].looks == 0
