"""What the history tables say of live sessions and of prompts taken out of longer ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from store.journal import FileJournal
from store.tables import Tables
from tests.adapters import ManualClock
from tests.store.engines import open_tables

HALF = 180 * 86_400


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> Tables:
    """The tables of `journal`."""
    return open_tables(tmp_path, {"project": journal}, clock)


def start(session: str = "s", **fields: Any) -> dict[str, Any]:
    body = {
        "session_id": session,
        "project_id": "p",
        "task_text": "fix #7",
        "task_fingerprint": "f",
        "query_type": "bugfix",
        "started_at": 10,
    }
    return body | fields


def edit(session: str = "s", path: str = "a.py", **fields: Any) -> dict[str, Any]:
    return {"session_id": session, "event_type": "edit", "timestamp": 11, "file_path": path} | fields


SOURCES = """
SELECT session_id, source, parent_session, prompt_index, outcome_evidence, closed_by
FROM episode_sources ORDER BY session_id
"""


def test_who_told_an_episode_is_known(journal: FileJournal, tables: Tables) -> None:
    """A source is what the entry says, else who wrote it; a prompt of a longer session has its place."""
    imported = start("i", changes=[], source="claude_code", parent_session="c", prompt_index=3)
    journal.append("sessions", "episode.imported", [imported | {"outcome_evidence": "tests passed"}], by="x")
    journal.append("sessions", "episode.imported", [start("git:1", changes=[])], by="import:git")
    journal.append("sessions", "episode.started", [start("live")], by="cli")

    assert tables.query(SOURCES) == [
        ("git:1", "git", "", None, "", ""),
        ("i", "claude_code", "c", 3, "tests passed", ""),
        ("live", "cli", "", None, "", ""),
    ]


def test_a_forgotten_episode_has_no_source(journal: FileJournal, tables: Tables) -> None:
    """What is forgotten leaves no row anywhere."""
    journal.append("sessions", "episode.started", [start()], by="cli")
    tables.catch_up()
    journal.append("sessions", "episode.forgotten", [{"session_ids": ["s"]}], by="cli")

    assert tables.query(SOURCES) == []


def test_an_end_by_timeout_gives_way_to_a_real_one(journal: FileJournal, tables: Tables) -> None:
    """Whoever ends a session says so; an end that somebody told afterwards counts instead."""
    journal.append("sessions", "episode.started", [start()], by="cli")
    journal.append(
        "sessions",
        "episode.ended",
        [{"session_id": "s", "ended_at": 12, "closed_by": "timeout"}],
        by="cli",
    )
    assert tables.query("SELECT closed_by FROM episode_sources") == [("timeout",)]
    assert tables.query("SELECT outcome, ended_at FROM episodes") == [("unknown", 12)]

    ended = {"session_id": "s", "ended_at": 20, "outcome": "success", "closed_by": ""}
    journal.append("sessions", "episode.ended", [ended | {"outcome_evidence": "tests"}], by="cli")

    assert tables.query("SELECT closed_by, outcome_evidence FROM episode_sources") == [("", "tests")]
    assert tables.query("SELECT outcome, ended_at FROM episodes") == [("success", 20)]


def test_an_edit_is_linked_to_the_issues_of_its_task(journal: FileJournal, tables: Tables) -> None:
    """One link an issue; what came after the end is marked and linked to the commit."""
    journal.append("sessions", "episode.started", [start()], by="cli")
    late = edit(path="b.py", issue_refs=["#7", "#8"], commit_sha="abc", late=True, payload={"kind": "added"})
    journal.append("sessions", "episode.event", [edit(issue_refs=["#7"]), late], by="cli")

    assert tables.query("SELECT issue_ref, commit_sha, change_path, change_kind FROM causal_links") == [
        ("#7", None, "a.py", "modified"),
        ("#7", "abc", "b.py", "added"),
        ("#8", "abc", "b.py", "added"),
    ]
    assert tables.query("SELECT payload_json FROM episode_events ORDER BY id") == [
        (None,),
        ('{"kind":"added","late":true}',),
    ]


def test_what_failed_weighs_less_than_what_nobody_judged(journal: FileJournal, tables: Tables) -> None:
    """Edits of a success weigh double, of a failure half, of an unknown outcome one."""
    for outcome in ("success", "unknown", "failed"):
        body = start(outcome, changes=[[f"{outcome}.py", "modified", 1, 1, ""]], outcome=outcome, ended_at=5)
        journal.append("sessions", "episode.imported", [body], by="x")

    assert tables.query("SELECT file_path, weight FROM task_file_affinity ORDER BY weight DESC") == [
        ("success.py", 2.0),
        ("unknown.py", 1.0),
        ("failed.py", 0.5),
    ]


def test_feedback_is_the_evidence_of_an_outcome(journal: FileJournal, tables: Tables) -> None:
    """Feedback with an outcome decides it and says so; a remark alone decides nothing."""
    journal.append("sessions", "episode.started", [start()], by="cli")
    remark = {"session_id": "s", "timestamp": 12, "rationale": "hm"}
    journal.append("sessions", "feedback.given", [remark], by="cli")
    assert tables.query("SELECT outcome_evidence FROM episode_sources") == [("",)]

    journal.append("sessions", "feedback.given", [remark | {"outcome": "failed"}], by="cli")
    assert tables.query("SELECT outcome_evidence FROM episode_sources") == [("feedback",)]
    assert tables.query("SELECT outcome FROM episodes") == [("failed",)]


def test_feedback_outlives_another_import(journal: FileJournal, tables: Tables) -> None:
    """An episode that is imported again keeps what somebody said of it, and nothing else of before."""
    imported = start(changes=[["a.py", "modified", 1, 1, ""]], outcome="success")
    said = {"session_id": "s", "timestamp": 12, "outcome": "failed", "rationale": "it crashes"}
    journal.append("sessions", "episode.imported", [imported], by="import:x")
    journal.append("sessions", "feedback.given", [said], by="cli")
    tables.catch_up()
    journal.append("sessions", "episode.imported", [imported | {"reads": ["b.py"]}], by="import:x")

    assert tables.query(
        "SELECT outcome, outcome_evidence FROM episodes JOIN episode_sources USING (session_id)"
    ) == [("failed", "feedback")]
    assert tables.query("SELECT change_path, rationale FROM causal_links") == [("a.py", "it crashes")]
    assert tables.query("SELECT event_type, count(*) FROM episode_events GROUP BY 1 ORDER BY 1") == [
        ("edit", 1),
        ("feedback", 1),
        ("read", 1),
    ]
