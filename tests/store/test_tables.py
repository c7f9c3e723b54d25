"""The tables equal the journals, however and by whomever they were brought up to date."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import store.tables
from store import locks
from store.duck import (
    ATTACH_READING,
    ATTACH_WRITING,
    LOG_BYTES,
    Connection,
    KeptConnection,
    log_file,
)
from store.journal import FileJournal
from store.journal_files import stream_path
from store.projections.artifacts import Artifacts
from store.projector import project
from store.purge import remove_projections
from store.table_digests import digests
from store.tables import Tables
from tests.adapters import ManualClock
from tests.conftest import Connections
from tests.deep import searches, times
from tests.processes import running
from tests.store.engines import connect_tables, of_the_file, open_tables, transaction
from workbench.errors import StoreBusy, StoreError
from workbench.ports import REBUILD_WATCHER

Start = Callable[..., subprocess.Popen[str]]
Outputs = Callable[[list[subprocess.Popen[str]]], list[str]]


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> Tables:
    """The tables of `journal`."""
    return open_tables(tmp_path, {"project": journal}, clock)


def episode(number: int, **fields: Any) -> dict[str, Any]:
    body = {
        "session_id": f"git:{number}",
        "project_id": "p",
        "task_text": f"Fix number {number}",
        "task_fingerprint": f"f{number % 3}",
        "query_type": "bugfix",
        "started_at": 1_000 * number,
        "ended_at": 1_000 * number,
        "outcome": "success",
        "commit_sha": f"sha{number}",
        "issue_refs": ["#1", "#2"],
        "changes": [["a.py", "modified", 3, 1, ""], [f"{number}.py", "added", 1, 0, "old.py"]],
        "reads": ["b.py"],
    }
    return body | fields


def put(journal: FileJournal, *bodies: dict[str, Any]) -> None:
    journal.append("sessions", "episode.imported", list(bodies), by="import:git")


def test_an_imported_episode_becomes_rows(journal: FileJournal, tables: Tables) -> None:
    """A commit gives an episode, an event for each file, a link for each file and issue, and affinity."""
    put(journal, episode(1))
    report = tables.catch_up()

    assert (report.entries, report.rejections, report.quarantined, report.rebuilt) == (1, 0, 0, "")
    assert tables.query("SELECT * FROM episodes") == [
        ("git:1", "p", "Fix number 1", "f1", "bugfix", 1000, 1000, "success", None, None, None)
    ]
    assert tables.query(
        "SELECT event_type, file_path, payload_json, timestamp FROM episode_events ORDER BY id"
    ) == [
        ("read", "b.py", None, 1000),
        ("edit", "a.py", '{"kind":"modified","added":3,"removed":1}', 1000),
        ("edit", "1.py", '{"kind":"added","added":1,"removed":0,"old_path":"old.py"}', 1000),
    ]
    assert tables.query(
        "SELECT issue_ref, commit_sha, change_path, change_kind FROM causal_links ORDER BY id"
    ) == [
        ("#1", "sha1", "a.py", "modified"),
        ("#2", "sha1", "a.py", "modified"),
        ("#1", "sha1", "1.py", "added"),
        ("#2", "sha1", "1.py", "added"),
    ]
    assert tables.query(
        "SELECT task_fingerprint, file_path, reads, edits, success_edits, last_seen, weight::DOUBLE"
        " FROM task_file_affinity ORDER BY file_path"
    ) == [
        ("f1", "1.py", 0, 1, 1, 1000, 2.0),
        ("f1", "a.py", 0, 1, 1, 1000, 2.0),
        ("f1", "b.py", 1, 0, 0, 1000, pytest.approx(0.3)),
    ]


def test_affinity_counts_episodes_and_decays(journal: FileJournal, tables: Tables) -> None:
    """Each episode counts once, and use 180 days before the newest counts half."""
    half = 180 * 86_400
    twice = [["a.py", "modified", 1, 1, ""]] * 5
    put(
        journal,
        episode(1, task_fingerprint="f", changes=twice, reads=[], ended_at=0),
        episode(
            2,
            task_fingerprint="f",
            changes=[["b.py", "added", 1, 1, ""]],
            reads=[],
            ended_at=half,
            outcome="partial",
        ),
    )

    assert tables.query(
        "SELECT file_path, edits, success_edits, weight FROM task_file_affinity ORDER BY 1"
    ) == [
        ("a.py", 1, 1, 1.0),
        ("b.py", 1, 0, 1.0),
    ]


def test_a_live_session_becomes_rows(journal: FileJournal, tables: Tables) -> None:
    """Start, events, end and feedback of a session add up, whichever batch they come in."""
    start = {
        k: episode(1)[k] for k in ("session_id", "project_id", "task_text", "task_fingerprint", "query_type")
    }
    journal.append("sessions", "episode.started", [{**start, "started_at": 10}], by="hook")
    tables.catch_up()
    events = [
        {"session_id": "git:1", "event_type": "read", "timestamp": 11, "file_path": "a.py"},
        {
            "session_id": "git:1",
            "event_type": "edit",
            "timestamp": 12,
            "file_path": "a.py",
            "payload": {"kind": "added"},
        },
        {
            "session_id": "git:1",
            "event_type": "decision",
            "timestamp": 13,
            "symbol": "f",
            "payload": {"x": [1]},
        },
    ]
    journal.append("sessions", "episode.event", events, by="hook")
    ended = {
        "session_id": "git:1",
        "ended_at": 20,
        "outcome": "partial",
        "token_used": 7,
        "commit_sha": "abc",
    }
    journal.append("sessions", "episode.ended", [ended], by="hook")
    feedback = {"session_id": "git:1", "timestamp": 30, "outcome": "success", "rationale": "it works"}
    journal.append("sessions", "feedback.given", [feedback], by="cli")

    assert tables.query("SELECT started_at, ended_at, outcome, token_used FROM episodes") == [
        (10, 20, "success", 7)
    ]
    assert tables.query("SELECT event_type FROM episode_events ORDER BY id") == [
        ("read",),
        ("edit",),
        ("decision",),
        ("feedback",),
    ]
    assert tables.query("SELECT commit_sha, change_kind, rationale FROM causal_links") == [
        ("abc", "added", "it works")
    ]
    assert tables.query("SELECT reads, edits, success_edits FROM task_file_affinity") == [(1, 1, 1)]


def test_forgotten_episodes_leave_nothing(journal: FileJournal, tables: Tables) -> None:
    """When history was rewritten, episodes go with their events, links and affinity."""
    put(journal, episode(1), episode(4))
    tables.catch_up()
    journal.append("sessions", "episode.forgotten", [{"session_ids": ["git:1", "unknown"]}], by="import:git")

    assert tables.query("SELECT session_id FROM episodes") == [("git:4",)]
    assert tables.query("SELECT DISTINCT session_id FROM episode_events") == [("git:4",)]
    assert tables.query("SELECT DISTINCT session_id FROM causal_links") == [("git:4",)]
    assert tables.query("SELECT file_path FROM task_file_affinity ORDER BY 1") == [
        ("4.py",),
        ("a.py",),
        ("b.py",),
    ]


_STARTED = {"session_id", "project_id", "task_text", "task_fingerprint", "query_type", "started_at"}
SESSIONS = st.integers(1, 4)
OUTCOMES = st.sampled_from(["success", "partial", "failed", "unknown"])
STEPS = st.one_of(
    st.builds(lambda n, o: ("episode.imported", episode(n, outcome=o)), SESSIONS, OUTCOMES),
    st.builds(
        lambda n, t: (
            "episode.started",
            {k: v for k, v in episode(n, started_at=t).items() if k in _STARTED},
        ),
        SESSIONS,
        st.integers(0, 9),
    ),
    st.builds(
        lambda n, kind, path, t: (
            "episode.event",
            {"session_id": f"git:{n}", "event_type": kind, "timestamp": t, "file_path": path},
        ),
        SESSIONS,
        st.sampled_from(["read", "edit", "delta"]),
        st.sampled_from(["a.py", "b.py", None]),
        st.integers(0, 10**8),
    ),
    st.builds(
        lambda n, o, sha: ("episode.ended", {"session_id": f"git:{n}", "outcome": o, "commit_sha": sha}),
        SESSIONS,
        OUTCOMES | st.none(),
        st.sampled_from(["abc", None]),
    ),
    st.builds(
        lambda n, o, why: (
            "feedback.given",
            {"session_id": f"git:{n}", "outcome": o, "rationale": why, "timestamp": 5},
        ),
        SESSIONS,
        OUTCOMES | st.none(),
        st.sampled_from(["good", None]),
    ),
    st.builds(
        lambda ns: ("episode.forgotten", {"session_ids": [f"git:{n}" for n in ns]}), st.lists(SESSIONS)
    ),
)


# Entries whose effect depends on those before them.
ENDED = ("episode.ended", {"session_id": "git:1", "commit_sha": "abc", "ended_at": 7})
STARTED = ("episode.started", {name: value for name, value in episode(1).items() if name in _STARTED})
EDIT = ("episode.event", {"session_id": "git:1", "event_type": "edit", "timestamp": 1, "file_path": "x.py"})
FORGOTTEN = ("episode.forgotten", {"session_ids": ["git:1"]})
IMPORTED = ("episode.imported", episode(1))


@settings(max_examples=times(1, 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(st.tuples(STEPS, st.booleans()), min_size=1, max_size=12))
@example(steps=[(ENDED, True), (EDIT, False)])
@example(steps=[(ENDED, True), (STARTED, False)])
@example(steps=[(EDIT, True), (FORGOTTEN, False)])
@example(steps=[(EDIT, True), (IMPORTED, False), (EDIT, False), (IMPORTED, True)])
def test_batches_make_no_difference(
    steps: list[tuple[tuple[str, dict[str, Any]], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the order of entries, catching up often gives the same content as one rebuild."""
    journal = FileJournal(tmp_path_factory.mktemp("t"), ManualClock())
    with connect_tables() as often, connect_tables() as once:
        for (kind, body), stop in steps:
            journal.append("sessions", kind, [body], by="cli", sync=False)
            if stop:
                [tally] = project(often, {"project": journal}, 100).tallies
                assert tally.rejected == []
        project(often, {"project": journal}, 100)
        project(once, {"project": journal}, 100)
        found = []
        for tables in (often, once):
            with transaction(tables):
                found.append(digests(tables))

        assert found[0] == found[1]


