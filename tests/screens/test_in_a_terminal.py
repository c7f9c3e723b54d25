"""The real program in a real terminal of 80 by 24: a sitting from a conflict to a replay, key by key."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Work
from tests.processes import running
from tests.terminals import PATIENCE, TMUX, Terminal
from workbench.entry.project import place_file

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


@pytest.fixture
def terminal(untouched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """The program, open on the sample project, where the locale is ASCII."""
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    command = shlex.join(
        ["env", "LC_ALL=C", "PYTHONUTF8=0", sys.executable, "-m", "workbench", "app", "conflicts"]
    )
    made = Terminal(tmp_path, command, untouched)
    yield made
    made.end()


@pytest.fixture
def small(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Terminal]]:
    """Open the program on a new project of one file, as often as asked."""
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    work.write("cart.py", "def total():\n    return 0\n")
    work.commit()
    made: list[Terminal] = []

    def start() -> Terminal:
        made.append(Terminal(tmp_path, shlex.join([sys.executable, "-m", "workbench"]), work.root))
        return made[-1]

    yield start
    for terminal in made:
        terminal.end()


def workbench(root: Path, *arguments: str) -> str:
    """Run the program headless and return its stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *arguments], cwd=root, capture_output=True, check=True, text=True
    )
    return done.stdout


def test_it_ends_with_a_terminal_that_sends_no_signal(work: Work) -> None:
    """A program that leads no session is sent nothing when its terminal goes; it had gone on for ever."""
    ours, its = os.openpty()
    command = [sys.executable, "-m", "workbench"]
    environment = {**os.environ, "TERM": "xterm-256color"}
    with running(command, cwd=work.root, stdin=its, stdout=its, stderr=its, env=environment) as program:
        os.close(its)
        assert os.read(ours, 1)  # it has begun to paint
        os.close(ours)
        assert program.wait(PATIENCE) in (-signal.SIGHUP, 128 + signal.SIGHUP)


def test_a_sitting(terminal: Terminal, untouched: Path) -> None:
    """A conflict is settled, a rule edited, a pack planned and copied, the past replayed; then it ends."""
    terminal.see("contradictory", "0 of 9 settled")
    terminal.press("a")
    terminal.see("1 of 9 settled")

    terminal.press("2")
    terminal.see("20 rules")
    terminal.press("e")
    terminal.see("Edit the rule", "ctrl+s saves")
    terminal.type(" Always!")
    terminal.see(" Always!")
    terminal.press("C-s")
    terminal.see(" Always!", "Save, and write ", "Back (n)")

    def is_written() -> bool:
        terminal.press("y")  # no answer before the question is painted
        return "Back (n)" not in terminal.screen()

    terminal.until(is_written)
    terminal.see("wrote", gone="ctrl+s saves")

    terminal.press("1")
    terminal.see("Welcome", "173", "enter  index this project and go")
    terminal.press("Enter")
    terminal.see("What is to be done?", "ready")
    terminal.type("a gift card does not give its balance back")
    terminal.see(" in, ", " out", "fresh")
    terminal.press("Enter")
    terminal.see("y Copy")
    terminal.press("y")
    terminal.see("tmux")  # an answer too many may have copied a rule before
    terminal.until(lambda: "giftcards" in terminal.tmux("show-buffer"))

    terminal.press("6")
    terminal.see("No replay yet")
    terminal.press("c")
    terminal.see("New replay", "$ workbench replay")
    terminal.press("F2")
    terminal.see("Runs › roastery", "hybrid", "★")

    terminal.press("q")
    assert "Traceback" not in terminal.see("left with 0")
    assert "money. Always!" in workbench(untouched, "rules", "list", "--json")
    assert "settle" in workbench(untouched, "rules", "history")
    assert "hybrid" in workbench(untouched, "runs", "list", "--json")


def test_no_key_is_lost_from_the_start_to_the_kill(small: Callable[[], Terminal], work: Work) -> None:
    """What is typed before anything is painted is the task, and is there again however the program ends."""

    def kept(*texts: str) -> bool:
        file = place_file(work.root)
        return file.exists() and all(text in file.read_text() for text in texts)

    terminal = small()
    terminal.type("mq1 coupon")
    terminal.see("Welcome", "mq1 coupon", "enter  index")
    terminal.press("M-2")
    terminal.see("No rules yet")
    terminal.until(lambda: kept('"section":"rules"', "mq1 coupon"))
    terminal.press("1")
    terminal.until(lambda: kept('"section":"plan"'))
    terminal.kill(signal.SIGKILL)
    terminal.see("left with 137")

    terminal = small()
    terminal.type("another")  # in place of the last one, which up brings back
    terminal.see("▌ another", "enter  index")
    terminal.press("Up")
    terminal.see("mq1 coupon")
    terminal.type("X")
    terminal.see("Xmq1 coupon")
    terminal.kill(signal.SIGHUP)
    terminal.see("left with 129")
    assert kept("Xmq1 coupon")


def test_text_in_one_burst_with_its_key_runs_no_command(terminal: Terminal, untouched: Path) -> None:
    """Whatever arrives with the key of the filter goes there; `d`, `y` and enter among it remove nothing."""
    terminal.see("contradictory", "0 of 9 settled")
    terminal.press("2")
    terminal.see("21 rules")
    terminal.type("/refund dy\r")
    terminal.see("/ refund dy")
    terminal.press("q")
    terminal.see("left with 0")
    assert "remove" not in workbench(untouched, "rules", "history")


def test_it_stops_only_where_a_shell_can_bring_it_back(work: Work, tmp_path: Path) -> None:
    """In a window that runs the program and no shell it would have stayed stopped for ever."""
    program = shlex.join(
        ["env", "-u", "TMUX", "TERM=xterm-256color", sys.executable, "-m", "workbench", "app"]
    )
    alone = Terminal(tmp_path, f"{program} rules", work.root)
    shell = Terminal(tmp_path, "bash --norc --noprofile -i", work.root)
    try:
        alone.see("No rules yet")
        alone.press("C-z")
        alone.see("No shell waits")

        shell.type(f"{program} rules")
        shell.press("Enter")
        shell.see("No rules yet")
        shell.press("C-z")
        shell.see("Stopped", gone="No rules yet")
        shell.type("fg")
        shell.press("Enter")
        shell.see("No rules yet")
        shell.press("q")
        shell.see("fg", gone="No rules yet")
    finally:
        alone.end_all()
