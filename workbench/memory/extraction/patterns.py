"""The forms of errors that one expression finds, tool by tool: a place and a message in one or two lines.

gcc, clang, javac, mypy, swift and many others print `path:line:column: error: message`; tsc and MSBuild print
`path(line,column): error CODE: message`; Go's compiler prints no word but a column.

All parsers, these and those of reports and stacks, take a text without escape sequences and give errors with
the places they name, the likeliest first. They ask for evidence of a format, not for words such as "error".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from workbench.records.iterations import ErrorType

MAX_MESSAGE = 1_000  # characters of a message before secrets are taken out and it is cut

ErrorPlace = tuple[str, int]
"""A path as it was printed, and a line, 1-based, 0 where none was."""


@dataclass(frozen=True, slots=True)
class FoundError:
    """An error. `start` and `end` are where it is in the text, so that it is reported once."""

    message: str
    type: ErrorType
    start: int
    end: int
    places: tuple[ErrorPlace, ...] = ()


Kind = ErrorType | Callable[[re.Match[str]], ErrorType | None]
"""The type of errors, or what says it of a match; what it says None of is passed over."""


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """A form of error that one expression finds. `place` and `parts` are templates of its groups (`\\1`).

    `place` is `path:line`, either of them empty where there is none; `parts` are joined to the message. Where
    only one of several groups can match, all are in the template.
    """

    kind: Kind
    expression: re.Pattern[str]
    place: str
    parts: tuple[str, ...]

    def find(self, text: str) -> Iterator[FoundError]:
        """Yield the errors of this form."""
        for match in self.expression.finditer(text):
            kind = self.kind if isinstance(self.kind, ErrorType) else self.kind(match)
            if kind is not None:
                message = message_of(*(match.expand(part) for part in self.parts))
                path, _, line = match.expand(self.place).rpartition(":")
                places = ((path.strip(), int(line or 0)),) if path.strip() else ()
                yield FoundError(message, kind, match.start(), match.end(), places)


@dataclass(frozen=True, slots=True)
class Parser:
    """A tool: words of which one must be in the text, the forms of its errors, what reads longer reports."""

    name: str
    triggers: tuple[str, ...]
    patterns: tuple[ErrorPattern, ...] = ()
    report: Callable[[str], Iterator[FoundError]] | None = None

    def find(self, text: str) -> Iterator[FoundError]:
        """Yield the errors of the tool."""
        for pattern in self.patterns:
            yield from pattern.find(text)
        if self.report is not None:
            yield from self.report(text)


_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>])")
_MAX_LINE = 1_500
_LONG = re.compile(rf"([^\n]{{{_MAX_LINE}}})[^\n]+")
_FOREIGN = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|node_modules|\.cargo|rustc|\.rustup|\.venv|venv|\.tox|"
    r"python\d[\d.]*|pkg[/\\]mod|go[/\\]src|\.gradle|\.m2)[/\\]|"
    r"^node:|^internal/|^<|^/usr/(?:lib|include|local)/|^webpack"
)


def strip_escapes(text: str) -> str:
    """Return a text without escape sequences, with line feeds for line ends of any kind, long lines cut.

    What a tool says of an error is short; a line of thousands of characters is data that came along.
    """
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _LONG.sub(r"\1", text) if _has_long_line(text) else text


def _has_long_line(text: str) -> bool:
    """Whether a line has more than `_MAX_LINE` characters, in steps of nearly that many."""
    at = 0
    while len(text) - at > _MAX_LINE:
        end = text.rfind("\n", at, at + _MAX_LINE + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def is_foreign(path: str) -> bool:
    """Whether a path is a library's or the language's own."""
    return _FOREIGN.search(path) is not None


def order_places(places: list[ErrorPlace]) -> tuple[ErrorPlace, ...]:
    """Return the places with those of libraries last, otherwise in their order, at most eight."""
    return tuple(sorted(dict.fromkeys(places), key=lambda place: is_foreign(place[0]))[:8])


def line_after(text: str, at: int) -> tuple[str, int]:
    """Return the line that begins at a place, and where the next one begins."""
    end = text.find("\n", at)
    return (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)


def lines_from(text: str, at: int, most: int) -> Iterator[tuple[str, int]]:
    """Yield at most `most` lines from a place, each with the place where the next one begins."""
    for _ in range(most):
        if at >= len(text):
            return
        line, at = line_after(text, at)
        yield line, at


def message_of(*parts: str) -> str:
    """Return the parts that are not empty, joined by colons, bounded."""
    return ": ".join(part.strip() for part in parts if part and part.strip())[:MAX_MESSAGE]


COMPILE, LINT, TEST, RUNTIME = ErrorType.COMPILE, ErrorType.LINT, ErrorType.TEST, ErrorType.RUNTIME

_FILE = r"(?:[A-Za-z]:[\\/])?[^\s:()\[\]<>\"'|][^:\n()\"'<>|]{0,300}?\.[A-Za-z]\w{0,9}"
_LINTER = re.compile(r" \([a-z]+\)$")
_CLIPPY_REST = 1_500  # characters in which the lint that an error is of is named


def _rust_type(match: re.Match[str]) -> ErrorType | None:
    """Ruff prints the same form for files of Python; clippy names its lint below the error."""
    if match[3].endswith((".py", ".pyi")):
        return None
    rest = match.string[match.end() : match.end() + _CLIPPY_REST].partition("\n\n")[0]
    return LINT if "clippy::" in rest else COMPILE


def _located_type(match: re.Match[str]) -> ErrorType:
    """Of Python, what has a place is a checker's."""
    return LINT if match[1].endswith((".py", ".pyi")) else COMPILE


