"""`status`, `doctor` and `stats`: the truth about the project, and nothing changed by asking."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from store import locks
from workbench.beneath import open_private
from workbench.config import Config
from workbench.entry.cli import exits
from workbench.entry.cli.arguments import parse_span
from workbench.entry.http.metrics import project_figures
from workbench.entry.project import LOCK, LOCKS, find_state, open_project, record_call
from workbench.errors import UsageError


def test_status_changes_nothing(project: Any, run: Any) -> None:
    """Before the first index it says so; afterwards counts and freshness, without mending what changed."""
    assert run("status", "--json").json()["indexed"] is False
    assert "none yet" in run("status").out
    run("index")
    project.write("pkg/store.py", "x = 1\n")
    index = sorted((project.root / ".workbench" / "index").iterdir())
    answer = run("status", "--json").json()
    assert (answer["files"], answer["episodes"], answer["rules"]) == (6, 3, 2)
    assert (answer["freshness"], answer["changed"]) == ("dirty", 1)
    assert answer["rule_files"] == ["CLAUDE.md"]
    assert answer["degraded"] == ["embeddings"]
    assert run("status", "--json").json() == answer
    assert sorted((project.root / ".workbench" / "index").iterdir()) == index
    assert "dirty" in run("status").out


def test_status_says_what_was_skipped(project: Any, run: Any) -> None:
    """Binary and secret files are counted by reason; a cap is named."""
    project.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    project.write(".env", "SECRET=1\n")
    run("index")
    answer = run("status", "--json").json()
    assert answer["skipped"]["binary"] == 1
    assert answer["capped"] is False


def test_doctor_finds_a_sound_project_sound(indexed: Any, run: Any) -> None:
    """Nothing is broken; what is missing comes with a next step."""
    answer = run("doctor", "--json").json()
    names = [finding["name"] for finding in answer["findings"]]
    assert {"python", "git", "tokenizer", "embedding", "journals", "indexes", "locks", "disk"} <= set(names)
    assert answer["sound"] is True
    assert all(finding["step"] for finding in answer["findings"] if finding["state"] == "note")
    exact, graph = (finding for finding in answer["findings"] if finding["name"] == "vectors")
    assert "exact below 200,000 vectors" in exact["text"]
    assert "bm25s" in exact["text"]
    assert (graph["state"] == "ok") is (find_spec("hnswlib") is not None)
    assert ("(m 16, 64 candidates at least)" in graph["text"]) is (graph["state"] == "ok")
    assert run("doctor").code == exits.OK


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_doctor_names_a_repository_that_git_refuses(project: Any, run: Any) -> None:
    """That of another user, as in containers, has no history here; the note says how to trust it."""
    for path in (project.root, project.root / ".git"):
        os.chown(path, 12345, 12345)
    found = {one["name"]: one for one in run("doctor", "--json").json()["findings"]}
    assert found["project"]["state"] == "note"
    assert "dubious ownership" in found["project"]["text"]
    assert "safe.directory" in found["project"]["step"]


def test_doctor_reports_unreadable_lines_and_damaged_indexes(indexed: Any, run: Any) -> None:
    """Each broken thing is named with its place and the next step, and the code is 1."""
    state = indexed.root / ".workbench"
    with (state / "journal" / "sessions.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    damaged = next(
        path for path in sorted((state / "index").glob("project-*/*")) if path.stat().st_size > 200
    )
    data = bytearray(damaged.read_bytes())
    data[100] ^= 0xFF
    damaged.write_bytes(bytes(data))
    done = run("doctor", "--json")
    broken = {one["name"]: one for one in done.json()["findings"] if one["state"] == "broken"}
    assert done.code == exits.ERROR
    assert broken.keys() == {"journals", "indexes"}
    assert "line 4" in broken["journals"]["text"]
    assert "rebuild" in broken["indexes"]["step"]


def test_what_a_later_version_wrote_is_left_to_it(project: Any, run: Any) -> None:
    """Entries of an unknown kind, and lines of another form, are notes that say what to update."""
    run("rules", "add", "Log in UTC.")
    journal = project.root / ".workbench" / "journal" / "rules.jsonl"
    *_, line = journal.read_bytes().splitlines(keepends=True)
    unknown = line.replace(b'"kind":"', b'"kind":"later.').replace(b'"id":"0', b'"id":"Z', 1)
    with journal.open("ab") as file:
        file.write(unknown + line.replace(b'"v":1', b'"v":2'))
    run("stats")  # makes tables
    done = run("doctor", "--json")
    notes = [one for one in done.json()["findings"] if "Update this program" in one["step"]]
    assert [(note["name"], note["state"]) for note in notes] == [("journals", "note"), ("tables", "note")]
    assert done.code == exits.OK
    assert "Log in UTC." in run("rules", "list").out


def test_what_a_journal_lost_is_said_by_every_command_and_brought_back(project: Any, run: Any) -> None:
    """One line until it is settled; tables and lists hold it again, and what was written since."""
    first = run("rules", "add", "Never push to main.", "--authority", "absolute", "--json").json()
    journal = project.root / ".workbench" / "journal" / "rules.jsonl"
    kept = journal.read_bytes()
    run("rules", "add", "Log in UTC.")
    journal.write_bytes(journal.read_bytes()[len(kept) :])
    texts = {one["rule"] for one in run("rules", "list", "--json").json()["rules"]}
    assert "Never push to main." not in texts
    for command in (["rules", "list"], ["status"], ["rebuild"], ["plan", "push"]):
        assert "rules.jsonl is not what was written into it" in run(*command).err, command
    done = run("doctor", "--json")
    [found] = [one for one in done.json()["findings"] if one["state"] == "broken"]
    assert done.code == exits.ERROR
    assert (found["name"], "missing" in found["text"]) == ("journals", True)
    assert run("doctor", "--repair", "--accept").code == exits.USAGE

    assert run("doctor", "--repair").code == exits.OK

    done = run("rules", "list", "--json")
    assert {one["rule"] for one in done.json()["rules"]} == {*texts, "Never push to main."}
    assert done.err == ""
    assert run("rules", "show", first["rules"][0]["id"]).code == exits.OK
    journal.write_bytes(kept)
    assert run("doctor", "--accept").code == exits.OK
    assert "Log in UTC." not in run("rules", "list").out
    assert run("status").err == ""


def test_what_is_kept_is_its_owners_alone_whatever_the_umask(project: Any, run: Any, home: Path) -> None:
    """Journals, indexes, tables with their log, rows of replays, in the project and in the user's home."""
    before = os.umask(0)
    try:
        run("index")
        run("stash", "add", "Tokens live for a day.")
        run("stats")
        run("rules", "list", "--sort", "priority")
        with open_private(project.root / ".workbench" / "replay" / "rows" / "a.jsonl", "ab") as file:
            file.write(b"{}")
    finally:
        os.umask(before)
    state = project.root / ".workbench"
    kept = [state, *state.rglob("*"), *home.rglob("*")]
    assert {"tables.duckdb", "snapshot.bin", "stash.jsonl", "a.jsonl"} <= {path.name for path in kept}
    assert [path for path in kept if path.stat().st_mode & 0o077] == []


