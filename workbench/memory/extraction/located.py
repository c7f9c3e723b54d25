"""Errors that stand behind a place in one line, as most compilers and checkers print them.

gcc, clang, javac, mypy, swift and many others say `path:line:column: error: message`; tsc and MSBuild
`path(line,column): error CODE: message`; Go's compiler says no word but has a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.memory.extraction.found import Found, Parser, message_of
from workbench.records.iterations import ErrorType

_FILE = r"(?:[A-Za-z]:[\\/])?[^\s:()\[\]<>\"'|][^:\n()\"'<>|]{0,300}?\.[A-Za-z]\w{0,9}"
_ERROR = re.compile(
    rf"^[ \t]*({_FILE}):(\d+)(?::(\d+))?(?::\d+:\d+)?(?::| -)[ \t]*(?:fatal )?[eE]rror"
    r"(?: ?\[?([A-Z]+-?\d+)\]?)?:?[ \t]+(\S.*)$",
    re.MULTILINE,
)
_PARENTHESES = re.compile(
    rf"^[ \t]*({_FILE})\((\d+)(?:,\d+)*\): (?:fatal )?error ([A-Z]+\d+): (\S.*)$", re.MULTILINE
)
_PLACELESS = re.compile(r"^error (TS\d+): (\S.*)$", re.MULTILINE)
_GO = re.compile(r"^(?:vet: |\t)?((?:\.{1,2}/)?[^\s:\"'()]+\.go):(\d+):(\d+): (\S.*)$", re.MULTILINE)
_LINTER = re.compile(r" \(([a-z]+)\)$")
_LINKER = re.compile(
    r"^(?:(?:.*\s)?([^\s:(]+\.\w+):(?:(\d+)|\(\.text[^)]*\))|.*): undefined reference to [`'\"](.+?)['\"]$"
    r"|^(?:ld|clang|lld): (?:error: )?undefined symbol:? (.+)$",
    re.MULTILINE,
)
_CMAKE = re.compile(r"^CMake Error at (\S+?):(\d+) \((\S+?)\):\n\s*(\S.*)$", re.MULTILINE)
_KOTLIN = re.compile(r"^e: (?:file://)?(\S+\.kts?):(?: \()?(\d+)(?:[:,] ?\d+\)?)?:? (\S.*)$", re.MULTILINE)
_MAVEN = re.compile(
    r"^\[ERROR\] (?:COMPILATION ERROR : )?(\S+\.(?:java|kt|scala|groovy)):\[?(\d+)(?:,\d+\])?:? (\S.*)$",
    re.MULTILINE,
)
_PHP = re.compile(
    r"^(?:PHP )?(?:Fatal|Parse) error: +(?:Uncaught )?(\S.*?) in (\S+?)(?::| on line )(\d+)$", re.MULTILINE
)
_RUBY = re.compile(
    r"^(\S+\.(?:rb|rake)):(\d+):in [`'].+?': (\S.* \([\w:]+(?:Error|Exception)\)|\S.*\(\w+Error\))$",
    re.MULTILINE,
)
_CHECKED = frozenset({"py", "pyi"})


def located(text: str) -> Iterator[Found]:
    """Yield errors of the form `path:line: error: message`; of Python's checkers they are lint."""
    for match in _ERROR.finditer(text):
        path, line, _, code, said = match.groups()
        kind = ErrorType.LINT if path.rpartition(".")[2] in _CHECKED else ErrorType.COMPILE
        yield _found(match, message_of(code or "", said), kind, path, line)


def numbered(text: str) -> Iterator[Found]:
    """Yield errors of tsc and MSBuild."""
    for match in _PARENTHESES.finditer(text):
        yield _found(match, message_of(match[3], match[4]), ErrorType.COMPILE, match[1], match[2])
    for match in _PLACELESS.finditer(text):
        yield Found(message_of(match[1], match[2]), ErrorType.COMPILE, match.start(), match.end())


def go_compiler(text: str) -> Iterator[Found]:
    """Yield errors of Go's compiler, of vet and of golangci-lint, which names the linter last."""
    for match in _GO.finditer(text):
        kind = ErrorType.LINT if _LINTER.search(match[4]) else ErrorType.COMPILE
        yield _found(match, message_of(match[4]), kind, match[1], match[2])


def linkers(text: str) -> Iterator[Found]:
    """Yield symbols that a linker does not find."""
    for match in _LINKER.finditer(text):
        message = f"undefined reference to {match[3] or match[4]}"
        places = ((match[1], int(match[2] or 0)),) if match[1] and not match[1].endswith(".o") else ()
        yield Found(message_of(message), ErrorType.COMPILE, match.start(), match.end(), places)


def builds(text: str) -> Iterator[Found]:
    """Yield errors of CMake, of Kotlin's compiler and of Java's within Maven."""
    for match in _CMAKE.finditer(text):
        yield _found(match, message_of(f"CMake {match[3]}", match[4]), ErrorType.COMPILE, match[1], match[2])
    for pattern in (_KOTLIN, _MAVEN):
        for match in pattern.finditer(text):
            yield _found(match, message_of(match[3]), ErrorType.COMPILE, match[1], match[2])


def scripts(text: str) -> Iterator[Found]:
    """Yield what PHP and Ruby say of what nobody caught."""
    for match in _PHP.finditer(text):
        yield _found(match, message_of(match[1]), ErrorType.RUNTIME, match[2], match[3])
    for match in _RUBY.finditer(text):
        yield _found(match, message_of(match[3]), ErrorType.RUNTIME, match[1], match[2])


def _found(match: re.Match[str], message: str, kind: ErrorType, path: str, line: str) -> Found:
    return Found(message, kind, match.start(), match.end(), ((path.strip(), int(line)),))


PARSERS = (
    Parser("located", (" error", " Error", ":error"), located),
    Parser("numbered", ("): error ", "): fatal error ", "error TS"), numbered),
    Parser("go", (".go:",), go_compiler),
    Parser("linker", ("undefined reference", "undefined symbol"), linkers),
    Parser("scripts", ("atal error: ", "arse error: ", ":in "), scripts),
    Parser("builds", ("CMake Error", "e: ", "[ERROR] "), builds),
)
