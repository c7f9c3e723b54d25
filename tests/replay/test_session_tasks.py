"""Prompts of recorded sessions are tasks as of when they were given, with a repository and without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from store.clock import SystemClock
from store.journal import FileJournal
from workbench.config import Config
from workbench.entry.services.past_project import ReplayOptions, open_past
from workbench.entry.services.replay import replay_past
from workbench.ports import Entry
from workbench.records.episodes import Outcome
from workbench.replay.systems import parse_systems
from workbench.replay.tasks import ReplayTask, SeenPaths, TaskSource, recorded_sessions, session_tasks
from workbench.sessions.episodes_fold import ENDED, EVENT, FEEDBACK, FORGOTTEN, IMPORTED, STARTED, STREAM


def episode(
    name: str, text: str, at: int, *edited: str, commit: str = "", parent: str = ""
) -> dict[str, Any]:
    """Return the journal body of a prompt that modified files."""
    return {
        "session_id": name,
        "parent_session": parent,
        "project_id": "p",
        "task_text": text,
        "task_fingerprint": "f",
        "query_type": "bugfix",
        "started_at": at,
        "ended_at": at + 10,
        "outcome": "success",
        "commit_sha": commit,
        "issue_refs": [],
        "changes": [[path, "modified", 1, 1, ""] for path in edited],
        "reads": ["docs/read.md"],
    }


def journal(root: Path, *bodies: dict[str, Any]) -> None:
    """Write episodes into a project's journal."""
    FileJournal(root / ".workbench", SystemClock()).append(STREAM, IMPORTED, list(bodies), by="test")


def replayed(root: Path, source: TaskSource = TaskSource.ALL) -> list[Any]:
    """Replay a project's past in this process."""
    wanted = ReplayOptions(source, 50, parse_systems(["baseline", "bm25", "hybrid"]), 1000)
    return list(replay_past(open_past(root), Config(), wanted, workers=1).replayed.rows)


def test_a_prompt_is_begun_on_the_commit_before_it(work: Any) -> None:
    """The tree is that of the newest commit before the prompt, the cluster its session."""
    work.write("src/auth.py", "def refresh():\n    return 1\n")
    first = work.commit("Begin")
    given = work.time + 5
    work.time += 100
    work.write("src/auth.py", "def refresh():\n    return 2\n")
    second = work.commit("Refresh the token")
    prompt = episode("s1#1", "please refresh the token", given, "src/auth.py", commit=second, parent="s1")
    journal(work.root, prompt)
    (row,) = replayed(work.root)
    assert (row.source, row.session, row.revision, row.commit) == ("session", "s1", first, second)
    assert row.systems["hybrid"].ranking[0] == "src/auth.py"
    assert row.systems["hybrid"].measures["line_coverage"] == 1.0
    assert [found.source for found in replayed(work.root, TaskSource.COMMITS)] == ["commit"]


def test_later_prompts_change_no_earlier_row(work: Any) -> None:
    """What sessions did afterwards does not reach a prompt's ranking."""
    for name in ("auth", "store", "cache"):
        work.write(f"src/{name}.py", f"def {name}():\n    return 1\n")
    work.commit("Begin")
    at = work.time
    journal(work.root, episode("s1", "the token is stale", at + 100, "src/store.py"))
    (before,) = replayed(work.root)
    journal(
        work.root, *(episode(f"l{n}", "the token is stale", at + 200 + n, "src/cache.py") for n in range(5))
    )
    after = next(row for row in replayed(work.root) if row.id == "s1")
    for name, system in before.systems.items():
        assert after.systems[name].ranking == system.ranking
        assert after.systems[name].contributions == system.contributions


def test_a_project_of_which_only_sessions_are_left(tmp_path: Path) -> None:
    """Without a repository the paths seen until then are ranked, and no pack is made."""
    (tmp_path / ".workbench").mkdir(mode=0o700)
    journal(
        tmp_path,
        episode("a", "the token is not refreshed", 1_000, "src/auth.py", "src/token.py"),
        episode("b", "colours of the theme", 2_000, "src/theme.py"),
        episode("c", "refresh the token again", 3_000, "src/auth.py"),
    )
    rows = replayed(tmp_path)
    assert [(row.id, row.fault == "") for row in rows] == [("c", True), ("b", False), ("a", False)]
    hybrid = rows[0].systems["hybrid"]
    assert set(hybrid.ranking[:2]) == {"src/auth.py", "src/token.py"}
    assert (rows[0].revision, hybrid.tokens, rows[1].missing) == ("", None, ("src/theme.py",))


def test_paths_are_seen_once_a_session_had_ended() -> None:
    """A moment holds reads and edits of sessions that had ended, and no other path."""
    bodies = [episode("a", "one", 100, "a.py"), episode("b", "two", 200, "b.py")]
    sessions, _ = recorded_sessions(Entry(str(n), "", IMPORTED, "", body) for n, body in enumerate(bodies))
    seen = SeenPaths(sessions)
    assert sorted(seen.at("", 109).blobs) == []
    assert sorted(seen.at("", 110).blobs) == ["a.py", "docs/read.md"]
    assert sorted(seen.at("", 210).blobs) == ["a.py", "b.py", "docs/read.md"]


def test_malformed_and_forgotten_prompts_are_no_tasks() -> None:
    """What is no episode is counted, what was forgotten is gone, what is a commit is left to git."""
    good = episode("good", "do it", 100, "a.py")
    entries = [
        Entry("1", "", IMPORTED, "", good),
        Entry("2", "", IMPORTED, "", episode("gone", "do it", 100, "a.py")),
        Entry("3", "", IMPORTED, "", {"session_id": "odd"}),
        Entry("4", "", IMPORTED, "", episode("git:abc", "do it", 100, "a.py")),
        Entry("5", "", FORGOTTEN, "", {"session_ids": ["gone"]}),
    ]
    sessions, malformed = recorded_sessions(entries)
    assert ([session.id for session in sessions], malformed) == (["good"], 1)
    assert session_tasks(sessions, (), 9) == []
    (task,) = session_tasks(sessions, (), 9, gone=True)
    assert isinstance(task, ReplayTask)
    assert (task.at, task.modified) == (99, ("a.py",))


def test_live_sessions_count_as_they_were_when_they_ended() -> None:
    """A session told live is a prompt with its edits; what was said of it later is not known."""
    begun = {"session_id": "live", "project_id": "p", "task_text": "do it", "started_at": 100}
    begun |= {"task_fingerprint": "f", "query_type": "bugfix", "issue_refs": []}
    edit = {"session_id": "live", "event_type": "edit", "file_path": "a.py", "timestamp": 110}
    ended = {"session_id": "live", "ended_at": 120, "outcome": "success"}
    late = {"session_id": "live", "outcome": "failed", "timestamp": 500, "rationale": ""}
    entries = [
        Entry("1", "", STARTED, "cli", begun),
        Entry("2", "", EVENT, "cli", edit),
        Entry("3", "", ENDED, "cli", ended),
        Entry("4", "", FEEDBACK, "cli", late),
        Entry("5", "", STARTED, "cli", {**begun, "session_id": "open"}),
    ]
    (one,), malformed = recorded_sessions(entries)
    assert (one.id, one.ended, malformed) == ("live", 120, 0)
    assert [change.path for change in one.changes] == ["a.py"]
    assert one.known.task.verdict is Outcome.SUCCESS
