"""What the tables say of sessions is what the fold of the journal says, whatever was told in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.file_history import AskedTask, Companion, TaskAffinity, file_history
from store.journal import FileJournal
from store.lists.sessions import SessionList
from store.projector import project
from store.table_queries import (
    SELECT_COMPLETENESS,
    completeness,
)
from tests.adapters import ManualClock
from tests.deep import times
from tests.store.engines import connect_tables, open_tables, transaction
from workbench.lists.filters import parse
from workbench.lists.sessions import SESSIONS
from workbench.lists.tables import ListQuery
from workbench.records.episodes import Completeness
from workbench.sessions.episode_ledger import EpisodeLedger, fold
from workbench.sessions.episodes_fold import follow_all

STREAM = "sessions"
NOW = 1_000


def draft(kind: str, session: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    task = {
        "project_id": "p",
        "task_text": f"fix {session}",
        "task_fingerprint": "f",
        "query_type": "bugfix",
        "started_at": 1,
    }
    usual: dict[str, dict[str, Any]] = {
        "episode.started": task,
        "episode.imported": {**task, "changes": [["b.py", "modified", 1, 1, ""]], "reads": []},
        "episode.event": {"event_type": "edit", "timestamp": 2, "file_path": "a.py"},
        "episode.ended": {"ended_at": 3},
        "feedback.given": {"timestamp": 4},
        "episode.forgotten": {"session_ids": [session]},
    }
    return kind, {"session_id": session, **usual[kind], **fields}


NAMES = st.sampled_from(["a", "b", "c"])
OUTCOMES = st.sampled_from(["success", "partial", "failed", "unknown"])
# A session begins before anything is told of it: events before its start are kept by the tables alone.
TOLD = st.one_of(
    st.builds(lambda s, o: draft("episode.imported", s, outcome=o), NAMES, OUTCOMES),
    st.builds(lambda s: draft("episode.imported", s, source="git", outcome="success"), NAMES),
    st.builds(
        lambda s, kind, late: draft("episode.event", s, event_type=kind, late=late, issue_refs=["#1", "#2"]),
        NAMES,
        st.sampled_from(["read", "edit", "decision"]),
        st.booleans(),
    ),
    st.builds(
        lambda s, o, by: draft("episode.ended", s, outcome=o, closed_by=by),
        NAMES,
        st.none() | OUTCOMES,
        st.sampled_from(["", "timeout"]),
    ),
    st.builds(lambda s, o: draft("feedback.given", s, outcome=o), NAMES, st.none() | OUTCOMES),
)


@settings(max_examples=times(2, 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(entries=st.lists(TOLD, max_size=15), pauses=st.sets(st.integers(0, 20)))
def test_the_tables_say_what_the_fold_says(
    entries: list[tuple[str, dict[str, Any]]],
    pauses: set[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Completeness, outcomes, ends and counts of files agree, in whatever batches the tables catch up."""
    journal = FileJournal(tmp_path_factory.mktemp("t"), ManualClock())
    with connect_tables() as connection:
        begun = [draft("episode.started", session) for session in "abc"]
        for number, entry in enumerate([*begun, *entries]):
            journal.append_all(STREAM, [entry], by="cli", sync=False)
            if number in pauses:
                project(connection, {"project": journal}, 100)
        project(connection, {"project": journal}, 100)
        with transaction(connection):
            [counts] = connection.execute(SELECT_COMPLETENESS, {"quiet_since": 0}).fetchall()
            rows = connection.execute(
                "SELECT id, ended_at, outcome, outcome_evidence, closed_by, reads, edits FROM sessions"
            ).fetchall()
    ledger = EpisodeLedger(10)
    fold(ledger, lambda start: journal.read(STREAM, start))
    assert ledger.stories == Completeness(*counts[:4])
    assert counts[4:] == (counts[0], counts[2])  # each is a session of its own
    found = {row[0]: row[1:] for row in rows}
    episodes = [follow_all((entry for _, entry in journal.read(STREAM)), session) for session in "abc"]
    assert found == {
        episode.session_id: (
            episode.ended_at,
            episode.outcome.value,
            episode.outcome_evidence,
            episode.closed_by,
            len(episode.reads),
            len(episode.changes),
        )
        for episode in episodes
        if episode is not None
    }


