"""Long work as a child process: progress, cancellation, failures and what the log would show."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from screens import headless
from screens.app import WorkbenchApp
from screens.headless import CommandOutput, command_line, run_command
from screens.jobs import Cancelled, Failure, Job
from tests.processes import LONG
from tests.screens.conftest import settle
from workbench.errors import ProcessError


async def asked(root: Path, arguments: list[str]) -> tuple[list[CommandOutput], list[Failure], Job]:
    """Run a command in a job of the app; return what it said or why it failed."""
    app = WorkbenchApp(root, watch=False, section="log")
    told: list[CommandOutput] = []
    failures: list[Failure] = []
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
        job = app.section.ask(
            "Run", lambda job: run_command(job, root, arguments), told.append, failed=failures.append
        )
        await settle(pilot)
    return told, failures, job


async def test_the_answer_of_a_command_is_its_json(untouched: Path) -> None:
    """stdout is read as JSON, whatever stood on stderr."""
    told, failures, _ = await asked(untouched, ["rules", "list", "--json"])
    assert not failures
    assert told[0].json()["rules"]


async def test_progress_of_the_child_reaches_the_job(untouched: Path) -> None:
    """What the child says about its progress is the job's."""
    _, failures, job = await asked(untouched, ["index"])
    assert not failures
    assert job.stage


async def test_a_command_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    """The error of the child is the error of the job."""
    _, failures, _ = await asked(tmp_path, ["rules", "show", "nothing"])
    assert "workbench rules show nothing" in failures[0].message
    assert "there is no rule nothing" in failures[0].hint


def test_a_cancelled_child_is_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cancelling sends the child what Ctrl-C sends, and waits until it left."""
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"  # a shell may have started the tests without it
        "print('ready', file=sys.stderr, flush=True)\n"
        "time.sleep(60)"
    )
    monkeypatch.setattr(headless, "_PROGRAM", (headless._PROGRAM[0], "-c", script))
    codes: list[int | None] = []
    interrupt = headless._interrupt

    def noted(child: Any) -> None:
        interrupt(child)
        codes.append(child.returncode)

    monkeypatch.setattr(headless, "_interrupt", noted)
    job = Job("Run", "run", owner=None, app=None)  # type: ignore[arg-type]
    monkeypatch.setattr(headless, "_take", lambda job, line, kept: job.cancel())
    thread = threading.Thread(target=lambda: _swallow(job, tmp_path))
    thread.start()
    thread.join(LONG)
    assert codes == [-signal.SIGINT] or codes == [1]


def _swallow(job: Job, root: Path) -> None:
    with pytest.raises(Cancelled):
        run_command(job, root, [])


def test_what_is_no_json_is_an_error() -> None:
    """An answer that cannot be read is told as such."""
    with pytest.raises(ProcessError):
        CommandOutput(0, "{", "narration").json()


def test_the_command_line_is_what_a_user_would_type() -> None:
    """Arguments with spaces are quoted."""
    assert command_line(["plan", "fix the login"]) == "workbench plan 'fix the login'"


def test_progress_lines_are_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """CommandOutput to, the program writes its progress as lines of JSON."""
    from workbench.entry.cli.output import PROGRESS_VARIABLE, Output

    os.environ[PROGRESS_VARIABLE] = "json"
    try:
        with Output().progress("Counting") as line:
            line(1, 2)
    finally:
        del os.environ[PROGRESS_VARIABLE]
    assert json.loads(capfd.readouterr().err) == {"progress": ["Counting", 1, 2]}
