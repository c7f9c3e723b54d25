"""`explore`, `delta` and `watch`: the project without a task."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pytest

from tests.processes import IGNORING_INTERRUPTS, LONG, running
from workbench.entry.cli import exits


def test_explore_shows_the_layers_of_a_kind_of_task(project: Any, run: Any) -> None:
    """General has all seven layers, with modules, dependencies, tests and the last changes."""
    answer = run("explore", "--json").json()
    layers = {one["layer"]: one for one in answer["layers"]}
    assert list(layers) == ["L0", "L1", "L2", "L3", "L4", "L5", "L6"]
    assert {entry["path"] for entry in layers["L1"]["entries"]} >= {"pkg/auth.py", "pkg/store.py"}
    assert layers["L4"]["entries"][0]["details"] == ["httpx >=0.2"]
    assert layers["L6"]["entries"][0]["path"] == "pkg/auth.py"
    incident = run("explore", "--query-type", "incident", "--json").json()
    assert [one["layer"] for one in incident["layers"]] == ["L3", "L4", "L6"]
    text = run("explore", "--detail", "normal").out
    assert "L3 API surface" in text
    assert "def refresh_token(token)" in text


def test_explore_names_a_manifest_it_cannot_read(project: Any, run: Any) -> None:
    """The rest is shown; the file and line are told on stderr."""
    project.write("pyproject.toml", "[project\n")
    done = run("explore")
    assert done.code == exits.OK
    assert "pyproject.toml" in done.err


def test_delta_counts_commits_and_uncommitted_work(project: Any, run: Any) -> None:
    """Uncommitted files come first; --since narrows; an unknown revision is an error with a hint."""
    project.write("pkg/store.py", "changed = 1\n")
    answer = run("delta", "--since", "HEAD~1", "--json").json()
    assert (answer["total_commits"], answer["total_files"]) == (1, 2)
    assert [one["path"] for one in answer["files"]] == ["pkg/store.py", "pkg/auth.py"]
    lines = run("delta").out.splitlines()
    assert lines[0].endswith("lines")
    assert any("pkg/store.py" in line and line.endswith("uncommitted") for line in lines)
    done = run("delta", "--since", "no-such-branch")
    assert (done.code, done.out) == (exits.ERROR, "")
    assert "no commit is named" in done.err


def test_excluded_files_are_in_no_list_of_changes(project: Any, run: Any) -> None:
    """Neither committed nor changed on disk: their names say what nobody asked for."""
    project.write(".env", "KEY=1\n")
    project.git("add", "-f", ".env")
    project.commit("Add the settings")
    project.write("secrets/key.txt", "x\n")
    assert ".env" not in (first := run("explore").out + run("delta").out)
    assert "Add the settings" in first
    project.write(".env", "KEY=2\n")
    for words in (("explore", "--json"), ("delta", "--json")):
        assert not {".env", "key.txt"} & {*run(*words).out.replace('"', "/").split("/")}


def test_delta_without_commits(make_work: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty repository has nothing to compare with, and that is said."""
    monkeypatch.chdir(make_work("empty").root)
    done = run("delta")
    assert (done.code, "no commit to compare with" in done.err) == (exits.ERROR, True)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_watch_follows_changes_until_interrupted(project: Any) -> None:
    """A changed file is one line on stdout; Ctrl-C ends it with a word and code 0, also in the background."""
    command = [*IGNORING_INTERRUPTS, sys.executable, "-m", "workbench", "watch", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with running(command, cwd=project.root, env=environment) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stderr.readline().startswith("watching ")
        project.write("pkg/store.py", "def read(token):\n    return 3\n")
        batch = json.loads(child.stdout.readline())
        assert batch["changed"] == ["pkg/store.py"]
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=LONG)
    assert (child.returncode, out) == (exits.OK, "")
    assert err.splitlines()[-1] == "stopped watching"
