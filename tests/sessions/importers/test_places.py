"""Where transcripts are, which belong together, and which paths are the project's."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.importers.made import codex, codex_did, codex_said, edited, held, raw, user
from workbench.sessions.importers.places import (
    ProjectPlaces,
    TranscriptFile,
    expand_roots,
    find_files,
    group_files,
    is_inside,
    project_transcripts,
    relative,
    same_address,
    session_roots,
    transcript,
)
from workbench.sessions.importers.readers import family, read_session


def families(*files: TranscriptFile) -> Any:
    """Return the names of main files with those of their agents, and the names of lost ones."""
    groups, lost = group_files(files, lambda file: family(file)[1], lambda file: family(file)[0])
    found = {group.main.path.name: [agent.path.name for agent in group.agents] for group in groups}
    return found, [file.path.name for file in lost]


def test_a_project_has_its_directories(tmp_path: Path) -> None:
    """Those of its roots and of directories below them; all of Codex'."""
    for name in (
        "-w-shop/a.jsonl",
        "-w-shop-web/b.jsonl",
        "-w-shopping/c.jsonl",
        "-w-shop/a/subagents/agent-x.jsonl",
    ):
        path = tmp_path / "claude/projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    rollout = tmp_path / "codex/archived_sessions/rollout-1.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text("{}\n")
    places = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    found = project_transcripts(["/w/shop"], Path("/nowhere"), places)
    assert [path.name for path in found] == ["agent-x.jsonl", "a.jsonl", "b.jsonl", "rollout-1.jsonl"]
    assert project_transcripts(["/w/shop"], tmp_path / "none", {}) == ()


def test_compressed_files_are_read(tmp_path: Path) -> None:
    """Found in directories, and opened as they are; a torn one is read as far as it goes."""
    whole = gzip.compress(raw([user("fix the login", "u1"), *edited("a", "/p/a.py")]))
    (tmp_path / "a.jsonl.gz").write_bytes(whole)
    (tmp_path / "b.jsonl.gz").write_bytes(whole[:-12])
    (tmp_path / "notes.txt").write_text("x")
    first, second = find_files([tmp_path])
    (one,), _ = group_files([transcript(first)], lambda _: "", lambda _: "")
    (two,), _ = group_files([transcript(second)], lambda _: "", lambda _: "")
    assert [task.text for task in read_session(one).story.tasks] == ["fix the login"]
    assert read_session(two).fault


def test_subagents_belong_to_their_sessions() -> None:
    """By their place, by the session they name, by the thread that spawned them; others are lost."""
    main = held(raw([user("x y", "u1", sessionId="s")]), "s.jsonl")
    below = held(b"", "s/subagents/agent-1.jsonl")
    beside = held(raw([user("x y", "i", sessionId="s", isSidechain=True)]), "agent-2.jsonl")
    orphan = held(b"", "t/subagents/agent-3.jsonl")
    assert families(main, below, beside, orphan) == (
        {"s.jsonl": ["agent-1.jsonl", "agent-2.jsonl"]},
        ["agent-3.jsonl"],
    )
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "c"}}}
    parent = held(raw([codex("session_meta", 0, id="c", cwd="/p")]), "rollout-1.jsonl")
    child = held(raw([codex("session_meta", 0, id="d", cwd="/p", source=spawned)]), "rollout-2.jsonl")
    assert families(parent, child) == ({"rollout-1.jsonl": ["rollout-2.jsonl"]}, [])


def test_work_of_a_spawned_thread_is_its_parents() -> None:
    """Its prompt is the agent's, its changes are the task's that it was spawned in."""
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "c"}}}
    edit = codex_did("e", "shell", {"command": ["sed", "-i", "s/a/b/", "a.py"]}, "Exit code: 0", 5)
    parent = held(
        raw([codex("session_meta", 0, id="c", cwd="/p"), *codex_said("fix the login", 1)]), "r1.jsonl"
    )
    lines = [codex("session_meta", 4, id="d", cwd="/p", source=spawned), *codex_said("change a.py", 4), *edit]
    (group,), _ = group_files(
        [parent, held(raw(lines), "r2.jsonl")], lambda file: family(file)[1], lambda file: family(file)[0]
    )
    (task,) = read_session(group).story.tasks
    assert (task.text, list(task.edits)) == ("fix the login", ["/p/a.py"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/p/a.py", "a.py"),
        ("/p/sub/a.py", "a.py"),
        ("/p/.claude/worktrees/x/src/a.py", "src/a.py"),
        ("/pp/a.py", None),
        ("/p/.git/config", None),
        ("/p/.workbench/x", None),
        ("/p", None),
        ("/p/\udc80", None),
        ("/p/a\0b", None),
        ("a.py", None),
    ],
)
def test_paths_are_relative_to_the_nearest_root(path: str, expected: str | None) -> None:
    """Without what is not the project's, cannot be a file's name, or is kept by programs."""
    assert relative(path, ["/p", "/p/sub"]) == expected


def test_a_directory_is_inside_or_not() -> None:
    """By whole parts of its path."""
    assert [is_inside(path, ["/p"]) for path in ("/p", "/p/a", "/pp", "/", "/p/../q")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "address",
    [
        "git@github.com:o/n.git",
        "https://github.com/o/n",
        "ssh://git@github.com:22/o/n.git/",
        "https://u:p@github.com/O/N",
    ],
)
def test_addresses_are_compared(address: str) -> None:
    """However they are written, without who asks."""
    assert same_address(address) == "github.com/o/n"


def test_a_clone_elsewhere_is_the_project() -> None:
    """Where the session says that it is the same repository."""
    places = ProjectPlaces(("/p",), frozenset({"github.com/o/n"}))
    assert session_roots(["/c"], "git@github.com:o/n.git", ["/c/web"], places) == ["/p", "/c"]
    assert session_roots([], "git@github.com:o/n.git", ["/c/web"], places) == ["/p", "/c/web"]
    assert session_roots(["/c"], "git@github.com:o/other.git", ["/c"], places) == ["/p"]


def test_patterns_name_directories() -> None:
    """A star stands for any part of one name."""
    assert list(expand_roots(["/old/*/x", "/q/"], ["/old/a/x/web", "/old/a/b/x"])) == ["/old/a/x", "/q"]
