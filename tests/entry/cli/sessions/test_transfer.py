"""`import sessions` and `export sessions`, run in a project with transcripts of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.importers.made import codex, codex_did, codex_said, did, edited, ran, raw, user
from workbench.entry.cli import exits
from workbench.entry.hooks.handlers import respond

OLD = 1_767_300_000
SHIPPED = Path(__file__).parents[4] / "sample_data" / "sessions" / "codex"


def session(root: Path) -> list[Any]:
    """Return a session that worked on the project's store of tokens."""
    place = {"cwd": str(root)}
    return [
        user("the brass kettle whistles when the quota is exceeded", "u1", 0, **place),
        *did("a", "Read", 1, file_path=f"{root}/pkg/auth.py"),
        *edited("b", f"{root}/pkg/store.py", 2),
        *ran("c", "git commit -m x", "[main 0123abc] x", 3),
        user("no, the brass kettle still whistles", "u2", 9, **place),
        *edited("d", f"{root}/pkg/store.py", 10),
    ]


@pytest.fixture
def place(project: Any) -> Callable[..., Path]:
    """Write a transcript where Claude Code or Codex keep it, an hour ago."""

    def write(lines: list[Any], name: str = "s.jsonl", *, agent: str = "claude") -> Path:
        home = Path(os.environ["HOME"])
        slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(project.root))
        folder = (
            home / ".claude/projects" / slug if agent == "claude" else home / ".codex/sessions/2026/01/01"
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_bytes(raw(lines))
        os.utime(path, (OLD, OLD))
        return path

    return write


def test_the_projects_sessions_are_found(
    project: Any, run: Any, place: Any, entries: Callable[[str], list[dict[str, Any]]]
) -> None:
    """Those of Claude Code and Codex, once; what was skipped is told with its reason."""
    place(session(project.root))
    place([user("fix the kitchen sink", "k", cwd="/elsewhere")], "k.jsonl")
    meta = codex("session_meta", 0, id="c", cwd=str(project.root))
    other = codex("session_meta", 0, id="o", cwd="/elsewhere")
    place(
        [meta, *codex_said("list the tokens", 1), *codex_did("x", "shell", {"command": ["ls"]}, "", 2)],
        agent="codex",
    )
    place([other, *codex_said("paint the fence", 1)], "o.jsonl", agent="codex")
    first = run("import", "sessions", "--json").json()
    assert (first["sessions"], first["tasks"]["new"], first["edits"]) == (2, 3, 2)
    assert first["other_projects"] == {"/elsewhere": 2}
    assert first["understood"]["share_of_lines"] == 1.0
    assert run("status", "--json").json()["imported"]["sessions"] == 2
    assert "imported     2 sessions, 2 files archived" in run("status").out
    again = run("import", "sessions")
    assert again.out.startswith("0 tasks imported")
    assert "4 × files that did not change" in again.err
    texts = [body["task_text"] for body in entries("sessions") if "source" in body]
    assert [text.split("\n")[0] for text in texts] == [
        "the brass kettle whistles when the quota is exceeded",
        "no, the brass kettle still whistles",
        "list the tokens",
    ]


def test_masked_secrets_are_counted(project: Any, run: Any, place: Any) -> None:
    """How many of each kind were taken out of prompts stands in the report."""
    key = "ghp_" + "a1B2" * 9
    place([user(f"the login with {key} fails on the server", "u1", 0, cwd=str(project.root))])
    assert sum(run("import", "sessions", "--json").json()["masked"].values()) == 1


def test_plans_learn_from_what_was_imported(project: Any, run: Any, place: Any) -> None:
    """A task in the words of an earlier prompt leads to the file that was changed for it."""
    for number in range(30):
        project.write(f"pkg/other_{number}.py", f"def helper_{number}():\n    return {number}\n")
    project.commit("Add helpers")

    def rank() -> list[str]:
        answer = run("rank", "the brass kettle whistles again", "--top", "5", "--json").json()
        return [file["path"] for file in answer["files"]]

    before = rank()
    place(session(project.root))
    run("import", "sessions")
    assert "pkg/store.py" not in before[:1]
    assert rank()[0] == "pkg/store.py"


def test_transcripts_are_archived_before_they_are_purged(project: Any, run: Any, place: Any) -> None:
    """Privately, and read again when all else is lost; not where the user says so."""
    path = place(session(project.root))
    assert run("import", "sessions", "--json").json()["archive"]["files"] == 1
    archive = project.root / ".workbench" / "archive"
    assert {file.stat().st_mode & 0o077 for file in archive.iterdir()} == {0}
    path.unlink()
    assert run("import", "sessions", "--archived", "--again", "--json").json()["tasks"]["unchanged"] == 2


def test_the_archive_is_the_users_to_turn_off(
    project: Any, run: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's file cannot turn it on again."""
    place(session(project.root))
    monkeypatch.setenv("WORKBENCH_SESSIONS_ARCHIVE", "false")
    assert run("import", "sessions", "--json").json()["archive"]["files"] == 0
    assert not (project.root / ".workbench" / "archive").exists()


def test_exports_are_imported_elsewhere(project: Any, run: Any, place: Any, tmp_path: Path) -> None:
    """As JSON lines on stdout or in a file; importing them here changes nothing."""
    place(session(project.root))
    run("import", "sessions")
    target = tmp_path / "out.jsonl"
    assert run("export", "sessions", "--out", str(target)).code == exits.OK
    assert run("export", "sessions").out == target.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["type"] for line in lines] == [
        "workbench.sessions",
        "workbench.episode",
        "workbench.episode",
    ]
    assert run("import", "sessions", str(target), "--json").json()["tasks"] == {
        "new": 0,
        "updated": 0,
        "unchanged": 2,
    }


def test_what_was_recorded_is_exported_once_it_ended(project: Any, run: Any) -> None:
    """With the verdict that was given later; what goes on is left out."""
    run("episode", "start", "fix the total", "--session", "r1")
    run("episode", "event", "r1", "--type", "edit", "--file", "src/shop/orders.py")
    run("episode", "end", "r1", "--outcome", "success")
    run("feedback", "r1", "--outcome", "failed")
    run("episode", "start", "still at it", "--session", "r2")
    head, line = map(json.loads, run("export", "sessions").out.splitlines())
    assert head["episodes"] == 1
    assert (line["session_id"], line["task_text"], line["outcome"]) == ("r1", "fix the total", "failed")
    assert [change[0] for change in line["changes"]] == ["src/shop/orders.py"]


def test_a_dry_run_says_what_would_happen(project: Any, run: Any, place: Any, entries: Any) -> None:
    """And leaves everything as it is."""
    place(session(project.root))
    assert run("import", "sessions", "--dry-run").out.startswith("2 tasks would be imported from 1 session")
    assert [body for body in entries("sessions") if "source" in body] == []


def test_sessions_from_elsewhere_need_a_root(project: Any, run: Any, tmp_path: Path) -> None:
    """Which the answer tells how to give."""
    path = tmp_path / "old.jsonl"
    path.write_bytes(
        raw([user("fix the login", "u1", cwd="/old/shop"), *edited("a", "/old/shop/pkg/auth.py")])
    )
    os.utime(path, (OLD, OLD))
    done = run("import", "sessions", str(path))
    assert done.out.startswith("0 tasks imported")
    assert "of another project: /old/shop (1 session)" in done.err
    assert "--root" in done.err
    assert run("import", "sessions", str(path), "--root", "/old/*", "--json").json()["edits"] == 1


def test_hostile_texts_do_not_reach_the_terminal(project: Any, run: Any, tmp_path: Path) -> None:
    """Names and reasons are shown, not obeyed."""
    path = tmp_path / "odd.jsonl"
    path.write_bytes(raw([user("x y z", "u", cwd="/\x1b[2J"), {"type": "\x1b]0;x\x07"}]))
    os.utime(path, (OLD, OLD))
    done = run("import", "sessions", str(path))
    assert "\x1b" not in done.out + done.err
    assert "not understood: 1" in done.err


def test_mistakes_are_told(project: Any, run: Any) -> None:
    """Paths that are not there, times that are none, options that contradict each other."""
    assert run("import", "sessions", "/nowhere").code == exits.USAGE
    assert run("import", "sessions", "--since", "soon").code == exits.USAGE
    assert run("import", "sessions", "--archived", "x.jsonl").code == exits.USAGE
    assert "no transcripts were found" in run("import", "sessions").err


def test_transcripts_are_replayed_without_being_imported(project: Any, run: Any, tmp_path: Path) -> None:
    """Also those that were written a moment ago are replayed whole, and nothing of them is recorded."""
    fresh = tmp_path / "codex"
    shutil.copytree(SHIPPED, fresh, copy_function=shutil.copy)
    told = run("--replay", str(fresh), "--no-packs", "--systems", "baseline,bm25,hybrid", "--json")
    assert told.code == exits.OK
    assert "of /home/dev/roastery" in told.err
    answer = told.json()
    assert {row["source"] for row in answer["tasks"]} == {"session"}
    assert [score["system"] for score in answer["systems"]] == ["baseline", "bm25", "hybrid"]
    assert run("status", "--json").json()["imported"]["sessions"] == 0


def test_a_transcript_without_prompts_is_told(project: Any, run: Any, tmp_path: Path) -> None:
    """A file with nothing to replay is named, with what to ask next."""
    empty = tmp_path / "nothing.jsonl"
    empty.write_text("{}\n", encoding="utf-8")
    done = run("--replay", str(empty))
    assert done.code == exits.USAGE
    assert "holds no session with a prompt" in done.err


def test_a_purged_session_stays_away(project: Any, run: Any, place: Any) -> None:
    """Its transcript is the agent's and stays as it is; imports skip it until something is added to it."""
    name = "5f0c1f7e-0000-4000-8000-000000000001"
    path = place(session(project.root), f"{name}.jsonl")
    before = re.sub(rb'("sessionId": ?)"s"', rb'\1"%s"' % name.encode(), path.read_bytes())
    path.write_bytes(before)
    os.utime(path, (OLD, OLD))
    run("import", "sessions")
    done = run("purge", "--session", name, "--yes")
    assert done.code == exits.OK, done.out
    assert path.read_bytes() == before
    run("import", "sessions")
    assert run("episode", "list", "--json").json()["sessions"] == []


def test_an_import_looks_for_what_is_old(
    project: Any, run: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the end of an agent's session does: retention has its daily look."""
    looked: list[object] = []
    monkeypatch.setattr("workbench.entry.services.retention.purge_daily", looked.append)
    path = place(session(project.root))
    run("import", "sessions")
    assert len(looked) == 1
    ended = {"session_id": path.stem, "cwd": str(project.root), "hook_event_name": "SessionEnd"}
    respond(json.dumps(ended).encode(), "SessionEnd", "claude").then()
    assert len(looked) == 2
