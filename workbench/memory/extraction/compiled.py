"""Errors of the tools of Rust, Go and Java: compilers' own forms, failed tests, panics and stacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from workbench.memory.extraction.found import Found, Parser, Place, lines_from, message_of, own_first
from workbench.records.iterations import ErrorType

_RUST = re.compile(
    r"^error(?:\[([A-Z]\d+)\])?: (\S.*)\n(?:[ \t]*\|.*\n)?[ \t]*--> (\S+?):(\d+):\d+", re.MULTILINE
)
_RUST_REST = 1_500  # characters in which the lint that an error is of is named
_PANICKED = re.compile(
    r"^thread '(.+?)' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s:']+\.rs):(\d+):\d+:?$", re.MULTILINE
)
_CARGO = re.compile(r"^test (\S+)(?: - .*)? \.\.\. FAILED$", re.MULTILINE)

_GO_TEST = re.compile(r"^([ \t]*)--- FAIL: (\S+) \([\d.]+s\)$", re.MULTILINE)
_GO_LINE = re.compile(r"^[ \t]+(?:\S+: )?([^\s:]+\.go):(\d+): ?(.*)$")
_GO_ERROR = re.compile(r"^[ \t]+Error:[ \t]+(\S.*)$")
_GO_PANIC = re.compile(r"^(?:panic: (.+?)(?: \[recovered.*\])?|fatal error: (.+))$", re.MULTILINE)
_GO_FRAME = re.compile(r"^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$")
_GO_LINES = 60

_THROWN = re.compile(
    r"^[ \t]*(?:Exception in thread \"[^\"\n]*\" |Caused by: )?"
    r"((?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable|Failure|Failed)\w*)(?:: (.*))?$",
    re.MULTILINE,
)
_JAVA_FRAME = re.compile(r"^\s+at (?:[\w.]+/)?([\w.$<>]+)\(([\w$]+\.(?:java|kt|scala|groovy)):(\d+)\)")
_JAVA_AT = re.compile(r"^\s+(?:at \S+\(|\.\.\. \d+ (?:more|common))")
_JAVA_LIBRARIES = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "org.junit.", "junit.", "org.opentest4j.", "org.gradle.",
    "org.apache.maven.", "org.hamcrest.", "org.assertj.", "kotlin.", "scala.", "org.mockito.",
    "org.springframework.",
)  # fmt: skip
_SUREFIRE = re.compile(
    r"^\[ERROR\] +(?:[\w.]+\.)?([A-Z]\w*)\.(\w+)(?:\([^)\n]*\))?:(\d+)(?:->\S+)? ?[»:]? ?(\S.*)$",
    re.MULTILINE,
)
_GRADLE = re.compile(
    r"^(\S.*?) > (\S.*?) FAILED\n[ \t]+([\w.$]+)(?:: (.*))?(?: at|\n[ \t]+at) "
    r".*?(\w+\.(?:java|kt|groovy)):(\d+)",
    re.MULTILINE,
)


def rustc(text: str) -> Iterator[Found]:
    """Yield errors of rustc and clippy that have a place."""
    for match in _RUST.finditer(text):
        if not match[3].endswith((".py", ".pyi")):
            message = message_of(match[1] or "", match[2])
            places = ((match[3], int(match[4])),)
            rest = text[match.end() : match.end() + _RUST_REST].partition("\n\n")[0]
            kind = ErrorType.LINT if "clippy::" in rest else ErrorType.COMPILE
            yield Found(message, kind, match.start(), match.end(), places)


def panics(text: str) -> Iterator[Found]:
    """Yield panics of Rust, in tests those of the test, and failed tests that did not panic."""
    told: set[str] = set()
    for match in _PANICKED.finditer(text):
        thread, said, path, line = match.groups()
        end = match.end()
        if said is None:
            rest = next(lines_from(text, end + 1, 1), ("", end))
            said, end = rest
        told.add(thread)
        kind = ErrorType.RUNTIME if thread in ("main", "<unnamed>") else ErrorType.TEST
        message = message_of("" if kind is ErrorType.RUNTIME else thread, said or "panicked")
        yield Found(message, kind, match.start(), end, own_first([(path, int(line))]))
    for match in _CARGO.finditer(text):
        if match[1] not in told:
            yield Found(message_of(match[1], "failed"), ErrorType.TEST, match.start(), match.end())


def go_tests(text: str) -> Iterator[Found]:
    """Yield tests that failed, of a test with subtests those."""
    heads = list(_GO_TEST.finditer(text))
    parents = {str(parent) for head in heads for parent in PurePosixPath(head[2]).parents}
    for head in heads:
        if head[2] in parents:
            continue
        said, places, end = "", list[Place](), head.end()
        for line, after in lines_from(text, head.end() + 1, _GO_LINES):
            if not line.strip() or not line[:1].isspace() or _GO_TEST.match(line):
                break
            if (place := _GO_LINE.match(line)) is not None and not places:
                places.append((place[1], int(place[2])))
                said = said or place[3]
            elif not said and (error := _GO_ERROR.match(line)) is not None:
                said = error[1]
            elif places and not said and line.strip() and not line.strip().startswith("Error Trace"):
                said = line.strip()
            end = after
        yield Found(message_of(head[2], said or "failed"), ErrorType.TEST, head.start(), end, tuple(places))


def go_panics(text: str) -> Iterator[Found]:
    """Yield panics and fatal errors of Go with the first frame outside of its own library."""
    claimed = 0
    for head in _GO_PANIC.finditer(text):
        if head.start() < claimed or "goroutine " not in text[head.end() : head.end() + 600]:
            continue
        frames: list[Place] = []
        for line, after in lines_from(text, head.end() + 1, _GO_LINES):
            if (frame := _GO_FRAME.match(line)) is not None:
                frames.append((frame[1], int(frame[2])))
            claimed = after
        message = message_of("panic" if head[1] else "fatal error", head[1] or head[2])
        yield Found(message, ErrorType.RUNTIME, head.start(), claimed, own_first(frames))


def java_stacks(text: str) -> Iterator[Found]:
    """Yield exceptions with a stack of Java's form, of a chain of causes the last, which began it."""
    waiting: Found | None = None
    for head in _THROWN.finditer(text):
        frames, own, end = list[Place](), list[Place](), head.end() + 1
        begun = False
        for number, (line, after) in enumerate(lines_from(text, end, 300)):
            if (frame := _JAVA_FRAME.match(line)) is not None:
                (frames if frame[1].startswith(_JAVA_LIBRARIES) else own).append((frame[2], int(frame[3])))
                begun = True
            elif _JAVA_AT.match(line):
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
        waiting = Found(message_of(head[1], head[2] or ""), kind, start, end, places)
    if waiting is not None:
        yield waiting


def java_tests(text: str) -> Iterator[Found]:
    """Yield tests that Maven's summary or Gradle say failed."""
    for match in _SUREFIRE.finditer(text):
        message = message_of(f"{match[1]}.{match[2]}", match[4])
        places = ((f"{match[1]}.java", int(match[3])),)
        yield Found(message, ErrorType.TEST, match.start(), match.end(), places)
    for match in _GRADLE.finditer(text):
        message = message_of(f"{match[1]}.{match[2].removesuffix('()')}", match[3], match[4] or "")
        yield Found(message, ErrorType.TEST, match.start(), match.end(), ((match[5], int(match[6])),))


PARSERS = (
    Parser("cargo", ("panicked at", "... FAILED"), panics),
    Parser("rustc", ("--> ",), rustc),
    Parser("go test", ("--- FAIL: ",), go_tests),
    Parser("go panic", ("panic: ", "fatal error: "), go_panics),
    Parser("java test", ("[ERROR] ", " FAILED\n"), java_tests),
    Parser("java", ("\tat ", " at "), java_stacks),
)
