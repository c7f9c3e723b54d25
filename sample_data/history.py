"""Reads the written history of the sample project and makes a git repository of it.

A history is text: each commit with its author, time, message and what it changes, as whole files or as a
passage and what replaces it (`roastery/README.md` describes the notation). The commits become one stream for
`git fast-import`, so the same text gives the same commit ids on every machine.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

WRITTEN = Path(__file__).parent / "roastery"
AUTHORS = {
    "mara": "Mara Lindqvist <mara@roastery.example>",
    "tomasz": "Tomasz Wieczorek <tomasz@roastery.example>",
    "priya": "Priya Raman <priya@roastery.example>",
    "jonas": "Jonas Abt <jonas@roastery.example>",
    "bot": "dependency-bot <bot@roastery.example>",
}
_DIRECTIVE = re.compile(r"^%% (\w+)(?: (.*))?$")
_VERBS = frozenset(("new", "edit", "append", "sub", "move", "delete"))


class WrongHistory(Exception):
    """The written history contradicts itself; the message names the commit and the file."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does to one file: `before` and `after` are its whole text, None where there is none.

    `passages` holds what was replaced by what, empty if the file is written as a whole; `source` is the name
    the file had before.
    """

    path: str
    before: str | None
    after: str | None
    passages: tuple[tuple[str, str], ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its label, who, when, the message, what it changes, the files before it."""

    label: str
    author: str
    at: datetime
    message: str
    changes: tuple[Change, ...]
    tree: Mapping[str, str] = field(repr=False)


@dataclass(slots=True)
class _Step:
    verb: str
    argument: str
    lines: list[str] = field(default_factory=list)


def read_history(folder: Path = WRITTEN / "history") -> tuple[Commit, ...]:
    """Return the commits of the written history, oldest first. Raises: WrongHistory, OSError."""
    tree: dict[str, str] = {}
    commits: list[Commit] = []
    for path in sorted(folder.glob("*.txt")):
        for header, steps in _blocks(path.read_text(encoding="utf-8")):
            label, day, time, author = header.argument.split()
            before = dict(tree)
            changes = _apply(label, steps, tree)
            commits.append(
                Commit(
                    label,
                    AUTHORS[author],
                    datetime.fromisoformat(f"{day}T{time}:00+00:00"),
                    "\n".join(header.lines).strip() + "\n",
                    changes,
                    before,
                )
            )
    for one, other in pairwise(commits):
        if other.at <= one.at:
            raise WrongHistory(f"{other.label} is not after {one.label}")
    if len({commit.label for commit in commits}) != len(commits):
        raise WrongHistory("two commits have the same label")
    return tuple(commits)


def _blocks(text: str) -> Iterator[tuple[_Step, list[_Step]]]:
    """Yield each commit's header and its steps."""
    header: _Step | None = None
    steps: list[_Step] = []
    for line in text.splitlines():
        found = _DIRECTIVE.match(line)
        if found is None:
            if header is not None:
                (steps[-1] if steps else header).lines.append(line)
            continue
        step = _Step(found[1], found[2] or "")
        if step.verb == "commit":
            if header is not None:
                yield header, steps
            header, steps = step, []
        else:
            steps.append(step)
    if header is not None:
        yield header, steps


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _apply(label: str, steps: list[_Step], tree: dict[str, str]) -> tuple[Change, ...]:
    """Change the tree as the steps say and return what became of each file."""
    before = dict(tree)
    sources: dict[str, str] = {}
    passages: dict[str, list[tuple[str, str]]] = {}
    touched: dict[str, None] = {}
    waiting = iter(steps)
    for step in waiting:
        where = f"{label}: {step.argument}"
        if step.verb not in _VERBS:
            raise WrongHistory(f"{where}: unknown step {step.verb}")
        if step.verb == "move":
            old, new = step.argument.split()
            if old not in tree or new in tree:
                raise WrongHistory(f"{where}: cannot be moved")
            tree[new] = tree.pop(old)
            sources[new] = old
            touched[new] = touched[old] = None
            continue
        if step.verb == "sub":
            change, _, paths = step.argument.partition(" : ")
            old, new = change.split(" => ")
            for path in paths.split():
                if old not in tree.get(path, ""):
                    raise WrongHistory(f"{where}: {path} does not contain {old!r}")
                lines = [line for line in tree[path].splitlines(keepends=True) if old in line]
                passages.setdefault(path, []).extend((line, line.replace(old, new)) for line in lines)
                tree[path] = tree[path].replace(old, new)
                touched[path] = None
            continue
        path = step.argument
        touched[path] = None
        if (step.verb == "new") == (path in tree):
            raise WrongHistory(f"{where}: the file is there already, or is not there")
        if step.verb == "new":
            tree[path] = _text(step.lines)
        elif step.verb == "delete":
            del tree[path]
        elif step.verb == "append":
            last = tree[path].splitlines(keepends=True)[-1]
            passages.setdefault(path, []).append((last, last + _text(step.lines)))
            tree[path] += _text(step.lines)
        else:
            to = next(waiting, None)
            if to is None or to.verb != "to":
                raise WrongHistory(f"{where}: an edit without what replaces the passage")
            old, new = _text(step.lines), _text(to.lines) if to.lines else ""
            if tree[path].count(old) != 1:
                raise WrongHistory(f"{where}: occurs {tree[path].count(old)} times:\n{old}")
            tree[path] = tree[path].replace(old, new)
            passages.setdefault(path, []).append((old, new))
    return tuple(
        Change(
            path,
            before.get(path),
            tree.get(path),
            tuple(passages.get(path, ())),
            sources.get(path, ""),
        )
        for path in touched
    )


def write_repository(commits: tuple[Commit, ...], place: Path) -> dict[str, str]:
    """Make a git repository with these commits at an empty or missing place; return {label: commit id}.

    Raises: OSError, subprocess.CalledProcessError.
    """
    place.mkdir(parents=True, exist_ok=True)
    _git(place, "init", "--quiet", "--template=", ".")
    _git(place, "symbolic-ref", "HEAD", "refs/heads/main")
    _git(place, "config", "core.autocrlf", "false")
    marks = place.resolve() / ".git" / "marks"
    _git(place, "fast-import", "--quiet", f"--export-marks={marks}", given=_stream(commits))
    _git(place, "reset", "--quiet", "--hard", "main")
    numbers = dict(line.split() for line in marks.read_text(encoding="ascii").splitlines())
    marks.unlink()
    return {commit.label: numbers[f":{number}"] for number, commit in enumerate(commits, 1)}


def _git(place: Path, *arguments: str, given: bytes = b"") -> None:
    """Run git without anybody's settings."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=place, input=given, env=mine | alone, check=True)


def _stream(commits: tuple[Commit, ...]) -> bytes:
    """Return the commits as `git fast-import` reads them."""
    out: list[bytes] = []
    for number, commit in enumerate(commits, 1):
        who = f"{commit.author} {int(commit.at.timestamp())} +0000"
        out.append(f"commit refs/heads/main\nmark :{number}\nauthor {who}\ncommitter {who}\n".encode())
        out.append(_data(commit.message))
        for change in commit.changes:
            if change.after is None:
                out.append(f"D {change.path}\n".encode())
            else:
                out.append(f"M 100644 inline {change.path}\n".encode() + _data(change.after))
    return b"".join(out)


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%s\n" % (len(raw), raw)
