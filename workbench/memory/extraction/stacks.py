"""Errors with a stack under them: tracebacks of Python, stacks of JavaScript and Java, panics of Rust and Go.

Which frame is the likeliest place, and of which type an error is, follows from the frames. A chain of causes
counts as one error: the one that began it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from workbench.memory.extraction.patterns import ErrorPlace, FoundError, lines_from, message_of, order_places
from workbench.records.iterations import ErrorType
from workbench.text.expressions import read_expressions

_FORMS: Final = read_expressions(__package__, "stacks.toml")


_MOST_LINES = 3_000
_ENDINGS = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})

_BETWEEN = 12  # lines of a message before its stack
_FRAMES = 60
FRAME = re.compile(
    r"^\s*(?:at |❯ )(?:.*?[ (])?(?:file://)?((?:[A-Za-z]:)?[^\s()]+?\.[cm]?[jt]sx?|node:[\w/:]+?):(\d+):\d+"
)
_ABOVE = 800

_GO_LINES = 60
_JAVA_LIBRARIES = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "org.junit.", "junit.", "org.opentest4j.", "org.gradle.",
    "org.apache.maven.", "org.hamcrest.", "org.assertj.", "kotlin.", "scala.", "org.mockito.",
    "org.springframework.",
)  # fmt: skip


def read_tracebacks(text: str) -> Iterator[FoundError]:
    """Yield uncaught exceptions, of a chain the last; a bare SyntaxError needs no traceback."""
    claimed = 0
    waiting: FoundError | None = None
    for head in _FORMS["traceback"].finditer(text):
        if head.start() < claimed:
            continue
        found, claimed = _traceback(text, head.start(), head.end() + 1)
        if waiting is not None and not _FORMS["chained"].match(text, waiting.end):
            yield waiting
        waiting = found or waiting
    if waiting is not None:
        yield waiting
    for match in _FORMS["syntax"].finditer(text):
        if match.start() >= claimed or not claimed:
            places = ((match[1], int(match[2])),)
            yield FoundError(
                message_of(match[3], match[4]), ErrorType.COMPILE, match.start(), match.end(), places
            )


def _traceback(text: str, start: int, at: int) -> tuple[FoundError | None, int]:
    frames: list[ErrorPlace] = []
    for line, after in lines_from(text, at, _MOST_LINES):
        frame = _FORMS["python_frame"].match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
        elif frames and (raised := _FORMS["python_raised"].match(line)) and not _is_code(line, frames):
            name, said = raised[1], raised[2] or ""
            if name in _ENDINGS:
                return None, after
            message = message_of(name, said)
            kind = exception_type(name, said, frames)
            return FoundError(message, kind, start, after, order_places(frames[::-1])), after
        elif not line[:1].isspace() and line[:1] not in "|E+" and line:
            return None, at
        at = after
    return None, at


def _is_code(line: str, frames: list[ErrorPlace]) -> bool:
    """Whether a line under a frame is the code at it, which is indented by four."""
    return line.startswith("    ") or (line.startswith("  ") and not line.startswith("  |") and bool(frames))


def exception_type(name: str, said: str, frames: list[ErrorPlace]) -> ErrorType:
    """Return the type of an exception by its name, what it says and where it was raised."""
    name = name.rpartition(".")[2]
    if name in ("SyntaxError", "IndentationError", "TabError"):
        return ErrorType.COMPILE
    if name == "PermissionError" or "Permission denied" in said:
        return ErrorType.PERMISSION
    if name in ("AssertionError", "Failed"):
        tested = any(_FORMS["python_test"].search(path.replace("\\", "/")) for path, _ in frames)
        return ErrorType.TEST if tested else ErrorType.LOGIC
    return ErrorType.RUNTIME


def read_node_stacks(text: str) -> Iterator[FoundError]:
    """Yield errors with a stack of JavaScript's form under them."""
    claimed = 0
    for head in _FORMS["node_raised"].finditer(text):
        if head.start() < claimed:
            continue
        frames, after = _node_frames(text, head.end() + 1)
        if not frames:
            continue
        claimed = after
        name = head[1] or head[2]
        if (
            thrown := _FORMS["thrown_at"].search(text, max(0, head.start() - _ABOVE), head.start())
        ) is not None:
            frames.insert(0, (thrown[1], int(thrown[2])))
        code = f"{name} [{head[3]}]" if head[3] else name
        places = order_places(frames)
        kind = _node_type(name, head[4], places)
        yield FoundError(message_of(code, head[4]), kind, head.start(), after, places)


