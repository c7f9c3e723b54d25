"""Run the blocks of a page in clean projects, and say what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sample_data.build import build
from tests.docs.pages import ROOT, Block, Command, read_commands, words

SETTINGS: Final = {
    "WORKBENCH_INDEX_EMBED": "false",
    "WORKBENCH_MODELS_BACKGROUND": "false",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_NAME": "A Reader" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "reader@example.org" for role in ("AUTHOR", "COMMITTER")},
    "NO_COLOR": "1",
    "COLUMNS": "120",
    "EDITOR": f"{shlex.quote(sys.executable)} {ROOT / 'tests' / 'docs' / 'editor.py'}",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}
_ID: Final = re.compile(r"\b(rule|learning|conflict|seg)-[0-9a-f]{4,8}\b")
_LISTS: Final = {
    "rule": ("rules", "list", "--limit", "1"),
    "learning": ("memory", "list"),
    "conflict": ("rules", "conflicts", "list", "--limit", "1"),
    "contradiction": ("memory", "conflicts"),
    "seg": ("stash", "list", "--limit", "1"),
}
# What differs from day to day and from machine to machine: seconds, ages, process ids, ports, a user's home.
_PASSING: Final = (
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms)\b"), "N s"),
    (re.compile(r"\b\d+\.\d MB\b"), "N MB"),  # the paths in transcripts are as long as a test's
    (re.compile(r" +\d+ (d|h|min)\b"), " N d"),
    (re.compile(r"\b\d+ (days?|hours?|minutes?|seconds?) ago"), "N days ago"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?"), "TIME"),
    (_ID, r"\1-ID"),
)


@contextlib.contextmanager
def clean_state(scratch: Path, more: Mapping[str, str]) -> Iterator[None]:
    """Let a user who has nothing yet run commands: a home, a cache and settings below a directory."""
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(("WORKBENCH_", "XDG_", "CLAUDE", "CODEX"))]:
        del os.environ[name]
    (scratch / "home").mkdir(parents=True, exist_ok=True)
    places = {
        "HOME": scratch / "home",
        "WORKBENCH_HOME": scratch / "kept",
        "WORKBENCH_CACHE": scratch / "cache",
    }
    os.environ.update({**SETTINGS, **{name: str(place) for name, place in places.items()}, **more})
    os.environ["PATH"] = f"{scratch / 'home' / 'bin'}{os.pathsep}{SETTINGS['PATH']}"
    here = Path.cwd()
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(kept)


def make_place(name: str, scratch: Path) -> Path:
    """Make a project that somebody may have, below a directory of its own.

    `roastery…` is the sample, its agents' transcripts in the home of who works there; `above` the directory
    that it is in; `workbench` a repository with this one's sample data. Any other name is one with a page.
    """
    if name.startswith(("roastery", "above")):
        project, sessions = build(scratch / name)
        agents = scratch / "home" / ".claude" / "projects"
        agents.mkdir(parents=True, exist_ok=True)
        (own,) = (sessions / "claude_code").iterdir()
        (agents / own.name).symlink_to(own)
        if not (agents / "-home-me-shop").exists():
            (agents / "-home-me-shop").symlink_to(own)
        return project if name != "above" else project.parent
    place = scratch / name
    place.mkdir()
    git = ["git", "-C", str(place)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    (place / "README.md").write_text(f"# {name}\n", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    if name == "workbench":
        (place / "sample_data").symlink_to(ROOT / "sample_data")
    return place


class Reader:
    """Somebody who types what a page says, in one state from its first block to its last."""

    def __init__(self, scratch: Path) -> None:
        """Begin with nothing below `scratch` but a program that answers as an agent does."""
        self.scratch = scratch
        self.roots: dict[str, Path] = {}
        self.place = ""
        self.names: dict[str, object] = {}
        agent = scratch / "home" / "bin" / "claude"
        agent.parent.mkdir(exist_ok=True)
        (stream,) = sorted((ROOT / "sample_data" / "sessions" / "stream_json").rglob("*.jsonl"))[:1]
        agent.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(stream))}\n", encoding="utf-8")
        agent.chmod(0o755)

    def go(self, place: str) -> None:
        """Be in a project of that name, made where there is none yet."""
        if place not in self.roots:
            self.roots[place] = make_place(place, self.scratch)
        if place != self.place:
            self.place = place
            os.chdir(self.roots[place])

    def enter(self, block: Block) -> None:
        """Go where a block runs, and do what is to be done before it."""
        self.go(block.comments.place)
        if block.comments.file:
            Path(block.comments.file).write_text(block.text, encoding="utf-8")
        for line in block.comments.before:
            code, printed = self.run(line)
            assert code == 0, f"{block}: before it `{line}` ended with {code}:\n{printed}"

    def type(self, block: Block) -> list[tuple[Command, int, str]]:
        """Run the commands of a block; return each with its exit code and what it printed."""
        self.enter(block)
        ran = []
        for command in read_commands(block):
            line = command.line if block.kind == "console" else self.fill(command.line)
            ran.append((command, *self.run(line)))
        return ran

    def type_script(self, block: Block) -> list[tuple[tuple[Command, int, str], int | None]]:
        """Run the commands of a script; return each as `type` does, and what it is to exit with."""
        ran = self.type(block)
        expected: tuple[int | None, ...] = block.comments.exits or (0,) * len(ran)
        return list(zip(ran, expected, strict=True))

    def run(self, line: str) -> tuple[int, str]:
        """Run a command as a shell would; return its exit code, and what it printed on either stream."""
        read = words(line)
        if read and read[0] == "workbench":
            return run_workbench(read[1:])
        state = self.scratch / "environment"
        script = f"set -a\n{line}\ncode=$?\nenv -0 >{shlex.quote(str(state))}\nexit $code"
        done = subprocess.run(
            ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if state.exists():  # else the script is none
            after = dict(pair.partition("=")[::2] for pair in state.read_text().split("\0") if pair)
            os.environ.clear()
            os.environ.update(after)
            os.chdir(after["PWD"])
        return done.returncode, done.stdout

    def exec(self, block: Block) -> str:
        """Run a block of Python with the names of those before it; return what it printed."""
        self.enter(block)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, str(block), "exec"), self.names)
        return printed.getvalue()

    def fill(self, line: str) -> str:
        """Return a command of a script with ids that this project has in place of the page's."""

        def known(found: re.Match[str]) -> str:
            kind = "contradiction" if line.startswith("workbench memory resolve") else found[1]
            listed = _ID.search(run_workbench(_LISTS[kind])[1])
            return listed[0] if listed else found[0]

        return _ID.sub(known, line)


