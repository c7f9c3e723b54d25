"""The sample project: the same everywhere, and its sessions fit its history."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sample_data.build import SHIPPED, build, shipped
from sample_data.history import Commit, WrongHistory, read_history, write_repository
from sample_data.sessions import FORMATS, Session, Step, read_sessions
from sample_data.transcripts import ROOT, transcripts_of
from tests.deep import only_deep
from workbench.text.tokens import DEFAULT_TOKENIZER, token_counter

DATA = SHIPPED.parent
SEGMENT_TYPES = "message code_block file_content error_log debug_output task_state decision research".split()


@pytest.fixture(scope="module")
def commits() -> tuple[Commit, ...]:
    return read_history()


@pytest.fixture(scope="module")
def built(
    commits: tuple[Commit, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("roastery")
    return place, write_repository(commits, place)


@pytest.fixture(scope="module")
def sessions(commits: tuple[Commit, ...], built: tuple[Path, dict[str, str]]) -> tuple[Session, ...]:
    return read_sessions(commits, built[1])


def git(place: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_history_is_that_of_a_project(built: tuple[Path, dict[str, str]]) -> None:
    """Months of work by several people, with renames and references to issues, in a clean work tree."""
    place, ids = built
    log = git(place, "log", "--format=%an%x09%ad%x09%s", "--date=format:%Y-%m").splitlines()
    authors, months, subjects = zip(*(line.split("\t") for line in log), strict=True)
    assert len(log) == len(ids) >= 120
    assert len(set(authors)) == 5
    assert len(set(months)) == 7
    assert sum(bool(re.search(r"\(#\d+\)$", subject)) for subject in subjects) > 90
    assert "R0" in git(place, "log", "--diff-filter=R", "-M", "--name-status", "--format=")
    assert git(place, "status", "--porcelain") == ""


def test_ids_are_the_same_everywhere(
    commits: tuple[Commit, ...],
    built: tuple[Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody's settings of git change a commit; the newest one's id is known."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[core]\n\tautocrlf = true\n[user]\n\tname = me\n[init]\n\tdefaultBranch = trunk\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    assert write_repository(commits, tmp_path / "again") == built[1]
    head = git(built[0], "rev-parse", "main").strip()
    assert head == built[1][commits[-1].label] == "d9b7c312994f5209daee7574903d67b5b0926402"


@only_deep
def test_the_tests_of_the_project_pass(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The code is honest: its own tests pass at the newest commit."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--basetemp", str(tmp_path / "inner")]  # else it would sweep up after earlier runs of ours
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=built[0], env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("%% commit a 2025-01-01 10:00 mara\n%% edit x\nold\n%% to\nnew\n", "is not there"),
        ("%% commit a 2025-01-01 10:00 mara\n%% new x\nx\n%% edit x\ny\n%% to\nz\n", "occurs 0 times"),
        ("%% commit a 2025-01-01 10:00 mara\n%% move x y\n", "cannot be moved"),
        ("%% commit a 2025-01-01 10:00 mara\n%% new x\nx\n%% edit x\nx\n", "without what replaces"),
        ("%% commit a 2025-01-01 10:00 mara\n%% commit b 2025-01-01 10:00 mara\n", "is not after"),
    ],
)
def test_a_history_that_contradicts_itself_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    """The complaint names what does not fit."""
    (tmp_path / "1.txt").write_text(text)
    with pytest.raises(WrongHistory, match=complaint):
        read_history(tmp_path)


def test_shipped_transcripts_are_those_of_the_written_sessions() -> None:
    """Nobody changed one without the other: `python -m sample_data.build --shipped` writes them anew."""
    there = {path.relative_to(SHIPPED).as_posix(): path for path in SHIPPED.rglob("*") if path.is_file()}
    made = shipped()
    assert sorted(there) == sorted(made)
    assert [name for name, path in there.items() if path.read_text(encoding="utf-8") != made[name]] == []


def test_every_format_has_a_dozen_sessions(sessions: tuple[Session, ...]) -> None:
    """And what sessions have: interruptions, failures, sub-agents, compactions, a resumed one."""
    for format_ in FORMATS:
        assert sum(session.format == format_ for session in sessions) >= 12
    kinds = {step.kind for session in sessions for step in session.steps}
    assert kinds >= {"prompt", "say", "agent", "compact", "interrupt", "resume"}
    assert any(step.kind == "run" and not step.ok for session in sessions for step in session.steps)


def steps_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps and those of sub-agents."""
    for step in steps:
        yield step
        yield from steps_of(step.inner)


