"""`index`, `refresh`, `import git` and `rebuild`: what they say is what they did."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from workbench.config import Config
from workbench.entry.cli import exits
from workbench.entry.project import open_workspace


def test_index_says_what_is_known(project: Any, run: Any) -> None:
    """Files, past tasks and rules are counted; a second run finds nothing to do, --full reads all again."""
    first = run("index", "--json").json()
    assert (first["files"], first["episodes"], first["imported"], first["rules"]) == (6, 3, 3, 2)
    assert first["cache_status"] == "miss"
    assert run("index", "--json").json()["cache_status"] == "hit"
    assert run("index", "--full", "--json").json()["cache_status"] == "miss"
    assert run("index").out.startswith("6 files, 3 past tasks, 2 rules\n")


def test_refresh_names_the_files_that_changed(project: Any, run: Any) -> None:
    """Changed, added and removed files are told apart, for people and programs."""
    run("index")
    project.write("pkg/store.py", "def read(token):\n    return None\n")
    project.write("pkg/new.py", "x = 1\n")
    (project.root / "tests/test_auth.py").unlink()
    done = run("refresh")
    assert done.out.splitlines()[2:] == ["  ~ pkg/store.py", "  + pkg/new.py", "  - tests/test_auth.py"]
    again = run("refresh", "--json").json()
    assert (again["was"], again["changed"]) == ("fresh", [])
    assert run("plan", "read the token", "--strict").code == exits.OK


def tables_of(project: Any, statement: str) -> list[Any]:
    """Return the rows of a SELECT over the project's tables, as another program reads them."""
    (path,) = (project.root / ".workbench").glob("*.duckdb")
    with duckdb.connect(str(path), read_only=True) as database:
        return database.execute(statement).fetchall()


@pytest.mark.parametrize("reader", ["sql", "refresh"])
def test_tables_hold_the_index_that_plans_use(project: Any, run: Any, reader: str) -> None:
    """Whatever reads tables, or asks for the index, brings in what plans indexed since, and that alone."""
    run("plan", "read the token")
    run(reader, *(["select 1"] if reader == "sql" else []))
    files = "SELECT path, lines, tokens FROM artifacts WHERE path LIKE 'pkg/%' ORDER BY path"
    assert tables_of(project, files) == [
        ("pkg/__init__.py", 0, 0),
        ("pkg/auth.py", 12, 43),
        ("pkg/store.py", 2, 8),
    ]
    project.write("pkg/store.py", "def look_up(token):\n    return None\n\n\nLAST = 1\n")
    project.write("pkg/new.py", "from pkg import store\n")
    (project.root / "tests/test_auth.py").unlink()
    run("plan", "read the token")
    run(reader, *(["select 1"] if reader == "sql" else []))
    assert ("pkg/store.py", 5, 11) in tables_of(project, files)
    names = "SELECT name FROM symbols WHERE path = 'pkg/store.py' ORDER BY line"
    assert tables_of(project, names) == [("look_up",), ("LAST",)]
    pairs = tables_of(project, "SELECT from_path, to_path FROM artifact_edges")
    assert ("pkg/new.py", "pkg/store.py") in pairs
    assert "tests/test_auth.py" not in {path for pair in pairs for path in pair}
    assert tables_of(project, "SELECT count(*) FROM artifacts WHERE path LIKE 'tests/%'") == [(0,)]


def test_import_takes_commits_once(project: Any, run: Any) -> None:
    """--limit bounds, --all completes, repeating imports nothing; both at once are a mistake."""
    assert run("import", "git", "--limit", "1", "--json").json()["imported"] == 1
    assert run("import", "git", "--all", "--json").json()["imported"] == 2
    assert run("import", "git", "--all").out.startswith("0 commits imported, 0 forgotten")
    assert run("import", "git", "--all", "--limit", "1").code == exits.USAGE


def test_a_shallow_clone_is_named(project: Any, run: Any, tmp_path: Path) -> None:
    """Where the past is missing because the clone has none, the command that brings it is given."""
    assert "--unshallow" not in run("status").out
    clone = str(tmp_path / "clone")
    project.git("clone", "-q", "--depth=1", f"file://{project.root}", clone)
    assert "git fetch --unshallow" in run("--project", clone, "status").out
    assert "git fetch --unshallow" in run("--project", clone, "replay").err


def test_import_needs_a_repository(tmp_path: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of one it says so; in one without commits there is nothing to import."""
    monkeypatch.chdir(tmp_path)
    done = run("import", "git")
    assert (done.code, "is not a git repository" in done.err) == (exits.ERROR, True)


def test_rebuild_gives_what_was_there(project: Any, run: Any) -> None:
    """Tables and indexes made anew have the contents they had; the journals are untouched."""
    run("index")
    run("stats")
    journal = project.root / ".workbench" / "journal" / "sessions.jsonl"
    before = journal.read_bytes()
    answer = run("rebuild", "--json").json()
    assert {name: part["equal"] for name, part in answer["parts"].items() if not part["equal"]} == {}
    assert {"table episodes", "table rules", "index project", "index history"} <= answer["parts"].keys()
    assert journal.read_bytes() == before
    assert run("rank", "jwt token", "--strict").code == exits.OK


def test_rebuild_mends_a_damaged_index_and_damaged_tables(project: Any, run: Any) -> None:
    """Whatever was in the files, afterwards doctor finds nothing broken."""
    run("index")
    run("stats")
    state = project.root / ".workbench"
    (state / "tables.duckdb").write_bytes(b"no database" * 1000)
    for path in (state / "index").glob("project-*/*"):
        path.write_bytes(os.urandom(64))
    assert run("doctor").code == exits.ERROR
    assert run("rebuild").code == exits.OK
    assert run("doctor").code == exits.OK


@pytest.mark.parametrize("words", [("rebuild",), ("doctor", "--repair")], ids=" ".join)
def test_indexes_that_no_plan_needs_are_mended_too(project: Any, run: Any, words: tuple[str, ...]) -> None:
    """A flipped byte in the index of the stash is named, mended, and what was stashed is found again."""
    said = '{"text": "We keep carts in Redis.", "type": "message", "session_id": "s"}'
    run("stash", "import", "-", given=said.encode())
    index = open_workspace(project.root, Config()).segment_index
    index.refresh()
    index.publish(None)
    (path,) = (project.root / ".workbench" / "index").glob("stash-*/segments.arrays")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.chmod(0o600)
    path.write_bytes(data)
    assert "stash-1: segments.arrays has changed" in run("doctor").out
    mended = run(*words)
    assert (mended.code, "segments.arrays has changed" in mended.out + mended.err) == (exits.OK, True)
    sound = run("doctor")
    assert (sound.code, "has changed since" in sound.out) == (exits.OK, False)
    assert "carts in Redis" in run("stash", "search", "carts in Redis").out


def test_a_killed_writer_loses_nothing_acknowledged(
    project: Any, run: Any, entries: Callable[[str], list[dict[str, Any]]]
) -> None:
    """An unfinished line at the end of a journal is skipped, and the next import adds what is missing."""
    run("import", "git", "--limit", "2")
    journal = project.root / ".workbench" / "journal" / "sessions.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"v":1,"id":"01')
    assert run("import", "git", "--all", "--json").json()["imported"] == 1
    lines = journal.read_bytes().splitlines()
    assert sum(json.loads(line)["kind"] == "episode.imported" for line in lines if line.endswith(b"}")) == 3
