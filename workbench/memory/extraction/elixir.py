"""Errors of Elixir's tools: tests that ExUnit says failed, and what its compiler points to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.memory.extraction.found import Found, Parser, message_of
from workbench.records.iterations import ErrorType

_TEST = re.compile(
    r"^[ \t]+\d+\) (test .+?) \([\w.]+\)\n[ \t]+(\S+?\.exs):(\d+)\n[ \t]+(\S.*)$", re.MULTILINE
)
_COMPILE = re.compile(
    r"^[ \t]*(?:error: (\S.*)\n(?:.*\n){0,8}?[ \t│]*└─ (\S+?\.exs?):(\d+)"
    r"|\*\* \(((?:Compile|Syntax|TokenMissing)\w*Error)\) (\S+?\.exs?):(\d+)(?::\d+)?: (\S.*))",
    re.MULTILINE,
)


def exunit(text: str) -> Iterator[Found]:
    """Yield tests that failed, at the line they begin."""
    for match in _TEST.finditer(text):
        places = ((match[2], int(match[3])),)
        yield Found(message_of(match[1], match[4]), ErrorType.TEST, match.start(), match.end(), places)


def compiler(text: str) -> Iterator[Found]:
    """Yield what does not compile."""
    for match in _COMPILE.finditer(text):
        path, line = match[2] or match[5], match[3] or match[6]
        message = message_of(match[4] or "", match[1] or match[7])
        yield Found(message, ErrorType.COMPILE, match.start(), match.end(), ((path, int(line)),))


PARSERS = (
    Parser("exunit", (") test ",), exunit),
    Parser("elixir", ("└─ ", "** ("), compiler),
)