def _node_frames(text: str, at: int) -> tuple[list[ErrorPlace], int]:
    """Return the frames of a stack that begins within some lines, and where it ends."""
    frames: list[ErrorPlace] = []
    begun = False
    for number, (line, after) in enumerate(lines_from(text, at, _BETWEEN + _FRAMES)):
        frame = FRAME.match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
            begun = True
        elif _FORMS["node_at"].match(line):
            begun = True
        elif begun or number >= _BETWEEN or _FORMS["node_raised"].match(line):
            return frames, at
        at = after
    return frames, at


def _node_type(name: str, said: str, places: tuple[ErrorPlace, ...]) -> ErrorType:
    if name.endswith("SyntaxError"):
        return ErrorType.COMPILE
    if "EACCES" in said or "EPERM" in said or "permission denied" in said.casefold():
        return ErrorType.PERMISSION
    if "Assertion" in name or "expect(" in said:
        tested = bool(places) and _FORMS["node_test"].search(places[0][0].replace("\\", "/")) is not None
        return ErrorType.TEST if tested else ErrorType.LOGIC
    return ErrorType.RUNTIME


def read_rust_panics(text: str) -> Iterator[FoundError]:
    """Yield panics of Rust, in tests those of the test, and failed tests that did not panic."""
    named: set[str] = set()
    for match in _FORMS["panicked"].finditer(text):
        thread, said, path, line = match.groups()
        end = match.end()
        if said is None:
            rest = next(lines_from(text, end + 1, 1), ("", end))
            said, end = rest
        named.add(thread)
        kind = ErrorType.RUNTIME if thread in ("main", "<unnamed>") else ErrorType.TEST
        message = message_of("" if kind is ErrorType.RUNTIME else thread, said or "panicked")
        yield FoundError(message, kind, match.start(), end, order_places([(path, int(line))]))
    for match in _FORMS["cargo"].finditer(text):
        if match[1] not in named:
            yield FoundError(message_of(match[1], "failed"), ErrorType.TEST, match.start(), match.end())


def read_go_panics(text: str) -> Iterator[FoundError]:
    """Yield panics and fatal errors of Go with the first frame outside of its own library."""
    claimed = 0
    for head in _FORMS["go_panic"].finditer(text):
        if head.start() < claimed or "goroutine " not in text[head.end() : head.end() + 600]:
            continue
        frames: list[ErrorPlace] = []
        for line, after in lines_from(text, head.end() + 1, _GO_LINES):
            if (frame := _FORMS["go_frame"].match(line)) is not None:
                frames.append((frame[1], int(frame[2])))
            claimed = after
        message = message_of("panic" if head[1] else "fatal error", head[1] or head[2])
        yield FoundError(message, ErrorType.RUNTIME, head.start(), claimed, order_places(frames))


def read_java_stacks(text: str) -> Iterator[FoundError]:
    """Yield exceptions with a stack of Java's form, of a chain of causes the last, which began it."""
    waiting: FoundError | None = None
    for head in _FORMS["thrown"].finditer(text):
        frames, own, end = list[ErrorPlace](), list[ErrorPlace](), head.end() + 1
        begun = False
        for number, (line, after) in enumerate(lines_from(text, end, 300)):
            if (frame := _FORMS["java_frame"].match(line)) is not None:
                (frames if frame[1].startswith(_JAVA_LIBRARIES) else own).append((frame[2], int(frame[3])))
                begun = True
            elif _FORMS["java_at"].match(line):
                begun = True
            elif begun or number >= 6:
                break
            end = after
        if not begun:
            continue
        caused = head[0].lstrip().startswith("Caused by:")
        if waiting is not None and not caused:
            yield waiting
        before = waiting.places if waiting is not None and caused else ()
        start = waiting.start if waiting is not None and caused else head.start()
        tested = "Assertion" in head[1] or head[1].startswith(("org.opentest4j.", "org.junit."))
        kind = ErrorType.TEST if tested else ErrorType.RUNTIME
        places = tuple(dict.fromkeys((*own, *before, *frames)))[:8]
        waiting = FoundError(message_of(head[1], head[2] or ""), kind, start, end, places)
    if waiting is not None:
        yield waiting
