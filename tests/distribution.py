"""The built wheel: `make dist` runs this after building, the suite does not, as it installs 96 packages.

The wheel is installed by pip alone into an environment of its own, without compiler, lock and repository, by
`DIST_PYTHON` (default: the one that runs this), and does the main job on the sample project.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from email import message_from_string
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from sample_data.build import build
from tests.processes import running

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "dist"
PYTHON = os.environ.get("DIST_PYTHON", sys.executable)
TASK = "a customer cancelled an order that was paid with a gift card and the balance is not back"

ENV_PATH = f"{Path(shutil.which('git') or 'git').parent}:/usr/bin:/bin"

Run = Callable[..., subprocess.CompletedProcess[str]]


def only(pattern: str) -> Path:
    """Return the one file in `dist` of a pattern."""
    (found,) = BUILT.glob(pattern)
    return found


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sample project and, in `venv`, nothing but the wheel and what it requires."""
    path = tmp_path_factory.mktemp("elsewhere")
    build(path)
    (path / "home").mkdir()
    subprocess.run([PYTHON, "-m", "venv", path / "venv"], check=True)
    pip = [str(path / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, str(only("*.whl"))], check=True, cwd=path)
    return path


@pytest.fixture(scope="session")
def run(place: Path) -> Run:
    """Run a program of the environment in the sample project; it must succeed."""
    environment = {"HOME": str(place / "home"), "PATH": ENV_PATH, "LANG": "C.UTF-8"}
    environment["WORKBENCH_HOOKS_DEADLINE"] = "60"

    def program(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(place / "venv" / "bin" / words[0]), *words[1:]]
        done = subprocess.run(
            command, cwd=place / "roastery", env=environment, input=given, text=True, capture_output=True,
            check=False, timeout=900,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-4000:])
        return done

    return program


def workbench(run: Run, *words: str) -> Any:
    """Return what a command prints as JSON."""
    return json.loads(run("workbench", "--json", *words).stdout)


def test_the_metadata_says_what_an_index_shows(run: Run) -> None:
    """Name, version, licence, description and programs; both programs say the version of the metadata."""
    with ZipFile(only("*.whl")) as wheel:
        (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        metadata = message_from_string(wheel.read(name).decode())
        programs = wheel.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert (metadata["Name"], metadata["License-Expression"]) == ("context-workbench", "MIT")
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert programs.split() == ["[console_scripts]"] + [
        word
        for name in ("context-workbench", "workbench")
        for word in (name, "=", "workbench.entry.start:main")
    ]
    for program in ("workbench", "context-workbench"):
        assert run(program, "--version").stdout == f"workbench {metadata['Version']}\n"


def test_every_module_can_be_imported(run: Run) -> None:
    """Nothing is imported that the wheel's requirements do not bring; what an extra brings is named."""
    code = """
import importlib, pkgutil
from workbench.errors import UsageError
for package in ("workbench", "store", "screens"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.endswith("_pb2"):
            try:
                importlib.import_module(module.name)
            except UsageError as error:
                assert "context-workbench[" in error.hint
"""
    run("python", "-P", "-c", code)


def test_the_main_job_is_done(place: Path, run: Run) -> None:
    """Plan, rules, sessions, memory, stash, tables and the replay work in a repository never seen before."""
    assert workbench(run, "plan", TASK, "--budget", "1500")["context"]["files"]
    assert workbench(run, "rules", "list")
    assert workbench(run, "rules", "match", "add a migration to the ledger")
    run("workbench", "import", "sessions", str(place / "sessions"))
    run("workbench", "memory", "ingest", str(place / "sessions"))
    run("workbench", "stash", "import", str(ROOT / "sample_data" / "stash.jsonl"))
    assert workbench(run, "stash", "search", "gift card balance", "--top-k", "2")
    assert workbench(run, "rank", TASK)
    assert workbench(run, "explore")
    assert run("workbench", "sql", "select count(*) from episodes").stdout.split()[-1] != "0"
    run("workbench", "--replay", "--tasks", "12", "--report", str(place / "replay.html"))
    assert "<html" in (place / "replay.html").read_text(encoding="utf-8")
    run("workbench", "doctor")


def test_agents_are_set_up_and_answered(place: Path, run: Run) -> None:
    """The settings name the installed program, its hook and its server answer, and all of it goes again."""
    run("workbench", "index")
    settings = place / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus"\n}\n', encoding="utf-8")
    run("context-workbench", "install", "--agent", "claude", "--yes")
    hooks = json.loads(settings.read_text(encoding="utf-8"))["hooks"]
    command = hooks["PreToolUse"][0]["hooks"][0]["command"].split()
    assert command[0] == str(place / "venv" / "bin" / "workbench")
    prompt = {
        "session_id": "s-1",
        "cwd": str(place / "roastery"),
        "hook_event_name": "UserPromptSubmit",
        "prompt": TASK,
    }
    answer = json.loads(run("workbench", *command[1:2], "UserPromptSubmit", given=json.dumps(prompt)).stdout)
    assert "roastery" in answer["hookSpecificOutput"]["additionalContext"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines: Sequence[dict[str, Any]] = (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "find_files", "arguments": {"task": TASK}}},
    )
    server = [command[0], "mcp", "--project", str(place / "roastery")]
    environment = {"HOME": str(place / "home"), "PATH": ENV_PATH}
    with running(server, stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines))
        process.stdin.flush()
        first, second = (json.loads(process.stdout.readline())["result"] for _ in range(2))
    assert first["serverInfo"]["name"] == "workbench"
    assert second["structuredContent"]["files"]
    run("workbench", "uninstall", "--yes")
    assert settings.read_text(encoding="utf-8") == '{\n  "model": "opus"\n}\n'


def test_the_app_starts(place: Path) -> None:
    """In a terminal the app draws its first screen, with its styles and keys from the wheel."""
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, 80))
    environment = {
        "HOME": str(place / "home"),
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    command = [str(place / "venv" / "bin" / "workbench")]
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), inner)
    with running(command, cwd=place / "roastery", env=environment, **streams) as process:
        os.close(inner)
        drawn = b""
        while b"Replay" not in drawn:
            drawn += os.read(outer, 65536)
        process.terminate()
    os.close(outer)
