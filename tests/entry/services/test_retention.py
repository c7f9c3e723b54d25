"""Retention takes what was recorded long ago, keeps what plans need, and never goes by a jump."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import ManualClock
from workbench.config import Config, IndexConfig, StoreConfig
from workbench.entry.project import OpenedProject, open_project
from workbench.entry.services import retention
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.handovers import GIVEN
from workbench.entry.services.retention import (
    DAY,
    purge_daily,
    purge_due,
    retention_findings,
    retention_state,
)
from workbench.errors import UsageError
from workbench.sessions import past
from workbench.sessions.episode_ledger import EpisodeLedger, Moves, follow_moves
from workbench.sessions.episodes_fold import ENDED, EVENT, STARTED

NOW = 1_800_000_000.0
PROMPT = "refresh the jwt because hunter2 expired"


@pytest.fixture
def project(work: Any) -> OpenedProject:
    """A project with a session of a hundred days ago, one of today, and an iteration, hand-over of each."""
    work.write("auth.py", "def refresh_token():\n    return 'jwt'\n")
    work.commit("Add tokens")
    opened = open_project(work.root, Config())
    for session, days in (("old", 100), ("new", 0)):
        clock = ManualClock(NOW - days * DAY)
        then = replace(opened, clock=clock)
        at = int(clock.now())
        body = {"session_id": f"{session}/1", "parent_session": session, "project_id": opened.project_id}
        task = {"task_text": PROMPT, "task_fingerprint": "f", "query_type": "bugfix", "started_at": at}
        edit = {"event_type": "edit", "file_path": "auth.py", "timestamp": at}
        end = {"session_id": f"{session}/1", "ended_at": at, "outcome": "success"}
        then.journal.append("sessions", STARTED, [{**body, **task}], by="hook")
        then.journal.append("sessions", EVENT, [{"session_id": f"{session}/1", **edit}], by="hook")
        then.journal.append("sessions", ENDED, [end], by="hook")
        then.journal.append("handovers", GIVEN, [{"session_id": session, "seen": 9}], by="hook")
        then.journal.append("memory/auth", "iteration", [{"record": {"task_title": session}}], by="cli")
    return at_day(opened, 0)


def at_day(project: OpenedProject, day: float) -> OpenedProject:
    return replace(project, clock=ManualClock(NOW + day * DAY))


def text_of(project: OpenedProject) -> bytes:
    """Return all bytes of the journals and their copies."""
    places = (project.state / name for name in ("journal", "journal-copy"))
    return b"".join(path.read_bytes() for place in places for path in sorted(place.rglob("*.jsonl")))


def test_what_is_old_goes_and_its_past_task_stays(project: OpenedProject) -> None:
    """A dry run reports the same and changes nothing; a second run finds nothing."""
    before = text_of(project)
    seen = purge_due(project, dry=True)
    assert text_of(project) == before

    done = purge_due(project, dry=False)

    assert seen == done
    assert dict(done.journals) == {"sessions": 3, "handovers": 2, "memory/auth": 1}
    assert (done.what, done.freed > 0) == ("what was recorded before 2026-10-17", True)
    assert text_of(project).count(b"because hunter2") == 2  # in journal and copy: of the new session
    assert purge_due(project, dry=False).empty
    stories, malformed = open_project(project.root, Config()).workspace.session_stories()
    assert (stories.ended, malformed) == (2, 0)


def test_a_servers_tables_go_with_what_they_hold(
    project: OpenedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a look; what kept that from being done is a note."""
    monkeypatch.setattr(OpenedProject, "remove_server_tables", lambda self: "no answer")
    assert purge_due(project, dry=True).notes == ()
    assert purge_due(project, dry=False).notes == ("no answer",)


def test_tasks_beyond_those_that_plans_weigh_go_whole(project: OpenedProject) -> None:
    """With one past task at most, the newest is that."""
    few = Config(index=IndexConfig(history_commits=1))
    purge_due(at_day(open_project(project.root, few), 0), dry=False)
    assert b'"old/1"' not in text_of(project)
    assert b'"new/1"' in text_of(project)


def test_a_process_that_stays_open_notices(project: OpenedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server folded of the former journal goes along, and a late verdict counts."""
    workspace = project.workspace
    workspace.sync()
    along: list[bool] = []

    def moved_along(ledger: EpisodeLedger, moves: Moves) -> bool:
        along.append(follow_moves(ledger, moves))
        return along[-1]

    monkeypatch.setattr(past, "follow_moves", moved_along)
    purge_due(project, dry=False)
    assert along == [True]
    recorder = episode_service(project.root, project.config, "cli", project.environment)
    recorder.feedback("old/1", "failed")
    workspace.sync()
    stories, malformed = workspace.session_stories()
    assert (stories.ended, malformed) == (2, 0)


def test_a_shorter_journal_of_as_many_tasks_is_another_one(project: OpenedProject) -> None:
    """One task goes, another came meanwhile: the past that is kept is the new one."""
    few = at_day(open_project(project.root, Config(index=IndexConfig(history_commits=1))), 0)
    few.workspace.sync()
    begun = {"session_id": "newer/1", "project_id": few.project_id, "started_at": int(NOW) + 9}
    task = {"task_text": "Rename", "task_fingerprint": "f", "query_type": "bugfix"}
    few.journal.append("sessions", STARTED, [{**begun, **task}], by="hook")
    few.journal.append("sessions", ENDED, [{"session_id": "newer/1", "ended_at": int(NOW) + 10}], by="hook")
    purge_due(few, dry=False)
    assert few.workspace.task_heads == ("Rename",)
    stored = open_project(project.root, Config()).workspace.stored_past()
    assert stored is not None
    assert stored.heads == ("Rename",)


def test_nothing_goes_by_itself_that_was_not_due_a_day_before(project: OpenedProject) -> None:
    """The first look only notes; a jump of the clock, either way, is a first look again; then once a day."""
    before = text_of(project)
    assert purge_daily(project) is None
    assert retention_state(project).due["sessions"] == 3
    [finding] = retention_findings(project)
    assert (finding.state.value, "--due" in finding.step) == ("note", True)
    for day in (0.5, 400, 400.5, -3, -2.5, 5):
        assert purge_daily(at_day(project, day)) is None
    assert text_of(project) == before


def test_it_runs_at_most_once_a_day(project: OpenedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day after the look it takes what was due then; a stream too long for that waits to be asked."""
    assert purge_daily(project) is None
    taken = purge_daily(at_day(project, 1))
    assert taken is not None
    assert taken.journals["sessions"] == 3
    state = retention_state(project)
    assert (state.took, state.freed, dict(state.due)) == (NOW + DAY, taken.freed, {})
    assert purge_daily(at_day(project, 1.5)) is None
    again = purge_daily(at_day(project, 2.5))
    assert again is not None
    assert again.empty
    assert retention_state(project).took == NOW + DAY
    [finding] = retention_findings(project)
    assert "last taken out on 2027-01-16" in finding.text
    monkeypatch.setattr(retention, "_MOST", 10)
    assert purge_daily(at_day(project, 4)) is None


def test_everything_is_kept_where_that_is_set(project: OpenedProject) -> None:
    """Zero days: nothing goes by itself, and asking for it names the setting."""
    keeping = at_day(open_project(project.root, Config(store=StoreConfig(keep_days=0))), 0)
    assert purge_daily(keeping) is None
    assert not (Path(keeping.state) / "retention.json").exists()
    with pytest.raises(UsageError, match="keep_days"):
        purge_due(keeping, dry=True)
    [finding] = retention_findings(keeping)
    assert "everything is kept" in finding.text
