"""Errors of Python's tools: tracebacks, pytest, ruff and flake8; mypy is among the located ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.memory.extraction.found import Found, Parser, Place, lines_from, message_of, own_first
from workbench.records.iterations import ErrorType

_MOST_LINES = 3_000
_TRACEBACK = re.compile(
    r"^[ \t|+:-]*(?:E +)?(?:Exception Group )?Traceback \(most recent call last\):[ \t]*$", re.MULTILINE
)
_FRAME = re.compile(r'^[ \t|+-]*(?:E +)?File "([^"\n]+)", line (\d+)')
_RAISED = re.compile(r"^[ \t|+-]*(?:E +)?([A-Za-z_][\w.]*)(?::[ ]?(.*))?$")
_CHAINED = re.compile(
    r"\s*[|+ ]*(?:During handling of the above exception|The above exception was the direct cause)"
)
_SYNTAX = re.compile(
    r'^[ \t]*File "([^"\n]+)", line (\d+)\n(?:.*\n){0,3}?\s*(SyntaxError|IndentationError|TabError): (.+)$',
    re.MULTILINE,
)
_ENDINGS = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")

_SECTION = re.compile(r"^_{3,} (?:ERROR (?:at \w+ of |collecting ))?(\S.*?) _{3,}$", re.MULTILINE)
_EXPLAINED = re.compile(r"^E {2,}(\S.*)$", re.MULTILINE)
_LOCATION = re.compile(r"^(\S[^:\n]*\.py):(\d+): ?(?!in )(.*)$", re.MULTILINE)
_SUMMARY = re.compile(r"^(FAILED|ERROR) ([^\s:]+\.py)((?:::.+?)?)(?: - (.*))?$", re.MULTILINE)
_VERBOSE = re.compile(r"^(\S+\.py)(::\S.*?) (FAILED|ERROR)(?: +\[ *\d+%\])?$", re.MULTILINE)
_BLOCK_END = re.compile(r"^={3,} ", re.MULTILINE)

_CODED = re.compile(
    r"^(\S[^:\n]*\.(?:py|pyi|ipynb)):(?:cell \d+:)?(\d+):(?:\d+:)? ([A-Z]{1,4}\d{2,5}):? (\S.*)$",
    re.MULTILINE,
)
_ARROWED = re.compile(
    r"^([A-Z]{1,4}\d{3,4}|invalid-syntax):? (?:\[\*\] )?(\S.*)\n[ \t]*--> (\S+?):(\d+):\d+", re.MULTILINE
)


def tracebacks(text: str) -> Iterator[Found]:
    """Yield uncaught exceptions, of a chain the last; a bare SyntaxError needs no traceback."""
    claimed = 0
    waiting: Found | None = None
    for head in _TRACEBACK.finditer(text):
        if head.start() < claimed:
            continue
        found, claimed = _traceback(text, head.start(), head.end() + 1)
        if waiting is not None and not _CHAINED.match(text, waiting.end):
            yield waiting
        waiting = found or waiting
    if waiting is not None:
        yield waiting
    for match in _SYNTAX.finditer(text):
        if match.start() >= claimed or not claimed:
            places = ((match[1], int(match[2])),)
            yield Found(message_of(match[3], match[4]), ErrorType.COMPILE, match.start(), match.end(), places)


def _traceback(text: str, start: int, at: int) -> tuple[Found | None, int]:
    frames: list[Place] = []
    for line, after in lines_from(text, at, _MOST_LINES):
        frame = _FRAME.match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
        elif frames and (raised := _RAISED.match(line)) and not _is_code(line, frames):
            name, said = raised[1], raised[2] or ""
            if name in _ENDINGS:
                return None, after
            message = message_of(name, said)
            kind = exception_type(name, said, frames)
            return Found(message, kind, start, after, own_first(frames[::-1])), after
        elif not line[:1].isspace() and line[:1] not in "|E+" and line:
            return None, at
        at = after
    return None, at


def _is_code(line: str, frames: list[Place]) -> bool:
    """Whether a line under a frame is the code at it, which is indented by four."""
    return line.startswith("    ") or (line.startswith("  ") and not line.startswith("  |") and bool(frames))


def exception_type(name: str, said: str, frames: list[Place]) -> ErrorType:
    """Return the type of an exception by its name, what it says and where it was raised."""
    name = name.rpartition(".")[2]
    if name in ("SyntaxError", "IndentationError", "TabError"):
        return ErrorType.COMPILE
    if name == "PermissionError" or "Permission denied" in said:
        return ErrorType.PERMISSION
    if name in ("AssertionError", "Failed"):
        tested = any(_TEST_FILE.search(path.replace("\\", "/")) for path, _ in frames)
        return ErrorType.TEST if tested else ErrorType.LOGIC
    return ErrorType.RUNTIME


def pytest_failures(text: str) -> Iterator[Found]:
    """Yield tests that failed: by the short summary, else by the sections, else by the verbose lines."""
    sections = _sections(text)
    told = False
    start = min((begin for _, begin, _, _, _ in sections), default=-1)
    summary = list(_SUMMARY.finditer(text))
    for match in summary:
        told = True
        _, path, name, said = match.groups()
        test = name.removeprefix("::").replace("::", ".")
        found = next((one for one in sections if one[0] in (test, path)), None)
        why = (found[3] if found else "") or said or "failed"
        places = own_first([*(found[4] if found else ()), (path, 0)])
        where = match.start() if start < 0 else start
        yield Found(message_of(test or path, why), ErrorType.TEST, where, match.end(), places)
    if not told:
        for test, begin, end, why, seen in sections:
            if why:
                yield Found(message_of(test, why), ErrorType.TEST, begin, end, own_first(list(seen)))
                told = True
    if not told:
        for match in _VERBOSE.finditer(text):
            test = match[2].removeprefix("::").replace("::", ".")
            message = message_of(test, "failed")
            yield Found(message, ErrorType.TEST, match.start(), match.end(), ((match[1], 0),))


def _sections(text: str) -> list[tuple[str, int, int, str, tuple[Place, ...]]]:
    """Return (test, start, end, message, places) of each section of failures."""
    heads = list(_SECTION.finditer(text))
    found = []
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        closing = _BLOCK_END.search(text, head.end(), end)
        end = closing.start() if closing else end
        explained = _EXPLAINED.search(text, head.end(), end)
        located = [(one[1], int(one[2])) for one in _LOCATION.finditer(text, head.end(), end)]
        found.append((head[1], head.start(), end, explained[1] if explained else "", tuple(located[::-1])))
    return found


def linted(text: str) -> Iterator[Found]:
    """Yield findings of ruff, flake8 and pylint: a place and a code."""
    for match in _CODED.finditer(text):
        places = ((match[1], int(match[2])),)
        yield Found(message_of(match[3], match[4]), ErrorType.LINT, match.start(), match.end(), places)
    for match in _ARROWED.finditer(text):
        places = ((match[3], int(match[4])),)
        yield Found(message_of(match[1], match[2]), ErrorType.LINT, match.start(), match.end(), places)


PARSERS = (
    Parser("pytest", ("FAILED ", "ERROR ", "____ "), pytest_failures),
    Parser(
        "python", ("Traceback (most recent call last)", "SyntaxError: ", "IndentationError: "), tracebacks
    ),
    Parser("ruff", (".py:", ".pyi:", ".ipynb:", "--> "), linted),
)