def test_rounds_make_no_difference(
    journal: FileJournal, tmp_path: Path, clock: ManualClock, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long journal is projected in several transactions with the same result as in one."""
    put(journal, *[episode(n) for n in range(50)])
    journal.append("models", "model.activated", [{"model_id": "x"}] * 3, by="cli")
    monkeypatch.setattr(store.tables, "ROUND", 7)
    monkeypatch.setattr(store.tables, "LARGE_ROUND", 9)
    assert tables.catch_up().entries == 53
    before = tables.digest()
    monkeypatch.undo()
    tables.rebuild()

    assert tables.digest() == before


@of_the_file
def test_who_else_has_the_database_open_is_named(tables: Tables, journal: FileJournal) -> None:
    """A program of somebody's own that has the file open is named, with its process; nothing is set aside."""
    put(journal, episode(1))
    tables.catch_up()
    code = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.readline()"
    with running([sys.executable, "-c", code, str(tables.path)], stdin=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StoreBusy, match=rf"process {other.pid} \(python.*\) has .*tables.duckdb open"):
            tables.query("SELECT count(*) FROM episodes")
        other.communicate("go\n")
    assert tables.query("SELECT count(*) FROM episodes") == [(1,)]


def test_a_question_of_some_streams_waits_for_no_others(journal: FileJournal, tables: Tables) -> None:
    """What came of streams that nobody asks about is projected when they are, or along with the others."""
    counts = "SELECT (SELECT count(*) FROM episodes), (SELECT count(*) FROM model_registry)"

    def count(*streams: str) -> tuple[int, int]:
        rows: tuple[int, int] = tables.read(
            lambda connection: connection.execute(counts).fetchall()[0], streams
        )
        return rows

    put(journal, episode(1))
    assert count("sessions") == (1, 0)
    model = {"model_id": "m", "model_kind": "adapter", "version": "1", "created_at": 1}
    journal.append("models", "model.registered", [model], by="cli")
    assert count("sessions") == (1, 0)
    put(journal, episode(2))
    assert count("sessions") == (2, 1)
    put(journal, episode(3))
    assert count("models") == (2, 1)
    assert tables.query(counts) == [(3, 1)]


def test_several_questions_can_be_of_one_state(journal: FileJournal, tables: Tables) -> None:
    """Who asks several questions may have tables catch up once; afterwards they do for each again."""
    put(journal, episode(1))
    with tables.settle():
        put(journal, episode(2))
        assert tables.query("SELECT count(*) FROM episodes") == [(1,)]
    assert tables.query("SELECT count(*) FROM episodes") == [(2,)]


@of_the_file
def test_a_rebuild_keeps_nobody_from_reading_and_writing(
    journal: FileJournal, tmp_path: Path, clock: ManualClock, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While tables are rebuilt others read the old ones and go on; what they add is in the new ones."""
    put(journal, episode(1))
    tables.catch_up()
    other = Tables(tmp_path, {"project": journal}, clock, timeout=0.01)
    seen: list[Any] = []
    project_round = Tables._round

    def round_beside_others(self: Tables, path: Path, *limit: int) -> Any:
        done = project_round(self, path, *limit)
        if self is tables and not seen:
            put(journal, episode(2))
            seen.extend(other.query("SELECT count(*) FROM episodes"))
        return done

    monkeypatch.setattr(Tables, "_round", round_beside_others)
    tables.rebuild()

    assert seen == [(2,)]
    assert [one.query("SELECT count(*) FROM episodes") for one in (tables, other)] == [[(2,)], [(2,)]]


@of_the_file
@pytest.mark.parametrize("over", [True, False])
def test_what_was_purged_during_a_rebuild_is_not_in_its_tables(
    journal: FileJournal, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    """A rebuild that read what is purged begins again, be the purge over or about to remove tables."""
    put(journal, episode(1), episode(2), episode(3))
    tables.catch_up()
    project_round = Tables._round
    removed: list[Path] = []

    def round_beside_a_purge(self: Tables, path: Path, *limit: int) -> Any:
        done = project_round(self, path, *limit)
        if not removed:
            removed.append(path)
            lines = stream_path(tmp_path, "sessions").read_bytes().splitlines(keepends=True)
            stream_path(tmp_path, "sessions").write_bytes(b"".join(lines[1:]))
            put(journal, episode(4))
            if over:
                remove_projections(tmp_path)
        return done

    monkeypatch.setattr(Tables, "_round", round_beside_a_purge)
    tables.rebuild()

    found = tables.query("SELECT session_id FROM episodes ORDER BY 1")
    assert found == [("git:2",), ("git:3",), ("git:4",)]


def test_catching_up_again_does_nothing(
    journal: FileJournal, tmp_path: Path, clock: ManualClock, tables: Tables
) -> None:
    """What is projected is not projected twice, by this process or another."""
    put(journal, episode(1))
    tables.catch_up()
    before = tables.digest()

    assert tables.catch_up().entries == 0
    assert open_tables(tmp_path, {"project": journal}, clock).catch_up().entries == 0
    assert tables.digest() == before


@of_the_file
def test_what_another_projected_is_read_beside_readers(
    journal: FileJournal, tmp_path: Path, clock: ManualClock, tables: Tables
) -> None:
    """Tables that are up to date are read while others read them; only who is behind needs them alone."""
    put(journal, episode(1))
    tables.catch_up()
    other = Tables(tmp_path, {"project": journal}, clock, timeout=0.01)

    with locks.hold_shared(tmp_path / "locks" / "tables.lock"):
        assert other.query("SELECT session_id FROM episodes") == [("git:1",)]
        put(journal, episode(2))
        with pytest.raises(StoreBusy):
            other.query("SELECT session_id FROM episodes")
    assert other.query("SELECT session_id FROM episodes ORDER BY 1") == [("git:1",), ("git:2",)]


@of_the_file
def test_one_round_serves_who_waits_for_it(
    journal: FileJournal, tmp_path: Path, clock: ManualClock, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is behind while another catches up waits, and reads what that one projected."""
    put(journal, episode(1))
    waiter = Tables(tmp_path, {"project": journal}, clock)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(waiter.query("SELECT session_id FROM episodes")))
    project_round, rounds = Tables._round, []

    def counted(self: Tables, path: Path, *limit: int) -> Any:
        rounds.append(self)
        if self is tables:
            thread.start()
        return project_round(self, path)

    monkeypatch.setattr(Tables, "_round", counted)
    tables.catch_up()
    thread.join()

    assert found == [("git:1",)]
    assert rounds == [tables]


def test_what_cannot_be_projected_is_counted(journal: FileJournal, tables: Tables, tmp_path: Path) -> None:
    """Unknown kinds, wrong bodies and lines that are none are told apart, and nothing else is held up."""
    put(journal, episode(1), episode(2, started_at="yesterday"), {"session_id": ""})
    journal.append("sessions", "episode.dreamt", [{}], by="cli")
    with stream_path(tmp_path, "sessions").open("ab") as file:
        file.write(b"junk\n")
    put(journal, episode(3))

    report = tables.catch_up()

    assert (report.entries, report.rejections, report.quarantined) == (5, 2, 1)
    assert report.unknown == {"episode.dreamt": 1}
    assert "started_at" in report.rejected[0].reason
    assert tables.query("SELECT session_id FROM episodes ORDER BY 1") == [("git:1",), ("git:3",)]
    assert tables.query("SELECT count(*) FROM rejected") == [(2,)]
    assert tables.query("SELECT entries, unknown, rejected, quarantined FROM stream_counts") == [(5, 1, 2, 1)]


TEXTS = st.text(st.characters(codec=None), max_size=8)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
STREAMS = {
    "rule.put": "rules",
    "rule.removed": "rules",
    "rule.used": "rule-usage",
    "conflict.resolved": "rules",
    "file.synced": "rules",
    "model.registered": "models",
    "episode.imported": "sessions",
    "episode.event": "sessions",
    "op.measured": "metrics",
}
KINDS = list(STREAMS)
VALID: dict[str, dict[str, Any]] = {
    "rule.put": {"id": "r", "name": "n", "rule": "do"},
    "rule.removed": {"id": "r"},
    "rule.used": {"rule_ids": ["r"], "session_id": "s", "tool": "t"},
    "conflict.resolved": {"id": "c", "left": "r", "right": "q", "action": "keep_both"},
    "file.synced": {"file": "CLAUDE.md", "format": "claude", "digest": "d"},
    "model.registered": {"model_id": "m", "model_kind": "rust_linear", "version": "1", "created_at": 1},
    "episode.imported": episode(1),
    "episode.event": {"session_id": "s", "event_type": "edit", "timestamp": 1, "file_path": "x"},
    "op.measured": {"operation": "plan", "duration_ms": 1.0},
}
FIELDS = [
    "id",
    "rule_ids",
    "curation",
    "check",
    "anchors",
    "successor",
    "replaces",
    "name",
    "rule",
    "scope",
    "conditions",
    "metadata",
    "tags",
    "priority",
    "provenance",
    "examples",
    "params",
    "version",
    "model_id",
    "created_at",
    "task_text",
    "changes",
    "reads",
    "issue_refs",
    "started_at",
    "payload",
    "file_path",
    "stages",
    "cache",
    "degraded",
    "tokens",
    "duration_ms",
    "ok",
]


@settings(max_examples=times(2, 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(
        st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSONS, max_size=4)),
        max_size=8,
    )
)
def test_no_body_stops_the_projection(
    changes: list[tuple[str, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bodies with anything in any field are projected or rejected; the ones around them are always there."""
    journal = FileJournal(tmp_path_factory.mktemp("t"), ManualClock())
    for kind, change in changes:
        journal.append(STREAMS[kind], kind, [VALID[kind] | change], by="cli", sync=False)
    put(journal, episode(99))
    journal.append("rules", "rule.put", [{"id": "last", "name": "n", "rule": "do"}], by="cli")
    with connect_tables() as connection:
        tallies = project(connection, {"project": journal}, 100).tallies

        assert sum(tally.entries for tally in tallies) == len(changes) + 2
        with transaction(connection):
            found = connection.execute(
                "SELECT session_id FROM episodes WHERE session_id = 'git:99'"
                " UNION ALL SELECT id FROM rules WHERE id = 'last'"
            )
            assert sorted(found.fetchall()) == [("git:99",), ("last",)]


def test_rules_are_what_was_put_last(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """A rule has its newest form, a removed one is gone, and the user's own rules are told apart."""
    home = FileJournal(tmp_path / "home", clock)
    tables = open_tables(tmp_path, {"project": journal, "home": home}, clock)
    rule = {
        "id": "a",
        "name": "n",
        "rule": "use tabs",
        "scope": ["path:*.go"],
        "conditions": {"os": ["linux"]},
    }
    journal.append("rules", "rule.put", [rule, {**rule, "id": "b"}, {**rule, "rule": "use spaces"}], by="tui")
    home.append("rules", "rule.put", [{**rule, "id": "h"}], by="tui")
    tables.catch_up()
    journal.append("rules", "rule.removed", [{"id": "b"}], by="tui")

    assert tables.query("SELECT origin, id, rule, scope, conditions, authority FROM rules ORDER BY 1, 2") == [
        ("home", "h", "use tabs", ["path:*.go"], '{"os":["linux"]}', "default"),
        ("project", "a", "use spaces", ["path:*.go"], '{"os":["linux"]}', "default"),
    ]


def test_one_model_of_a_kind_is_active(journal: FileJournal, tables: Tables) -> None:
    """Activating a model puts out the others of its kind and no others; an unknown one changes nothing."""
    for name, kind in (("a", "rust_linear"), ("b", "rust_linear"), ("c", "ollama_rerank")):
        body = {"model_id": name, "model_kind": kind, "version": "1", "created_at": 1, "params": {"w": [1]}}
        journal.append("models", "model.registered", [body], by="cli")
    activated = [{"model_id": name} for name in ("a", "c", "b", "nobody")]
    journal.append("models", "model.activated", activated, by="cli")

    assert tables.query("SELECT model_id, active, params_json FROM model_registry ORDER BY 1") == [
        ("a", 0, '{"w":[1]}'),
        ("b", 1, '{"w":[1]}'),
        ("c", 1, '{"w":[1]}'),
    ]


def artifacts_of(files: Mapping[str, tuple[str, int]], *pairs: tuple[str, str]) -> Artifacts:
    """Return files with a symbol each, named as the file's content, and imports between them."""
    count, hashes = len(files), [digest for digest, _ in files.values()]
    return Artifacts(
        files={
            "path": list(files),
            "language": ["python"] * count,
            "role": ["source"] * count,
            "size": [1] * count,
            "mtime_ns": [changed for _, changed in files.values()],
            "content_hash": hashes,
            "lines": [3] * count,
            "tokens": [4] * count,
        },
        symbols={
            "path": list(files),
            "name": hashes,
            "kind": ["function"] * count,
            "line": [1] * count,
            "end_line": [2] * count,
            "signature": ["def f()"] * count,
            "parent": [""] * count,
            "exported": [True] * count,
        },
        edges={
            "from_path": [left for left, _ in pairs],
            "to_path": [right for _, right in pairs],
            "kind": ["import" for _ in pairs],
        },
    )


def test_artifacts_follow_the_index_file_by_file(tables: Tables) -> None:
    """Only files that changed are described again; those that are gone leave nothing behind."""
    asked: list[list[str]] = []

    def follow(files: Mapping[str, tuple[str, int]], *pairs: tuple[str, str]) -> int:
        def describe(changed: Sequence[str]) -> Artifacts:
            asked.append(list(changed))
            return artifacts_of({path: files[path] for path in changed}, *pairs)

        return tables.follow_index(files, describe)

    assert follow({"a.py": ("h1", 1), "b.py": ("h2", 1), "c.py": ("h3", 1)}, ("a.py", "b.py")) == 3
    assert follow({"a.py": ("h1", 1), "b.py": ("h4", 2), "d.py": ("h5", 1)}, ("a.py", "d.py")) == 3
    assert follow({"a.py": ("h1", 1), "b.py": ("h4", 2), "d.py": ("h5", 1)}) == 0
    assert asked == [["a.py", "b.py", "c.py"], ["b.py", "d.py"]]
    files = "SELECT path, content_hash, mtime_ns, tokens FROM artifacts ORDER BY path"
    assert tables.query(files) == [("a.py", "h1", 1, 4), ("b.py", "h4", 2, 4), ("d.py", "h5", 1, 4)]
    assert tables.query("SELECT path, name FROM symbols ORDER BY path") == [
        ("a.py", "h1"),
        ("b.py", "h4"),
        ("d.py", "h5"),
    ]
    assert tables.query("SELECT * FROM artifact_edges") == [("a.py", "d.py", "import")]
    assert follow({}) == 3
    assert tables.query("SELECT count(*) FROM artifacts") == [(0,)]


@of_the_file
@pytest.mark.parametrize("damage", ["empty", "garbage", "part", "header", "directory"])
def test_a_damaged_file_is_set_aside(
    journal: FileJournal, tables: Tables, tmp_path: Path, clock: ManualClock, damage: str
) -> None:
    """A file that is no database is moved away and made again from the journals, and that is told."""
    put(journal, *[episode(n) for n in range(20)])
    tables.rebuild()  # so that nothing is in DuckDB's log alone
    before = tables.digest()
    content = tables.path.read_bytes()
    broken = {
        "empty": b"",
        "garbage": b"x" * 9000,
        "part": content[: len(content) // 8],
        "header": b"\0" * 4096 + content[4096:],
    }
    if damage == "directory":
        tables.path.unlink()
        tables.path.mkdir()
    else:
        tables.path.write_bytes(broken[damage])

    again = open_tables(tmp_path, {"project": journal}, clock)
    report = again.catch_up()

    assert "damaged" in report.rebuilt
    assert Path(report.set_aside).exists()
    rebuild = again.latest_rebuild
    assert rebuild is not None
    assert (rebuild.set_aside, rebuild.over) == (report.set_aside, True)
    assert rebuild.done == rebuild.total > 0
    assert again.digest() == before


@of_the_file
def test_who_waits_for_tables_that_are_gone_sees_how_far_they_are(
    journal: FileJournal, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a purge: each round is reported, to the end, and once they are there nothing is."""
    put(journal, *[episode(n) for n in range(20)])
    monkeypatch.setattr(store.tables, "ROUND", 2)
    monkeypatch.setattr(store.tables, "LARGE_ROUND", 6)
    seen: list[tuple[int, int]] = []
    before = REBUILD_WATCHER.set(lambda done, total: seen.append((done, total)))
    try:
        tables.catch_up()
        rebuild = tables.latest_rebuild
        assert rebuild is not None
        assert (rebuild.done, rebuild.over) == (rebuild.total, True)
        assert len(seen) == 4
        assert seen == sorted(seen)
        assert seen[-1] == (rebuild.total, rebuild.total)
        put(journal, episode(21))
        tables.catch_up()
    finally:
        REBUILD_WATCHER.reset(before)
    assert len(seen) == 4


@of_the_file
def test_damage_found_while_reading_is_repaired(
    journal: FileJournal, tables: Tables, tmp_path: Path, clock: ManualClock
) -> None:
    """Damage in blocks that only a query touches leads to a rebuild and the right answer."""
    put(journal, *[episode(n) for n in range(2000)])
    tables.catch_up()
    content = bytearray(tables.path.read_bytes())
    content[12_288:-1] = b"\xff" * (len(content) - 12_289)
    tables.path.write_bytes(content)

    assert tables.query("SELECT count(DISTINCT task_text), count(DISTINCT session_id) FROM episodes") == [
        (2000, 2000)
    ]


@of_the_file
def test_a_deleted_file_is_made_again(journal: FileJournal, tables: Tables) -> None:
    """Deleting the database loses nothing."""
    put(journal, episode(1))
    before = tables.digest()
    tables.path.unlink()

    assert tables.digest() == before


def test_a_replaced_journal_leads_to_a_rebuild(
    journal: FileJournal, tables: Tables, tmp_path: Path, clock: ManualClock
) -> None:
    """When a journal is not the one the tables were made from, they are made anew."""
    put(journal, episode(1), episode(2))
    tables.catch_up()
    stream_path(tmp_path, "sessions").unlink()
    put(journal, episode(3), episode(4), episode(5))

    report = tables.catch_up()

    assert "replaced" in report.rebuilt
    assert tables.query("SELECT session_id FROM episodes ORDER BY 1") == [("git:3",), ("git:4",), ("git:5",)]


def test_a_journal_that_was_cut_and_has_grown_since_leads_to_a_rebuild(
    journal: FileJournal, tables: Tables, tmp_path: Path
) -> None:
    """Its beginning is the known one and it is longer, but no line begins where the tables are."""
    put(journal, episode(1), episode(2))
    tables.catch_up()
    path = stream_path(tmp_path, "sessions")
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first)
    put(journal, episode(33), episode(4), episode(5))
    assert path.read_bytes().startswith(first)

    assert "replaced" in tables.catch_up().rebuilt
    found = tables.query("SELECT session_id FROM episodes ORDER BY 1")
    assert found == [("git:1",), ("git:33",), ("git:4",), ("git:5",)]


@of_the_file
def test_another_programs_schema_leads_to_a_rebuild(
    journal: FileJournal, tables: Tables, tmp_path: Path, clock: ManualClock
) -> None:
    """Tables made by other migrations are made anew."""
    put(journal, episode(1))
    before = tables.digest()
    with KeptConnection(tmp_path / "spill").attach(tables.path) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (99, 'future', 'x')")

    again = open_tables(tmp_path, {"project": journal}, clock)

    assert "another version" in again.catch_up().rebuilt
    assert again.digest() == before


@of_the_file
def test_tables_are_looked_at_no_more_than_needed(
    journal: FileJournal, tables: Tables, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written after the tables is projected without a look; what others projected is read."""
    ways: list[str] = []
    attached = KeptConnection.attach

    def noted(kept: KeptConnection, path: Path, *, how: str = ATTACH_WRITING) -> Any:
        ways.append(how)
        return attached(kept, path, how=how)

    monkeypatch.setattr(KeptConnection, "attach", noted)
    other = open_tables(tmp_path, {"project": journal}, clock)
    count = "SELECT count(*) FROM episodes"
    put(journal, episode(1))
    assert tables.query(count) == [(1,)]
    put(journal, episode(2))
    stream, later = stream_path(tmp_path, "sessions"), tables.path.stat().st_mtime + 100
    os.utime(stream, (later, later))
    ways.clear()
    assert tables.query(count) == [(2,)]
    assert ways == [ATTACH_WRITING, ATTACH_READING]
    os.utime(stream, (0, 0))
    ways.clear()
    assert other.query(count) == [(2,)]
    assert ways == [ATTACH_READING]


def test_questions_inside_a_question_are_of_its_state(journal: FileJournal, tables: Tables) -> None:
    """What is written meanwhile is not in the answers of one read, however many questions it asks."""
    count = "SELECT count(*) FROM episodes"
    put(journal, episode(1))

    def work(_: Connection) -> tuple[Any, Any]:
        first = tables.query(count)
        put(journal, episode(2))
        return first, tables.query(count)

    assert tables.read(work) == ([(1,)], [(1,)])
    assert tables.query(count) == [(2,)]


@of_the_file
def test_small_changes_are_logged_and_not_for_ever(journal: FileJournal, tables: Tables) -> None:
    """An entry is in the log alone; a longer log than readers should replay is written to the file."""
    put(journal, *(episode(number) for number in range(200)))
    tables.catch_up()
    file, log = tables.path.stat().st_mtime_ns, log_file(tables.path)
    assert not log.exists()
    put(journal, episode(200))
    tables.catch_up()
    assert 0 < log.stat().st_size <= LOG_BYTES
    assert tables.path.stat().st_mtime_ns == file
    for number in range(201, 220):
        put(journal, episode(number))
        tables.catch_up()
        assert not log.exists() or log.stat().st_size <= LOG_BYTES
    assert tables.path.stat().st_mtime_ns > file
    assert tables.query("SELECT count(*) FROM episodes") == [(220,)]


@of_the_file
def test_closed_tables_answer_and_keep_no_connection(
    journal: FileJournal, tables: Tables, connections: Connections
) -> None:
    """Whoever reads while tables are closed reads on; who asks later has a connection for that alone."""
    put(journal, episode(1))

    def work(connection: Connection) -> list[Any]:
        tables.close()
        return connection.execute("SELECT count(*) FROM episodes").fetchall()

    assert tables.read(work) == [(1,)]
    assert connections.alive == 0
    assert tables.query("SELECT count(*) FROM episodes") == [(1,)]
    assert connections.alive == 0


@of_the_file
@pytest.mark.parametrize(
    "statement",
    [
        "SELEKT 1",
        "SELECT nothing FROM episodes",
        "SELECT 'x'::INTEGER",
        "SELECT regexp_matches(task_text, repeat('(a{900})', 900)) FROM episodes",
    ],
)
def test_an_impossible_query_is_an_error_and_no_damage(
    journal: FileJournal, tables: Tables, statement: str
) -> None:
    """A mistake in a statement does not cost the tables, nor is anybody sent to make them again."""
    put(journal, episode(1))
    tables.catch_up()

    with pytest.raises(StoreError) as refused:
        tables.query(statement)
    assert "rebuild" not in refused.value.with_hint
    assert tables.query("SELECT count(*) FROM episodes") == [(1,)]


READER = """
import sys
from pathlib import Path
from store.clock import SystemClock
from store.journal import FileJournal
from store.tables import Tables
root = Path(sys.argv[1])
journal = FileJournal(root, SystemClock())
tables = Tables(root, {"project": journal}, SystemClock())
total = 0
for n in range(int(sys.argv[2])):
    body = {"session_id": f"{sys.argv[3]}:{n}", "project_id": "p", "task_text": "t",
            "task_fingerprint": f"f{n % 2}", "query_type": "bugfix", "started_at": n,
            "outcome": "success", "changes": [["a.py", "modified"]]}
    journal.append("sessions", "episode.imported", [body], by=sys.argv[3])
    print(n, flush=True)
    total += tables.catch_up().entries
print(total)
"""


@searches
@of_the_file
def test_many_processes_share_the_tables(
    journal: FileJournal, tables: Tables, tmp_path: Path, start: Start, outputs: Outputs
) -> None:
    """Processes that append and catch up at once apply every entry exactly once."""
    processes = times(2, 4)
    printed = outputs([start(READER, tmp_path, 3, f"p{n}") for n in range(processes)])

    entries = 3 * processes
    assert sum(int(text.split()[-1]) for text in printed) == entries
    assert tables.query("SELECT count(*) FROM episodes") == [(entries,)]
    before = tables.digest()
    tables.rebuild()
    assert tables.digest() == before


@searches
@of_the_file
def test_kill_at_any_time_needs_no_repair(
    journal: FileJournal, tables: Tables, tmp_path: Path, start: Start
) -> None:
    """After kill -9 in the middle of appending and projecting, tables catch up and equal a rebuild."""
    for n in range(times(1, 3)):
        process = start(READER, tmp_path, 10_000, f"k{n}")
        assert process.stdout is not None
        for _ in range(2 + n):
            process.stdout.readline()
        process.kill()
        process.communicate()
        assert tables.catch_up().rebuilt == ""

    before = tables.digest()
    tables.rebuild()
    assert tables.digest() == before
    assert tables.query("SELECT count(*) FROM episodes") == [(sum(1 for _ in journal.read("sessions")),)]


@of_the_file
def test_a_full_disk_is_told_and_harms_nothing(
    journal: FileJournal, tables: Tables, tmp_path: Path, start: Start
) -> None:
    """A projection that hits the file size limit fails with a hint; without the limit it works."""
    put(journal, *[episode(n, task_text="long " * 400 + str(n)) for n in range(600)])
    code = """
import resource, sys
sys.dont_write_bytecode = True  # Python would keep the part of a module that fits
from pathlib import Path
from store.clock import SystemClock
from store.journal import FileJournal
from store.tables import Tables
from workbench.errors import StoreBusy, StoreError
import duckdb
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
journal = FileJournal(Path(sys.argv[1]), SystemClock())
try:
    Tables(Path(sys.argv[1]), {"project": journal}, SystemClock()).catch_up()
except StoreError as error:
    print("told", error.hint)
"""
    process = start(code, tmp_path)
    printed, errors = process.communicate()

    assert (process.returncode, errors) == (0, "")
    assert "told Free some space" in printed
    assert tables.query("SELECT count(*) FROM episodes") == [(600,)]
