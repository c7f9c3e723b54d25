"""Fixtures of the project tests: real git repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


class Work:
    """A repository in a directory, driven by the real git program."""

    def __init__(self, root: Path) -> None:
        """Start the clock of commits at a fixed time."""
        self.root = root
        self.time = 1_700_000_000

    def git(self, *arguments: str | bytes, given: bytes = b"") -> bytes:
        """Run git here and return what it printed."""
        when = f"@{self.time} +0000"
        environment = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        command = ["git", "-C", os.fspath(self.root), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True, env=environment).stdout

    def write(self, path: str, content: str | bytes = "x\n") -> None:
        """Write a file, making its directories."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str | bytes = "change", *options: str) -> str:
        """Commit everything, one second after the last commit, and return the commit's id."""
        self.time += 1
        self.git("add", "-A")
        raw = message.encode() if isinstance(message, str) else message
        self.git(
            "commit",
            "-q",
            "--allow-empty",
            "--allow-empty-message",
            "-F",
            "-",
            "--cleanup=verbatim",
            *options,
            given=raw,
        )
        return self.git("rev-parse", "HEAD").decode().strip()


@pytest.fixture
def make_work(tmp_path: Path) -> Callable[[str], Work]:
    """Make repositories without commits below `tmp_path`."""

    def make(name: str, *options: str) -> Work:
        root = tmp_path / name
        root.mkdir()
        work = Work(root)
        work.git("init", "-q", "-b", "main", *options)
        return work

    return make


@pytest.fixture
def work(make_work: Callable[[str], Work]) -> Work:
    """A repository without commits."""
    return make_work("work")