def test_doctor_works_where_nothing_else_does(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """A wrong setting, a missing git and an unknown model are findings, not failures."""
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[plan]\nbudgte = 1\n", encoding="utf-8")
    done = run("doctor", "--json")
    assert done.code == exits.ERROR
    assert [one["name"] for one in done.json()["findings"] if one["state"] == "broken"] == ["settings"]
    (home / "config.toml").write_text('[models]\nranking = "none-such"\n', encoding="utf-8")
    answer = run("doctor", "--json").json()
    assert {one["name"] for one in answer["findings"] if one["state"] == "broken"} == {"ranking", "project"}
    (home / "config.toml").unlink()
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == "git" else real(name, **rest))
    answer = run("doctor", "--json").json()
    notes = [one for one in answer["findings"] if (one["name"], one["state"]) == ("git", "note")]
    assert notes


def test_stats_add_up_what_was_measured(project: Any, run: Any) -> None:
    """Calls, percentiles, hit ratios and what was missing, live from the journal."""
    assert run("stats").out == ""
    run("plan", "jwt token")
    run("plan", "jwt token")
    run("delta", "--since", "no-such")
    answer = run("stats", "--json").json()
    operations = {one["operation"]: one for one in answer["operations"]}
    assert answer["figures"]["plan_context_p95_ms"] == operations["plan"]["p95"]
    assert answer["figures"]["fallback_rate_ml_unavailable"] == 1
    assert operations["plan"]["count"] == 2
    assert operations["plan"]["hit_ratio"]["index"] == 0.5
    assert operations["plan"]["missing"] == {"embeddings": 2}
    assert operations["plan"]["p50"] <= operations["plan"]["p95"] <= operations["plan"]["p99"]
    assert operations["delta"]["failed"] == 1
    table = run("stats").out.splitlines()
    assert table[0].split() == [
        "operation",
        "calls",
        "failed",
        "p50",
        "p95",
        "p99",
        "tokens",
        "files",
        "degraded",
    ]
    assert any(line.startswith("plan cache hits: ") for line in table)
    assert table[-1].split()[0] == "rerank_invocation_rate"


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("24h", 86_400), (" 7D ", 604_800), ("2w", 1_209_600)]
)
def test_spans(text: str, seconds: int) -> None:
    """A number and a unit."""
    assert parse_span(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "1y", "1d2h", "99999999999d"])
