"""A small project with a past and rules, and the program run in it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Work, make_repository
from workbench.entry.cli import main

AUTH = '''"""Tokens."""

from pkg import store


def refresh_token(token):
    """Refresh the jwt token after a 401."""
    return store.read(token)
'''

RULES = """# Rules

- Never log the jwt token of a user.
- Always run the tests of pkg/auth.py after changing how tokens are refreshed.
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of the program gave."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_MODELS_BACKGROUND", "false")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program with arguments and, optionally, bytes on stdin."""

    def run(*arguments: str, given: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        code = main.run(list(arguments))
        streams = capsys.readouterr()
        return Ran(code, streams.out, streams.err)

    return run


@pytest.fixture(scope="session")
def _package(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Make a repository with four files and three commits."""
    work = make_repository(tmp_path_factory.mktemp("package") / "work")
    work.write("pkg/__init__.py", "")
    work.write("pkg/auth.py", AUTH)
    work.write("pkg/store.py", "def read(token):\n    return token\n")
    work.write("pyproject.toml", '[project]\nname = "pkg"\ndependencies = ["httpx>=0.2"]\n')
    work.write("CLAUDE.md", RULES)
    work.commit("Add the package")
    work.write("tests/test_auth.py", "from pkg import auth\n\n\ndef test_refresh():\n    assert auth\n")
    work.commit("Test the refresh of tokens")
    work.write("pkg/auth.py", AUTH + "\n\ndef login(user):\n    return user\n")
    work.commit("fix: login keeps the jwt token (#7)")
    return work


@pytest.fixture
def project(_package: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy of that repository, and the current directory in it."""
    return enter_copy(_package, tmp_path, monkeypatch)


def enter_copy(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    copied = work.copy(tmp_path / "work")
    monkeypatch.chdir(copied.root)
    return copied


@pytest.fixture(scope="session")
def _indexed_package(_package: Work, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Make a copy of that repository with its index and tables."""
    work = _package.copy(tmp_path_factory.mktemp("indexed") / "work")
    assert main.run(["--project", str(work.root), "index"]) == 0
    return work


@pytest.fixture
def indexed(_indexed_package: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy of the indexed repository, and the current directory in it."""
    return enter_copy(_indexed_package, tmp_path, monkeypatch)


@pytest.fixture
def entries(project: Any) -> Callable[[str], list[dict[str, Any]]]:
    """Read the bodies of a stream of the project's journal."""

    def read(stream: str) -> list[dict[str, Any]]:
        path: Path = project.root / ".workbench" / "journal" / f"{stream}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line)["body"] for line in lines]

    return read


@pytest.fixture
def empty(work: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A repository without rules, and the current directory in it."""
    work.write("a.txt", "x\n")
    work.commit()
    monkeypatch.chdir(work.root)
    return work
