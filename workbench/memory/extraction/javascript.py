"""Errors of JavaScript's tools: stacks, jest, vitest, bun, TAP, eslint, biome, esbuild."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.memory.extraction.found import Found, Parser, Place, lines_from, message_of, own_first
from workbench.records.iterations import ErrorType

_BETWEEN = 12  # lines of a message before its stack
_FRAMES = 60
_FAILED = 60  # lines of a failed test
_RAISED = re.compile(
    r"^[ \t]*(?:Uncaught )?(?:\[?([A-Za-z_$][\w$.]*(?:Error|Exception|Failure))|(Error))"
    r"(?: \[([A-Z_0-9]+)\])?: (\S.*)$",
    re.MULTILINE,
)
_FRAME = re.compile(
    r"^\s*(?:at |❯ )(?:.*?[ (])?(?:file://)?((?:[A-Za-z]:)?[^\s()]+?\.[cm]?[jt]sx?|node:[\w/:]+?):(\d+):\d+"
)
_BUN = re.compile(r"^\(fail\) (\S.*?)(?: \[[\d.]+m?s\])?$", re.MULTILINE)
_BUN_ERROR = re.compile(r"^(?:error: (\S.*)|(\w*Error: \S.*))$", re.MULTILINE)
_BIOME = re.compile(
    r"^[ \t]*(?:× )?(\S+?\.\w+)(?::(\d+):\d+)? (lint/\S+|format|parse|assist\S*|organizeImports|check)"
    r"(?: +FIXABLE)? +━+\n(?:[ \t]*\n)*[ \t]*[×✖] (\S.*)$",
    re.MULTILINE,
)
_ESBUILD = re.compile(r"^[ \t]*✘ \[ERROR\] (\S.*)\n(?:[ \t]*\n)*(?:[ \t]+(\S+?):(\d+):\d+:)?", re.MULTILINE)
# Node shows the line that threw above the error.
_THROWN_AT = re.compile(r"^(?:file://)?(\S+\.[cm]?[jt]sx?):(\d+)\n.*\n[ \t]*\^+[ \t]*\n+\Z", re.MULTILINE)
_BEFORE = 800
_SUITE = re.compile(r"^[ \t]*FAIL[ \t]+(\S+) \[ \S+ \][ \t]*\n(\S.*)$", re.MULTILINE)
_UNIX = re.compile(r"^(\S[^:\n]*\.\w+):(\d+):\d+: (\S.*) \[Error/(\S+)\]$", re.MULTILINE)
_AT = re.compile(r"^\s*at \S")
_JEST = re.compile(r"^  ● (\S.*)$", re.MULTILINE)
_NO_TESTS = frozenset({"Console", "Validation Warning:", "Deprecation Warning:"})
_VITEST = re.compile(
    r"^[ \t]*(?:FAIL|×|❯)[ \t]+(?:\|[^|\n]*\| )?(\S+?\.[cm]?[jt]sx?)(?: \([^)\n]*\))? > (\S.*)$",
    re.MULTILINE,
)
_TEST_FILE = re.compile(r"(?:\.|_|/)(?:test|spec)s?(?:\.|/)|(?:^|/)(?:test|__tests__)/")
_ROW = re.compile(r"^[ \t]+(\d+):\d+[ \t]+(error|warning)[ \t]+(\S.*?)(?:[ \t]{2,}(\S+))?$")
_ROWS = re.compile(r"^[ \t]+\d+:\d+[ \t]+error[ \t]", re.MULTILINE)
_HEADER = re.compile(r"^(\S.*\.\w{1,8})$")
_COMPACT = re.compile(r"^(\S[^:\n]*\.\w+): line (\d+), col \d+, Error - (\S.*)$", re.MULTILINE)
_TAP = re.compile(r"^[ \t]*not ok \d+ -? ?(\S.*)$", re.MULTILINE)
_TAP_PLACE = re.compile(r"^\s*(?:location|at): '?(?:file://)?(\S+?):(\d+)(?::\d+)?'?$")
_TAP_ERROR = re.compile(r"^\s*(?:error|message): [|>]?-?\s*['\"]?(.*?)['\"]?$")


def stacks(text: str) -> Iterator[Found]:
    """Yield errors with a stack of JavaScript's form under them."""
    claimed = 0
    for head in _RAISED.finditer(text):
        if head.start() < claimed:
            continue
        frames, after = _frames(text, head.end() + 1)
        if not frames:
            continue
        claimed = after
        name = head[1] or head[2]
        if (thrown := _THROWN_AT.search(text, max(0, head.start() - _BEFORE), head.start())) is not None:
            frames.insert(0, (thrown[1], int(thrown[2])))
        code = f"{name} [{head[3]}]" if head[3] else name
        places = own_first(frames)
        kind = _kind(name, head[4], places)
        yield Found(message_of(code, head[4]), kind, head.start(), after, places)


def _frames(text: str, at: int) -> tuple[list[Place], int]:
    """Return the frames of a stack that begins within some lines, and where it ends."""
    frames: list[Place] = []
    begun = False
    for number, (line, after) in enumerate(lines_from(text, at, _BETWEEN + _FRAMES)):
        frame = _FRAME.match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
            begun = True
        elif _AT.match(line):
            begun = True
        elif begun or number >= _BETWEEN or _RAISED.match(line):
            return frames, at
        at = after
    return frames, at


def _kind(name: str, said: str, places: tuple[Place, ...]) -> ErrorType:
    if name.endswith("SyntaxError"):
        return ErrorType.COMPILE
    if "EACCES" in said or "EPERM" in said or "permission denied" in said.casefold():
        return ErrorType.PERMISSION
    if "Assertion" in name or "expect(" in said:
        tested = bool(places) and _TEST_FILE.search(places[0][0].replace("\\", "/")) is not None
        return ErrorType.TEST if tested else ErrorType.LOGIC
    return ErrorType.RUNTIME


