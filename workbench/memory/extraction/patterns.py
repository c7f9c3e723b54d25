"""The forms of errors that one expression finds, tool by tool: a place and a message in one or two lines.

gcc, clang, javac, mypy, swift and many others print `path:line:column: error: message`; tsc and MSBuild print
`path(line,column): error CODE: message`; Go's compiler prints no word but a column.
"""

from __future__ import annotations

import re
from typing import Final

from workbench.memory.extraction.parsers import ErrorPattern, Kind
from workbench.records.iterations import ErrorType

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
