"""Hand-overs and what followed come from the journals: once, whoever reports it twice, whatever its form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from store.journal import FileJournal
from store.table_queries import TableQueries
from tests.adapters import ManualClock
from tests.store.engines import open_tables
from workbench.records.usage import FileTouch, UsageRecords

START = 1_700_000_000


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> TableQueries:
    return open_tables(tmp_path, {"project": journal}, clock)


def give(journal: FileJournal, session: str, *files: str, **more: Any) -> None:
    body = {"session_id": session, "agent": "claude", "event": "plan", "tokens": 7, **more}
    journal.append("handovers", "handover.given", [{**body, "files": dict.fromkeys(files, "full")}], by="cli")


def task(journal: FileJournal, session: str, parent: str, at: int, *edits: str, by: str = "hook") -> None:
    facts = {"project_id": "p", "task_text": "x", "task_fingerprint": "f", "query_type": "bugfix"}
    body = {"session_id": session, "parent_session": parent, "prompt_index": 1, "started_at": at, **facts}
    journal.append("sessions", "episode.started", [body], by=by)
    for path in edits:
        event = {"session_id": session, "event_type": "edit", "timestamp": at, "file_path": path}
        journal.append("sessions", "episode.event", [event], by=by)


def records(tables: TableQueries, since: float = 0.0) -> UsageRecords:
    return tables.usage_records(since, patience=3600.0)


def test_a_pack_without_a_session_is_of_the_next_one(
    journal: FileJournal, tables: TableQueries, clock: ManualClock
) -> None:
    """What was copied or printed counts for the session that begins within the hour; later ones do not."""
    give(journal, "", "a.py")
    task(journal, "s/1", "s", START + 60, "a.py")
    task(journal, "t/1", "t", START + 90)
    clock.advance(5_000)
    give(journal, "", "b.py")
    task(journal, "git:1", "", START + 5_010, "b.py", by="git")
    task(journal, "u/1", "u", START + 9_000, "b.py")
    found = records(tables)
    assert [handover.session for handover in found.handovers] == ["s", ""]
    [touch] = found.touches["s"]
    assert (touch.path, touch.edited_at, touch.edit_entry > 0) == ("a.py", START + 60, True)
    assert records(tables, START + 1.0).handovers[0].files == {"b.py": "full"}


def test_a_delta_is_an_edit_where_none_was_recorded(journal: FileJournal, tables: TableQueries) -> None:
    """What an episode's end found otherwise on disk counts; a recorded edit keeps its own time."""
    give(journal, "s", "a.py", "b.py")
    task(journal, "s/1", "s", START, "a.py")
    for path in ("a.py", "b.py"):
        event = {"session_id": "s/1", "event_type": "delta", "timestamp": START + 60, "file_path": path}
        journal.append("sessions", "episode.event", [event], by="hook")
    edited, changed = records(tables).touches["s"]
    assert (edited.edited_at, changed.edited_at) == (START, START + 60)
    assert 0 < edited.edit_entry < changed.edit_entry


def test_an_import_has_times_and_replaces_what_was_live(journal: FileJournal, tables: TableQueries) -> None:
    """Of an imported session times count; imported again it is the same."""
    give(journal, "s", "a.py")
    task(journal, "s/1", "s", START + 60, "a.py")
    facts = {"project_id": "p", "task_text": "x", "task_fingerprint": "f", "query_type": "bugfix"}
    body = {"session_id": "s#1", "parent_session": "s", "started_at": START, "ended_at": START + 70, **facts}
    whole = {**body, "changes": [["a.py", "modified"]], "source": "claude_code", "outcome": "success"}
    for _ in range(2):
        journal.append("sessions", "episode.imported", [whole], by="import:sessions")
    journal.append("sessions", "episode.forgotten", [{"session_ids": ["s/1"]}], by="import:sessions")
    found = records(tables)
    assert found.touches["s"] == (FileTouch("a.py", edited_at=START + 70),)
    assert found.outcomes["s"] == ("success",)


def test_a_breach_counts_once_and_malformed_entries_not_at_all(
    journal: FileJournal, tables: TableQueries
) -> None:
    """A hook and a transcript may report one call; what has another form is rejected and named."""
    give(journal, "s")
    broken = {"session_id": "s", "rules": ["rule-a", "rule-b"], "call": "toolu_1", "decision": "deny"}
    journal.append("handovers", "handover.broken", [broken], by="hook")
    again = {**broken, "at": "2023-11-14T22:13:21+00:00"}
    journal.append(
        "handovers", "handover.broken", [again, {**again, "call": "toolu_2"}], by="import:sessions"
    )
    journal.append("handovers", "handover.broken", [{**broken, "rules": "all"}], by="hook")
    journal.append("handovers", "handover.given", [{"files": ["a.py"]}, {"tokens": 2**80}], by="hook")
    journal.append("handovers", "handover.lost", [{"session_id": "s"}], by="hook")
    loaded = {"session_id": "s", "file": "CLAUDE.md", "agent": "claude", "reason": "\ud800"}
    journal.append("handovers", "handover.instructions", [loaded, loaded], by="hook")
    found = records(tables)
    assert [(breach.rule, breach.at) for breach in found.breaches] == [
        ("rule-a", START),
        ("rule-b", START),
        ("rule-a", START + 1),
        ("rule-b", START + 1),
    ]
    assert found.loaded == {"s": ("CLAUDE.md",)}
    assert tables.rejected_entries()[0] == 3
    before = tables.digest()
    tables.rebuild()
    assert tables.digest() == before
