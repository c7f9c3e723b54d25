"""Failures in the reports of test runners: pytest, jest, vitest, bun, TAP, go test; and eslint's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from workbench.memory.extraction.patterns import ErrorPlace, FoundError, lines_from, message_of, order_places
from workbench.memory.extraction.stacks import FRAME
from workbench.records.iterations import ErrorType
from workbench.text.expressions import read_expressions

_FORMS: Final = read_expressions(__package__, "reports.toml")


_FAILURE = 60  # lines of a failed test
_NO_TESTS = frozenset({"Console", "Validation Warning:", "Deprecation Warning:"})

_GO_LINES = 60


def read_pytest(text: str) -> Iterator[FoundError]:
    """Yield tests that failed: by the short summary, else by the sections, else by the verbose lines."""
    sections = _sections(text)
    reported = False
    start = min((begin for _, begin, _, _, _ in sections), default=-1)
    summary = list(_FORMS["summary"].finditer(text))
    for match in summary:
        reported = True
        _, path, name, said = match.groups()
        test = name.removeprefix("::").replace("::", ".")
        found = next((section for section in sections if section[0] in (test, path)), None)
        why = (found[3] if found else "") or said or "failed"
        places = order_places([*(found[4] if found else ()), (path, 0)])
        where = match.start() if start < 0 else start
        yield FoundError(message_of(test or path, why), ErrorType.TEST, where, match.end(), places)
    if not reported:
        for test, begin, end, why, seen in sections:
            if why:
                yield FoundError(message_of(test, why), ErrorType.TEST, begin, end, order_places(list(seen)))
                reported = True
    if not reported:
        for match in _FORMS["verbose"].finditer(text):
            test = match[2].removeprefix("::").replace("::", ".")
            message = message_of(test, "failed")
            yield FoundError(message, ErrorType.TEST, match.start(), match.end(), ((match[1], 0),))


def _sections(text: str) -> list[tuple[str, int, int, str, tuple[ErrorPlace, ...]]]:
    """Return (test, start, end, message, places) of each section of failures."""
    heads = list(_FORMS["section"].finditer(text))
    found = []
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        closing = _FORMS["block_end"].search(text, head.end(), end)
        end = closing.start() if closing else end
        explained = _FORMS["explained"].search(text, head.end(), end)
        located = [(one[1], int(one[2])) for one in _FORMS["location"].finditer(text, head.end(), end)]
        found.append((head[1], head.start(), end, explained[1] if explained else "", tuple(located[::-1])))
    return found


def read_jest(text: str) -> Iterator[FoundError]:
    """Yield tests that jest says failed."""
    if "FAIL " not in text and "Tests: " not in text and "Test Suites: " not in text:
        return
    heads = list(_FORMS["jest"].finditer(text))
    for place, head in enumerate(heads):
        name = head[1].strip()
        if name in _NO_TESTS or name.startswith("Console"):
            continue
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        said, places, after = _failure_of(text, head.end() + 1, end)
        if said:
            yield FoundError(message_of(name, said), ErrorType.TEST, head.start(), after, places)


def read_vitest(text: str) -> Iterator[FoundError]:
    """Yield tests that vitest says failed, with the place it points to."""
    heads = list(_FORMS["vitest"].finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        said, places, after = _failure_of(text, head.end() + 1, end)
        name = re.sub(r" \d+ms$", "", head[2])
        if said:
            found = order_places([*places, (head[1], 0)])
            yield FoundError(message_of(name, said), ErrorType.TEST, head.start(), after, found)


def _failure_of(text: str, at: int, end: int) -> tuple[str, tuple[ErrorPlace, ...], int]:
    """Return the first line said about a failed test, the places of its stack and where it ends."""
    said, frames = "", list[ErrorPlace]()
    for line, after in lines_from(text, at, _FAILURE):
        if at >= end or (
            said and line.startswith((" FAIL", "FAIL ", "PASS ", "Tests:", "Test Suites:", "⎯⎯"))
        ):
            break
        frame = FRAME.match(line)
        if frame is not None:
            frames.append((frame[1], int(frame[2])))
        elif not said and line.strip() and not line.lstrip().startswith(("⎯", "→", "●")):
            said = line.strip()
        elif not said and line.lstrip().startswith("→"):
            said = line.strip().removeprefix("→").strip()
        at = after
    return said, order_places(frames), min(at, end)


def read_bun(text: str) -> Iterator[FoundError]:
    """Yield tests that bun says failed, with the error and the stack that come before the name."""
    before = 0
    for head in _FORMS["bun"].finditer(text):
        errors = list(_FORMS["bun_error"].finditer(text, before, head.start()))
        said = (errors[-1][1] or errors[-1][2]) if errors else "failed"
        frames, start = list[ErrorPlace](), head.start()
        if errors:
            start = errors[-1].start()
            for line, after in lines_from(text, errors[-1].end() + 1, _FAILURE):
                if (frame := FRAME.match(line)) is not None:
                    frames.append((frame[1], int(frame[2])))
                if after >= head.start():
                    break
        before = head.end()
        yield FoundError(message_of(head[1], said), ErrorType.TEST, start, head.end(), order_places(frames))


def read_tap(text: str) -> Iterator[FoundError]:
    """Yield tests that failed in the Test Anything Protocol: node's runner, tap, bats."""
    for head in _FORMS["tap"].finditer(text):
        if "# todo" in head[1].casefold() or "# skip" in head[1].casefold():
            continue
        said, places, end = "", list[ErrorPlace](), head.end()
        for line, after in lines_from(text, head.end() + 1, _FAILURE):
            if line.strip() == "..." or _FORMS["tap"].match(line) or line.lstrip().startswith("ok "):
                break
            if (place := _FORMS["tap_place"].match(line)) is not None:
                places.append((place[1], int(place[2])))
            elif not said and (error := _FORMS["tap_error"].match(line)) is not None:
                said = error[1]
            end = after
        yield FoundError(
            message_of(head[1], said or "failed"), ErrorType.TEST, head.start(), end, order_places(places)
        )


