"""What a reader asks of a checkout: one command at a time, logged with the characters it gave.

The commands are those that agents locate code with. They read the checkout alone: options are the listed
ones, paths lead nowhere else, and history ends where the task begins.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bench.agents.tasks import ARMS, NONE, ReadingTask, run_workbench, task_in
from store import git_process
from workbench.errors import UsageError
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass

MOST: Final = 30_000  # characters of an answer, as agents' own tools cut it
COLUMNS: Final = 500
FREE: Final = frozenset({"task", "brief"})  # given to the reader, not asked for
_GREP: Final = {"-i": 0, "-l": 0, "-c": 0, "-w": 0, "-F": 0, "-E": 0, "-A": 1, "-B": 1, "-C": 1, "-m": 1}
_LOG: Final = {"-i": 0, "-p": 0, "--stat": 0, "--name-only": 0, "-n": 1, "-S": 1, "--grep": 1}
_REVISION: Final = re.compile(r"[0-9a-f]{7,40}\Z")
_PLACE: Final = re.compile(r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?\Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """One command of a reader and how many characters it was answered with."""

    command: tuple[str, ...]
    characters: int


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file that a reader would change; without any the whole file."""

    path: str
    first: int = 1
    last: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one reader did with a task. `answer`: the likeliest place first; None: not yet given."""

    reader: str
    arm: str
    asked: tuple[Asked, ...] = ()
    answer: tuple[Place, ...] | None = None

    @property
    def commands(self) -> int:
        """How often it asked."""
        return sum(one.command[0] not in FREE for one in self.asked)

    @property
    def characters(self) -> int:
        """How much it read, a brief included, the task not."""
        return sum(one.characters for one in self.asked if one.command[0] != "task")


def reading_of(place: Path, reader: str) -> Reading | None:
    """Return what a reader did with a task so far, None before it began."""
    kept = _file(place, reader)
    return decode_json(kept.read_bytes(), Reading) if kept.exists() else None


def reader_of(text: str) -> tuple[Path, str, str]:
    """Return the place, name and arm of `OUT/TASK@2`, reader 2 of a task; 0 where none is named."""
    name, _, number = text.rpartition("@") if re.search(r"@\d+\Z", text) else (text, "", "0")
    place = Path(name)
    return place, f"reader-{int(number)}", task_in(place).arm_of(int(number))


def ask(place: Path, words: Sequence[str], *, reader: str, arm: str) -> str:
    """Answer a command of a reader and log it. Raises UsageError."""
    task = task_in(place)
    reading = _open_reading(place, reader, arm)
    if not words or words[0] not in _COMMANDS:
        raise UsageError(
            f"unknown command {' '.join(words[:1])!r}", hint=f"There are: {', '.join(sorted(_COMMANDS))}."
        )
    words, lines = _head(words)
    text = _COMMANDS[words[0]](place, task, reading, words[1:])
    if words[0] not in FREE:
        text = _cut(text, lines)
    _write(place, reading, asked=(*reading.asked, Asked(tuple(words), len(text))))
    return text


def answer(place: Path, places: Sequence[str], *, reader: str, arm: str) -> Reading:
    """Record where a reader would change something, the likeliest first: `path:first-last` or `path`."""
    reading = _open_reading(place, reader, arm)
    if not places:
        raise UsageError("an answer names places", hint="Give them as PATH:FIRST-LAST, the likeliest first.")
    found = []
    for text in places:
        match = _PLACE.match(text)
        assert match is not None
        path = _inside(place, match["path"])
        if not path.is_file():
            raise UsageError(
                f"{match['path']} is not a file of the checkout", hint="New files are not scored."
            )
        name = path.relative_to((place / "checkout").resolve()).as_posix()
        if match["first"] is None:
            found.append(Place(name))
        else:
            found.append(Place(name, int(match["first"]), int(match["last"] or match["first"])))
    return _write(place, reading, answer=tuple(found))


def _open_reading(place: Path, reader: str, arm: str) -> Reading:
    reading = reading_of(place, reader) or Reading(reader, arm)
    if reading.answer is not None:
        raise UsageError(
            f"{reader} has answered {place.name} already",
            hint="Each reader has each task once; take the next.",
        )
    return reading


def _file(place: Path, reader: str) -> Path:
    if not re.fullmatch(r"[\w.-]+", reader):
        raise UsageError(f"{reader!r} is no name of a reader", hint="Use letters, digits, dots and dashes.")
    return place / f"{reader}.reading.json"


def _write(
    place: Path,
    reading: Reading,
    *,
    asked: tuple[Asked, ...] | None = None,
    answer: tuple[Place, ...] | None = None,
) -> Reading:
    changed = Reading(reading.reader, reading.arm, reading.asked if asked is None else asked, answer)
    _file(place, reading.reader).write_text(json.dumps(asdict(changed)) + "\n", encoding="utf-8")
    return changed


def _head(words: Sequence[str]) -> tuple[Sequence[str], int | None]:
    if "--head" not in words:
        return words, None
    at = list(words).index("--head")
    if at + 1 >= len(words) or not words[at + 1].isdigit():
        raise UsageError("--head takes a number of lines", hint="For example: grep -l parse --head 20.")
    return [*words[:at], *words[at + 2 :]], int(words[at + 1])


def _cut(text: str, lines: int | None) -> str:
    kept = [line if len(line) <= COLUMNS else line[:COLUMNS] + "…" for line in text.splitlines()[:lines]]
    text = "\n".join(kept)
    return text if len(text) <= MOST else text[:MOST] + "\n(cut)"


def _inside(place: Path, name: str) -> Path:
    root = (place / "checkout").resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or path.is_relative_to(root / ".git"):
        raise UsageError(f"{name} is not in the checkout", hint="Name paths below its root.")
    return path


def _options(words: Sequence[str], known: dict[str, int]) -> tuple[list[str], list[str]]:
    options, others, rest = [], [], list(words)
    while rest:
        word = rest.pop(0)
        if word[:2] in known and known[word[:2]] and word[2:].isdigit():
            word, rest = word[:2], [word[2:], *rest]
        if not word.startswith("-"):
            others.append(word)
        elif word == "--":
            others += rest
            break
        elif word in known:
            values, rest = rest[: known[word]], rest[known[word] :]
            if len(values) < known[word]:
                raise UsageError(f"{word} takes a value", hint="Give it as a word of its own.")
            options += [f"{word}={values[0]}"] if values and word.startswith("--") else [word, *values]
        else:
            raise UsageError(f"unknown option {word}", hint=f"There are: {', '.join(known)}, --head N.")
    return options, others


def _git(place: Path, arguments: Sequence[str]) -> str:
    checkout = (place / "checkout").resolve()
    child = subprocess.run(
        git_process.command(checkout, arguments),
        capture_output=True,
        env=git_process.environment() | {"GIT_LITERAL_PATHSPECS": "0"},
        check=False,
    )
    if child.returncode > 1:
        raise UsageError(
            f"git {arguments[0]}: {child.stderr.decode('utf-8', 'replace').strip()}",
            hint="See the words of the command.",
        )
    return child.stdout.decode("utf-8", "replace")


def _task(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del place, reading, words
    return task.text


def _brief(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del words
    _needs_brief(task, reading)
    options = ["--budget", str(task.budget), "--session", reading.reader, *ARMS[reading.arm]]
    return run_workbench(place, "plan", *options, "--", task.text)


def _needs_brief(task: ReadingTask, reading: Reading) -> None:
    if reading.arm == NONE:
        raise UsageError(
            f"{reading.reader} reads {task.id} without a brief", hint="Use grep, read, ls and log."
        )


def _show(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    _needs_brief(task, reading)
    return run_workbench(place, "show", "--session", reading.reader, *words)


def _grep(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del task, reading
    options, others = _options(words, _GREP)
    if not others:
        raise UsageError("grep takes a pattern", hint="grep [-i -l -w -F -C N] PATTERN [PATH…]")
    syntax = [] if "-F" in options else ["-E"]
    return _git(place, ["grep", "-n", "-I", *syntax, *options, "-e", others[0], "--", *others[1:]])


def _read(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del task, reading
    if not words or not _inside(place, words[0]).is_file():
        raise UsageError(f"no file {' '.join(words[:1])!r}", hint="read FILE [FIRST-LAST…]")
    lines = _inside(place, words[0]).read_text(encoding="utf-8", errors="replace").split("\n")
    found = []
    for text in words[1:] or [f"1-{len(lines)}"]:
        match = re.fullmatch(r"(\d+)-(\d+)", text)
        if match is None:
            raise UsageError(f"{text!r} is no range of lines", hint="read FILE FIRST-LAST…")
        first, last = max(1, int(match[1])), int(match[2])
        found += [f"{first + number}\t{line}" for number, line in enumerate(lines[first - 1 : last])]
    return "\n".join(found)


def _ls(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del task, reading
    return _git(place, ["ls-files", "--", *words])


def _log(place: Path, task: ReadingTask, reading: Reading, words: Sequence[str]) -> str:
    del task, reading
    options, others = _options(words, _LOG)
    revisions = [word for word in others if _REVISION.match(word)]
    paths = [word for word in others if word not in revisions]
    limit = [] if "-n" in options else ["-n", "10"]
    return _git(place, ["log", "--oneline", "--no-decorate", *limit, *options, *revisions, "--", *paths])


_COMMANDS: Final[dict[str, Callable[[Path, ReadingTask, Reading, Sequence[str]], str]]] = {
    "brief": _brief,
    "grep": _grep,
    "log": _log,
    "ls": _ls,
    "read": _read,
    "show": _show,
    "task": _task,
}
