"""`workbench episode` and `feedback`: a session is recorded, shown, learned from and forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from workbench.config import Config, SessionsConfig
from workbench.entry.cli import exits
from workbench.entry.project import open_workspace

HEAVY = {"numpy", "duckdb", "bm25s", "onnxruntime", "tree_sitter"}


@pytest.fixture
def recorded(project: Any, run: Any) -> str:
    """A session that fixed the login and ended well."""
    assert run("episode", "start", "fix: login forgets the user (#9)", "--session", "fix-login").code == 0
    run("episode", "event", "fix-login", "--type", "read", "--file", "pkg/store.py", "--file", "pkg/auth.py")
    run("episode", "event", "fix-login", "--type", "edit", "--file", "pkg/auth.py", "--symbol", "login")
    assert run("episode", "end", "fix-login", "--outcome", "success").code == 0
    return "fix-login"


def test_a_session_is_shown_from_task_to_outcome(recorded: str, run: Any) -> None:
    """The trace has the task, what was read and edited, the outcome and, where asked for, every event."""
    shown = run("episode", "show", "fix", "--events").out
    for part in ("login forgets", "#9", "2 files", "pkg/store.py", "pkg/auth.py (modified)", "success (cli)"):
        assert part in shown
    assert shown.index("reads") < shown.index("edits") < shown.index("outcome")
    answer = run("episode", "show", recorded, "--json").json()
    assert [event["event_type"] for event in answer["events"]] == ["read", "read", "edit"]
    assert (answer["state"], answer["traced"], answer["full"]) == ("ended", True, True)


def test_start_prints_an_id_that_the_others_take(project: Any, run: Any) -> None:
    """Without --session a new id is made; --json names it."""
    session = run("episode", "start", "tidy up").out.strip()
    assert run("episode", "end", session, "--json").json() == {
        "session_id": session,
        "outcome": "unknown",
        "ended_at": pytest.approx(run("episode", "show", session, "--json").json()["ended_at"]),
        "reads": 0,
        "edits": 0,
        "traced": False,
        "full": False,
    }
    again = run("episode", "start", "tidy up", "--session", session, "--json")
    assert again.json() == {"session_id": session}


def test_what_changed_on_disk_counts_as_edited(project: Any, run: Any) -> None:
    """Deltas, hits and decisions are in the story; a file's delta is an edit where none was seen."""
    run("episode", "start", "fix the login", "--session", "s1")
    run("episode", "event", "s1", "--type", "edit", "--file", "a.py", "--change", "added")
    for path in ("a.py", "b.py", "b.py"):
        run("episode", "event", "s1", "--type", "delta", "--file", path)
    run("episode", "event", "s1", "--type", "grepai_hit", "--file", "c.py")
    run("episode", "event", "s1", "--type", "decision", "--payload", '{"decision": "use tokens"}')
    run("episode", "event", "s1", "--type", "decision", "--step", "review")
    pack = '{"pack": {"files": {"a.py": "full"}}}'
    run("episode", "event", "s1", "--type", "decision", "--payload", pack)
    run("episode", "end", "s1", "--outcome", "success")
    assert [
        (one["path"], one["kind"]) for one in run("episode", "show", "s1", "--json").json()["changes"]
    ] == [
        ("a.py", "added"),
        ("b.py", "modified"),
    ]
    shown = run("episode", "show", "s1").out
    assert "decision   3 events" in shown
    assert all(said in shown for said in ("use tokens", "step review", "a pack with 1 file"))
    assert "grepai_hit 1 event" in shown
    assert run("episode", "list", "--json").json()["sessions"][0]["edits"] == 2
    found = run(
        "sql", "select file_path, success_edits from task_file_affinity order by 1", "--format", "csv"
    )
    assert found.out.split()[1:] == ["a.py,1", "b.py,1"]


