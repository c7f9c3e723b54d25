"""Plays the written sessions against the sample project's history: who asked, read, edited and ran what.

`roastery/sessions/*.txt` says what a person asked and which files the agent chose (`roastery/README.md`
describes the notation); contents, results and edits follow from the history and cannot contradict it.
`transcripts` writes the steps in the formats of the agents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatch
from pathlib import Path

from sample_data.history import WRITTEN, Change, Commit, WrongHistory

FORMATS = ("claude_code", "codex", "stream_json")
_BEFORE_COMMIT = 15  # minutes from a task's prompt to its commit
_SHOWN = 40  # lines of a file that is read


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened.

    `kind` is prompt, say, read, grep, list, edit, write, run, agent, compact, interrupt or resume; `path` and
    `text` are what it was about, `result` what came back, `old` the passage that an edit replaces, `inner`
    what a sub-agent did, `ok` whether a command succeeded.
    """

    kind: str
    at: datetime
    text: str = ""
    path: str = ""
    old: str = ""
    result: str = ""
    ok: bool = True
    inner: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its format, a name that is unique in it, the commits it made, what happened in it.

    `silent` marks one whose prompts its format does not record; `head` is the id of the commit it began on.
    """

    format: str
    name: str
    commits: tuple[str, ...]
    silent: bool
    head: str
    steps: tuple[Step, ...]


@dataclass(slots=True)
class _Play:
    """The work tree and the clock while a session is played."""

    name: str
    commits: list[Commit]
    ids: Mapping[str, str]
    tree: dict[str, str] = field(default_factory=dict)
    left: dict[str, Change] = field(default_factory=dict)
    clock: datetime = datetime.min
    steps: list[Step] = field(default_factory=list)
    outer: list[tuple[Step, list[Step]]] = field(default_factory=list)
    undone: tuple[str, str, str] = ("", "", "")
    made: list[str] = field(default_factory=list)

    def begin(self, minutes: int) -> None:
        commit = self.commits[0]
        self.tree = dict(commit.tree)
        self.left = {change.path: change for change in commit.changes}
        self.clock = commit.at - timedelta(minutes=minutes)

    def tick(self, seconds: int = 9) -> datetime:
        self.clock += timedelta(seconds=seconds)
        return self.clock

    def add(self, kind: str, seconds: int = 9, **more: object) -> None:
        self.steps.append(Step(kind, self.tick(seconds), **more))  # type: ignore[arg-type]


def read_sessions(
    commits: tuple[Commit, ...], ids: Mapping[str, str], folder: Path = WRITTEN / "sessions"
) -> tuple[Session, ...]:
    """Return the written sessions, played. Raises: WrongHistory, OSError."""
    sessions = []
    by_label = {commit.label: commit for commit in commits}
    for format_ in FORMATS:
        text = (folder / f"{format_}.txt").read_text(encoding="utf-8")
        for block in re.split(r"^%% session ", text, flags=re.MULTILINE)[1:]:
            header, *lines = block.splitlines()
            words = header.split()
            labels = [word for word in words if word in by_label]
            minutes = next((int(word[8:]) for word in words if word.startswith("minutes=")), _BEFORE_COMMIT)
            if len(labels) + ("silent" in words) + (minutes != _BEFORE_COMMIT) != len(words):
                raise WrongHistory(f"{format_}: {header}: no such commit")
            play = _Play(f"{format_}: {header}", [by_label[label] for label in labels], ids)
            position = commits.index(play.commits[0])
            play.begin(minutes)
            if play.clock <= commits[position - 1].at:
                raise WrongHistory(f"{play.name} begins before the commit it builds on")
            for line in lines:
                _play(play, line)
            name = "+".join(labels) + ("" if minutes == _BEFORE_COMMIT else "-first-try")
            head = ids[commits[position - 1].label]
            sessions.append(
                Session(format_, name, tuple(play.made), "silent" in words, head, tuple(play.steps))
            )
    return tuple(sessions)


def _play(play: _Play, line: str) -> None:
    verb, _, rest = line.partition(" ")
    match verb:
        case ">":
            play.add("prompt", 20, text=rest)
        case ".":
            play.add("say", 6, text=rest)
        case "read":
            play.add("read", path=rest, result=_numbered(_file(play, rest)))
        case "grep":
            pattern, *places = re.split(r"(?<!\\) ", rest)
            pattern = pattern.replace("\\ ", " ").replace("\\[", "[")
            play.add("grep", text=pattern, path=" ".join(places), result=_grep(play.tree, pattern, places))
        case "ls":
            found = sorted(path for path in play.tree if fnmatch(path, rest + "/*"))
            play.add("list", path=rest, result="\n".join(found))
        case "edit":
            _edit_files(play, rest.split())
        case "wrong":
            path, _, change = rest.partition(" | ")
            old, new = change.split(" => ")
            play.undone = (path, new + "\n", old + "\n")
            _passage(play, path, old + "\n", new + "\n")
        case "undo":
            _passage(play, *play.undone)
        case "pass" | "fail":
            command, _, output = rest.partition(" | ")
            play.add("run", 15, text=command, result=output, ok=verb == "pass")
        case "commit":
            _commit(play)
        case "agent":
            about, _, prompt = rest.partition(" | ")
            play.outer.append((Step("agent", play.tick(), text=prompt, path=about), play.steps))
            play.steps = []
        case "end":
            begun, outer = play.outer.pop()
            inner = tuple(play.steps)
            outer.append(
                Step("agent", begun.at, begun.text, begun.path, result=rest.removeprefix("| "), inner=inner)
            )
            play.steps = outer
        case "compact":
            play.add("compact", 30, text=rest)
        case "interrupt" | "resume":
            play.add(verb)
        case _:
            raise WrongHistory(f"{play.name}: {line}")


def _file(play: _Play, path: str) -> str:
    if path not in play.tree:
        raise WrongHistory(f"{play.name}: there is no {path} at this time")
    return play.tree[path]


def _numbered(text: str) -> str:
    lines = text.splitlines()[:_SHOWN]
    return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, 1))


def _grep(tree: Mapping[str, str], pattern: str, places: list[str]) -> str:
    return "\n".join(
        f"{path}:{number}:{line}"
        for path in sorted(tree)
        if any(path.startswith(place + "/") for place in places)
        for number, line in enumerate(tree[path].splitlines(), 1)
        if pattern in line
    )


def _edit_files(play: _Play, paths: list[str]) -> None:
    """Do to some files, or to all that are left, what the coming commit does to them."""
    for path in paths:
        if path not in play.left:
            raise WrongHistory(f"{play.name}: {path} is not changed by the commit")
    for path in paths or list(play.left):
        if path in play.left:  # else it was moved
            _edit(play, play.left.pop(path))


def _edit(play: _Play, change: Change) -> None:
    """Do to a file what the coming commit does to it."""
    if change.source:
        play.tree[change.path] = play.tree.pop(change.source)
        play.left.pop(change.source, None)
        play.add("run", text=f"git mv {change.source} {change.path}")
    if change.after is None:
        del play.tree[change.path]
        play.add("run", text=f"git rm -q {change.path}")
    elif change.before is None and not change.source:
        play.tree[change.path] = change.after
        play.add("write", 20, path=change.path, text=change.after)
    else:
        for old, new in change.passages:
            if old in play.tree[change.path]:
                _passage(play, change.path, old, new)
        play.tree[change.path] = change.after


def _passage(play: _Play, path: str, old: str, new: str) -> None:
    if old not in _file(play, path):
        raise WrongHistory(f"{play.name}: {path} does not contain\n{old}")
    play.tree[path] = play.tree[path].replace(old, new)
    play.add("edit", 12, path=path, old=old, text=new)


def _commit(play: _Play) -> None:
    commit = play.commits.pop(0)
    if play.left or play.tick() >= commit.at:
        raise WrongHistory(f"{play.name}: {commit.label} comes too early or without {list(play.left)}")
    play.clock = commit.at
    subject = commit.message.splitlines()[0]
    files = f"{len(commit.changes)} file{'s' * (len(commit.changes) > 1)} changed"
    result = f"[main {play.ids[commit.label][:7]}] {subject}\n {files}"
    quoted = subject.replace('"', '\\"')
    play.steps.append(Step("run", commit.at, text=f'git add -A && git commit -m "{quoted}"', result=result))
    play.made.append(commit.label)
    play.add("say", 4, text="Done and committed.")
    if play.commits:
        left = play.commits[0]
        play.clock = max(play.clock, left.at - timedelta(minutes=_BEFORE_COMMIT))
        play.tree = dict(left.tree)
        play.left = {change.path: change for change in left.changes}