def read_eslint(text: str) -> Iterator[FoundError]:
    """Yield eslint's errors, not its warnings, in rows under the path of a file."""
    if _FORMS["rows"].search(text) is None:
        return
    path, at = "", 0
    for line, after in lines_from(text, 0, text.count("\n") + 1):
        row = _FORMS["row"].match(line)
        if row is not None and path and row[2] == "error":
            message = message_of(row[4] or "", row[3])
            yield FoundError(message, ErrorType.LINT, at, after, ((path, int(row[1])),))
        elif row is None:
            header = _FORMS["header"].match(line)
            path = header[1] if header else ""
        at = after


def read_go_tests(text: str) -> Iterator[FoundError]:
    """Yield tests that failed, of a test with subtests those."""
    heads = list(_FORMS["go_test"].finditer(text))
    parents = {str(parent) for head in heads for parent in PurePosixPath(head[2]).parents}
    for head in heads:
        if head[2] in parents:
            continue
        said, places, end = "", list[ErrorPlace](), head.end()
        for line, after in lines_from(text, head.end() + 1, _GO_LINES):
            if not line.strip() or not line[:1].isspace() or _FORMS["go_test"].match(line):
                break
            if (place := _FORMS["go_line"].match(line)) is not None and not places:
                places.append((place[1], int(place[2])))
                said = said or place[3]
            elif not said and (error := _FORMS["go_error"].match(line)) is not None:
                said = error[1]
            elif places and not said and line.strip() and not line.strip().startswith("Error Trace"):
                said = line.strip()
            end = after
        yield FoundError(
            message_of(head[2], said or "failed"), ErrorType.TEST, head.start(), end, tuple(places)
        )