def test_an_end_records_what_changed_on_disk(project: Any, run: Any) -> None:
    """Files whose edits nobody saw are the episode's delta; what was dirty before or is excluded is not."""
    project.write("pkg/store.py", "dirty = 1\n")
    project.write("notes.txt", "mine\n")
    run("episode", "start", "rework the login", "--session", "s1")
    project.write("pkg/auth.py", "AUTH = 2\n")
    project.time = int(time.time())
    project.commit("Rework the login")
    project.write("pkg/new.py", "NEW = 1\n")
    project.write("notes.txt", "mine, and more\n")
    project.write(".env", "KEY=1\n")
    (project.root / "pyproject.toml").unlink()
    run("episode", "event", "s1", "--type", "edit", "--file", "pkg/new.py", "--change", "added")
    ended = run("episode", "end", "s1", "--outcome", "success", "--json").json()
    shown = run("episode", "show", "s1", "--json").json()
    assert sorted((one["path"], one["kind"]) for one in shown["changes"]) == [
        ("notes.txt", "modified"),
        ("pkg/auth.py", "modified"),
        ("pkg/new.py", "added"),
        ("pyproject.toml", "removed"),
    ]
    assert ended["edits"] == 4
    assert [one["event_type"] for one in shown["events"]] == ["edit", *["delta"] * 4]
    before = len(shown["events"])
    project.write("later.py", "LATER = 1\n")
    run("episode", "end", "s1", "--commit", "abcdef1")
    assert len(run("episode", "show", "s1", "--json").json()["events"]) == before
    found = run("sql", "select file_path from task_file_affinity order by 1", "--format", "csv")
    assert found.out.split()[1:] == ["notes.txt", "pkg/auth.py", "pkg/new.py", "pyproject.toml"]
    assert run("doctor").code == 0


def test_what_a_pull_brings_is_no_delta(project: Any, run: Any) -> None:
    """Commits older than the episode, which come with a checkout, are nobody's edits in it."""
    git = ("git", "-C", str(project.root))
    project.write("pkg/other.py", "OTHER = 1\n")
    project.commit("Another branch")
    subprocess.run([*git, "branch", "other"], check=True)
    subprocess.run([*git, "reset", "-q", "--hard", "HEAD~1"], check=True)
    run("episode", "start", "merge the branch", "--session", "s1")
    subprocess.run([*git, "merge", "-q", "other"], check=True)
    run("episode", "end", "s1")
    assert run("episode", "show", "s1", "--json").json()["changes"] == []


