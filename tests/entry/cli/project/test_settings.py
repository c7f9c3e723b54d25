"""`workbench config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.entry.cli import exits, main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_set_get_show_unset(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is set is read back with its place, in the project's file over the user's, until it is unset."""
    assert main.run(["config", "set", "plan.budget", "6000"]) == exits.OK
    assert main.run(["config", "set", "plan.budget", "7000", "--in-project"]) == exits.OK
    capsys.readouterr()
    assert main.run(["config", "get", "plan.budget"]) == exits.OK
    assert capsys.readouterr().out == "7000\n"
    main.run(["config", "show", "plan.budget", "--json"])
    shown = json.loads(capsys.readouterr().out)["plan.budget"]
    assert shown["source"] == "project"
    assert shown["where"] == f"{project / '.workbench' / 'config.toml'}:2"
    main.run(["config", "unset", "plan.budget", "--in-project"])
    capsys.readouterr()
    main.run(["config", "show", "plan"])
    assert f"user {home / 'config.toml'}:2" in capsys.readouterr().out


def test_wrong_values_are_not_written(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value of the wrong type and a user's setting in the project's file are refused; no file appears."""
    assert main.run(["config", "set", "plan.budget", "many"]) == exits.USAGE
    assert main.run(["config", "set", "models.download", "true", "--in-project"]) == exits.USAGE
    assert "cannot set it" in capsys.readouterr().err
    assert not home.exists()
    assert list(project.iterdir()) == [project / ".git"]


def test_a_wrong_file_can_be_repaired_by_the_program(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad value stops `show` but not the `set` that corrects it; a symbolic link stays one."""
    real = project / "dotfiles.toml"
    real.write_text("[plan]\nbudget = 'x' # mine\nformat = 'xml'\n")
    home.mkdir()
    (home / "config.toml").symlink_to(real)
    assert main.run(["config", "show"]) == exits.USAGE
    assert "expected int, got str" in capsys.readouterr().err
    assert main.run(["config", "set", "plan.budget", "5"]) == exits.OK
    assert (home / "config.toml").is_symlink()
    assert real.read_text() == "[plan]\nbudget = 5 # mine\nformat = 'xml'\n"


def test_unset_and_path_say_what_is(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unsetting what is not set says so; path prints both files' places."""
    assert main.run(["config", "unset", "plan.budget"]) == exits.OK
    assert "is not set" in capsys.readouterr().err
    assert main.run(["config", "unset", "plan.nope"]) == exits.USAGE
    capsys.readouterr()
    main.run(["config", "path"])
    main.run(["config", "path", "--in-project"])
    assert capsys.readouterr().out.splitlines() == [
        str(home / "config.toml"),
        str(project / ".workbench" / "config.toml"),
    ]


def test_passwords_are_not_shown_around(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The password of a Redis is in the file and in what `get` gives to programs, not in lists."""
    url = "redis://:hunter2@cache.example:6379/0"
    assert main.run(["config", "set", "cache.redis_url", url]) == exits.OK
    main.run(["config", "show"])
    main.run(["config", "show", "--json"])
    printed = capsys.readouterr()
    assert "hunter2" not in printed.out + printed.err
    assert printed.out.count("redis://:…@cache.example:6379/0") == 2
    main.run(["config", "get", "cache.redis_url"])
    assert capsys.readouterr().out == url + "\n"
