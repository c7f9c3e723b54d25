"""Modules and programs that a project brings are never run, by no command and no child of one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from screens.app import WorkbenchApp
from screens.headless import run_command
from tests.foreign.repositories import CHANGED, Hostile
from tests.processes import LONG
from tests.screens.conftest import settle
from workbench.entry.cli import exits, main
from workbench.entry.web.serving import app_command
from workbench.project import workers

PROGRAM = Path(sys.executable).parent / "workbench"
COMMANDS = (
    ("plan", "part7", "--budget", "300", "--copy"),
    ("import", "git", "--all"),
    ("doctor",),
)


@pytest.fixture(autouse=True)
def _inside(planted: Hostile, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in the project, with a PATH that has the current directory in every way it can; nothing runs."""
    before = planted.kept()
    monkeypatch.chdir(planted.root)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", os.environ["PATH"])))
    monkeypatch.setenv("DISPLAY", ":1")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    yield
    assert planted.kept() == before


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_run_nothing_of_the_project(words: tuple[str, ...]) -> None:
    """The program as it is installed, started by its name in the project."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr


async def test_the_app_and_its_workers_run_nothing_of_the_project(
    planted: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many files change while the app is open; its workers are started beside threads."""
    assert main.run(["index"]) == exits.OK
    started: list[str] = []
    start = workers._start

    def noted(function: Callable[[Any], Any], others: Sequence[Any]) -> Any:
        worker = start(function, others)
        started.append(type(worker.process).__name__)
        return worker

    monkeypatch.setattr(workers, "_start", noted)
    app = WorkbenchApp(planted.root, watch=False)
    async with app.run_test() as pilot:
        await settle(pilot)
        for number in range(CHANGED):
            (planted.root / "src" / f"part{number}.py").write_text(f"def other{number}():\n    return 1\n")
        await pilot.press("f5")
        await settle(pilot)
        assert app.section is not None
        app.section.ask("List", lambda job: run_command(job, planted.root, ["rules", "list"]), lambda _: None)
        await settle(pilot)
    assert started == ["SpawnProcess"] * len(started) != []
    assert "PYTHONSAFEPATH" not in os.environ


def test_the_app_of_a_browser_runs_nothing_of_the_project(planted: Hostile) -> None:
    """The process that serving the app starts; without a terminal it says so and ends."""
    done = subprocess.run(
        app_command(planted.root), stdin=subprocess.DEVNULL, capture_output=True, timeout=LONG, check=False
    )
    assert done.returncode != 0
    assert done.stderr


def test_every_child_is_started_safely() -> None:
    """Python is started with -P, processes of multiprocessing by `workers`, programs found by `programs`."""
    root = Path(__file__).resolve().parents[2]
    sources = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for package in ("workbench", "store", "screens")
        for path in (root / package).rglob("*.py")
    }
    started = [text for text in sources.values() for _ in re.findall(r"sys\.executable,", text)]
    safely = [text for text in sources.values() for _ in re.findall(r'sys\.executable,\s*"-P"', text)]
    assert len(started) == len(safely) >= 3
    for word, only in (("import multiprocessing", "project/workers.py"), ("shutil.which", "beneath.py")):
        assert [path for path, text in sources.items() if word in text] == [f"workbench/{only}"]