def test_sessions_fit_the_history(
    commits: tuple[Commit, ...], built: tuple[Path, dict[str, str]], sessions: tuple[Session, ...]
) -> None:
    """What is read was there, what is edited is what the next commit changes, and time goes on."""
    by_label = {commit.label: commit for commit in commits}
    for session in sessions:
        tracked = set(git(built[0], "ls-tree", "-r", "--name-only", session.head).split())
        changed = {change.path for label in session.commits for change in by_label[label].changes}
        for step in steps_of(session.steps):
            if step.kind == "read":
                assert step.path in tracked | changed, session.name
            if step.kind in ("edit", "write"):
                assert step.path in changed, session.name
        times = [step.at for step in steps_of(session.steps)]
        assert times == sorted(times), session.name
        assert session.commits or session.steps[-1].kind == "interrupt", session.name


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_of_claude_code_have_its_form() -> None:
    """Each line has a type, an id and a parent of the same file; results answer calls."""
    for path in (SHIPPED / "claude_code").rglob("*.jsonl"):
        records = [record for record in records_of(path) if record["type"] != "file-history-snapshot"]
        known = {record["uuid"] for record in records}
        calls, answers = set(), set()
        for record in records:
            assert record["cwd"] == ROOT
            assert record["parentUuid"] is None or record["parentUuid"] in known
            assert record["isSidechain"] == ("subagents" in path.parts) == ("agentId" in record)
            assert record["type"] in ("user", "assistant", "system")
            content = record.get("message", {}).get("content", [])
            for block in content if isinstance(content, list) else []:
                calls |= {block["id"]} if block["type"] == "tool_use" else set()
                answers |= {block["tool_use_id"]} if block["type"] == "tool_result" else set()
        assert calls == answers


def test_lines_of_codex_have_its_form() -> None:
    """An envelope each, the session's meta data first, arguments as JSON in a text."""
    for path in (SHIPPED / "codex").rglob("*.jsonl"):
        records = records_of(path)
        assert records[0]["type"] == "session_meta"
        assert path.stem.endswith(records[0]["payload"]["id"])
        for record in records:
            assert set(record) == {"timestamp", "type", "payload"}
            if record["payload"].get("type") == "function_call":
                assert json.loads(record["payload"]["arguments"])["workdir"] == ROOT
        calls = [record["payload"]["call_id"] for record in records if "call_id" in record["payload"]]
        assert sorted(calls) == sorted(2 * list(set(calls)))


def test_lines_of_stream_json_have_its_form() -> None:
    """It begins with the set-up and ends with the result, all of one session."""
    for path in (SHIPPED / "stream_json").rglob("*.jsonl"):
        records = records_of(path)
        assert (records[0]["type"], records[0]["subtype"]) == ("system", "init")
        assert [record["type"] for record in records].index("result") == len(records) - 1
        assert len({record["session_id"] for record in records}) == 1


def test_transcripts_are_those_of_the_place_the_project_is_built_in(
    tmp_path: Path, sessions: tuple[Session, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The builder's transcripts name its directory and nothing else, and are as old as their sessions."""
    monkeypatch.chdir(tmp_path)
    repository, folder = build(Path("made"))
    assert build(Path("made")) == (repository, folder)
    paths = list(folder.rglob("*.jsonl"))
    assert len(paths) == sum(len(transcripts_of(session)) for session in sessions)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert str(repository.resolve()) in text
        assert ROOT not in text
        assert path.stat().st_mtime < 1_760_000_000


def test_the_stash_has_the_fields_of_segments() -> None:
    """Counts are right, references go both ways, and each segment is of a session that there is."""
    segments = {one["segment_id"]: one for one in records_of(DATA / "stash.jsonl")}
    counter = token_counter(DEFAULT_TOKENIZER)
    transcripts = "".join(path.read_text(encoding="utf-8") for path in SHIPPED.rglob("*.jsonl"))
    assert len(segments) >= 20
    for name, one in segments.items():
        assert one["type"] in SEGMENT_TYPES
        assert f'"{one["session_id"]}"' in transcripts
        assert one["timestamp"] < one["stashed_at"]
        if counter.name == DEFAULT_TOKENIZER:
            assert one["tokens"] == counter.count(one["text"])
        assert all(name in segments[other]["referenced_by"] for other in one["references"])
        assert all(name in segments[other]["references"] for other in one["referenced_by"])


def test_sample_data_is_small() -> None:
    """All of it together stays below one and a half megabytes."""
    assert (
        sum(
            path.stat().st_size
            for path in DATA.rglob("*")
            if "__pycache__" not in path.parts and path.is_file()
        )
        < 1_500_000
    )