def _go_type(match: re.Match[str]) -> ErrorType:
    """Golangci-lint names the linter last."""
    return LINT if _LINTER.search(match[4]) else COMPILE


def _form(kind: Kind, expression: str, place: str, *parts: str) -> ErrorPattern:
    return ErrorPattern(kind, re.compile(expression, re.MULTILINE), place, parts)


PYTHON_LINTERS: Final = (
    _form(
        LINT,
        r"^(\S[^:\n]*\.(?:py|pyi|ipynb)):(?:cell \d+:)?(\d+):(?:\d+:)? ([A-Z]{1,4}\d{2,5}):? (\S.*)$",
        r"\1:\2",
        r"\3",
        r"\4",
    ),
    _form(
        LINT,
        r"^([A-Z]{1,4}\d{3,4}|invalid-syntax):? (?:\[\*\] )?(\S.*)\n[ \t]*--> (\S+?):(\d+):\d+",
        r"\3:\4",
        r"\1",
        r"\2",
    ),
)

VITEST_SUITES: Final = (_form(TEST, r"^[ \t]*FAIL[ \t]+(\S+) \[ \S+ \][ \t]*\n(\S.*)$", r"\1:", r"\2"),)

BUNDLERS: Final = (
    _form(
        LINT,
        r"^[ \t]*(?:× )?(\S+?\.\w+)(?::(\d+):\d+)? (lint/\S+|format|parse|assist\S*|organizeImports|check)"
        r"(?: +FIXABLE)? +━+\n(?:[ \t]*\n)*[ \t]*[×✖] (\S.*)$",
        r"\1:\2",
        r"\3",
        r"\4",
    ),
    _form(COMPILE, r"^[ \t]*✘ \[ERROR\] (\S.*)\n(?:[ \t]*\n)*(?:[ \t]+(\S+?):(\d+):\d+:)?", r"\2:\3", r"\1"),
)

ESLINT_LINES: Final = (
    _form(LINT, r"^(\S[^:\n]*\.\w+): line (\d+), col \d+, Error - (\S.*)$", r"\1:\2", r"\3"),
    _form(LINT, r"^(\S[^:\n]*\.\w+):(\d+):\d+: (\S.*) \[Error/(\S+)\]$", r"\1:\2", r"\4", r"\3"),
)

RUST: Final = (
    _form(
        _rust_type,
        r"^error(?:\[([A-Z]\d+)\])?: (\S.*)\n(?:[ \t]*\|.*\n)?[ \t]*--> (\S+?):(\d+):\d+",
        r"\3:\4",
        r"\1",
        r"\2",
    ),
)

JAVA_TESTS: Final = (
    _form(
        TEST,
        r"^\[ERROR\] +(?:[\w.]+\.)?([A-Z]\w*)\.(\w+)(?:\([^)\n]*\))?:(\d+)(?:->\S+)? ?[»:]? ?(\S.*)$",
        r"\1.java:\3",
        r"\1.\2",
        r"\4",
    ),
    _form(
        TEST,
        r"^(\S.*?) > (\S.*?)(?:\(\))? FAILED\n[ \t]+([\w.$]+)(?:: (.*))?(?: at|\n[ \t]+at) "
        r".*?(\w+\.(?:java|kt|groovy)):(\d+)",
        r"\5:\6",
        r"\1.\2",
        r"\3",
        r"\4",
    ),
)

