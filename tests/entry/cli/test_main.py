"""The frame of the command line: help, global options, errors, exit codes, streams."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from workbench import __version__
from workbench.entry.cli import exits, main
from workbench.entry.cli.frame import Command, Lazy, LazyGroup
from workbench.entry.cli.reference import every_command, reference
from workbench.entry.services.opening import find_project
from workbench.errors import ParseError, ProjectError, StaleProject, StoreError

ALL = list(every_command())
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_is_documented(path: str, command: click.Command) -> None:
    """Each has help, an example that begins with its own path, and help for each option."""
    assert command.help
    assert isinstance(command, Command | LazyGroup)
    assert command.examples
    assert path == "workbench" or any(f"{path}" in example for example in command.examples)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_the_registry_tells_what_the_command_does(name: str) -> None:
    """The one line in the list is the first line of the command's own help."""
    command = main.COMMANDS[name].load()
    assert (command.help or "").splitlines()[0] == main.COMMANDS[name].summary
    assert command.name == name


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["confg"], exits.USAGE, "Did you mean config?"),
        (["config", "show", "--nope"], exits.USAGE, "No such option"),
        (["config", "get", "plan.budgte"], exits.USAGE, "Did you mean plan.budget?"),
        (["--project", "/nowhere/at/all", "config", "show"], exits.ERROR, "is not a directory"),
    ],
)
def test_mistakes_get_a_message_a_hint_and_a_code(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing goes to stdout, the message and its hint go to stderr, the code says which kind."""
    assert main.run(arguments) == code
    streams = capsys.readouterr()
    assert streams.out == ""
    assert message in streams.err
    assert "hint:" in streams.err
    assert "Traceback" not in streams.err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (StaleProject("2 files changed", hint="Run workbench refresh."), exits.STALE, "2 files changed"),
        (StoreError("damaged"), exits.ERROR, "error: damaged"),
        (ParseError("bad line", path="a.jsonl", line=3), exits.ERROR, "a.jsonl:3: bad line"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), exits.ERROR, "/x: No space left on device"),
        (MemoryError(), exits.ERROR, "index.max_files"),
        (ValueError("odd"), exits.ERROR, "ValueError: odd"),
        (KeyboardInterrupt(), exits.INTERRUPTED, "interrupted"),
    ],
)
def test_failures_of_any_kind_end_in_a_sentence(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Own errors, the system's and defects alike are told without a traceback unless --debug asks for it."""

    @click.command(cls=Command)
    def fail() -> None:
        raise error

    monkeypatch.setitem(main.COMMANDS, "fail", Lazy("fail", f"{__name__}:unused", "Fail."))
    monkeypatch.setattr(Lazy, "load", lambda _: fail)
    assert main.run(["fail"]) == code
    streams = capsys.readouterr()
    assert message in streams.err
    assert "Traceback" not in streams.err
    if isinstance(error, Exception):
        assert main.run(["fail", "--debug"]) == code
        assert "Traceback" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """No arguments give help on stdout with code 0; --version gives name and version."""
    assert main.run([]) == exits.OK
    streams = capsys.readouterr()
    assert "Examples:" in streams.out
    assert streams.err == ""
    assert main.run(["--version"]) == exits.OK
    assert capsys.readouterr().out == f"workbench {__version__}\n"


def test_a_group_alone_gives_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, with the code of a mistake: a program that forgot what to do gets no data."""
    assert main.run(["rules", "conflicts"]) == exits.USAGE
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("Usage: workbench rules conflicts")
    assert "Examples:" in streams.err
    assert "error:" not in streams.err


def test_global_options_work_before_and_after_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` on either side of the command means the same."""
    assert main.run(["--json", "config", "get", "plan.budget"]) == exits.OK
    before = capsys.readouterr().out
    assert main.run(["config", "get", "plan.budget", "--json"]) == exits.OK
    assert capsys.readouterr().out == before == "4000\n"


def test_python_dash_m_is_the_same_program(tmp_path: Path) -> None:
    """`python -m workbench` runs the command line, from any directory."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "config", "show", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["plan.budget"] == {
        "value": 4000,
        "source": "default",
        "where": "",
        "type": "a whole number of at least 1",
    }


def test_a_closed_pipe_is_no_error_message() -> None:
    """When the reader of stdout goes away the program ends quietly with its own code."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "config", "show"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (exits.BROKEN_PIPE, b"")


def test_odd_characters_print_in_any_locale() -> None:
    """Lone surrogates and non-ASCII text reach an ASCII stdout as escapes, and JSON stays JSON."""
    code = (
        "from workbench.entry.cli.output import Output; o = Output();"
        "o.data('n\\udcff é'); o.say('é\\udcff'); o.json({'path': 'n\\udcff é'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    line, rest = done.stdout.split(b"\n", 1)
    assert line == b"n\\udcff \\xe9"
    assert json.loads(rest) == {"path": "n\udcff é"}
    assert done.stderr.strip() == b"\\xe9\\udcff"


def test_the_project_is_found_upwards(tmp_path: Path) -> None:
    """The nearest .git is the root, else the nearest .workbench; without either it is the start itself."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere\n")
    assert find_project(start=deep) == tmp_path / "a"
    (deep / ".workbench").mkdir()
    assert find_project(start=deep) == tmp_path / "a"
    (tmp_path / "a" / ".git").unlink()
    assert find_project(start=deep) == deep
    assert find_project(str(tmp_path), start=deep) == tmp_path
    with pytest.raises(ProjectError, match="is not a directory"):
        find_project(str(tmp_path / "none"))


def test_exit_codes_are_documented() -> None:
    """Every code has a meaning, and the README lists it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for code, meaning in exits.MEANINGS.items():
        assert f"| {code} | {meaning} |" in readme


def test_the_reference_is_what_the_commands_say() -> None:
    """docs/commands.md is what `make docs` writes."""
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert written == reference(), "run `make docs`"
