"""Outside of a repository nothing large is indexed unasked, and state captures nobody's project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits, main
from workbench.entry.project import project as places
from workbench.entry.services.opening import find_project


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without version control that holds more than is indexed without asking: 3 files here."""
    monkeypatch.setattr(places, "MOST_FILES", 2)
    directory = tmp_path / "large"
    directory.mkdir()
    for name in "abc":
        (directory / f"{name}.py").write_text(f"{name} = 1\n", encoding="utf-8")
    monkeypatch.chdir(directory)
    return directory


@pytest.mark.parametrize(
    "words", [("plan", "a"), ("rank", "a"), ("explore",), ("refresh",), ("rules", "list"), ("serve-web",)]
)
def test_what_is_large_is_refused_where_nobody_can_be_asked(
    large: Path, run: Run, words: tuple[str, ...]
) -> None:
    """The message says why and how to go on, and nothing was made."""
    done = run(*words)
    assert done.code == exits.ERROR
    assert f"{large} holds more than 2 files, and is not a git repository" in done.err
    assert "`workbench index`" in done.err
    assert not (large / ".workbench").exists()


def test_indexing_by_name_is_consent(large: Path, run: Run) -> None:
    """Whoever runs `index` means it, for every command from then on."""
    assert run("index").code == exits.OK
    assert "a.py" in run("plan", "a.py").out


@pytest.mark.parametrize(("yes", "code"), [(True, exits.OK), (False, exits.ERROR)])
def test_a_person_is_asked(
    large: Path, monkeypatch: pytest.MonkeyPatch, yes: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a terminal a yes goes on with what was asked for, and holds; a no leaves everything as it is."""
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return yes

    monkeypatch.setattr(click, "confirm", confirm)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main.run(["plan", "a.py"]) == code
    assert (large / ".workbench").exists() == yes
    assert len(asked) == 1
    assert ("a.py" in capsys.readouterr().out) == yes
    main.run(["plan", "a.py"])
    assert len(asked) == (1 if yes else 2)


def test_the_home_directory_is_never_indexed_unasked(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither it nor what holds it, however little is in there; what is below is a place like any other."""
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a.py").write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    for directory, reason in ((home, "is your home directory"), (tmp_path, "holds your home directory")):
        monkeypatch.chdir(directory)
        done = run("plan", "a")
        assert (done.code, reason in done.err) == (exits.ERROR, True)
        assert not (directory / ".workbench").exists()
    monkeypatch.chdir(home / "notes")
    assert run("plan", "a").code == exits.OK
    assert (home / "notes" / ".workbench").is_dir()


def test_state_in_the_wrong_places_captures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State above counts if it is one's own, and neither in the home nor where everybody writes."""
    deep = tmp_path / "top" / "below"
    deep.mkdir(parents=True)
    top = deep.parent
    (top / ".workbench").mkdir()
    assert find_project(start=deep) == top
    top.chmod(0o1777)
    assert find_project(start=deep) == deep
    top.chmod(0o755)
    monkeypatch.setenv("HOME", str(top))
    assert find_project(start=deep) == deep
    assert find_project(start=top) == top
    monkeypatch.delenv("HOME")
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        assert find_project(start=deep) == deep


def test_repositories_below_are_projects_of_their_own(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds them indexes nothing of them, whole or in part, and they are found from within."""
    inner = tmp_path / "inner" / "src"
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    inner.mkdir()
    (inner / "secret.py").write_text("secret = 1\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("mine = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("index").code == exits.OK
    (inner / "secret.py").write_text("secret = 2\n", encoding="utf-8")
    done = run("rank", "secret mine", "--json").json()
    assert [file["path"] for file in done["files"]] == ["mine.py"]
    assert find_project(start=inner) == tmp_path / "inner"