def test_what_is_no_span(text: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(UsageError) as caught:
        parse_span(text)
    assert "30m" in caught.value.hint


def test_the_tables_are_reported(project: Any, run: Any) -> None:
    """`status` says how large they are and what changed since, `doctor` what is in them, how far behind."""
    assert run("status", "--json").json()["tables"] is None
    run("index")
    run("sql", "from episodes")
    before = run("status", "--json").json()["tables"]
    assert before["behind"] == []
    assert before["bytes"] > 0
    run("episode", "start", "fix the login")
    assert run("status", "--json").json()["tables"]["behind"] == ["sessions"]
    assert "behind the journals: sessions" in run("status").out
    told = [one["text"] for one in run("doctor", "--json").json()["findings"] if one["name"] == "tables"]
    assert "2 entries behind until now" in told[0]
    assert any(text.startswith("4 tasks of ") and "the last one " in text for text in told)
    assert "episodes 4" in told[1]
    assert run("status", "--json").json()["tables"]["behind"] == []


def test_registered_models_are_reported(project: Any, run: Any) -> None:
    """`doctor` names the models of the registry and the active one of each kind."""
    place = find_state(project.root)
    body = {"model_id": "mine-1", "model_kind": "rust_linear", "version": "1", "created_at": 1}
    place.journal.append("models", "model.registered", [body], by="cli")
    place.journal.append("models", "model.activated", [{"model_id": "mine-1"}], by="cli")
    run("sql", "from model_registry")
    told = [one["text"] for one in run("doctor", "--json").json()["findings"] if one["name"] == "tables"]
    assert told[-1] == "registered rust_linear mine-1 1, active"


def test_who_holds_a_lock_is_named_and_waits_are_counted(indexed: Any, run: Any) -> None:
    """Now by `doctor`, afterwards by `stats` and in the metrics of a server."""
    with locks.exclusive(indexed.root / ".workbench" / "locks" / "sessions.lock"):
        assert f"sessions is held by process {os.getpid()}" in run("doctor").out
    opened = open_project(indexed.root, Config())
    record_call(opened.journal, "plan", 90.0, by="cli", stages={LOCKS: 80.0, LOCK + "tables": 80.0})
    shown = run("stats").out
    assert "waits for locks: " in shown
    assert "longest 80" in shown
    assert project_figures(opened)["workbench_lock_wait_longest_ms"] == 80