EXUNIT: Final = (
    _form(
        TEST,
        r"^[ \t]+\d+\) (test .+?) \([\w.]+\)\n[ \t]+(\S+?\.exs):(\d+)\n[ \t]+(\S.*)$",
        r"\2:\3",
        r"\1",
        r"\4",
    ),
)

ELIXIR: Final = (
    _form(
        COMPILE,
        r"^[ \t]*(?:error: (\S.*)\n(?:.*\n){0,8}?[ \t│]*└─ (\S+?\.exs?):(\d+)"
        r"|\*\* \(((?:Compile|Syntax|TokenMissing)\w*Error)\) (\S+?\.exs?):(\d+)(?::\d+)?: (\S.*))",
        r"\2\5:\3\6",
        r"\4",
        r"\1\7",
    ),
)

LOCATED: Final = (
    _form(
        _located_type,
        rf"^[ \t]*({_FILE}):(\d+)(?::(\d+))?(?::\d+:\d+)?(?::| -)[ \t]*(?:fatal )?[eE]rror"
        r"(?: ?\[?([A-Z]+-?\d+)\]?)?:?[ \t]+(\S.*)$",
        r"\1:\2",
        r"\4",
        r"\5",
    ),
)

NUMBERED: Final = (
    _form(
        COMPILE,
        rf"^[ \t]*({_FILE})\((\d+)(?:,\d+)*\): (?:fatal )?error ([A-Z]+\d+): (\S.*)$",
        r"\1:\2",
        r"\3",
        r"\4",
    ),
    _form(COMPILE, r"^error (TS\d+): (\S.*)$", "", r"\1", r"\2"),
)

GO_COMPILER: Final = (
    _form(_go_type, r"^(?:vet: |\t)?((?:\.{1,2}/)?[^\s:\"'()]+\.go):(\d+):(\d+): (\S.*)$", r"\1:\2", r"\4"),
)

LINKERS: Final = (
    _form(
        COMPILE,
        r"^(?:(?:.*\s)?(?:[^\s:(]+\.o|([^\s:(]+\.\w+)):(?:(\d+)|\(\.text[^)]*\))|.*)"
        r": undefined reference to [`'\"](.+?)['\"]$"
        r"|^(?:ld|clang|lld): (?:error: )?undefined symbol:? (.+)$",
        r"\1:\2",
        r"undefined reference to \3\4",
    ),
)

SCRIPTS: Final = (
    _form(
        RUNTIME,
        r"^(?:PHP )?(?:Fatal|Parse) error: +(?:Uncaught )?(\S.*?) in (\S+?)(?::| on line )(\d+)$",
        r"\2:\3",
        r"\1",
    ),
    _form(
        RUNTIME,
        r"^(\S+\.(?:rb|rake)):(\d+):in [`'].+?': (\S.* \([\w:]+(?:Error|Exception)\)|\S.*\(\w+Error\))$",
        r"\1:\2",
        r"\3",
    ),
)

BUILDS: Final = (
    _form(COMPILE, r"^CMake Error at (\S+?):(\d+) \((\S+?)\):\n\s*(\S.*)$", r"\1:\2", r"CMake \3", r"\4"),
    _form(COMPILE, r"^e: (?:file://)?(\S+\.kts?):(?: \()?(\d+)(?:[:,] ?\d+\)?)?:? (\S.*)$", r"\1:\2", r"\3"),
    _form(
        COMPILE,
        r"^\[ERROR\] (?:COMPILATION ERROR : )?(\S+\.(?:java|kt|scala|groovy)):\[?(\d+)(?:,\d+\])?:? (\S.*)$",
        r"\1:\2",
        r"\3",
    ),
)

SHELL: Final = (
    _form(
        RUNTIME,
        r"^(?:(?:/bin/)?(?:ba|z|da|k)?sh: )?(?:line \d+: |eval: |\d+: )*"
        r"([^\s:]{1,100}): (?:command )?not found$"
        r"|^zsh: command not found: (\S+)$",
        "",
        r"\1\2: command not found",
    ),
    _form(
        ErrorType.PERMISSION,
        r"^(.{0,300}(?:[Pp]ermission denied|Operation not permitted|EACCES|EPERM)\b.{0,200})$",
        "",
        r"\1",
    ),
)