def jest(text: str) -> Iterator[Found]:
    """Yield tests that jest says failed."""
    if "FAIL " not in text and "Tests: " not in text and "Test Suites: " not in text:
        return
    heads = list(_JEST.finditer(text))
    for place, head in enumerate(heads):
        name = head[1].strip()
        if name in _NO_TESTS or name.startswith("Console"):
            continue
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        said, places, after = _failure(text, head.end() + 1, end)
        if said:
            yield Found(message_of(name, said), ErrorType.TEST, head.start(), after, places)


def vitest(text: str) -> Iterator[Found]:
    """Yield tests that vitest says failed, with the place it points to."""
    for match in _SUITE.finditer(text):
        yield Found(message_of(match[2]), ErrorType.TEST, match.start(), match.end(), ((match[1], 0),))
    heads = list(_VITEST.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        said, places, after = _failure(text, head.end() + 1, end)
        name = re.sub(r" \d+ms$", "", head[2])
        if said:
            found = own_first([*places, (head[1], 0)])
            yield Found(message_of(name, said), ErrorType.TEST, head.start(), after, found)


def _failure(text: str, at: int, end: int) -> tuple[str, tuple[Place, ...], int]:
    """Return the first line said about a failed test, the places of its stack and where it ends."""
    said, frames = "", list[Place]()
    for line, after in lines_from(text, at, _FAILED):
        if at >= end or (
            said and line.startswith((" FAIL", "FAIL ", "PASS ", "Tests:", "Test Suites:", "⎯⎯"))
        ):
            break
        frame = _FRAME.match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
        elif not said and line.strip() and not line.lstrip().startswith(("⎯", "→", "●")):
            said = line.strip()
        elif not said and line.lstrip().startswith("→"):
            said = line.strip().removeprefix("→").strip()
        at = after
    return said, own_first(frames), min(at, end)


def bun(text: str) -> Iterator[Found]:
    """Yield tests that bun says failed, with the error and the stack that stand before the name."""
    before = 0
    for head in _BUN.finditer(text):
        errors = list(_BUN_ERROR.finditer(text, before, head.start()))
        said = (errors[-1][1] or errors[-1][2]) if errors else "failed"
        frames, start = list[Place](), head.start()
        if errors:
            start = errors[-1].start()
            for line, after in lines_from(text, errors[-1].end() + 1, _FAILED):
                if (frame := _FRAME.match(line)) is not None:
                    frames.append((frame[1], int(frame[2])))
                if after >= head.start():
                    break
        before = head.end()
        yield Found(message_of(head[1], said), ErrorType.TEST, start, head.end(), own_first(frames))


def bundled(text: str) -> Iterator[Found]:
    """Yield findings of biome and errors of esbuild."""
    for match in _BIOME.finditer(text):
        places = ((match[1], int(match[2] or 0)),)
        yield Found(message_of(match[3], match[4]), ErrorType.LINT, match.start(), match.end(), places)
    for match in _ESBUILD.finditer(text):
        place = own_first([(match[2], int(match[3]))] if match[2] else [])
        yield Found(message_of(match[1]), ErrorType.COMPILE, match.start(), match.end(), place)


def eslint(text: str) -> Iterator[Found]:
    """Yield eslint's errors, not its warnings: rows under the path of a file, or one line each."""
    for match in _COMPACT.finditer(text):
        places = ((match[1], int(match[2])),)
        yield Found(message_of(match[3]), ErrorType.LINT, match.start(), match.end(), places)
    for match in _UNIX.finditer(text):
        places = ((match[1], int(match[2])),)
        yield Found(message_of(match[4], match[3]), ErrorType.LINT, match.start(), match.end(), places)
    if _ROWS.search(text) is None:
        return
    path, at = "", 0
    for line, after in lines_from(text, 0, text.count("\n") + 1):
        row = _ROW.match(line)
        if row is not None and path and row[2] == "error":
            message = message_of(row[4] or "", row[3])
            yield Found(message, ErrorType.LINT, at, after, ((path, int(row[1])),))
        elif row is None:
            header = _HEADER.match(line)
            path = header[1] if header else ""
        at = after


def tap(text: str) -> Iterator[Found]:
    """Yield tests that failed as the Test Anything Protocol tells them: node's runner, tap, bats."""
    for head in _TAP.finditer(text):
        if "# todo" in head[1].casefold() or "# skip" in head[1].casefold():
            continue
        said, places, end = "", list[Place](), head.end()
        for line, after in lines_from(text, head.end() + 1, _FAILED):
            if line.strip() == "..." or _TAP.match(line) or line.lstrip().startswith("ok "):
                break
            if (place := _TAP_PLACE.match(line)) is not None:
                places.append((place[1], int(place[2])))
            elif not said and (error := _TAP_ERROR.match(line)) is not None:
                said = error[1]
            end = after
        yield Found(
            message_of(head[1], said or "failed"), ErrorType.TEST, head.start(), end, own_first(places)
        )


PARSERS = (
    Parser("jest", ("  ● ",), jest),
    Parser("vitest", (" > ", "FAIL  "), vitest),
    Parser("bun", ("(fail) ",), bun),
    Parser("bundlers", (" ━━", "✘ [ERROR]"), bundled),
    Parser("tap", ("not ok ",), tap),
    Parser("node", ("Error: ", "Error [", "Exception: "), stacks),
    Parser("eslint", (" error ", "Error - ", "[Error/"), eslint),
)