def test_files_are_named_from_where_one_stands(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the root a relative name starts there; a file elsewhere is refused with exit 2."""
    run("episode", "start", "x", "--session", "s")
    monkeypatch.chdir(project.root / "pkg")
    run("episode", "event", "s", "--type", "read", "--file", "auth.py")
    assert run("episode", "show", "s", "--json").json()["reads"] == ["pkg/auth.py"]
    refused = run("episode", "event", "s", "--type", "read", "--file", "../../other.py")
    assert (refused.code, refused.out) == (exits.USAGE, "")
    assert "not a file of this project" in refused.err


def test_an_event_is_recorded_silently(project: Any, run: Any, entries: Callable[[str], Any]) -> None:
    """A hook reads nothing; with --json it learns whether the event was new."""
    run("episode", "start", "x", "--session", "s")
    event = ("episode", "event", "s", "--type", "decision", "--payload", "-", "--key", "1")
    done = run(*event, given=b'{"why": "because"}')
    assert (done.code, done.out, done.err) == (0, "", "")
    assert run(*event, "--json", given=b"{}").json() == {"recorded": False}
    assert entries("sessions")[-1]["payload"] == {"why": "because"}
    assert run("episode", "event", "s", "--type", "delta", "--payload", "[1]").code == exits.USAGE
    assert run("episode", "event", "s", "--type", "delta", "--payload", "{").code == exits.USAGE


def test_nothing_of_an_excluded_file_is_recorded(
    recorded: str, run: Any, entries: Callable[[str], Any]
) -> None:
    """What settings exclude from reading is in no event either, whoever names it."""
    before = entries("sessions")
    for name in (".env", "pkg/../.env", "config/.env.local", "secrets/token.txt"):
        done = run("episode", "event", recorded, "--type", "edit", "--file", "pkg/auth.py", "--file", name)
        assert (done.code, "privacy.exclude" in done.err) == (exits.USAGE, True), name
    assert entries("sessions") == before
    assert run("episode", "event", recorded, "--type", "edit", "--file", ".env.example").code == 0


def test_the_list_says_how_whole_the_stories_are(recorded: str, run: Any) -> None:
    """Open sessions are told from ended ones; the share counts ended sessions and no commits."""
    run("index")
    run("episode", "start", "another", "--session", "open-one")
    answer = run("episode", "list", "--json").json()
    assert sorted((one["session_id"], one["state"]) for one in answer["sessions"]) == [
        ("fix-login", "ended"),
        ("open-one", "open"),
    ]
    stories = {"causal_trace_completeness": 1.0, "ended": 1, "traced": 1, "full": 1, "open": 1}
    counted = {**stories, "agents": 1, "whole": 1}
    assert answer["completeness"] == counted
    listed = run("episode", "list")
    assert "100% are complete" in listed.err
    assert "2r" in listed.out
    assert [one["session_id"] for one in run("episode", "list", "--open", "--json").json()["sessions"]] == [
        "open-one"
    ]
    assert len(run("episode", "list", "--commits", "--json").json()["sessions"]) == 5
    run("index")
    assert run("status", "--json").json()["sessions"] == {**stories, "agents": 0, "whole": 0}
    assert run("stats", "--json").json()["sessions"] == counted
    assert "1 session ended, 100%" in run("status").out
    assert "1 session ended, 100%" in run("stats").err


def test_nothing_recorded_is_said(project: Any, run: Any) -> None:
    """An empty list names the first step."""
    listed = run("episode", "list")
    assert (listed.code, listed.out) == (0, "")
    assert "episode start" in listed.err
    assert run("status", "--json").json()["sessions"]["causal_trace_completeness"] is None


def test_a_session_that_nobody_ends_is_closed_once(
    project: Any, run: Any, entries: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the timeout the next index writes its end, once; an event that comes later is kept."""
    run("episode", "start", "x", "--session", "s")
    run("episode", "event", "s", "--type", "edit", "--file", "pkg/auth.py")
    path = project.root / ".workbench" / "journal" / "sessions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for name in ("started_at", "timestamp"):
            if name in line["body"]:
                line["body"][name] -= 13 * 3600
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [listed] = run("episode", "list", "--json").json()["sessions"]
    assert (listed["state"], listed["ended_at"]) == ("timed out", None)

    run("index")
    run("index")
    ends = [body for body in entries("sessions") if "closed_by" in body]
    assert ends == [{"session_id": "s", "ended_at": lines[-1]["body"]["timestamp"], "closed_by": "timeout"}]
    [listed] = run("episode", "list", "--json").json()["sessions"]
    assert (listed["state"], listed["outcome"]) == ("timed out", "unknown")
    run("episode", "event", "s", "--type", "edit", "--file", "pkg/store.py")
    run("episode", "end", "s", "--outcome", "success")
    shown = run("episode", "show", "s", "--json").json()
    assert (shown["state"], len(shown["changes"]), shown["outcome"]) == ("ended", 2, "success")


def test_plans_learn_from_sessions_and_forget_them(recorded: str, run: Any) -> None:
    """An ended session is a past task of the next plan; forgotten, it is none."""
    before = run("index", "--json").json()["episodes"]
    assert before == 4
    assert run("episode", "forget", recorded, "--reason", "a test").out == "fix-login forgotten\n"
    assert run("index", "--json").json()["episodes"] == 3
    assert run("episode", "show", recorded).code == exits.USAGE


def test_feedback_judges_sessions_and_commits(recorded: str, project: Any, run: Any) -> None:
    """The last word on an outcome counts, with its reason, for what was imported as well."""
    told = run("feedback", "fix-login", "--outcome", "failed", "--why", "it \x1b[31mlogs everybody out")
    assert told.out.startswith("fix-login  ended: failed")
    shown = run("episode", "show", "fix-login").out
    assert "failed (feedback)" in shown
    assert "\x1b" not in shown
    run("index")
    head = project.git("rev-parse", "HEAD").decode().strip()
    assert run("feedback", f"git:{head[:12]}", "--outcome", "failed", "--json").json()["outcome"] == "failed"
    assert run("episode", "show", f"git:{head}", "--json").json()["traced"] is None
    assert run("index").code == 0


def test_tables_rebuilt_are_the_same(recorded: str, run: Any) -> None:
    """Everything about sessions is in the journal: tables and history made anew are equal."""
    run("feedback", "fix-login", "--outcome", "partial", "--why", "half of it")
    run("index")
    run("episode", "list")
    parts = run("rebuild", "--json").json()["parts"]
    for name in ("episodes", "episode_sources", "episode_events", "causal_links", "task_file_affinity"):
        assert parts[f"table {name}"]["equal"] is True
    assert parts["index history"]["equal"] is True


def test_doctor_tells_entries_that_are_no_episodes(recorded: str, project: Any, run: Any) -> None:
    """An entry of another form is reported, and harms no other."""
    path = project.root / ".workbench" / "journal" / "sessions.jsonl"
    line = next(json.loads(one) for one in path.read_text().splitlines() if "episode.event" in one)
    line["body"]["event_type"] = "dreamt"
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    run("index")
    for _ in range(2):
        findings = run("doctor", "--json").json()["findings"]
        notes = [finding["text"] for finding in findings if finding["name"] in ("sessions", "tables")]
        assert "1 of the sessions journal's lines are not about an episode" in notes[0]
        run("stats")
    assert any("sessions.jsonl, byte" in text and "episode.event" in text for text in notes)
    assert run("episode", "show", recorded).code == 0


def test_recording_loads_nothing_heavy(project: Any) -> None:
    """A hook waits for it: no numbers, tables, models or parsers are imported."""
    code = (
        "from workbench.entry.cli.main import run; import sys\n"
        "run(['episode', 'start', 'fix it', '--session', 's'])\n"
        "run(['episode', 'event', 's', '--type', 'read', '--file', 'pkg/auth.py'])\n"
        "run(['episode', 'end', 's']); run(['feedback', 's', '--outcome', 'failed'])\n"
        "print(' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()[-1].split()) & HEAVY == set()


def test_settings_say_how_far_outcomes_count(project: Any, run: Any) -> None:
    """Failures lower what their edits weigh, down to the setting; a changed setting weighs the past anew."""
    for number in range(4):
        session = f"s{number}"
        run("episode", "start", f"refresh tokens {number}", "--session", session)
        run("episode", "event", session, "--type", "edit", "--file", "pkg/store.py")
        run("episode", "end", session, "--outcome", "failed")

    def weights(**settings: float) -> list[float]:
        config = Config(sessions=SessionsConfig(**settings))  # type: ignore[arg-type]
        workspace = open_workspace(project.root, config).workspace
        workspace.sync()
        history = workspace.history
        judged = [history.paths[file] == "pkg/store.py" for file in history.files.tolist()]
        return sorted(
            {round(one, 3) for one, mine in zip(history.trust.tolist(), judged, strict=True) if mine}
        )

    usual = weights()
    assert usual[-1] == 1.0  # the commit's
    assert 0.5 < usual[0] < 1.0
    assert weights(failed_weight=0.0)[0] < usual[0]
    assert weights(feedback_min_samples=5) == [1.0]
    assert weights() == usual


def test_sessions_are_filtered_sorted_and_paged(indexed: Any, run: Any) -> None:
    """The filter is the app's; a cursor leads to the next page of the same query and to no other."""
    for name, task in (("a", "fix the login"), ("b", "fix the logout"), ("c", "write the notes")):
        run("episode", "start", task, "--session", name)
        run("episode", "event", name, "--type", "read", "--file", "pkg/auth.py")
    run("episode", "event", "b", "--type", "edit", "--file", "pkg/store.py")
    run("episode", "end", "a", "--outcome", "failed")

    def listed(*arguments: str) -> list[str]:
        return [one["session_id"] for one in run("episode", "list", *arguments, "--json").json()["sessions"]]

    assert sorted(listed("fix", "the")) == ["a", "b"]
    assert listed("file:store.py") == ["b"]
    assert listed("outcome:failed") == ["a"]
    assert sorted(listed("--open")) == ["b", "c"]
    assert listed("since:7d", "--sort", "edits")[0] == "b"
    assert listed("--sort", "task") == ["a", "b", "c"]
    assert listed("--sort", "-task") == ["c", "b", "a"]
    assert len(listed("--commits")) == 6

    first = run("episode", "list", "since:7d", "--sort", "task", "--limit", "2", "--json").json()
    assert (first["total"], len(first["sessions"])) == (3, 2)
    again = ("--sort", "task", "--limit", "2", "--cursor", first["next_cursor"])
    last = run("episode", "list", "since:7d", *again, "--json").json()
    assert ([one["session_id"] for one in last["sessions"]], last["next_cursor"]) == (["c"], None)
    assert run("episode", "list", "login", *again).code == exits.USAGE
    assert (
        f"--cursor {first['next_cursor']}"
        in run("episode", "list", "since:7d", "--sort", "task", "--limit", "2").err
    )


def test_filters_that_make_no_sense_are_refused(project: Any, run: Any) -> None:
    """Unknown fields, columns and times come with what there is."""
    assert "source" in run("episode", "list", "sauce:codex").err
    assert run("episode", "list", "sauce:codex").code == exits.USAGE
    assert "is not a time" in run("episode", "list", "since:soon").err
    assert "edits" in run("episode", "list", "--sort", "edit").err
