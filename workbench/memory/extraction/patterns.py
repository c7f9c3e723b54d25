"""The forms of errors that one expression finds, tool by tool: a place and a message in one or two lines.

gcc, clang, javac, mypy, swift and many others print `path:line:column: error: message`; tsc and MSBuild print
`path(line,column): error CODE: message`; Go's compiler prints no word but a column.

All parsers, these and those of reports and stacks, take a text without escape sequences and give errors with
the places they name, the likeliest first. They ask for evidence of a format, not for words such as "error".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.iterations import ErrorType
from workbench.text.expressions import read_rows

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
_LONG = re.compile(rf"^([^\n]{{{_MAX_LINE}}})[^\n]+", re.MULTILINE)
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


_LINTER = re.compile(r" \([a-z]+\)$")
_CLIPPY_REST = 1_500  # characters in which the lint that an error is of is named


def _rust_type(match: re.Match[str]) -> ErrorType | None:
    """Ruff prints the same form for files of Python; clippy names its lint below the error."""
    if match[3].endswith((".py", ".pyi")):
        return None
    rest = match.string[match.end() : match.end() + _CLIPPY_REST].partition("\n\n")[0]
    return ErrorType.LINT if "clippy::" in rest else ErrorType.COMPILE


def _located_type(match: re.Match[str]) -> ErrorType:
    """Of Python, what has a place is a checker's."""
    return ErrorType.LINT if match[1].endswith((".py", ".pyi")) else ErrorType.COMPILE


def _go_type(match: re.Match[str]) -> ErrorType:
    """Golangci-lint names the linter last."""
    return ErrorType.LINT if _LINTER.search(match[4]) else ErrorType.COMPILE


_KINDS: Final[Mapping[str, Kind]] = {
    **{kind.value: kind for kind in ErrorType},
    "rust_type": _rust_type,
    "located_type": _located_type,
    "go_type": _go_type,
}


def patterns_of(tool: str) -> tuple[ErrorPattern, ...]:
    """Return the forms of a tool's errors in `tools.toml`."""
    return tuple(
        ErrorPattern(_KINDS[kind], re.compile(source, re.MULTILINE), place, tuple(parts))
        for kind, source, place, *parts in read_rows(__package__, "tools.toml", tool)
    )
