"""Fixtures of the store's tests, among them real processes for locks, crashes and limits."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import store
from store.journal import FileJournal
from store.memory import ManualClock

Process = subprocess.Popen[str]

_ROOT = Path(store.__file__).resolve().parents[1]


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def journal(tmp_path: Path, clock: ManualClock) -> FileJournal:
    """A journal in an empty state directory, `tmp_path`."""
    return FileJournal(tmp_path, clock)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Start processes that run Python code, the arguments in `sys.argv[1:]`, all three streams piped."""
    started: list[Process] = []

    def run(code: str, *arguments: object) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def outputs() -> Callable[[list[Process]], list[str]]:
    """Wait for processes and return what each printed; fails with the first error output."""

    def wait(processes: list[Process]) -> list[str]:
        results = [process.communicate() for process in processes]
        for process, (_, errors) in zip(processes, results, strict=True):
            assert process.returncode == 0, errors
        return [printed for printed, _ in results]

    return wait


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """A cache in which MiniLM is built: once per machine and user, for all sessions and workers."""
    from store import minilm

    user = os.getuid() if hasattr(os, "getuid") else 0
    cache = Path(tempfile.gettempdir()) / f"workbench-test-models-{user}"
    if not minilm.is_built(minilm.model_directory(cache)) and minilm.packaged_weights() is None:
        pytest.skip(f"the package {minilm.PACKAGE} with the weights is not installed")
    minilm.ensure_built(cache)
    return cache


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