def run_workbench(arguments: list[str] | tuple[str, ...]) -> tuple[int, str]:
    """Run the program in this process with an empty stdin; return its exit code and what it printed."""
    from workbench.entry.cli import main

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main.run(list(arguments))
    finally:
        sys.stdin = stdin
    buffer = printed.buffer
    assert isinstance(buffer, io.BytesIO)
    return code, buffer.getvalue().decode()


def shape(line: str) -> str:
    """Return a line without what depends on the day and the machine."""
    for passing, instead in _PASSING:
        line = passing.sub(instead, line)
    return line.rstrip()


def lines_of(block: Block) -> list[str]:
    """Return the lines of a block of what Python prints; `...` in it is `…`."""
    return block.text.replace("...", "…").splitlines()


def as_shown(shown: tuple[str, ...] | list[str], printed: str) -> bool:
    """Say whether a page shows what was printed: `…` stands for any words of a line, alone for any lines."""
    parts = ["" if line.strip() == "…" else _line(line) for line in _trim(list(shown))]
    expression = "".join(part + r"\n" if part else r"(?:[^\n]*\n)*?" for part in parts)
    text = "".join(f"{shape(line)}\n" for line in _trim(printed.splitlines()))
    return re.fullmatch(expression, text) is not None


def _line(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in shape(line).split("…"))


def _trim(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines
