"""Tables that went along when journals were written again are those that a rebuild makes of the new ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from store import table_moves
from store.journal import FileJournal
from store.journal_files import stream_path
from store.journal_lines import decode_line, encode_line
from store.rewriting import Again, ChangeBytes, StreamRewrite
from store.table_moves import rewrite_streams
from store.tables import Tables
from tests.adapters import ManualClock
from tests.deep import sample, searches
from workbench.ports import Entry
from workbench.sessions.episode_ledger import EpisodeLedger, fold, follow_moves, recall
from workbench.sessions.retention import past_task

STREAMS = ("sessions", "handovers", "memory/auth")
OLD = frozenset(f"old-{number}" for number in range(6))
TASKS = frozenset({"old-0", "old-3"})
"""Old sessions of which their tasks stay."""


@pytest.fixture
def journal(tmp_path: Path) -> FileJournal:
    """A journal with old sessions among new ones, forgotten commits, and lines and bodies that are wrong."""
    return written(tmp_path, wrong=True)


def written(tmp_path: Path, *, wrong: bool) -> FileJournal:
    found = FileJournal(tmp_path, ManualClock())
    chance = random.Random(3)

    def put(stream: str, kind: str, /, **body: Any) -> None:
        found.append(stream, kind, [body], by="import:git" if "changes" in body else "hook", sync=False)

    commit = {
        "project_id": "p",
        "task_text": "Fix",
        "query_type": "bugfix",
        "ended_at": 9,
        "outcome": "success",
    }
    changes = [("a.py", "modified", 2, 1, ""), ("b.py", "added", 5, 0, "")]
    for session in ("git:1", "old-5", "git:2"):
        known = {**commit, "session_id": session, "task_fingerprint": "shared", "started_at": 8}
        put("sessions", "episode.imported", **known, changes=changes, reads=["c.py"], issue_refs=["#1"])
    names = [*sorted(OLD - {"old-5"}), *(f"new-{number}" for number in range(4))]
    chance.shuffle(names)
    for session in names:
        task = {"task_text": f"Mend {session}", "task_fingerprint": chance.choice(("shared", session))}
        put(
            "sessions",
            "episode.started",
            session_id=session,
            project_id="p",
            query_type="bugfix",
            started_at=5,
            **task,
        )
    for step in range(40):
        session = chance.choice(names)
        what = chance.choice(("read", "edit"))
        event = {
            "session_id": session,
            "event_type": what,
            "file_path": f"{step % 7}.py",
            "timestamp": 10 + step,
        }
        put("sessions", "episode.event", **event)
    for session in ("old-1", "new-1") if wrong else ():
        put("sessions", "episode.event", session_id=session, event_type=3)
    put("sessions", "episode.later", session_id="old-2")
    put("sessions", "episode.later", session_id="new-2")
    with stream_path(tmp_path, "sessions").open("ab") as file:
        file.write(
            b'{"v":2,"id":"x","at":"2026","kind":"k","by":"b","body":{"session_id":"old-1"}}\nno line\n'
        )
    for session in names:
        put("sessions", "episode.ended", session_id=session, ended_at=70, outcome="success")
        put(
            "sessions", "feedback.given", session_id=session, timestamp=80, outcome="partial", rationale="why"
        )
    put("sessions", "episode.forgotten", session_ids=["git:1", "old-3"], reason="gone")
    known = {**commit, "session_id": "git:1", "task_fingerprint": "shared", "started_at": 8}
    put("sessions", "episode.imported", **known, changes=changes, reads=[])
    _put_rest(put)
    return found


def _put_rest(put: Any) -> None:
    for session in ("old-1", "new-1", "old-0"):
        given = {
            "session_id": session,
            "agent": "claude",
            "event": "Stop",
            "files": {"a.py": "full"},
            "seen": 4,
        }
        put("handovers", "handover.given", **given)
        put("handovers", "handover.instructions", session_id=session, file="AGENTS.md")
        put("handovers", "handover.broken", session_id="new-1", rules=["r1"], call="c1", decision=session)
        put("handovers", "handover.broken", session_id=session, rules=["r2"], decision="ask")
        put("handovers", "handover.given", session_id=session, files=3)
        put("memory/auth", "iteration", record={"task_title": session})
        said = {"at": session, "key": "tabs", "text": "tabs", "quote": "tabs", "session_id": session}
        put("memory/auth", "correction.said", **said, prompt=1, strength="standing", learning_id="l1")
        put("memory/auth", "learning.hit", id="l1", session_id=session)
    learning = {"id": "l1", "feature": "auth", "text": "tabs", "kind": "correction", "reason": ""}
    put("memory/auth", "learning.put", **learning, timestamp="2026-01-01T00:00:00Z", source="human")


def change_of(stream: str, done: Mapping[str, StreamRewrite]) -> ChangeBytes:
    """Return what retention does: tasks of some old sessions stay, what else is of old ones goes."""
    del done

    def sessions(line: bytes) -> bytes | None:
        entry = decode_line(line)
        if not isinstance(entry, Entry):
            return None if b'"old-1"' in line else line
        if entry.kind == "episode.forgotten":
            return Again(line)
        session = entry.body["session_id"]
        return line if session not in OLD else tasks.get(entry.id)

    def others(line: bytes) -> bytes | None:
        entry = decode_line(line)
        assert isinstance(entry, Entry)
        if "old-1" in str(entry.body) and not entry.kind.startswith("learning."):
            return None
        if entry.kind == "handover.broken":
            return Again(line)
        if entry.body.get("seen"):
            return encode_line(Entry(entry.id, entry.at, entry.kind, entry.by, {**entry.body, "seen": -1}))
        return line

    if stream != "sessions":
        return others
    tasks: dict[str, bytes] = {}
    for session in TASKS:
        of_session = [one for one in PAST if one.body.get("session_id") == session]
        tasks |= {one.id: Again(encode_line(one)) for one in past_task(of_session)}
    return sessions


PAST: list[Entry] = []


def opened(journal: FileJournal) -> Tables:
    PAST[:] = [entry for _, entry in journal.read("sessions")]
    return Tables(journal.root, {"project": journal}, ManualClock())


def test_tables_that_went_along_are_those_of_a_rebuild(journal: FileJournal) -> None:
    """Row for row, and nothing is left to be projected; again after the next ones went."""
    tables = opened(journal)
    tables.catch_up()
    before = tables.digest()
    done = rewrite_streams(journal, STREAMS, change_of, tables, dry=True)
    assert (tables.digest(), list(done)) == (before, list(STREAMS))

    again = rewrite_streams(journal, STREAMS, change_of, tables, dry=False)

    assert {name: one.done for name, one in again.items()} == {name: one.done for name, one in done.items()}
    late = tables.catch_up()
    assert (
        late.entries,
        late.rebuilt,
        tables.query("SELECT count(*) FROM episodes WHERE session_id IN ('old-0', 'old-3')"),
    ) == (0, "", [(1,)])
    found = tables.digest()
    assert found != before
    tables.rebuild()
    assert found == tables.digest()
    assert sorted(path.name for path in journal.root.glob("tables*")) == ["tables.duckdb"]


def test_tables_that_are_behind_are_brought_up_first(journal: FileJournal) -> None:
    """What others append while a journal is read is projected by whoever asks next."""
    tables = opened(journal)
    tables.catch_up()
    journal.append("sessions", "episode.started", [dict(PAST[8].body) | {"session_id": "late"}], by="hook")

    def change(stream: str, done: Mapping[str, StreamRewrite]) -> ChangeBytes:
        inner = change_of(stream, done)
        journal.append(
            "sessions",
            "episode.event",
            [{"session_id": "new-1", "event_type": "read", "timestamp": 99}],
            by="hook",
        )
        return inner

    rewrite_streams(journal, STREAMS, change, tables, dry=False)
    assert tables.catch_up().rebuilt == ""
    found = tables.digest()
    tables.rebuild()
    assert found == tables.digest()


@searches
@pytest.mark.parametrize("point", sample(["remove", "_move", "open_projector", "fingerprint", "sync_dir"], 2))
def test_a_killed_rewriting_leaves_tables_of_what_is_there(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """At every step: what lists are read from afterwards is what a rebuild makes of the journals."""
    tables = opened(journal)
    tables.catch_up()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(table_moves, point, killed)
        with pytest.raises(KeyboardInterrupt):
            rewrite_streams(journal, STREAMS, change_of, tables, dry=False)

    found = tables.digest()
    tables.rebuild()
    assert found == tables.digest()


@pytest.mark.parametrize("late", [False, True])
def test_a_ledger_that_went_along_is_that_of_a_fold(tmp_path: Path, late: bool) -> None:
    """Of all that is left, whether it was folded to the end before; what cannot go along says so."""
    journal = written(tmp_path, wrong=False)
    opened(journal).close()
    ledger = EpisodeLedger(30)
    fold(ledger, lambda start: journal.read("sessions", start))
    if late:
        body = {"session_id": "new-1", "timestamp": 90, "outcome": "failed"}
        journal.append("sessions", "feedback.given", [body], by="cli")
    ones = rewrite_streams(journal, STREAMS, change_of, None, dry=False)

    assert follow_moves(ledger, ones["sessions"].moves)

    fold(ledger, lambda start: journal.read("sessions", start))
    whole = EpisodeLedger(30)
    fold(whole, lambda start: journal.read("sessions", start))
    assert len(whole.tasks) == 7
    assert replace(ledger, events=whole.events) == whole
    assert [*recall(ledger)[1]] == [*recall(whole)[1]]
    ledger.malformed = 1
    assert not follow_moves(ledger, ones["sessions"].moves)
