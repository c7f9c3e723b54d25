"""The code blocks of README and docs/*.md, and what a page says about how each is checked.

A block is what its fence calls it. A bare one with `$ ` is a session, commands with what they print; one of
commands alone is a script; anything else is text. Comments right above the fence say the rest:

    <!-- in PLACE -->          this block and those below run there (`running.make_place`); first `roastery`
    <!-- before COMMAND -->    runs before the block, unseen by readers
    <!-- file NAME -->         is a file of that name from then on
    <!-- exits N … -->         what each command of a script exits with, where one does not with 0; `*` is any
    <!-- deep -->              runs in `make deep` alone, and then all of the page
    <!-- needs REASON -->      does not run in a test, which lacks one of `NEEDS`
    <!-- form -->              no output of a command: the form of a file or a request, a diagram
    <!-- tested by FILE -->    another test compares it

Scripts of measurements alone (`make`, `python -m bench…`) need no comment: their modules and targets have to
exist. Left out are `docs/commands.md`, all help, which `tests/entry/cli/test_main.py` compares, and
`docs/tour.md`, in clones of five public repositories, which `python -m bench.tour` compares.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMPARED_ELSEWHERE: Final = frozenset({"commands.md", "tour.md"})
NEEDS: Final = frozenset(
    {
        "another program",
        "another repository",
        "a browser",
        "Docker",
        "a language model",
        "another embedding model",
        "a network",
        "a server",
        "a terminal",
        "minutes",
        "transcripts",
    }
)
_FENCE: Final = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"<!-- (in|before|file|exits|deep|needs|form|tested by)(?: (.*))? -->")
_MEASURE: Final = re.compile(r"(make|python -m bench)\b")
_PROGRAM: Final = re.compile(
    r"(workbench|claude|make|python|pip|ollama|git|docker|mkdir|cd|export|unset|ssh|duckdb|[A-Z_]+=)(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command and the lines that the page shows of what it prints."""

    line: str
    printed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comments:
    """What the comments above a block say of it."""

    place: str
    before: tuple[str, ...] = ()
    file: str = ""
    exits: tuple[int | None, ...] = ()
    is_deep: bool = False
    exempt: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: the line of its fence, what it is, its text, and what its comments say."""

    page: Path
    line: int
    kind: str
    text: str
    start: int
    comments: Comments

    def __str__(self) -> str:
        """Return where it is, as editors open it."""
        return f"{self.page.name}:{self.line}"


def all_pages() -> list[Path]:
    """Return the README and the pages of docs/ that have blocks."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        page
        for page in pages
        if page.name not in COMPARED_ELSEWHERE and "\n```" in page.read_text(encoding="utf-8")
    ]


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order. Raises: AssertionError for a need that is not in `NEEDS`."""
    text = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    place = "roastery"
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        comments = _read_comments(text[: found.start()], place, f"{page.name}:{line}")
        place = comments.place
        blocks.append(Block(page, line, found[1] or _kind(found[2]), found[2], found.start(2), comments))
    return blocks


def _read_comments(above: str, place: str, where: str) -> Comments:
    said: dict[str, list[str]] = {}
    for line in reversed(above.splitlines()):
        match = _COMMENT.fullmatch(line)
        if match is not None:
            said.setdefault(match[1], []).insert(0, match[2] or "")
        else:
            break
    needs = said.get("needs", [""])[0]
    assert needs in NEEDS | {""}, f"{where}: no page says what {needs!r} is"
    return Comments(
        place=said.get("in", [place])[0],
        before=tuple(said.get("before", ())),
        file=said.get("file", [""])[0],
        exits=tuple(None if code == "*" else int(code) for code in " ".join(said.get("exits", ())).split()),
        is_deep="deep" in said,
        exempt=needs or said.get("tested by", [""])[0] or ("a form" if "form" in said else ""),
    )


def _kind(text: str) -> str:
    lines = text.splitlines()
    if text.startswith("$ "):
        return "console"
    if all(_MEASURE.match(line) for line in lines):
        return "measurement"
    return "sh" if lines and _PROGRAM.match(lines[0]) else "text"


def read_commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a script or a session, lines that go on joined."""
    lines = iter(block.text.splitlines())
    command, printed = "", list[str]()
    session = block.kind == "console"
    for line in lines:
        if session and not line.startswith("$ "):
            printed.append(line)
            continue
        if command:
            yield Command(command, tuple(printed))
        command, printed = line.removeprefix("$ ") if session else line, []
        while command.endswith(("\\", "|")):
            command += "\n" + next(lines)
    if command:
        yield Command(command, tuple(printed))


def words(line: str) -> list[str] | None:
    """Return the words of a command that needs no shell, else None."""
    if re.search(r"[$`~\n]", line):
        return None
    tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    read = list(tokens)
    return None if any(set(token) <= set("();<>|&") for token in read if token) else read