def test_a_quiet_session_counts_as_ended(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """What was not heard of since the time given is over, though the journal does not say so yet."""
    journal.append_all(STREAM, [draft("episode.started", "a"), draft("episode.event", "a")], by="cli")
    tables = open_tables(tmp_path, {"project": journal}, clock)

    assert completeness(tables, quiet_since=2) == Completeness(0, 0, 0, 1)
    assert completeness(tables, quiet_since=3) == Completeness(1, 0, 0, 0, 1, 0)
    going_on = ListQuery(parse("open:yes", SESSIONS.fields))
    assert SessionList(tables, quiet_since=3, commits=False).page(going_on).rows == ()
    [row] = SessionList(tables, quiet_since=2, commits=False).page(going_on).rows
    assert (row.session_id, row.edits, row.events, row.last_at) == ("a", 1, 1, 2)


def test_the_past_of_a_file(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """Who read or edited it, newest first, and what was edited with it; sweeping changes say nothing."""

    def imported(session: str, at: int, edits: str, reads: str = "") -> tuple[str, dict[str, Any]]:
        changes = [[path, "modified", 1, 1, ""] for path in edits.split()]
        return draft("episode.imported", session, started_at=at, changes=changes, reads=reads.split())

    drafts = [
        imported("one", 1, "src/A.py b.py c.py"),
        imported("two", 2, "src/A.py b.py", "src/A.py"),
        imported("sweep", 3, "src/A.py b.py c.py d.py e.py"),
        imported("four", 4, "b.py", "src/A.py"),
    ]
    journal.append_all(STREAM, drafts, by="cli")
    tables = open_tables(tmp_path, {"project": journal}, clock)

    def touching(text: str) -> list[str]:
        query = ListQuery(parse(f"file:{text}", SESSIONS.fields))
        return [row.session_id for row in SessionList(tables, quiet_since=0, commits=True).page(query).rows]

    assert touching("a.PY") == ["four", "sweep", "two", "one"]
    assert touching("d.py") == ["sweep"]
    assert touching("%") == []
    history = file_history(tables, "src/A.py", AskedTask(), most=3, limit=9)
    assert [(session.session_id, session.edited) for session in history.sessions] == [
        ("four", False),
        ("sweep", True),
        ("two", True),
        ("one", True),
    ]
    assert (history.read, history.edited, history.facts, history.affinity) == (2, 3, None, None)
    assert history.companions == (Companion("b.py", 2, 2 / 3, 4), Companion("c.py", 1, 1 / 3, 2))
    assert file_history(tables, "nowhere.py", AskedTask(), most=3, limit=9).companions == ()
    tables.close()


def test_a_files_past_says_why(tmp_path: Path, journal: FileJournal, clock: ManualClock) -> None:
    """Commit, issues and the reason of feedback are with each task; those of the asked task come first."""
    drafts = [
        draft(
            "episode.imported",
            name,
            started_at=at,
            task_fingerprint=fingerprint,
            outcome=outcome,
            commit_sha=f"sha-{name}",
            issue_refs=issues,
            changes=[["a.py", "modified", 1, 1, ""], ["b.py", "added", 1, 1, ""]],
        )
        for name, at, fingerprint, issues, outcome in (
            ("named", 1, "f1", ["#7", "#12"], "success"),
            ("same", 2, "f2", [], "success"),
            ("other", 3, "f3", ["#8"], "failed"),
        )
    ]
    feedback = draft("feedback.given", "other", outcome="failed", rationale="it logs everybody out")
    journal.append_all(STREAM, [*drafts, feedback], by="import:git")
    tables = open_tables(tmp_path, {"project": journal}, clock)

    found = file_history(tables, "a.py", AskedTask("f2", ("#12",)), most=3, limit=9)
    assert [(one.session_id, one.related, one.issues, one.commit_sha) for one in found.sessions] == [
        ("same", True, (), "sha-same"),
        ("named", True, ("#12", "#7"), "sha-named"),
        ("other", False, ("#8",), "sha-other"),
    ]
    assert [(session.rationale, session.weight) for session in found.sessions] == [
        ("", 2.0),
        ("", 2.0),
        ("it logs everybody out", 0.5),
    ]
    assert found.affinity == TaskAffinity(0, 1, 1, 2, 2.0, 1, 2)
    tables.close()


def test_a_session_is_whole_if_its_prompts_are_together(
    journal: FileJournal, tmp_path: Path, clock: ManualClock
) -> None:
    """What one prompt read, another edited and a third ended well is one session with a whole story."""
    prompts = [
        draft("episode.imported", "a", parent_session="s", outcome="unknown", reads=["x.py"], changes=[]),
        draft("episode.imported", "b", parent_session="s", outcome="unknown"),
        draft("episode.imported", "c", parent_session="s", outcome="success", changes=[]),
        draft("episode.imported", "d", parent_session="t", outcome="success"),
        draft("episode.imported", "e", outcome="success", reads=["x.py"]),
        draft("episode.imported", "f", source="git", outcome="success"),
    ]
    journal.append_all(STREAM, prompts, by="cli")
    tables = open_tables(tmp_path, {"project": journal}, clock)
    assert completeness(tables, quiet_since=0) == Completeness(5, 2, 1, 0, agents=3, whole=2)
