"""Named pipes, sockets and devices are never opened, wherever a project or a command line names one."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path

import pytest

from tests.conftest import Work
from workbench.entry.cli import exits, main

STATE = ("journal/rules.jsonl", "tables/workbench.duckdb", "locks/index.lock", "index/project/CURRENT", "new")
ARGUMENTS = """
    import sessions {}
    memory ingest {}
    stash import {}
    stash add --file {}
    stash search --queries {}
    rules import {}
    rules lint {}
    rules add --json-lines {}
    rules check --tool Bash --input @{}
    scan secrets {}
    scan injection --texts {}
    dedup scan {}
    dedup check --pairs {}
    model import {}
    replay {}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a rule of its user's."""
    work = Work(tmp_path / "project")
    work.root.mkdir()
    work.git("init", "-q", "-b", "main")
    work.write("src/app.py", "def refresh_token(token):\n    return token\n")
    work.commit("app")
    monkeypatch.chdir(work.root)
    assert main.run(["rules", "add", "Mind the gap."]) == exits.OK
    return work.root


@pytest.mark.parametrize("name", STATE)
def test_a_state_with_a_pipe_is_not_used(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Whatever place it has in the state: each command works without, and names it."""
    place = project / ".workbench" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    if name == "new":
        os.chdir(place.parent)  # a socket's name must be short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(name)
        os.chdir(project)
    else:
        os.mkfifo(place)
    capsys.readouterr()
    for line in ("plan refresh_token --budget 300", "rules list", "doctor", "status", "config show"):
        assert main.run(shlex.split(line)) in (exits.OK, exits.ERROR), line
        shown = capsys.readouterr()
        assert "defect of the workbench" not in shown.err, line
        if line != "config show":
            kind = "socket" if name == "new" else "named pipe"
            assert f"{place} is a {kind}" in shown.out + shown.err, line
    assert not os.path.isfile(place)


def test_no_command_waits_for_a_pipe_that_it_is_given(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each says what it is, in the place of a file and below a directory."""
    os.mkfifo(project / "pipe.jsonl")
    os.mkfifo(project / "pipe.jsonl.gz")
    for line in ARGUMENTS.strip().splitlines():
        for name in ("pipe.jsonl", "pipe.jsonl.gz", "/dev/null"):
            main.run([name if word == "{}" else word for word in line.split()])
            shown = capsys.readouterr()

            assert "defect of the workbench" not in shown.err, line
